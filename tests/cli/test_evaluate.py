"""lincat evaluate, as a user and as somebody who wishes it ill."""

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest

import lincat
from lincat.runs.config import read_config
from tests.cli.command import assert_one_line, lincat_here, lincat_process, page_text
from tests.runs.logs import write_names

FILES = [
    "checkpoints",
    "config.toml",
    "features.safetensors",
    "model.safetensors",
    "report.html",
    "result.json",
    "states.json",
    "versions.json",
]


def evaluate(*arguments, **options):
    return lincat_here("evaluate", *arguments, **options)


# -------------------------------------------------------------------------------------- results


def test_a_process_of_its_own_ends_with_the_sentence_and_the_page(here):
    ended = lincat_process("evaluate", "frozen_lake", "--steps", "100000")
    assert ended.returncode == 0
    lines = ended.stdout.strip().splitlines()
    assert lines[-1] == "Report: runs/frozen_lake/report.html"
    assert any(line.startswith("From the start state the mean return is") for line in lines)
    assert any(line.startswith("The figures agree with the exact answer") for line in lines)
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
    assert answer["budget"]["sentence"] == run.answer.budget.sentence
    assert {part["code"] for part in answer["budget"]["parts"]} >= {"sampling", "grid"}


def test_quiet_says_nothing_but_the_result(here):
    quiet = evaluate("uniform_coin", "--steps", 20_000, "--quiet")
    assert quiet.err == ""
    assert "Features" not in quiet.out
    loud = evaluate("uniform_coin", "--steps", 20_000)
    assert "Features chosen: 1 numbered states: a table with a row for each" in loud.out
    assert len(loud.out) > len(quiet.out)


def test_without_a_source_the_example_runs_and_flags_win(here):
    ended = evaluate("--steps", 3000, "--validate", 50, "--json")
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    assert answer["transitions"] == 3000
    assert answer["validation"][0]["n_returns"] <= 50
    config = read_config(here / "runs" / "cartpole-v1" / "config.toml")
    assert (config.source, config.policy) == (["gym:CartPole-v1"], "balance")
    again = evaluate("--config", "runs/cartpole-v1/config.toml", "--json")
    one, other = (
        here / "runs" / name / "model.safetensors" for name in ("cartpole-v1", "cartpole-v1-2")
    )
    assert again.code == 0
    assert one.read_bytes() == other.read_bytes()


