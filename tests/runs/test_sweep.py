import numpy as np
import pytest

import lincat

PROBLEM = lincat.catalog.paper()
LEARNER = lincat.LinearCTD(grid=PROBLEM.grid(10), gamma=PROBLEM.gamma, step_size=0.2)


def sweep(learner=LEARNER, source=PROBLEM, **options):
    return list(lincat.sweep(learner, source, **{"updates": 300, **options}))


def test_rows_are_those_of_single_runs():
    rows = sweep(
        step_size=[0.1, 0.2], intervals=[5, 10], seed=[3, 4], batch_size=5, checkpoints=[300]
    )
    assert [(r["intervals"], r["step_size"], r["seed"]) for r in rows] == [
        (K, a, s) for K in (5, 10) for a in (0.1, 0.2) for s in (3, 4)
    ]
    row = rows[-1]
    drawn = PROBLEM.process.sample(1500, seed=4, kind="generative")
    model = LEARNER.clone().partial_fit(
        PROBLEM.Phi[drawn.state], drawn.reward, PROBLEM.Phi[drawn.next_state], batch_size=5
    )
    grid = LEARNER.grid
    Theta = lincat.solve_categorical(PROBLEM.process, PROBLEM.Phi, grid, PROBLEM.gamma)
    difference = PROBLEM.Phi @ (model.Theta_mean_ - Theta)
    squared = PROBLEM.process.stationary @ (difference**2).sum(axis=1)
    assert row["cramer"] == pytest.approx(np.sqrt(grid.spacing * squared), rel=1e-9)
    assert (row["updates"], row["transitions"]) == (300, 1500)


def test_threads_change_nothing():
    options = {"step_size": [0.1, 0.4], "seed": range(4), "kind": "markov"}
    assert sweep(threads=1, **options) == sweep(threads=4, **options)


def test_checkpoints_report_the_curve_on_the_way():
    rows = sweep(checkpoints=[10, 100, 300])
    assert [row["updates"] for row in rows] == [10, 100, 300]
    single = sweep(updates=100, checkpoints=[100])
    assert rows[1]["cramer"] == single[0]["cramer"]
    default = [row["updates"] for row in sweep()]
    assert default[0] == 1
    assert default[-1] == 300
    assert len(default) < 30


def test_long_runs_draw_in_pieces_without_a_seam(monkeypatch):
    whole = sweep(updates=1000, batch_size=3, checkpoints=[400, 1000])
    monkeypatch.setattr("lincat.runs.sweep._CHUNK", 100)
    assert sweep(updates=1000, batch_size=3, checkpoints=[400, 1000]) == whole


def test_divergence_ends_a_run_and_not_the_sweep():
    rows = sweep(step_size=[3.0, 0.1], checkpoints=[100, 300])
    assert [row["diverged"] for row in rows] == [True, False, False]
    assert "cramer" not in rows[0]
    assert rows[0]["transitions"] < 100


def test_linear_td_reports_the_error_of_values():
    (row,) = sweep(lincat.LinearTD(gamma=PROBLEM.gamma), checkpoints=[300])
    assert row["value_error"] > 0.0
    assert row["intervals"] is None


def test_tables_and_softmax():
    process = lincat.catalog.random_process(5, gamma=0.8)
    learner = lincat.LinearCTD(grid=process.grid(8), gamma=0.8, n_features=5)
    (by_problem,) = sweep(learner, process, checkpoints=[300])
    (by_process,) = sweep(learner, process.process, checkpoints=[300])
    assert by_problem == by_process
    softmax = lincat.SoftmaxCTD(grid=process.grid(8), gamma=0.8, n_features=5)
    (row,) = sweep(softmax, process, checkpoints=[300])
    assert row["cramer"] > 0.0


def test_learners_from_sums_solve_at_each_checkpoint():
    learner = lincat.CategoricalLSTD(grid=PROBLEM.grid(10), gamma=PROBLEM.gamma)
    rows = sweep(learner, intervals=[5, 10], seed=[3, 4], checkpoints=[50, 300])
    assert [(r["intervals"], r["step_size"], r["seed"], r["updates"]) for r in rows] == [
        (K, None, s, n) for K in (5, 10) for s in (3, 4) for n in (50, 300)
    ]
    drawn = PROBLEM.process.sample(300, seed=4, kind="generative")
    columns = (PROBLEM.Phi[drawn.state], drawn.reward, PROBLEM.Phi[drawn.next_state])
    found = learner.clone().fit(*columns).predict(PROBLEM.Phi)
    Theta = lincat.solve_categorical(PROBLEM.process, PROBLEM.Phi, learner.grid, PROBLEM.gamma)
    exact = lincat.ReturnDistribution(lincat.cdf_from_theta(PROBLEM.Phi, Theta), learner.grid)
    distance = lincat.cramer(found, exact, weights=PROBLEM.process.stationary)
    assert rows[-1]["cramer"] == pytest.approx(distance, rel=1e-9)
    (row,) = sweep(lincat.LSTD(gamma=PROBLEM.gamma), checkpoints=[300])
    value = PROBLEM.Phi @ lincat.solve_value(PROBLEM.process, PROBLEM.Phi, PROBLEM.gamma)
    drawn = PROBLEM.process.sample(300, seed=0, kind="generative")
    columns = (PROBLEM.Phi[drawn.state], drawn.reward, PROBLEM.Phi[drawn.next_state])
    off = lincat.LSTD(gamma=PROBLEM.gamma).fit(*columns).predict(PROBLEM.Phi) - value
    expected = np.sqrt(PROBLEM.process.stationary @ off**2)
    assert row["value_error"] == pytest.approx(expected, rel=1e-9)
    assert row["intervals"] is None


def test_one_stream_for_all():
    drawn = PROBLEM.process.sample(500)
    stream = lincat.Transitions(
        PROBLEM.Phi[drawn.state], drawn.reward, PROBLEM.Phi[drawn.next_state]
    )
    rows = list(lincat.sweep(LEARNER, stream, step_size=[0.1, 0.2], checkpoints=[500]))
    assert [(row["step_size"], row["seed"], row["transitions"]) for row in rows] == [
        (0.1, None, 500),
        (0.2, None, 500),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"updates": None}, "updates: expected the length of a run"),
        ({"kind": "iid"}, "kind: expected one of"),
        ({"checkpoints": [10, 5]}, "checkpoints: expected increasing numbers"),
        (
            {"checkpoints": [1000]},
            r"checkpoints: expected increasing numbers of updates in \[1, 300\]",
        ),
        ({"source": 3}, "source: expected a Problem"),
        ({"learner": lincat.LinearCTD(grid="auto", gamma=0.5)}, "grid: expected a lincat.Grid"),
        (
            {"learner": lincat.LinearTD(gamma=0.5), "intervals": [3]},
            "intervals: expected a learner",
        ),
        (
            {"learner": lincat.LSTD(gamma=0.5), "step_size": [0.1]},
            "step_size: expected none, as LSTD has no steps",
        ),
        ({"threads": 0}, "threads: expected an integer of at least 1"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        sweep(**options)
