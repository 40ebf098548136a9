"""Runs stay what they were: bound to their settings and source, and without code of strangers."""

import json
import re
import shutil
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lincat
from lincat._seals import TOML
from lincat.runs.folder import RunFolder
from tests.cli.command import assert_one_line, lincat_here
from tests.packed import rewritten
from tests.runs.logs import write_names, write_points

SMALL = ("--gamma", 0.5, "--intervals", 10, "--warm-up", 500, "--validate", 0, "--quiet")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of half a log, named by a relative path."""
    here = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        write_names(here / "log.csv")
        write_points(here / "log.parquet", rows=2000)
        for name, log in (("run", "log.csv"), ("binary", "log.parquet")):
            ended = lincat_here("evaluate", log, "--out", name, "--steps", 1000, *SMALL)
            assert ended.code == 0, ended.err
    return here


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of it; relative paths are meant from there."""
    place = tmp_path / "here"
    shutil.copytree(made, place)
    for run in ("run", "binary"):
        rewrite(place / run, f'given_in = "{made}"', f'given_in = "{place}"')
        for progress in place.glob(f"{run}/checkpoints/*/progress.json"):
            files = {x.name: x.read_bytes() for x in progress.parent.iterdir()}
            del files["SHA256SUMS"]
            files["progress.json"] = progress.read_bytes().replace(
                f"{made}/".encode(), f"{place}/".encode()
            )
            RunFolder(place / run).checkpoints.write(int(progress.parent.name), files)
    monkeypatch.chdir(place)
    return place


def rewrite(run, old, new):
    """Change a configuration as somebody would who knows of checksums."""
    file = run / "config.toml"
    text = TOML.opened(file.read_bytes(), "config", "text").decode()
    assert old in text
    file.write_bytes(TOML.sealed(text.replace(old, new)))


def resume(*arguments):
    return lincat_here("resume", "run", "--steps", 1500, "--quiet", *arguments)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gamma = 0.5", "gamma = 0.9", "gamma was 0.5 and is 0.9"),
        ("seed = 0", "seed = 1", "seed was 0 and is 1"),
        ("batch_size = 1", "batch_size = 7", "batch_size was 1 and is 7"),
        ('learner = "auto"', 'learner = "linear_ctd"', "learner was 'auto' and is 'linear_ctd'"),
        ("intervals = 10", "intervals = 20", "intervals was 10 and is 20"),
    ],
)
def test_settings_are_those_that_the_run_began_with(here, old, new, said):
    """Whether they were edited by hand, or came from another run with its checksum."""
    config = here / "run" / "config.toml"
    before = config.read_bytes()
    config.write_text(config.read_text().replace(old, new))
    for ended in (resume(), lincat_here("report", "run"), lincat_here("predict", "run")):
        assert_one_line(ended, said)
    config.write_bytes(before)
    rewrite(here / "run", old, new)
    assert_one_line(resume(), said)


@pytest.mark.parametrize("append", [(), ("--append",)])
def test_a_source_that_was_edited_is_refused(here, append):
    log = here / "log.csv"
    first, *rows = log.read_text().splitlines(keepends=True)
    rows[50] = rows[49]
    log.write_text("".join([first, *rows, rows[-1]] if append else [first, *rows]))
    config = (here / "run" / "config.toml").read_bytes()
    assert_one_line(resume(*append), "log.csv: expected what the run began with, got something")
    assert (here / "run" / "config.toml").read_bytes() == config


def test_a_source_with_more_at_its_end_asks_for_append(here):
    log = here / "log.csv"
    text = log.read_text()
    more = "".join(f"9{line}" for line in text.splitlines(keepends=True)[1:400])
    log.write_text(text + more)
    assert_one_line(resume(), "the same with more at its end; --append learns from what is new")
    ended = lincat_here("resume", "run", "--append", "--quiet")
    assert ended.code == 0, ended.err


def test_parquet_files_are_written_again_to_add_rows(here):
    def append(rows, seed=0):
        write_points(here / "log.parquet", rows=rows, seed=seed)
        return lincat_here("resume", "binary", "--append", "--quiet")

    assert_one_line(append(3000, seed=1), "log.parquet: expected what the run began with")
    assert append(3000).code == 0


