"""lincat evaluate, as a user and as somebody who wishes it ill."""

import itertools
import json
import math

import numpy as np
import pytest

import lincat
from lincat.runs.config import read_config
from tests.cli.command import assert_one_line, lincat_here, lincat_process, page_text
from tests.runs.logs import write_names, write_points, write_transitions

FILES = [
    "checkpoints",
    "config.toml",
    "features.safetensors",
    "metrics.jsonl",
    "model.safetensors",
    "report.html",
    "result.json",
    "states.json",
    "versions.json",
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(*arguments, **options):
    return lincat_here("evaluate", *arguments, **options)


# -------------------------------------------------------------------------------------- results


def test_a_process_of_its_own_ends_with_the_sentence_and_the_page(here):
    ended = lincat_process("evaluate", "frozen_lake", "--steps", "3000", "--validate", "1")
    assert ended.returncode == 0
    lines = ended.stdout.strip().splitlines()
    assert lines[-1] == "Report: runs/frozen_lake/report.html"
    assert any(line.startswith("From the start state the mean return is") for line in lines)
    assert any(line.startswith("Checked against the exact answer") for line in lines)
    assert "Traceback" not in ended.stderr
    assert sorted(p.name for p in (here / "runs" / "frozen_lake").iterdir()) == FILES


def test_the_page_holds_the_sentence_and_the_settings(here):
    ended = evaluate("frozen_lake", "--steps", 3000, "--out", "run", "--json")
    page = page_text(here / "run" / "report.html")
    summary = json.loads(ended.out)
    assert summary["summary"][0] in page
    assert "--config</span> run/config.toml" in page
    assert "steps = 3000" in page


def test_json_is_one_object_and_nothing_else(here):
    ended = evaluate("frozen_lake", "--steps", 3000, "--json", "--below", "0.5")
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    assert ended.err == ""
    assert answer["run"] == "runs/frozen_lake"
    assert answer["report"] == "runs/frozen_lake/report.html"
    assert answer["complete"] is True
    assert answer["transitions"] == 3000
    assert answer["gamma"] == 0.95
    assert {"state", "mean", "q0.05", "cvar0.05", "P(G<0.5)"} <= set(answer["states"][0])
    run = lincat.read_run("runs/frozen_lake")
    np.testing.assert_allclose([s["mean"] for s in answer["states"]], run.returns.mean())


def test_quiet_says_nothing_but_the_result(here):
    quiet = evaluate("uniform_coin", "--steps", 20_000, "--quiet")
    assert quiet.err == ""
    assert "Features" not in quiet.out
    loud = evaluate("uniform_coin", "--steps", 20_000)
    assert "Lookup" in loud.out or "table" in loud.out or "eatures" in loud.out
    assert len(loud.out) > len(quiet.out)


def test_default_folders_are_numbered(here):
    for _ in range(3):
        assert evaluate("uniform_coin", "--steps", 500, "--json").code == 0
    assert sorted(p.name for p in (here / "runs").iterdir()) == [
        "uniform_coin",
        "uniform_coin-2",
        "uniform_coin-3",
    ]


@pytest.mark.parametrize(
    ("source", "name"),
    [("Strange Nâme!.csv", "strange-n-me"), ("...csv", "run"), ("data.v2.csv", "data.v2")],
)
def test_default_folders_have_plain_names(here, source, name):
    write_names(here / source, rows=200)
    assert evaluate(source, "--gamma", 0.5, "--json").code == 0
    assert [p.name for p in (here / "runs").iterdir()] == [name]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "arrow"])
def test_files_and_standard_input_of_every_format(here, form):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    rows = 600
    table = pa.table(
        {"state": [f"s{i % 4}" for i in range(rows)], "cash": [float(i % 3) for i in range(rows)]}
    )
    file = here / f"log.{form}"
    if form == "parquet":
        pq.write_table(table, file)
    elif form == "csv":
        pyarrow.csv.write_csv(table, file)
    elif form == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    options = ["--column", "reward=cash", "--gamma", 0.5, "--json"]
    by_name = evaluate(file.name, *options, "--out", "by-name")
    assert by_name.code == 0, by_name.err
    assert json.loads(by_name.out)["transitions"] == rows - 1
    if form != "parquet":  # which needs its end before its beginning
        piped = evaluate("-", *options, "--format", form, "--out", "in", stdin=file.read_bytes())
        assert piped.code == 0, piped.err
        assert [(here / x / "model.safetensors").read_bytes() for x in ("in", "by-name")] == [
            (here / "by-name" / "model.safetensors").read_bytes()
        ] * 2


