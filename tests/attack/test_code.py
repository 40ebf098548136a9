"""Files that name code, pickles or other machines: nothing of it happens unless it is said anew.

Everything is real: a socket that counts who connects, modules and pickles that leave a mark when
they run, and logs beside which there are modules that bear the names of others.
"""

import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

import lincat
from lincat._seals import JSON, TOML
from lincat.runs.config import EvaluationConfig, config_from_toml, config_to_toml
from lincat.runs.folder import RunFolder
from lincat.scale import cluster
from tests.cli.command import assert_one_line, lincat_here
from tests.packed import rewritten
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
    for ended in (begin(file), go_on("run", "--steps", 1200)):
        assert_one_line(ended, "given_in" if "given_in" in changes else "--trust-code")
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
    plain = ("--features", "fourier", "--workers", 2, *SMALL)
    ended = console("evaluate", "log.parquet", "--out", "plain", *plain)
    assert ended.returncode == 0, ended.stderr
    assert not (here / "ran").exists(), (here / "ran").read_text()


def test_modules_that_are_named_are_found_in_workers_and_shadow_nothing(here):
    for name in (*DECOYS[:8], "mine"):
        decoy = f"open({str(here / 'ran')!r}, 'a').write({name!r} + chr(10))\n"
        (here / f"{name}.py").write_text(decoy)
    with (here / "mine.py").open("a") as file:
        file.write("import queue\nfrom sklearn.preprocessing import StandardScaler as Base\n")
        file.write("class Mine(Base):\n    pass\n")
    named = ("--features", "mine:Mine", "--workers", 2, *SMALL)
    ended = console("evaluate", "log.parquet", "--out", "named", *named)
    assert ended.returncode == 0, ended.stderr
    assert set((here / "ran").read_text().split()) == {"mine"}
