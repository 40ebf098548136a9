"""lincat evaluate with everything that can be wrong: one line, exit code 2, nothing left behind."""

import pytest

import lincat
from tests.cli.command import assert_one_line, lincat_here, lincat_process, page_text
from tests.runs.logs import in_small_batches, write_names, write_points


def evaluate(*arguments, **options):
    return lincat_here("evaluate", *arguments, **options)


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
    (["log.csv", "--format", "xml"], "'xml' is not one of 'parquet', 'csv'"),
    (["log.csv", "--format", "parquet"], "log.csv"),
    (["log.csv", "--on-bad-rows", "mend"], "'mend' is not one of 'stop', 'skip'"),
    (["log.csv", "--episode-end", "never"], "'never' is not one of"),
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
    (["gym:CartPole-v1", "--n-envs", "1000000000"], "n_envs: expected at most as many copies as"),
    (["gym:FrozenLake-v1", "--policy", "balance"], "balance"),
    (["paper", "--gamma", "1"], "gamma: expected"),
    (["paper", "--gamma", "-0.5"], "gamma: expected float >= 0.0"),
    (["paper", "--gamma", "nan"], "gamma"),
    (["paper", "--steps", "-5"], "steps: expected int >= 1, got -5"),
    (["paper", "--steps", "0"], "steps: expected int >= 1, got 0"),
    (["paper", "--n-step", "0"], "n_step"),
    (["paper", "--batch-size", "0"], "batch_size"),
    (["paper", "--learner", "dqn"], "'dqn' is not one of 'auto', 'lstd', 'linear_ctd'"),
    (["paper", "--averaging", "all"], "averaging"),
    (["paper", "--dtype", "int8"], "dtype"),
    (["paper", "--sampling", "all"], "'all' is not one of 'markov', 'generative'"),
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
    (["paper", "--show", "0"], "n_states"),
    (["paper", "--warm-up", "0"], "warm_up"),
    (["--config", "bad.toml"], "bad.toml: object contains unknown field colour"),
    (["--config", "torn.toml"], "torn.toml: expected TOML text"),
    (["--config", "absent.toml"], "absent.toml: expected a readable configuration"),
    (["--config", "folder"], "folder: expected a readable configuration"),
    ([""], "none of them empty"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(x) for x, _ in BAD])
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
    in_small_batches(monkeypatch, rows=100)
    (files / "late.csv").write_text("state,reward\n" + "a,1\nb,0\n" * 400 + "a,oops\n")
    options = ["--gamma", 0.5, "--warm-up", 100, "--low", 0, "--high", 2, "--validate", 0]
    ended = evaluate("late.csv", *options, "--out", "run")
    assert_one_line(ended, "late.csv, row 801, reward")
    # What was learned until then is kept, and lincat resume continues once the row is mended.
    (files / "late.csv").write_text("state,reward\n" + "a,1\nb,0\n" * 400 + "a,1\n")
    assert list((files / "run" / "checkpoints").iterdir())
    assert lincat_here("resume", "run").code == 0
    assert lincat.read_run("run").answer.transitions == 800


def test_divergence_is_one_line_and_keeps_the_run(here, monkeypatch):
    in_small_batches(monkeypatch, rows=100)
    steps = ["--learner", "linear_ctd", "--step-size", "50"]
    ended = evaluate("frozen_lake", "--steps", 20_000, *steps, "--out", "run")
    assert_one_line(ended, "diverged at transition", code=3)
    assert "try step_size=" in ended.err
    kept = {p.name for p in (here / "run").iterdir()}
    assert {"config.toml", "versions.json", "states.json", "checkpoints"} <= kept
    assert "result.json" not in kept
    assert_one_line(lincat_here("report", "run"), "expected a finished run")