def test_a_source_is_not_looked_for_in_another_folder(here, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    write_points(other / "log.csv")  # of the same name, and nothing like it
    monkeypatch.chdir(other)
    ended = lincat_here("resume", here / "run", "--steps", 1500, "--quiet")
    assert ended.code == 0, ended.err
    again = lincat_here("evaluate", "--config", here / "run" / "config.toml", "--out", "again")
    assert again.code == 0, again.err
    assert lincat.read_run("again").answer.source == str(here / "log.csv")
    (here / "log.csv").unlink()
    ended = lincat_here("resume", here / "run", "--steps", 2000, "--quiet")
    assert_one_line(ended, f"{here}/log.csv: expected a readable file")


def test_a_process_or_a_policy_that_was_edited_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    process = tmp_path / "process.json"
    process.write_text('{"gamma": 0.5, "transitions": [[1]], "rewards": [1]}')
    made = lincat_here("evaluate", process, "--steps", 500, "--out", "run", "--quiet")
    assert made.code == 0, made.err
    process.write_text('{"gamma": 0.5, "transitions": [[1]], "rewards": [2]}')
    assert_one_line(resume(), "expected what the run began with")
    np.save("policy.npy", np.zeros(16))
    small = ("--steps", 500, "--warm-up", 100, "--validate", 0, "--quiet")
    lake = ("gym:FrozenLake-v1", "--policy", "policy.npy", "--out", "lake", *small)
    assert lincat_here("evaluate", *lake).code == 0
    np.save("policy.npy", np.ones(16))
    ended = lincat_here("resume", "lake", "--steps", 900)
    assert_one_line(ended, "policy.npy: expected what the run began with")


def test_objects_are_those_that_a_run_was_given():
    table = {"state": [0, 1, 2] * 200, "reward": [1.0, 0.0, 2.0] * 200}
    run = lincat.evaluate(table, gamma=0.5, steps=300, validate=0)
    other = {**table, "reward": [1.0, 0.0, 3.0] * 200}
    with pytest.raises(lincat.InvalidInputError, match="expected what the run began with"):
        lincat.resume(run, source=other, steps=600)
    assert lincat.resume(run, source=table, steps=500).answer.transitions > 300


# ----------------------------------------------------------------------------------------- code


EVIL = """
import pathlib
from sklearn.preprocessing import StandardScaler as Features  # fine in itself
def act(observation): return 0
with pathlib.Path({place!r}).open("a") as file:
    file.write("ran\\n")
"""


#: Other ways to have code run, or to be connected somewhere.
ELSEWHERE = [
    ("ending", "features", '"evil:Features"', '"evil:Features.json"'),
    ("pickle", "policy", '"evil:act"', '"sb3:PPO:policy.json"'),
    ("module", "policy", '"gym:FrozenLake-v1"', '"gym:evil:Lake"'),
    ("address", "features", '"log.parquet"', '"ftp://127.0.0.1:9/log.parquet"'),
]


@pytest.fixture
def strangers(tmp_path, monkeypatch):
    """A folder with a module that tells when it ran, and runs that name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text(textwrap.dedent(EVIL.format(place=str(tmp_path / "ran"))))
    write_points(tmp_path / "log.parquet", rows=1500)
    code = ("--features", "evil:Features", "--steps", 1000, *SMALL)
    assert lincat_here("evaluate", "log.parquet", "--out", "features", *code).code == 0
    lake = ("gym:FrozenLake-v1", "--policy", "evil:act", "--steps", 600)
    assert lincat_here("evaluate", *lake, "--out", "policy", *SMALL).code == 0
    assert lincat_here("evaluate", "log.parquet", "--out", "run", "--steps", 1000, *SMALL).code == 0
    # A stranger's folder: settings say "auto", the checkpoint's features name a module.
    mixed = RunFolder(tmp_path / "run")
    files = {x.name: x.read_bytes() for x in mixed.checkpoints.newest().iterdir()}
    del files["SHA256SUMS"]
    files["features.safetensors"] = (tmp_path / "features/features.safetensors").read_bytes()
    mixed.checkpoints.write(int(mixed.checkpoints.newest().name), files)
    shutil.copy("features/features.safetensors", "run/features.safetensors")
    for name, run, old, new in ELSEWHERE:
        shutil.copytree(run, name)
        rewrite(tmp_path / name, old, new)
    forget(tmp_path)
    return tmp_path


def forget(folder):
    sys.modules.pop("evil", None)
    (folder / "ran").unlink(missing_ok=True)


COMMANDS = [
    *(("resume", run, "--steps", 1200) for run in ("features", "policy", "run")),
    *(("evaluate", "--config", f"{x}/config.toml", "--force") for x in ("features", "policy")),
    *(("predict", run) for run in ("features", "run")),
    *(("export", run, "--out", "small") for run in ("features", "run")),
    ("compare", "features", "run"),
    ("validate", "policy"),
    ("validate", "features", "log.parquet"),
]


COMMANDS_ELSEWHERE = [
    command
    for run, *_ in ELSEWHERE
    for command in (
        ("resume", run, "--steps", 1200),
        ("evaluate", "--config", f"{run}/config.toml", "--out", "x", "--force"),
    )
]


# Nothing in these names code that could be trusted: what looks like it is data, or refused.
DATA = [
    ("report", "features"),
    ("report", "run"),
    ("solve", "process.json"),
    ("plan", "process.json", "--error", 0.5),
    ("plan", "evil.parquet", "--gamma", 0.5, "--error", 0.5),
    ("evaluate", "process.json", "--steps", 600, "--out", "x", "--force", *SMALL),
    ("evaluate", "evil.parquet", "--out", "x", "--force", *SMALL),
    ("evaluate", "evil.parquet", "--policy", "policy.json", "--out", "x", "--force", *SMALL),
    ("stats", "evil.parquet", "--out", "evil.stats", "--quiet"),
    ("stats", "evil.parquet", "--like", "evil.stats", "--out", "more.stats", "--quiet"),
    ("merge", "evil.stats", "more.stats", "--out", "all.stats"),
    ("merge", "named.stats", "named.stats", "--out", "all.stats"),
    ("stats", "log.parquet", "--like", "named.stats", "--out", "more.stats"),
    ("evaluate", "named.stats", "--gamma", 0.5, "--out", "x", "--force"),
    ("predict", "x", "--states", "states.json"),
    ("reproduce", "process.json"),
]

CODE = ("import", "exec", "compile", "pickle.find_class")
OUTSIDE = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
OUTSIDE += ("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request")


def with_names_of_code(folder):
    """Files in which every text that could be taken for code is."""
    process = {"gamma": 0.5, "transitions": [[1]], "rewards": [1], "states": ["evil:act"]}
    (folder / "process.json").write_text(json.dumps(process))
    (folder / "policy.json").write_text(json.dumps("evil:act"))
    (folder / "states.json").write_text(json.dumps([{"state": "evil:Features"}]))
    table = pq.read_table(folder / "log.parquet")
    names = pa.array(["evil:act", "evil:Features", "os:system"] * table.num_rows)[: table.num_rows]
    keep = [x for x in ("episode", "step", "reward") if x in table.column_names]
    pq.write_table(table.select(keep).append_column("state", names), folder / "evil.parquet")
    small = ("--out", "plain.stats", "--features", "fourier", "--validate", 0, "--quiet")
    assert lincat_here("stats", "log.parquet", *small).code == 0
    named = np.frombuffer((folder / "features/features.safetensors").read_bytes(), np.uint8)
    plain, key = (folder / "plain.stats").read_bytes(), "lincat source statistics"
    (folder / "named.stats").write_bytes(
        rewritten(plain, key, change_arrays=lambda arrays: arrays.update(features=named))
    )


def of_the_compiler():
    """Whether this happens while code is compiled, or read from its cache: SECURITY.md."""
    frame = sys._getframe(2)
    while frame is not None:
        if re.search(r"kernels/compiled\.py$|/numba/", frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def test_no_command_runs_code_that_a_folder_names(strangers):
    """All that this process imports, compiles, starts and connects to is listened to."""
    heard, listening = [], False

    def listen(event, arguments):
        if listening and event in (*CODE, *OUTSIDE) and not (event in CODE and of_the_compiler()):
            heard.append((event, str(arguments)))

    with_names_of_code(strangers)
    sys.addaudithook(listen)  # which cannot be taken off again
    for command in [*COMMANDS, *COMMANDS_ELSEWHERE, *DATA]:
        listening = True
        ended = lincat_here(*command)
        listening = False
        assert not [x for x in heard if "evil" in x[1] and "site-packages" not in x[1]], command
        assert not [x for x in heard if x[0] in (*OUTSIDE, "pickle.find_class")], command
        assert not (strangers / "ran").exists(), command
        if command in COMMANDS:
            assert_one_line(ended, "trust")
        if command in COMMANDS_ELSEWHERE:
            assert_one_line(ended, ", since it has ")
        assert ended.code == 0 or len(ended.err.splitlines()) <= 4, ended.err
    # What a command line says itself needs no trust, and a page runs nothing.
    policy = ("--config", "policy/config.toml", "--policy", "random", "--out", "y", "--quiet")
    assert lincat_here("evaluate", *policy).code == 0
    assert lincat_here("report", "features").code == 0
    assert not (strangers / "ran").exists()
    for command in COMMANDS:
        ended = lincat_here(*command, "--trust-code")
        assert (strangers / "ran").exists(), ended.err
        assert ended.code == 0 or "run" in command  # whose features are not the model's
        assert "Traceback" not in ended.err
        forget(strangers)


def test_pickles_are_not_read_because_a_folder_says_so(here):
    rewrite(here / "run", "trust_pickle = false", "trust_pickle = true")
    rewrite(here / "run", 'policy = "random"', 'policy = "model.zip"')
    for command in (("resume", "run", "--steps", 2000), ("validate", "run", "log.csv")):
        assert_one_line(lincat_here(*command), "--trust-code, since it has policy = 'model.zip'")