def test_standard_input_of_a_real_pipe(here):
    text = "state,reward\n" + "a,1\nb,0\n" * 500
    ended = lincat_process("evaluate", "-", "--format", "csv", "--gamma", "0.5", input=text)
    assert ended.returncode == 0, ended.stderr
    assert "Report: runs/stdin/report.html" in ended.stdout


# ------------------------------------------------------------------------------------- settings


def test_its_own_settings_run_it_again_to_the_bit(here):
    file = write_names(here / "log.csv")
    options = ["--gamma", 0.8, "--n-step", 2, "--batch-size", 4, "--validate", 100, "--seed", 9]
    assert evaluate(file, *options, "--out", "first").code == 0
    assert evaluate("--config", "first/config.toml", "--out", "again").code == 0
    one, other = (here / name for name in ("first", "again"))
    for name in ("model.safetensors", "features.safetensors", "config.toml", "states.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def test_flags_win_over_the_file(here):
    (here / "my.toml").write_text(
        'source = ["frozen_lake"]\ngamma = 0.5\nsteps = 1000\nseed = 3\nlevel = 0.2\n'
        "[feature_options]\n[env_options]\n"
    )
    assert evaluate("--config", "my.toml", "--gamma", 0.6, "--out", "a").code == 0
    config = read_config(here / "a" / "config.toml")
    assert (config.gamma, config.steps, config.seed, config.level) == (0.6, 1000, 3, 0.2)
    assert evaluate("paper", "--config", "my.toml", "--seed", 0, "--out", "b").code == 0
    config = read_config(here / "b" / "config.toml")
    assert (config.source, config.seed, config.gamma) == (["paper"], 0, 0.5)


def test_columns_of_flags_are_put_into_those_of_the_file(here):
    (here / "log.csv").write_text("a,b,cash,other\n" + "1.5,2.5,1,0\n2.5,1.5,0,1\n" * 200)
    (here / "my.toml").write_text(
        'source = ["log.csv"]\ngamma = 0.5\n[columns]\nobservation = ["a", "b"]\nreward = "cash"\n'
    )
    assert evaluate("--config", "my.toml", "--column", "reward=other", "--out", "run").code == 0
    columns = read_config(here / "run" / "config.toml").columns
    assert (columns.observation, columns.reward) == (("a", "b"), "other")


def test_options_of_environments_and_features_are_numbers_where_they_look_so(here):
    ended = evaluate(
        *("gym:FrozenLake-v1", "--env-option", "is_slippery=false", "--env-option", "map_name=8x8"),
        *("--steps", 500, "--gamma", 0.5, "--out", "run"),
    )
    assert ended.code == 0, ended.err
    config = read_config(here / "run" / "config.toml")
    assert config.env_options == {"is_slippery": False, "map_name": "8x8"}


def test_it_refuses_to_overwrite_and_force_keeps_what_is_yours(here):
    assert evaluate("paper", "--steps", 500, "--out", "run").code == 0
    (here / "run" / "notes.txt").write_text("mine")
    before = (here / "run" / "model.safetensors").read_bytes()
    again = evaluate("paper", "--steps", 600, "--out", "run")
    assert_one_line(again, "--out: expected a new or empty folder, got run")
    assert (here / "run" / "model.safetensors").read_bytes() == before
    assert evaluate("paper", "--steps", 600, "--out", "run", "--force").code == 0
    assert (here / "run" / "model.safetensors").read_bytes() != before
    assert (here / "run" / "notes.txt").read_text() == "mine"


def test_force_with_a_bad_source_does_not_cost_the_run_before(here):
    assert evaluate("paper", "--steps", 500, "--out", "run").code == 0
    assert_one_line(evaluate("absent.csv", "--out", "run", "--force"), "absent.csv")
    assert sorted(p.name for p in (here / "run").iterdir()) == FILES


# ------------------------------------------------------------------------------------ bad input


@pytest.fixture
def files(here):
    write_names(here / "log.csv", rows=300)
    write_points(here / "log.parquet", rows=300)
    (here / "empty.csv").write_text("")
    (here / "empty.parquet").write_text("")
    (here / "header.csv").write_text("state,reward\n")
    (here / "nan.csv").write_text("state,reward\na,1\nb,NaN\n")
    (here / "inf.csv").write_text("state,reward\na,1\nb,inf\n")
    (here / "hole.csv").write_text("state,reward\na,1\n,1\n")
    (here / "text.csv").write_text("state,reward\na,1\nb,much\n")
    (here / "ragged.csv").write_text("state,reward\na,1\nb\n")
    (here / "bad.jsonl").write_text('{"state": 1, "reward": 1}\n{"state": \n')
    (here / "list.json").write_text("[1, 2]")
    (here / "junk.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    (here / "folder").mkdir()
    (here / "bad.toml").write_text('source = ["paper"]\ncolour = 1\n')
    (here / "torn.toml").write_text("source = [")
    (here / "file").write_text("mine")
    return here


BAD = [
    (["nope"], "SOURCE: expected a file or folder of logs"),
    (["absent.csv"], "absent.csv: expected a readable file, got No such file or directory"),
    (["absent.parquet"], "absent.parquet"),
    (["absent.json"], "absent.json"),
    (["empty.csv"], "empty.csv"),
    (["empty.parquet"], "empty.parquet"),
    (["header.csv"], "header.csv"),
    (["nan.csv"], "nan.csv, row 2, reward: expected a finite number, got 'NaN'"),
    (["inf.csv"], "inf.csv, row 2, reward"),
    (["hole.csv"], "hole.csv, row 2, state"),
    (["text.csv"], "text.csv, row 2, reward"),
    (["ragged.csv"], "ragged.csv, row 2"),
    (["bad.jsonl"], "bad.jsonl, row 2"),
    (["list.json"], "list.json"),
    (["junk.parquet"], "junk.parquet"),
    (["folder"], "folder: expected a folder with data files"),
    (["log.csv", "log.parquet"], "files of one format"),
    (["log.csv", "--column", "reward=cash"], "log.csv, reward: expected a column 'cash'"),
    (["log.csv", "--column", "colour=red"], "unknown field colour"),
    (["log.csv", "--column", "reward"], "--column: expected ROLE=NAMES, got 'reward'"),
    (["log.csv", "--column", "=reward"], "--column: expected ROLE=NAMES, got '=reward'"),
    (["log.csv", "--column", "kind=shapes"], "columns.kind"),
    (["log.csv", "--column", "observation=a,b"], "expected a column 'a'"),
    (["log.csv", "--format", "xml"], "format: expected one of 'parquet', 'csv'"),
    (["log.csv", "--format", "parquet"], "log.csv"),
    (["log.csv", "--on-bad-rows", "mend"], "on_bad_rows: expected one of 'stop', 'skip'"),
    (["log.csv", "--episode-end", "never"], "episode_end"),
    (["log.csv", "--validate", "300"], "none that are not held out (--validate 300)"),
    (["log.csv", "--validate", "-1"], "validate: expected int >= 0, got -1"),
    (["log.csv", "--features", "tiles"], "observations"),
    (["log.parquet", "--features", "shiny"], "shiny"),
    (["log.parquet", "--features", "tiles", "--feature-option", "colour=1"], "colour"),
    (["log.parquet", "--features", "tiles", "--feature-option", "tilings=x"], "tilings"),
    (["log.parquet", "--features", "tiles", "--feature-option", "tilings"], "KEY=VALUE"),
    (["log.parquet", "--features", "no_module:no_name"], "no_module"),
    (["log.parquet", "--features", "tabular", "--feature-option", "capacity=3"], "capacity"),
    (["-"], "name the format"),
    (["-", "--format", "csv"], "empty"),
    (["gym:Nope-v0"], "Nope-v0"),
    (["gym:"], "SOURCE: expected"),
    (["gym:CartPole-v1", "--policy", "nope"], "policy"),
    (["gym:CartPole-v1", "--policy", "absent.json"], "absent.json"),
    (["gym:CartPole-v1", "--policy", "no_module:act"], "no_module"),
    (["gym:CartPole-v1", "--policy", "math:nope"], "nope"),
    (["gym:CartPole-v1", "--env-option", "colour=red"], "colour"),
    (["gym:CartPole-v1", "--env-option", "render_mode=null"], "no null in env_options"),
    (["gym:CartPole-v1", "--n-envs", "0"], "n_envs: expected int >= 1, got 0"),
    (["gym:FrozenLake-v1", "--policy", "balance"], "balance"),
    (["paper", "--gamma", "1"], "gamma: expected float < 1.0, got 1.0"),
    (["paper", "--gamma", "-0.5"], "gamma: expected float >= 0.0"),
    (["paper", "--gamma", "nan"], "gamma"),
    (["paper", "--steps", "-5"], "steps: expected int >= 1, got -5"),
    (["paper", "--steps", "0"], "steps: expected int >= 1, got 0"),
    (["paper", "--n-step", "0"], "n_step"),
    (["paper", "--batch-size", "0"], "batch_size"),
    (["paper", "--learner", "dqn"], "learner: expected one of 'linear_ctd'"),
    (["paper", "--averaging", "all"], "averaging"),
    (["paper", "--dtype", "int8"], "dtype"),
    (["paper", "--sampling", "all"], "sampling: expected one of 'markov', 'generative'"),
    (["paper", "--step-size", "fast"], "step_size: expected a number above 0 or 'auto'"),
    (["paper", "--step-size", "-1"], "step_size"),
    (["paper", "--step-size", "NaN"], "step_size"),
    (["paper", "--step-size", "Infinity"], "step_size"),
    (["paper", "--low", "1"], "both low and high"),
    (["paper", "--low", "2", "--high", "1"], "low below high, got 2 and 1"),
    (["paper", "--low", "nan", "--high", "1"], "a finite number for low"),
    (["paper", "--intervals", "0"], "intervals"),
    (["paper", "--level", "1"], "level"),
    (["paper", "--below", "inf"], "below"),
    (["paper", "--states", "0"], "n_states"),
    (["paper", "--warm-up", "0"], "warm_up"),
    (["--config", "bad.toml"], "bad.toml: object contains unknown field colour"),
    (["--config", "torn.toml"], "torn.toml: expected TOML text"),
    (["--config", "absent.toml"], "absent.toml: expected a readable configuration"),
    (["--config", "folder"], "folder: expected a readable configuration"),
    ([""], "none of them empty"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda x: " ".join(x)[:60])
def test_bad_input_is_one_line_and_leaves_nothing_behind(files, arguments, message):
    before = sorted(files.rglob("*"))
    assert_one_line(evaluate(*arguments), message)
    left = [p for p in sorted(files.rglob("*")) if p not in before]
    assert [p.name for p in left if p.name != "__pycache__"] in ([], ["runs"])
    ended = evaluate(*arguments, "--out", "run", "--json", "--quiet")
    assert_one_line(ended, message)
    assert not (files / "run").exists()


@pytest.mark.parametrize("out", ["file/run", "/proc/nowhere", "/dev/null/run", "a" * 300])
def test_a_folder_that_cannot_be_written_is_one_line(files, out):
    ended = evaluate("paper", "--steps", 500, "--out", out)
    assert_one_line(ended, "--out: expected a folder that can be written")
    assert (files / "file").read_text() == "mine"


def test_bad_input_in_a_process_of_its_own(files):
    ended = lincat_process("evaluate", "nan.csv")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Error: nan.csv, row 2, reward: expected a finite number, got")
    assert len(ended.stderr.splitlines()) == 1
    assert not (files / "runs" / "nan").exists()


def test_bad_rows_can_be_left_out_and_are_counted(files):
    text = "".join(f"{'abc'[i % 3]},{'NaN' if i % 50 == 49 else 1}\n" for i in range(500))
    (files / "some.csv").write_text("state,reward\n" + text)
    ended = evaluate("some.csv", "--gamma", 0.5, "--on-bad-rows", "skip", "--out", "run")
    assert ended.code == 0
    assert "Warning: 10 bad rows were left out" in ended.err
    assert "10 bad rows were left out" in page_text(files / "run" / "report.html")


def test_a_bad_row_far_into_the_file(files, monkeypatch):
    from tests.runs.logs import in_small_batches

    in_small_batches(monkeypatch, rows=100)
    (files / "late.csv").write_text("state,reward\n" + "a,1\nb,0\n" * 400 + "a,oops\n")
    options = ["--gamma", 0.5, "--warm-up", 100, "--low", 0, "--high", 2]
    ended = evaluate("late.csv", *options, "--out", "run")
    assert_one_line(ended, "late.csv, row 801, reward")
    # What was learned until then is kept, and lincat resume goes on once the row is mended.
    (files / "late.csv").write_text("state,reward\n" + "a,1\nb,0\n" * 400 + "a,1\n")
    assert list((files / "run" / "checkpoints").iterdir())
    assert lincat_here("resume", "run").code == 0
    assert lincat.read_run("run").result["transitions"] == 800


def test_divergence_is_one_line_and_keeps_the_run(here, monkeypatch):
    from tests.runs.logs import in_small_batches

    in_small_batches(monkeypatch, rows=100)
    ended = evaluate("frozen_lake", "--steps", 20_000, "--step-size", "50", "--out", "run")
    assert_one_line(ended, "diverged at transition", code=3)
    assert "try step_size=" in ended.err
    kept = {p.name for p in (here / "run").iterdir()}
    assert {"config.toml", "versions.json", "states.json", "checkpoints"} <= kept
    assert "result.json" not in kept
    assert_one_line(lincat_here("report", "run"), "expected a finished run")


# --------------------------------------------------------------------------- all options at once

CHOICES = {
    "learner": ["linear_ctd", "linear_pmf", "unnormalised_ctd", "softmax_ctd"],
    "features": ["auto", "tiles", "fourier", "rbf", "scaling", "identity", "tabular"],
    "averaging": ["tail", "full", "none"],
    "dtype": ["float64", "float32"],
    "batch-size": [1, 7],
    "n-step": [1, 3],
    "validate": [0, 100],
    "source": ["points", "names", "transitions", "frozen_lake"],
}


def pairwise(choices, seed=0):
    """Rows in which every pair of choices of two options occurs, greedily."""
    rng = np.random.default_rng(seed)
    names = list(choices)
    missing = {
        ((a, x), (b, y))
        for a, b in itertools.combinations(names, 2)
        for x in choices[a]
        for y in choices[b]
    }
    while missing:
        tries = []
        (first, second), *_ = sorted(missing, key=repr)
        for _ in range(30):
            row = {name: choices[name][rng.integers(len(choices[name]))] for name in names}
            row |= dict([first, second])
            tries.append((len(covered(row) & missing), repr(row), row))
        row = max(tries)[2]
        missing -= covered(row)
        yield row


def covered(row):
    return set(itertools.combinations(row.items(), 2))


def sensible(row):
    """The same row, with features that can be made of what the source gives."""
    names, points = row["source"] == "names", row["source"] in ("points", "transitions")
    impossible = (names and row["features"] != "tabular") or (
        points and row["features"] == "tabular"
    )
    return row | {"features": "auto"} if impossible else row


ROWS = [sensible(row) for row in pairwise(CHOICES)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(map(str, row.values())))
def test_every_pair_of_options_works_together(here, row):
    row = dict(row)
    write = {"points": write_points, "names": write_names, "transitions": write_transitions}
    kind = row.pop("source")
    source, gamma = kind, []
    if kind in write:
        source = write[kind](here / ("log.csv" if kind == "names" else "log.parquet"), rows=1500)
        gamma = ["--gamma", 0.8]
    options = list(itertools.chain(*((f"--{name}", value) for name, value in row.items())))
    ended = evaluate(
        *(source, *gamma, *options, "--steps", 1500, "--warm-up", 400),
        *("--intervals", 10, "--out", "run", "--json"),
    )
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    run = lincat.read_run("run")
    low, high, _ = run.result["grid"]
    for state in answer["states"]:
        numbers = [value for key, value in state.items() if key != "state"]
        assert all(map(math.isfinite, numbers))
        assert low - 1e-6 <= state["q0.05"] <= state["median"] <= state["q0.95"] <= high + 1e-6
    proper = run.returns.proper().cdf_values
    assert (np.diff(proper, axis=1) >= -1e-12).all()
    assert (answer["validation"] is not None) == (row["validate"] > 0)
    assert answer["summary"][0] in page_text(here / "run" / "report.html")


def test_there_are_enough_pairs():
    assert len(ROWS) >= 20
    pairs = set().union(*(covered(row) for row in ROWS))
    for learner, averaging in itertools.product(CHOICES["learner"], CHOICES["averaging"]):
        assert (("learner", learner), ("averaging", averaging)) in pairs


def test_help_has_examples():
    ended = evaluate("--help")
    assert "Examples:" in ended.out
    assert "cat log.jsonl | lincat evaluate - --format jsonl" in ended.out