def test_progress_is_shown_on_a_terminal_and_nowhere_else(here):
    terminal, stderr = pty.openpty()
    arguments = ["uniform_coin", "--steps", "200000", "--learner", "linear_ctd"]
    process = subprocess.Popen(
        [sys.executable, "-m", "lincat", "evaluate", *arguments],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(stderr)
    out, shown = process.stdout.read(), b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert b"learning" in shown
    assert b"200000" in shown
    assert b"Traceback" not in shown
    assert "learning" not in out
    assert out.strip().endswith("Report: runs/uniform_coin/report.html")


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
    options = ["--column", "reward=cash", "--gamma", 0.5, "--validate", 0, "--json"]
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
    ended = lincat_process("evaluate", "-", "--gamma", "0.5", input=text)
    assert ended.returncode == 0, ended.stderr
    assert "Report: runs/stdin/report.html" in ended.stdout
    run = lincat.read_run("runs/stdin")
    assert run.answer.learner == "CategoricalLSTD"
    assert run.trusted is True
    assert "rows are held out, to check the figures." in ended.stdout


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


def test_help_has_examples():
    ended = evaluate("--help")
    assert "Examples:" in ended.out
    assert "cat log.jsonl | lincat evaluate - --gamma 0.99" in ended.out


def test_the_built_in_example_is_close_to_monte_carlo(here):
    """W1 within 5 % of the grid's width, and 80 % intervals within 5 points, of 10,000 rollouts."""
    summary = json.loads(evaluate("--out", "run", "--json", "--quiet").out)
    (overall,) = [row for row in summary["validation"] if row["group"] == "all"]
    grid = lincat.read_run(here / "run").answer.grid
    assert overall["n_returns"] == 10_000
    assert overall["w1_states"] <= 0.05 * (grid.high - grid.low)
    assert abs(overall["coverage_80"] - 0.8) <= 0.05


@pytest.mark.parametrize("option", ["--show", "--states"])
def test_how_many_states_to_show_and_what_that_was_called(here, option):
    assert evaluate("frozen_lake", "--steps", 500, option, 3, "--out", "run").code == 0
    run = lincat.read_run("run")
    assert run.config.n_states == 3
    assert len(run.names) == 1 + 3
    assert "--states" not in evaluate("--help").out
    assert "--show" in evaluate("--help").out


# -------------------------------------------------------------------------------------- verdict


def test_a_verdict_that_passed_stands_under_the_headline(here):
    ended = evaluate("frozen_lake", "--steps", 100_000, "--out", "run", "--require", "--json")
    assert ended.code == 0
    summary = json.loads(ended.out)
    assert summary["trusted"] is True
    assert summary["verdict"] == "The figures agree with the exact answer for 11 states."
    assert {"code", "passed", "value", "limit", "text"} == set(summary["checks"][0])
    assert summary["summary"][0].startswith("From the start state the mean return is")
    page = page_text(here / "run" / "report.html")
    assert "The figures agree with the exact answer" in page
    n = len(summary["checks"])
    assert f"<summary>What was checked: {n} of {n} passed</summary>" in page


def test_a_verdict_that_failed_withholds_the_headline(here):
    few = ["frozen_lake", "--steps", 300, "--below", 0.5]
    ended = evaluate(*few, "--out", "run")
    assert ended.code == 0
    said = ended.out.splitlines()
    assert any(line.startswith("Not to be trusted: ") for line in said)
    assert not any(line.startswith(("From the start", "The chance to end")) for line in said)
    page = page_text(here / "run" / "report.html")
    assert '<p class="lead failed">Not to be trusted: ' in page
    assert "From the start state the mean" not in page
    assert '<details class="checks" open>' in page
    required = evaluate(*few, "--out", "required", "--require", "--json")
    assert required.code == 4
    summary = json.loads(required.out)
    assert summary["trusted"] is False
    assert summary["summary"][0] == summary["verdict"]
    assert not all(check["passed"] for check in summary["checks"])
    assert sorted(p.name for p in (here / "required").iterdir()) == FILES
    longer = lincat_here("resume", "required", "--steps", 400, "--require")
    assert longer.code == 4
    assert lincat_here("resume", "required", "--steps", 100_000, "--require").code == 0


def test_a_run_that_was_not_checked_says_how_to_have_it_checked(here):
    options = ["frozen_lake", "--steps", 100_000, "--validate", 0, "--out", "run"]
    ended = evaluate(*options, "--require", "--json")
    assert ended.code == 0
    summary = json.loads(ended.out)
    assert summary["trusted"] is None
    assert summary["summary"][-1].startswith("Not checked.")
    assert "--validate N has the figures checked" in summary["summary"][-1]
    assert "<code>--validate</code> N" in page_text(here / "run" / "report.html")


def test_nothing_is_said_of_a_threshold_outside_of_a_grid_that_lost_mass(here):
    options = ["--learner", "linear_ctd", "--low", 0.8, "--high", 1.2, "--below", 0.5]
    ended = evaluate("uniform_coin", "--steps", 3000, "--validate", 0, *options, "--json")
    summary = json.loads(ended.out)
    assert "The chance to end below 0.5" in summary["summary"][1]
    assert summary["summary"][1].endswith(
        "is not known: that is outside the grid, which lost mass at its ends."
    )
    assert summary["states"][0]["P(G<0.5)"] is None


def test_no_discount_where_episodes_end(here):
    rng = np.random.default_rng(0)
    lines = ["episode,state,reward"]
    for episode in range(3000):
        for step in range(3):
            lines.append(f"{episode},s{step},{rng.integers(2)}")
    (here / "log.csv").write_text("\n".join(lines) + "\n")
    ended = evaluate("log.csv", "--gamma", 1, "--json", "--out", "run")
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    (start,) = [row for row in summary["states"] if row["state"] == "start"]
    assert start["mean"] == pytest.approx(1.5, abs=0.05)
    assert start["std"] == pytest.approx(np.sqrt(0.75), rel=0.05)
    assert summary["trusted"] is True
