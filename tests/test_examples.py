"""The example files in examples/ do what the documentation says."""

import datetime
import functools
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow.parquet
import pytest

import lincat
from tests.scale.logs import write_log

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda p: p.stem)
def test_every_process_file_can_be_solved(file):
    problem = lincat.read_problem(file)
    dist = lincat.true_returns(problem.process, problem.gamma, problem.grid(40))
    np.testing.assert_allclose(
        dist.mean(),
        problem.Phi @ lincat.solve_value(problem.process, problem.Phi, problem.gamma),
        atol=1e-9,
    )


def test_inventory_is_a_decision_process_under_its_policy():
    content = json.loads((EXAMPLES / "inventory.json").read_text())
    problem = lincat.read_problem(EXAMPLES / "inventory.json")
    assert problem.state_names == ("empty", "one", "two")
    assert len(problem.process.state) <= len(content["outcomes"])


def test_learners_are_compared_on_the_same_streams(tmp_path):
    sys.path.insert(0, str(EXAMPLES))
    try:
        import compare_learners
    finally:
        sys.path.remove(str(EXAMPLES))
    rows = list(compare_learners.curves(seeds=1, stops=np.array([100, 1500]), intervals=10))
    assert len(rows) == 5 * 2
    by_learner = {row["learner"]: row["W1 to the truth"] for row in rows}
    assert by_learner["CategoricalLSTD"] < by_learner["LinearCTD"] < by_learner["SoftmaxCTD"]
    assert all(row["seconds"] > 0.0 for row in rows)
    compare_learners.main(str(tmp_path), seeds=1, stops=np.array([100, 200]), intervals=5)
    assert (tmp_path / "learners.svg").exists()
    assert (tmp_path / "learners-seconds.svg").exists()


