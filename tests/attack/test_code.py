"""Files that name code, pickles or other machines: nothing of it happens unless it is said anew.

Everything is real: a socket that counts who connects, modules and pickles that leave a mark when
they run, and logs beside which there are modules that bear the names of others.
"""

import contextlib
import importlib
import os
import pickle
import pkgutil
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import tomllib
import typing
import zipfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import tomli_w

import lincat
from lincat._reach import Reaches
from lincat._seals import JSON, TOML
from lincat.runs.config import EvaluationConfig, config_from_toml, config_to_toml
from lincat.runs.folder import RunFolder
from lincat.runs.shown import ShownStates
from lincat.scale import cluster
from tests.cli.command import assert_one_line, lincat_here
from tests.packed import header_of, rewritten
from tests.runs.logs import write_points

SMALL = ("--gamma", 0.5, "--intervals", 10, "--warm-up", 500, "--validate", 0, "--quiet")
EVIL = "import pathlib\npathlib.Path({mark!r}).touch()\ndef T(x): return 0\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run that is not at its end, and one that was summed by parts and has only begun."""
    here = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        write_points(here / "log.parquet", rows=1500)
        for name, more in (("run", ("--steps", 1000)), ("parts", ("--workers", 1))):
            ended = lincat_here("evaluate", here / "log.parquet", "--out", name, *SMALL, *more)
            assert ended.code == 0, ended.err
    return here


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of them beside a module and a pickle that leave a mark when they run."""
    place = tmp_path / "here"
    shutil.copytree(made, place)
    shutil.rmtree(place / "parts" / "checkpoints")
    (place / "parts" / "result.json").unlink()
    (place / "evil.py").write_text(EVIL.format(mark=str(place / "ran")))
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(cluster, "_SECONDS", 0.5)
    yield place
    sys.modules.pop("evil", None)


@pytest.fixture
def listener():
    """A socket of this machine that counts who connects."""
    server = socket.create_server(("127.0.0.1", 0))
    seen = SimpleNamespace(count=0, port=server.getsockname()[1])

    def listen():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            seen.count += 1
            connection.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield seen
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


def rewrite(run, **changes):
    """Change a configuration as somebody would who knows of checksums; return its file."""
    file = Path(run) / "config.toml"
    config = config_from_toml(TOML.opened(file.read_bytes(), "config", "text"))
    changed = msgspec.structs.replace(config, **changes)
    file.write_bytes(TOML.sealed(config_to_toml(changed)))
    return file


def begin(file, *options):
    return lincat_here("evaluate", "--config", file, "--out", "begun", "--force", *options)


def go_on(run, *options):
    return lincat_here("resume", run, "--quiet", *options)


# ------------------------------------------------------------------------------------ schedulers


def test_a_scheduler_is_spoken_to_only_if_this_command_line_names_it(here, listener):
    address = f"tcp://127.0.0.1:{listener.port}"
    file = rewrite("parts", workers=None, scheduler=address)
    for ended in (begin(file), go_on("parts"), begin(file, "--trust-code")):
        assert_one_line(ended, f"--scheduler {address}")
    assert listener.count == 0
    assert "lincat resume --scheduler" in go_on("parts").err  # to be pasted
    for ended in (begin(file, "--workers", 1), go_on("parts", "--workers", 1)):
        assert ended.code == 0, ended.err
    assert listener.count == 0


def test_a_scheduler_that_is_said_anew_is_spoken_to(here, listener):
    address = f"tcp://127.0.0.1:{listener.port}"
    rewrite("parts", workers=None, scheduler=address)
    assert_one_line(go_on("parts", "--scheduler", address), "expected a Dask scheduler at")
    assert listener.count > 0


def test_in_python_a_scheduler_is_spoken_to_only_by_a_client_of_this_call(here, listener):
    rewrite("parts", workers=None, scheduler=f"tcp://127.0.0.1:{listener.port}")
    with pytest.raises(lincat.InvalidInputError, match="since it has scheduler"):
        lincat.resume("parts", trust_code=True)
    assert listener.count == 0
    lincat.resume("parts", workers=1)


# --------------------------------------------------------------------------- modules and pickles

MODULES = [
    {"features": "evil:T"},
    {"features": "evil:T.json"},
    {"features": "evil:T.npy"},
    {"features": "<evil:T>"},
    {"source": ["gym:evil:Lake-v1"]},
    {"source": ["gym:FrozenLake-v1"], "policy": "evil:T"},
    {"source": ["gym:FrozenLake-v1"], "policy": "evil:T.zip"},
    # What a path becomes, seen from the folder that it was given in.
    {"source": ["log.parquet"], "given_in": "gym:evil:"},
    {"source": ["gym:FrozenLake-v1"], "policy": "x.npy", "given_in": "sb3:PPO:."},
    # A namespace of Gymnasium's before the name of a file, which "import" would find.
    {"source": ["phys2d/evil:Lake-v1"]},
    # Whoever makes an environment may import what a text names, or open it.
    {"source": ["gym:FrozenLake-v1"], "env_options": {"backend": "evil"}},
    {"source": ["gym:FrozenLake-v1"], "env_options": {"of": [{"x": ["evil:T"]}]}},
]


@pytest.mark.parametrize("changes", MODULES, ids=str)
def test_what_a_file_names_is_not_imported_whatever_it_looks_like(here, changes):
    (here / "phys2d").mkdir()
    (here / "gym:evil:").mkdir()
    for copy in ("phys2d/evil.py", "<evil.py"):
        shutil.copy("evil.py", copy)
    for name in ("log.parquet", "gym:evil:/log.parquet"):
        (here / name).touch()
    file = rewrite("run", **changes)
    said = "given_in" if "given_in" in changes else "--trust-code, since it has"
    if changes.get("source") == ["phys2d/evil:Lake-v1"]:
        said = "SOURCE: expected"
    for ended in (begin(file), go_on("run", "--steps", 1200)):
        assert_one_line(ended, said)
    assert not (here / "ran").exists()


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


@pytest.mark.parametrize("policy", ["model.zip", "sb3:PPO:x.npy", "sb3:PPO:x.json", "sb3:PPO:x"])
def test_no_pickle_is_read_because_a_folder_says_so(here, monkeypatch, policy):
    model = policy.rpartition(":")[2]
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("data", '{"clip_range": 1}')
        archive.writestr("pickle", pickle.dumps(Bomb(here / "ran")))

    def load(path, device):
        with zipfile.ZipFile(path) as archive:
            pickle.loads(archive.read("pickle"))
        return SimpleNamespace(predict=lambda observation: 0)

    package = SimpleNamespace(PPO=SimpleNamespace(load=load))  # as PyTorch is large
    monkeypatch.setitem(sys.modules, "stable_baselines3", package)
    file = rewrite("run", source=["gym:FrozenLake-v1"], policy=policy, trust_pickle=True)
    for ended in (begin(file), go_on("run", "--steps", 1200)):
        assert_one_line(ended, f"--trust-code, since it has policy = '{policy}'")
    assert not (here / "ran").exists()
    go_on("run", "--steps", 1200, "--trust-code")
    assert (here / "ran").exists()  # so it was a bomb


# ------------------------------------------------------------------------------------- addresses

ADDRESSES = [
    "ftp://127.0.0.1:{}/log.csv",
    "webhdfs://127.0.0.1:{}/log.csv",
    "simplecache::ftp://127.0.0.1:{}/log.csv",
    "zip://log.csv::webhdfs://127.0.0.1:{}/log.zip",
    "FTP://127.0.0.1:{}/log.csv",
    r"\\127.0.0.1@{}\log.csv",
    "//127.0.0.1@{}/log.csv",
    "file:////127.0.0.1@{}/log.csv",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_of_a_file_is_connected_to_unless_this_command_line_allows_it(
    here, listener, address
):
    address = address.format(listener.port)
    file = rewrite("run", source=[address])
    for ended in (begin(file), go_on("run", "--steps", 1200), begin(file, "--trust-code")):
        assert_one_line(ended, f"--connect, since it has source = {address!r}")
    assert_one_line(lincat_here("validate", "run"), "LOG: expected a log")
    rewrite("run", source=["log.parquet"], given_in=address.rpartition("/")[0] or address)
    for ended in (begin(file), go_on("run", "--steps", 1200)):
        assert ended.code == 2
        assert "given_in" in ended.err
    assert listener.count == 0


@pytest.mark.parametrize("address", ADDRESSES[:3])
def test_addresses_are_connected_to_if_that_is_said_anew(here, listener, address):
    file = rewrite("run", source=[address.format(listener.port)])
    assert_one_line(go_on("run", "--steps", 1200, "--connect"), "127.0.0.1")
    assert_one_line(begin(file, "--connect"), "127.0.0.1")
    with pytest.raises(lincat.InvalidInputError, match="connect=True, since it has source"):
        lincat.resume("run", steps=1200)
    assert listener.count > 0


@pytest.mark.parametrize(
    "secret", [("--storage-option", "key=ab12"), ("--storage-option=key=ab12",)]
)
def test_the_command_that_an_error_prints_allows_it_and_tells_no_secret(here, listener, secret):
    rewrite("run", source=[f"ftp://127.0.0.1:{listener.port}/log.csv"])
    shutil.copytree("run", "a run")
    ended = go_on("a run", "--steps", 1200, *secret)
    command = shlex.split(ended.err.rpartition(": ")[2])
    assert command[:4] == ["lincat", "resume", "--connect", "a run"]
    assert "key=..." in ended.err
    assert "ab12" not in ended.err
    assert listener.count == 0
    lincat_here(*(x for x in command[1:] if "key" not in x and x != "--storage-option"))
    assert listener.count > 0


def test_logs_that_a_checkpoint_names_are_no_way_around(here, listener):
    checkpoint = RunFolder(here / "run").checkpoints.newest()
    files = {x.name: x.read_bytes() for x in checkpoint.iterdir() if x.name != "SHA256SUMS"}
    progress = msgspec.json.decode(files["progress.json"])
    progress["places"] = [f"ftp://127.0.0.1:{listener.port}/log.parquet"]
    files["progress.json"] = msgspec.json.encode(progress)
    RunFolder(here / "run").checkpoints.write(int(checkpoint.name), files)
    assert_one_line(go_on("run", "--append"), "--connect, since it has places")
    assert listener.count == 0
    go_on("run", "--append", "--connect")
    assert listener.count > 0


@pytest.mark.parametrize("address", ["ftp://", "ftp:///log.csv", "simplecache::ftp://"])
def test_half_an_address_is_one_line(here, address, monkeypatch):
    aside = []
    monkeypatch.setattr(sys, "unraisablehook", aside.append)
    assert_one_line(lincat_here("evaluate", address), "expected an address")
    assert not aside


# ---------------------------------------------------------------------------------- beside the logs

#: What Python, and what stands below lincat, imports at some time, or would if it were there.
DECOYS = ("queue", "numpy", "pandas", "yaml", "attr", "sitecustomize", "usercustomize", "tbb")
DECOYS += ("secrets", "lincat", "pickle", "numexpr", "bottleneck", "IPython", "distributed")


def console(*arguments):
    """Run the command as it is installed: python -m would put the current folder first itself."""
    command = Path(sys.executable).with_name("lincat")
    environment = {x: os.environ[x] for x in os.environ if not x.startswith("PYTHON")}
    return subprocess.run(
        [command, *map(str, arguments)], capture_output=True, text=True, env=environment
    )


def test_modules_beside_the_logs_run_in_no_process(here):
    for name in DECOYS:
        decoy = f"open({str(here / 'ran')!r}, 'a').write({name!r} + chr(10))\n"
        (here / f"{name}.py").write_text(decoy)
    # Numba reads this: compiled code, which is pickles, would be looked for where it says.
    (here / ".numba_config.yaml").write_text(f"cache_dir: {here / 'pickles'}")
    plain = ("--features", "fourier", "--workers", 2, *SMALL)
    ended = console("evaluate", "log.parquet", "--out", "plain", *plain)
    assert ended.returncode == 0, ended.stderr
    assert not (here / "ran").exists(), (here / "ran").read_text()
    assert not (here / "pickles").exists()


def test_modules_that_are_named_are_found_in_workers_and_shadow_nothing(here):
    for name in (*DECOYS[:8], "mine"):
        decoy = f"open({str(here / 'ran')!r}, 'a').write({name!r} + chr(10))\n"
        (here / f"{name}.py").write_text(decoy)
    with (here / "mine.py").open("a") as file:
        file.write("import queue\nclass Mine:\n    def transform(self, X): return X\n")
    named = ("--features", "mine:Mine", "--workers", 2, *SMALL)
    ended = console("evaluate", "log.parquet", "--out", "named", *named)
    assert ended.returncode == 0, ended.stderr
    assert set((here / "ran").read_text().split()) == {"mine"}


# -------------------------------------------------------------------------------- all that is read

#: Records whose texts are opened, imported or connected to, if any: each field says how far.
GATED = {"EvaluationConfig", "Columns", "SoFar", "Fingerprint", "SourceFacts"}
#: Records whose texts are shown, compared, or names within the file; nothing takes them for more.
#: A new one belongs here only if that is so: what follows below puts names of code into all texts.
SHOWN = set(
    "Answer Budget Caution Check Comparison Curves Difference Dominance Extrapolated "
    "GroupValidation Numbers Part PartSums SiteFigures Sites StateComparison Validation Verdict "
    "_Column _Kept _Member _Outcome _ProblemFile _SiteState _State _Stored".split()
)
READERS = ("data", "inference", "learners", "processes", "runs", "statistics", "tables")


def records():
    """All records of the packages that read files."""
    for package in READERS:
        for module in pkgutil.iter_modules([str(Path(lincat.__file__).with_name(package))]):
            importlib.import_module(f"lincat.{package}.{module.name}")
    found, todo = set(), [msgspec.Struct]
    while todo:
        todo += (more := todo.pop().__subclasses__())
        found |= {x for x in more if x.__module__.startswith(READERS, len("lincat."))}
    return found


def unsaid(hint):
    """Whether a field may hold texts, or anything, and does not say how far they reach."""
    if hint in (int, float, bool, type(None)) or typing.get_origin(hint) is typing.Literal:
        return False
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return False
    if any(isinstance(note, Reaches) for note in getattr(hint, "__metadata__", ())):
        return False
    inner = [x for x in typing.get_args(hint) if x is not Ellipsis]
    notes = getattr(hint, "__metadata__", ())
    inner = [x for x in inner if x not in notes]
    return not inner or typing.get_origin(hint) is dict or any(map(unsaid, inner))


def test_every_field_that_is_read_from_a_file_says_how_far_it_reaches():
    silent = {}
    for record in records():
        hints = typing.get_type_hints(record, include_extras=True)
        fields = [field for field, hint in hints.items() if unsaid(hint)]
        if fields and record.__name__ not in SHOWN:
            silent[record.__name__] = fields
    assert silent == {}
    assert {x.__name__ for x in records()} >= GATED


def texts(value, path=()):
    """Where the texts of a value are; of a list, those of its first element."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key in value:
            yield from texts(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from texts(value[0], (*path, 0))


def put(value, path, word):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = word


def with_word(content, path, word):
    found = msgspec.json.decode(content)
    put(found, path, word)
    return msgspec.json.encode(found)


def harmless(here, listener, *commands):
    for command in commands:
        ended = lincat_here(*command)
        assert "Traceback" not in ended.err
        assert not (here / "ran").exists(), command
        assert listener.count == 0, command


GOES_ON = (("resume", "run", "--steps", 1200, "--quiet"), ("resume", "run", "--append", "--quiet"))
READS = (("report", "run"), ("predict", "run"), ("validate", "run", "log.parquet"))


@pytest.mark.parametrize("word", ["evil:T", "ftp://127.0.0.1:{}/evil.json"])
def test_no_text_of_any_file_of_a_folder_runs_code_or_connects(here, listener, word):
    word = word.format(listener.port)
    (here / word.rpartition("/")[2]).touch()
    run = RunFolder(here / "run")
    # Texts that may be anything, all at once.
    for file, read in (
        (run.result_file, lambda text: lincat.Answer.from_json(text)),
        (run.states_file, lambda text: ShownStates.from_json(text, "states")),
        (run.versions_file, lambda text: None),
    ):
        content = JSON.opened(file.read_bytes(), "file", "JSON")
        for path in texts(msgspec.json.decode(content)):
            changed = with_word(content, path, word)
            with contextlib.suppress(lincat.InvalidInputError):
                read(changed)
                content = changed
        assert word.encode() in content
        file.write_bytes(JSON.sealed(content))
    harmless(here, listener, *READS, ("compare", "run", "run"), *GOES_ON)
    # Each of a checkpoint and of the files of a model, one at a time.
    checkpoint = run.checkpoints.newest()
    whole = {x.name: x.read_bytes() for x in checkpoint.iterdir() if x.name != "SHA256SUMS"}
    for path in texts(msgspec.json.decode(whole["progress.json"])):
        changed = with_word(whole["progress.json"], path, word)
        run.checkpoints.write(int(checkpoint.name), {**whole, "progress.json": changed})
        harmless(here, listener, *GOES_ON)
    run.checkpoints.write(int(checkpoint.name), whole)
    for name, key in (("features", "lincat features"), ("model", "lincat")):
        file = run.path / f"{name}.safetensors"
        content = file.read_bytes()
        for path in texts(header_of(content, key)):
            if path[-1] == "sha256":
                continue
            file.write_bytes(rewritten(content, key, lambda x, path=path: put(x, path, word)))
            harmless(here, listener, *READS[1:])
        file.write_bytes(content)


@pytest.mark.parametrize("word", ["evil:T", "ftp://127.0.0.1:{}/log.csv"])
def test_no_field_of_a_configuration_runs_code_or_connects(here, listener, word):
    word = word.format(listener.port)
    kept = tomllib.loads((here / "run" / "config.toml").read_text())
    columns = [{x: word} for x in lincat.Columns.__struct_fields__]
    kinds = {"source": [word], "env_options": {"x": word}, "feature_options": {"x": word}}
    begins = ("evaluate", "--config", "run/config.toml", "--steps", 600, "--warm-up", 300)
    shutil.copytree("run", "kept")
    for field in EvaluationConfig.__struct_fields__:
        for value in columns if field == "columns" else [kinds.get(field, word)]:
            text = tomli_w.dumps({**kept, field: value})
            (here / "run" / "config.toml").write_bytes(TOML.sealed(text))
            harmless(here, listener, (*begins, "--out", "x", "--force"), GOES_ON[0])
            shutil.rmtree("run")  # what went on has to do so again
            shutil.copytree("kept", "run")


def test_no_text_of_other_files_runs_code_or_connects(here, listener):
    address = f"ftp://127.0.0.1:{listener.port}/log.csv"
    for word in ("evil:T", "evil:T.json", address):
        process = {
            "gamma": 0.5,
            "name": word,
            "note": word,
            "states": [word, "b"],
            "terminal": [word],
        }
        process["outcomes"] = [{"state": word, "reward": 1, "next_state": "b", "probability": 1}]
        Path("process.json").write_bytes(msgspec.json.encode(process))
        Path("policy.json").write_bytes(msgspec.json.encode([word] * 16))
        Path("states.json").write_bytes(msgspec.json.encode([{"obs_0": word, "obs_1": word}]))
        harmless(
            *(here, listener),
            ("solve", "process.json"),
            ("plan", "process.json", "--error", 0.5),
            ("evaluate", "gym:FrozenLake-v1", "--policy", "policy.json", "--steps", 600),
            ("predict", "run", "--states", "states.json"),
        )
