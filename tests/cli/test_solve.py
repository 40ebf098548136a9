"""The real command, in a process of its own where exit codes and streams matter."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import lincat
from lincat.cli.main import cli


def lincat_command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "lincat", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def invoke(*arguments):
    return CliRunner().invoke(cli, ["solve", *arguments], catch_exceptions=False)


def test_fair_coin_prints_its_exact_distribution():
    result = lincat_command("solve", "uniform_coin", "--intervals", "10")
    assert result.returncode == 0
    assert result.stderr == ""
    lines = [line.split() for line in result.stdout.splitlines()]
    masses = {line[0]: line[1] for line in lines if len(line) == 2}
    assert masses["0"] == masses["2"] == "0.05"
    assert [masses[str(k / 5).removesuffix(".0")] for k in range(1, 10)] == ["0.1"] * 9


def test_papers_process_prints_true_and_linear_distributions():
    result = invoke("paper")
    assert result.exit_code == 0
    assert "true return distributions" in result.output
    assert "fixed point of Linear-CTD with 3 features" in result.output
    assert "does not publish its 3-state process" in result.output


def test_json_holds_everything():
    answer = json.loads(invoke("paper", "--json", "--intervals", "12", "--below", "1").output)
    assert answer["grid"] == {"low": 0.0, "high": 4.0, "intervals": 12}
    pmf = np.array([state["pmf"] for state in answer["states"]])
    assert pmf.shape == (3, 13)
    np.testing.assert_allclose(pmf @ answer["atoms"], [s["mean"] for s in answer["states"]])
    assert answer["linear"]["approximation_error"]["wasserstein"] > 0
    assert "P(G<1)" in answer["states"][0]


def test_a_file_with_names_and_an_end(tmp_path):
    file = tmp_path / "shop.json"
    file.write_text(
        json.dumps(
            {
                "gamma": 0.5,
                "states": ["open", "closed"],
                "terminal": ["closed"],
                "initial": [1, 0],
                "outcomes": [
                    {"state": "open", "reward": 1, "next_state": "open", "probability": 0.5},
                    {"state": "open", "reward": 3, "next_state": "closed", "probability": 0.5},
                ],
            }
        )
    )
    answer = json.loads(invoke(str(file), "--json").output)
    # V = 0.5 (1 + 0.5 V) + 0.5 * 3
    assert answer["states"][0]["mean"] == pytest.approx(2.0 / 0.75)
    assert answer["states"][0]["state"] == "open"


def test_gamma_and_grid_can_be_given_and_a_misfit_is_told_once():
    result = lincat_command(
        "solve", "paper", "--gamma", "0.5", "--low", "0.5", "--high", "2", "--json"
    )
    assert result.returncode == 0
    assert json.loads(result.stdout)["gamma"] == 0.5
    assert result.stderr.count("Warning: ") == 1
    assert "outside the grid [0.5, 2]" in result.stderr


def test_out_writes_results_and_figures_and_refuses_to_overwrite(tmp_path):
    folder = tmp_path / "new" / "answer"
    result = invoke("uniform_coin", "--out", str(folder))
    assert "returns.html" in result.output
    assert sorted(p.name for p in folder.iterdir()) == [
        "answer.json",
        "distributions.csv",
        "returns.html",
        "returns.png",
        "returns.svg",
        "summary.csv",
    ]
    again = lincat_command("solve", "uniform_coin", "--out", str(folder))
    assert again.returncode == 2
    assert "--out: expected a new or empty folder" in again.stderr
    assert invoke("uniform_coin", "--out", str(folder), "--force", "--quiet").exit_code == 0


def test_large_processes_say_where_the_rest_is():
    result = invoke("random_process", "--seed", "3")
    assert "--json or --out gives everything" in result.output
    assert invoke("random_process", "--seed", "4").output != result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "expected a JSON file or one of paper"),
        (["paper", "--gamma", "1.5"], "gamma: expected a number in [0, 1], got 1.5"),
        (["paper", "--gamma", "nan"], "gamma: expected a number in [0, 1], got nan"),
        (["paper", "--intervals", "0"], "intervals: expected an integer of at least 1, got 0"),
        (["paper", "--low", "9"], "high: expected a number above low = 9, got 4"),
        (["paper", "--high", "inf"], "high: expected a finite number, got inf"),
        (["paper", "--level", "2"], "Invalid value for '--level'"),
        (["paper", "--seed", "-1"], "Invalid value for '--seed'"),
        (["paper", "--below", "nan"], "threshold: expected finite numbers, got nan"),
        (["paper", "--nope"], "No such option"),
        ([], "Missing argument 'FILE|NAME'"),
    ],
)
def test_bad_input_exits_with_two_and_no_traceback(arguments, message):
    result = lincat_command("solve", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"gamma": 0.5, "transitions": [[1]], "rewards": [1], "colour": 1}', "unknown field"),
        ('{"gamma": 0.5, "transitions": [[0.9]], "rewards": [1]}', "got 0.9 for state 0"),
        ('{"gamma": 0.5, "transitions": [[1]], "rewards": [1, 2]}', "R: expected shape (1,)"),
        ("{", "truncated"),
    ],
)
def test_bad_files_exit_with_two_and_one_line(tmp_path, content, message):
    file = tmp_path / "bad.json"
    file.write_text(content)
    result = lincat_command("solve", str(file))
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert str(file) in result.stderr


def test_help_and_version():
    assert "Examples:" in invoke("--help").output
    version = CliRunner().invoke(cli, ["--version"])
    assert lincat.__version__ in version.output


def test_without_a_grid_one_is_placed_and_made_finer_until_figures_stand_still():
    answer = json.loads(invoke("uniform_coin", "--json").output)
    (state,) = answer["states"]
    assert answer["grid"]["intervals"] == 4096
    assert state["std"] == pytest.approx(1 / np.sqrt(3), abs=answer["change"])
    assert state["q0.05"] == pytest.approx(0.1, abs=answer["change"])
    assert state["cvar0.05"] == pytest.approx(0.05, abs=answer["change"])
    assert "on 4,097 atoms, figures within about 0.0005" in invoke("uniform_coin").output
    given = invoke("uniform_coin", "--intervals", "10").output
    assert "on 11 atoms)" in given
    assert json.loads(invoke("uniform_coin", "--low", "-1", "--json").output)["change"] is None