def _run(script, *options, cwd):
    """Run an example as a user does; return what it prints."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / script, *map(str, options)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cartpole_checks_both_policies_against_rollouts(tmp_path):
    out = _run("cartpole.py", "--steps", 20_000, "--rollouts", 900, "--out", "cart", cwd=tmp_path)
    shares = [float(x) for x in re.findall(r"W1 ([\d.]+)% of the grid's width", out)]
    held = [float(x) for x in re.findall(r"80 % intervals hold ([\d.]+)%", out)]
    assert len(shares) == len(held) == 2
    assert max(shares) < 10.0
    assert min(held) > 65.0
    own = lincat.read_run(tmp_path / "cart" / "lean")
    assert own.config.policy == "cartpole:lean"
    assert 10.0 < own.returns[[0]].mean()[0] < 20.0


def test_frozen_lake_comes_near_the_exact_answer(tmp_path):
    out = _run("frozen_lake.py", "--steps", 60_000, "--out", "lake", cwd=tmp_path)
    assert float(re.search(r"visited: W1 ([\d.]+)", out)[1]) < 0.05
    learned, exact = (float(x) for x in re.findall(r"^start +\w+ +([\d.]+)", out, re.MULTILINE))
    assert learned == pytest.approx(exact, abs=0.06)
    policy = np.array(json.loads((tmp_path / "lake" / "policy.json").read_text()))
    assert policy.shape == (16, 4)


def test_queueing_comes_near_the_exact_answer(tmp_path):
    out = _run("queueing.py", "--steps", 400_000, "--out", "q", cwd=tmp_path)
    assert "400,000 transitions written" in out
    assert "The figures agree with" in out
    assert float(re.search(r"W1 [\d.]+, ([\d.]+)% of", out)[1]) < 20.0


def test_queueing_simulates_the_process_that_it_is_compared_with(tmp_path):
    queueing = _imported("queueing")
    log = tmp_path / "log.parquet"
    queueing.write_log(log, 1_200_000)  # more than one chunk
    state, reward, following = (
        column.to_numpy() for column in pyarrow.parquet.read_table(log).columns
    )
    np.testing.assert_array_equal(following[:-1], state[1:])
    process = queueing.exact_process()
    expected = np.bincount(process.state, process.probability * process.reward)
    for waiting in (0, 3, 20):
        seen = reward[state == waiting]
        error = seen.std() / np.sqrt(len(seen))
        assert abs(seen.mean() - expected[waiting]) <= 4.0 * error
    visits = np.bincount(state, minlength=queueing.ROOM + 1) / len(state)
    np.testing.assert_allclose(visits, process.stationary, atol=0.01)


@pytest.fixture
def wheel(tmp_path):
    """A file like the real wheel, with seeded prices and all that is odd about the real ones."""
    rng = np.random.default_rng(0)
    hours = np.arange("2022-03-01T00", "2023-03-01T00", dtype="datetime64[h]").tolist()
    hour = np.arange(len(hours)) % 24
    prices = 80.0 + 40.0 * np.sin(np.pi * (hour - 9) / 12) + 15.0 * rng.standard_normal(len(hours))

    def row(i, form):
        local = hours[i] + datetime.timedelta(hours=1)
        return f"Netherlands,{hours[i]:{form}},{local:{form}},{prices[i]:.2f}"

    seam = len(hours) - 2000
    first = [row(i, "%Y-%m-%d %H:%M:%S") for i in range(seam)]
    second = [row(i, "%d/%m/%Y %H:%M") for i in range(seam - 500, len(hours)) if i != seam + 700]
    header = "Country,Datetime (UTC),Datetime (Local),Price (EUR/MWhe)"
    file = tmp_path / "ev2gym-2.0.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        text = "\n".join([header, *first, "Netherlands,,,0.0", *second])
        archive.writestr("ev2gym/data/Netherlands_day-ahead-2015-2024.csv", text)
    filled = np.round(prices, 2)
    filled[seam + 700] = filled[seam + 699]
    return file, filled


def test_electricity_reads_prices_hour_after_hour(wheel, capsys):
    file, expected = wheel
    times, prices = _imported("electricity").read_prices(file)
    np.testing.assert_array_equal(prices, expected)
    assert (np.diff(times).astype(int) == 1).all()
    assert "501 empty or repeated rows; filled in: 1 hours" in capsys.readouterr().out


def test_electricity_battery_keeps_its_books_and_does_not_look_ahead(wheel):
    electricity = _imported("electricity")
    times = np.arange(len(wheel[1])) + np.datetime64("2022-03-01T00", "h")
    log = electricity.run_battery(times, wheel[1])
    price = wheel[1][electricity.WEEK - 1 :]
    traded = -log["cash"] / price  # MWh bought, or sold
    assert np.abs(traded).max() <= electricity.POWER + 1e-12
    kept = electricity.EFFICIENCY
    stored = np.cumsum(np.where(traded > 0.0, traded * kept, traded / kept))
    assert stored.min() >= -1e-9
    assert stored.max() == pytest.approx(electricity.CAPACITY)
    # The known weekdays and hours: 2022-03-07 is a Monday, and the log begins with its last hour.
    assert log["time"][1] == np.datetime64("2022-03-08T00")
    assert log["hour"][:2].tolist() == [23.0, 0.0]
    assert log["weekend"][1 : 1 + 6 * 24].sum() == 48

    other = wheel[1].copy()
    other[5000:] = 7.0
    same = 5000 - (electricity.WEEK - 1)
    changed = electricity.run_battery(times, other)
    for name in (*electricity.OBSERVATION, "cash"):
        np.testing.assert_array_equal(changed[name][:same], log[name][:same])


def test_electricity_is_scored_on_later_years(wheel, tmp_path, monkeypatch, capfd):
    electricity = _imported("electricity")
    coarse = functools.partial(lincat.evaluate, intervals=60)  # as a user would, but sooner
    monkeypatch.setattr(electricity.lincat, "evaluate", coarse)
    electricity.main(["--wheel", str(wheel[0]), "--out", str(tmp_path / "el")])
    out = capfd.readouterr().out
    came, predicted, crps, without = re.search(
        r"^2023 +(-?\d+) +(-?\d+) +([\d.]+) +([\d.]+)", out, re.MULTILINE
    ).groups()
    assert float(predicted) == pytest.approx(float(came), rel=0.25)
    assert float(crps) < float(without)  # the state says something
    assert "PIT in fifths" in out
    assert (tmp_path / "el" / "run" / "report.html").stat().st_size > 10_000
    seen = pyarrow.parquet.read_table(tmp_path / "el" / "until.parquet")["time"].to_numpy()
    assert seen.max() < np.datetime64("2023-01-01")


def _imported(name):
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))


def test_a_cluster_from_the_shell(tmp_path):
    write_log(tmp_path)
    bins = pathlib.Path(sys.executable).parent
    path = {"PATH": f"{bins}{os.pathsep}{os.environ['PATH']}"}
    port = str(20_000 + os.getpid() % 20_000)
    done = subprocess.run(
        ["sh", EXAMPLES / "cluster.sh", tmp_path, port],
        cwd=tmp_path,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Report: " in done.stdout
    assert (tmp_path / "cluster-run" / "report.html").exists()
