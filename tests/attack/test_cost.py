"""Small cases of ``python -m tests.attack.cost``: counts of intervals, numbers and products."""

import tracemalloc

import numpy as np
import pytest

import lincat
from lincat import CategoricalLSTD
from lincat.core import draws
from lincat.core.uncertainty import Uncertainty
from lincat.runs.diagnosis import diagnosis_of
from lincat.solvers import preconditioners
from lincat.solvers.batch import not_reached, solve_totals
from lincat.solvers.gmres import gmres
from lincat.statistics.totals import Totals
from tests.attack import cost


@pytest.mark.parametrize("gamma", [0.99, 1.0 - 1e-6])
def test_what_is_certain_asks_for_no_more_intervals_than_anything_else(gamma):
    state = np.random.default_rng(0).integers(0, 2, 4_000)
    model = CategoricalLSTD(gamma=gamma, n_features=2)
    model.fit(state[:-1], np.full(3_999, 7.7), state[1:])
    assert model.choice_.wanted <= model.grid_.intervals <= 1_000


def test_an_answer_that_is_exact_is_trusted():
    run = lincat.evaluate(cost.constant(1_000, 0), gamma=0.9)
    assert run.trusted
    np.testing.assert_allclose(run.returns.mean(), 77.0, rtol=1e-9)


def test_spread_that_is_small_beside_the_mean_is_no_rounding():
    rng = np.random.default_rng(0)
    state, noise = rng.integers(0, 2, 4_000), rng.normal(size=3_999)
    model = CategoricalLSTD(gamma=0.9, n_features=2)
    model.fit(state[:-1], 1.0 + 1e-5 * noise, state[1:])
    sd = np.sqrt(model.moments_.variance(np.eye(2)))
    np.testing.assert_allclose(sd, 1e-5 / np.sqrt(1.0 - 0.81), rtol=0.05)


@pytest.mark.parametrize("numbers", [False, True])
def test_rewards_that_are_too_large_to_be_squared_end_in_one_line(numbers):
    rng = np.random.default_rng(0)
    seen = rng.normal(size=2_000) if numbers else cost.ids(rng, 2_000)
    log = {"observation": seen, "reward": 1e160 * rng.normal(size=2_000)}
    with pytest.raises(lincat.InvalidInputError, match=r"row 1, reward.*at most 4e\+61"):
        lincat.evaluate(log, gamma=0.9)


def test_rewards_that_are_too_large_are_no_transitions_to_sum():
    transitions = lincat.Transitions(np.zeros(5, int), np.full(5, 1e160), np.zeros(5, int))
    with pytest.raises(lincat.InvalidInputError, match=r"reward: expected .*another unit"):
        lincat.Statistics(n_features=1).update(transitions)


def test_rewards_of_1e60_have_figures():
    run = lincat.evaluate(cost.constant(1_000, 0, reward=1e60), gamma=0.9)
    np.testing.assert_allclose(run.returns.mean(), 1e61, rtol=1e-9)


@pytest.mark.parametrize(
    ("rewards", "gamma", "high"),
    [
        ((7.7,), 0.99, 1540.0),
        ((0, 1, 2), 0.99, 300.0),  # many narrow diagonals
        ((0, 1, 2), 0.5, 4.0),  # wide ones
        ((0, 1, 1000), 0.9, 3000.0),
        ((0, 1, 1000), 0.99, 5000.0),
    ],
)
def test_memory_of_a_solution_grows_with_intervals_and_not_with_their_square(rewards, gamma, high):
    totals, grid, gamma = cost.few_states(rewards, gamma, high)
    tracemalloc.start()
    solution = solve_totals(totals, grid, gamma)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert solution.residual < 1e-9
    assert peak < 400 * grid.intervals * 2 * 8  # GMRES keeps 80; K² would be 15,000 of these
    assert solution.iterations < 400


@pytest.mark.parametrize("gamma", [0.5, 0.99])
def test_a_ridge_draws_to_the_fixed_point_of_all_rows(gamma):
    totals, grid, gamma = cost.few_states((0, 1, 2), gamma, 4.0 / (1.0 - gamma), intervals=300)
    drawn = solve_totals(totals, grid, gamma, ridge=1e9).Theta
    share = totals.phi_sum.sum(axis=1) / totals.weight
    one = Totals(
        *(totals.reward, totals.power, totals.given_discount),
        *(share[:, None, None], share[:, None], np.ones((1, 1))),
        count=2_000,
        weight=1.0,
    )
    alone = solve_totals(one, grid, gamma, method="dense").Theta
    np.testing.assert_allclose(drawn - alone, 0.0, atol=1e-7)


def test_states_that_lead_back_to_each_other_are_solved_for():
    run = lincat.evaluate(cost.watched(2_000, 0), gamma=0.99, intervals=200, validate=0)
    solution = run.model.learner.solution_
    assert solution.residual < 1e-9
    assert solution.iterations < 50  # products; more than a thousand, or to no end


def test_factors_hold_no_more_numbers_than_an_iteration_keeps(monkeypatch):
    held = []

    def counted(factorise):
        def factors(*args, **options):
            found = factorise(*args, **options)
            held.append(found.L.nnz + found.U.nnz)
            return found

        return factors

    for name in {"splu", "spilu"} & set(vars(preconditioners)):
        monkeypatch.setattr(preconditioners, name, counted(getattr(preconditioners, name)))
    run = lincat.evaluate(cost.watched(2_000, 0), gamma=0.99, intervals=800, validate=0)
    solution = run.model.learner.solution_
    assert solution.residual < 1e-9
    states = solution.rank
    assert max(held) < 40 * 800 * states  # of a complete one, 80
    assert solution.iterations < 60


def test_memory_of_errors_is_that_of_those_that_are_kept():
    rng = np.random.default_rng(0)
    state = rng.integers(0, 20, 3_000)
    model = CategoricalLSTD(gamma=0.9, grid=lincat.Grid(0.0, 20.0, 500), n_features=2_000)
    model.fit(state[:-1], rng.integers(0, 3, 2_999).astype(float), state[1:])
    assert model.solution_.residual < 1e-9
    tracemalloc.start()
    kept = model.ensemble_.Psi.nbytes
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * kept  # three times as many slow sums as are taken, of 2,000 states, were 6


def test_a_model_is_written_without_copies_of_its_sums(tmp_path):
    rng = np.random.default_rng(0)
    phi, reward = rng.normal(size=(4_001, 100)), rng.integers(0, 9, 4_000).astype(float)
    model = CategoricalLSTD(gamma=0.9, intervals=20, n_features=100, max_blocks=32)
    model.partial_fit(phi[:-1], reward, phi[1:])
    model.save(tmp_path / "model")
    tracemalloc.start()
    model.save(tmp_path / "model")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * (tmp_path / "model").stat().st_size


def test_tails_of_states_that_are_alike_are_drawn_once(monkeypatch):
    drawn = []

    def counted(measure, *given):
        drawn.append(measure)
        return figures(measure, *given)

    figures = draws.figures_of_draws
    monkeypatch.setattr(draws, "figures_of_draws", counted)
    run = lincat.evaluate(cost.constant(1_000, 0), gamma=0.9, validate=0)
    drawn.clear()
    diagnosis_of(run.model)
    assert len(drawn) <= 2  # of a hundred rows, of two ids


def test_draws_take_little_memory():
    rng = np.random.default_rng(0)
    directions = 1e-3 * rng.normal(size=(8, 1, 5_000))
    known = Uncertainty(directions, 0.95, np.zeros(1, bool))
    known.coefficients()
    cdf, grid = np.linspace(0.0, 1.0, 5_000)[None], lincat.Grid(0.0, 1.0, 5_000)
    tracemalloc.start()
    draws.interval_by_draws(known, cdf, grid, "cvar", np.array([0.05, 0.95]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def test_an_iteration_gives_up_as_soon_as_its_pace_will_not_do():
    products = []

    def turn(x):
        products.append(1)
        return x - 0.9999 * np.roll(x, 1)  # of which no polynomial of low degree is small

    found = gmres(turn, lambda x: x, np.eye(1, 20_000)[0], tolerance=1e-12)
    assert found.residual > 1e-12
    assert len(products) < 200


@pytest.mark.parametrize("method", ["auto", "krylov"])
def test_what_is_not_reached_is_told_with_a_remedy_that_is_there(method):
    words = str(not_reached(0.01, 1e-12, method))
    assert ("--intervals" in words) == (method == "auto")
    assert ("method=" in words) == (method != "auto")
