"""What a solution knows of itself."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps
from lincat.inference.moment_errors import moment_errors
from lincat.runs.diagnosis import diagnosis_of, rough_widening, widening_of
from lincat.runs.model import Model
from lincat.runs.plan import Plan
from lincat.runs.potential import Potential


def solved(n, *, grid="auto", intervals="auto", seed=0, gamma=0.5):
    """A fair coin thrown for ever."""
    rng = np.random.default_rng(seed)
    state, no = np.zeros(n, dtype=np.int64), np.zeros(n, bool)
    features = lincat.Tabular(n_states=1).fit(state)
    learner = lincat.CategoricalLSTD(gamma=gamma, grid=grid, intervals=intervals, n_features=1)
    model = Model(features, learner)
    steps = Steps(state, rng.integers(2, size=n).astype(float), state, no, no)
    learner.partial_fit(model.transitions(steps))
    return model


def test_what_is_learned_step_by_step_knows_nothing_of_itself():
    learner = lincat.LinearCTD(grid=lincat.Grid(0.0, 2.0, 10), gamma=0.5)
    model = Model(lincat.Tabular(n_states=1).fit(np.zeros(1, dtype=np.int64)), learner)
    assert diagnosis_of(model) is None
    assert widening_of(model) == 0.0


def test_means_are_as_precise_as_means_of_so_many_rewards():
    """The return's mean is 2 E r: 2 · 0.5/√n, over the return's sd √(1/3)."""
    errors = [diagnosis_of(solved(10_000, seed=seed)).mean_error for seed in range(8)]
    assert np.mean(errors) == pytest.approx(2.0 * 0.5 / 100.0 * np.sqrt(3.0), rel=0.2)


def test_ids_that_hardly_any_row_shows_do_not_speak_for_all():
    """One id has 19 rows in twenty; thirty others share the rest, and are hardly known."""
    rng, n = np.random.default_rng(0), 10_000
    usual = rng.random(n) < 0.95
    state = np.where(usual, 0, rng.integers(1, 31, n))
    no, gamma = np.zeros(n, bool), 0.5
    features = lincat.Tabular(n_states=31).fit(state)
    model = Model(features, lincat.CategoricalLSTD(gamma=gamma, n_features=31))
    steps = Steps(state, rng.standard_normal(n), rng.permutation(state), no, no)
    model.learner.partial_fit(model.transitions(steps))
    moments, Phi = model.learner.moments_, np.eye(31)
    errors = moment_errors(model.learner.statistics_, moments, gamma, Phi, ridge=0.0).mean
    sd = np.sqrt(moments.variance(Phi))
    assert np.quantile(errors / sd, 0.9) > 0.1
    assert diagnosis_of(model).mean_error == pytest.approx(errors[0] / sd[0], rel=1e-6)


def test_a_table_on_a_grid_of_its_own_has_nothing_wrong_with_it():
    found = diagnosis_of(solved(10_000))
    assert found.negative_mass < 1e-9
    assert found.coarser <= 1.0
    assert found.off_grid < 1e-9


def test_a_grid_that_is_too_narrow_or_too_coarse_is_seen():
    narrow = diagnosis_of(solved(2000, grid=lincat.Grid(0.5, 1.5, 50)))
    assert narrow.off_grid > 0.01


@pytest.mark.parametrize("intervals", [4, 10, 40])
def test_widening_is_that_of_the_variance(intervals):
    """Var = 1/3 + 2/(3 K²) on [0, 2]."""
    model = solved(50_000, grid=lincat.Grid(0.0, 2.0, intervals))
    expected = np.sqrt(1.0 + 2.0 / intervals**2) - 1.0
    assert widening_of(model) == pytest.approx(expected, rel=0.1)


def test_rough_widening_is_that_of_a_grid_that_adds_variance():
    grid = lincat.Grid(0.0, 10.0, 10)
    certain = lincat.ReturnDistribution(np.ones((2, 10)), grid)
    assert rough_widening(certain, 0.9) == 0.0  # all at one atom: nothing was widened
    even = lincat.ReturnDistribution(np.arange(1, 11)[None] / 11.0, grid)
    assert rough_widening(even, 1.0) == 0.0
    variance, added = 10.0, 1.0 / (6.0 * (1.0 - 0.81))
    expected = np.sqrt(variance / (variance - added)) - 1.0
    assert rough_widening(even, 0.9) == pytest.approx(expected)


def test_rewards_far_from_zero_are_as_uncertain_as_others():
    """A constant added to all rewards moves means, and no error of theirs."""
    rng = np.random.default_rng(0)
    x = np.empty(2000)
    x[0] = 0.0
    for t in range(1, 2000):
        x[t] = 0.9 * x[t - 1] + rng.normal()
    errors = []
    for offset in (0.0, 1e7):
        run = lincat.evaluate({"x": x, "reward": x + offset}, gamma=0.9)
        assert run.model.scale is not None
        errors.append(diagnosis_of(run.model).mean_error)
    assert errors[0] > 0.05
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


def test_cvar_is_as_uncertain_as_it_scatters_from_log_to_log():
    models = [solved(4000, seed=seed) for seed in range(24)]
    cvar = [model.predict(np.zeros(1, dtype=np.int64)).cvar(0.05)[0] for model in models]
    claimed = np.mean([diagnosis_of(model).cvar_error for model in models])
    assert claimed == pytest.approx(np.std(cvar) / np.sqrt(1.0 / 3.0), rel=0.35)
    assert diagnosis_of(models[0], 0.5).cvar_error != diagnosis_of(models[0]).cvar_error


def walk(n, seed=0):
    """A walk on a line, whose records begin anywhere and lead to the middle at once."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 1))
    begins = np.arange(n) % 50 == 0
    for i in range(n):
        x[i] = rng.uniform(-10.0, 10.0) if begins[i] else 0.3 * x[i - 1] + rng.normal()
    following = np.roll(x, -1, axis=0)
    truncated = np.roll(begins, -1)
    following[truncated] = 0.0
    reward = x[:, 0] + rng.normal(size=n)
    return Steps(x, reward, following, np.zeros(n, bool), truncated)


def test_what_is_rare_but_asked_for_is_known_less_well():
    steps = walk(4_000)
    plan = Plan(lincat.Smooth(bumps=6).fit(steps.observation), None, None, 1, 0.0, "")
    model = plan.model(lincat.CategoricalLSTD(gamma=0.5))
    model.learner.partial_fit(model.transitions(steps))
    starts = steps.observation[steps.begins()]
    found = diagnosis_of(model, asked=starts)
    assert found.asked_error > 2.0 * found.mean_error
    middle = diagnosis_of(model, asked=np.linspace(-1.0, 1.0, 30)[:, None])
    assert middle.asked_error < 0.5 * found.asked_error
    assert diagnosis_of(model, asked=starts[:19]).asked_error is None
    assert diagnosis_of(model).asked_error is None


def test_an_error_of_the_potential_counts_if_it_is_larger():
    steps = walk(4_000)
    few = lincat.Smooth(bumps=2).fit(steps.observation)
    many = lincat.Smooth(bumps=30).fit(steps.observation)
    fitted = Potential.fit(many, [steps], 0.5, ridge=1e-8)
    starts = steps.observation[steps.begins()]
    errors = []
    for potential in (fitted, fitted.with_errors(steps, 0.5, ridge=1e-8)):
        model = Plan(few, potential, None, 1, 0.0, "").model(lincat.CategoricalLSTD(gamma=0.5))
        model.learner.partial_fit(model.transitions(steps))
        errors.append(diagnosis_of(model, asked=starts).asked_error)
    assert errors[1] > 1.5 * errors[0]
    expected = np.quantile(potential.standard_errors(starts) / model.predict(starts).std(), 0.97)
    assert errors[1] == pytest.approx(expected, rel=0.2)


def test_ids_of_a_table_may_be_asked_for():
    model = solved(10_000)
    found = diagnosis_of(model, asked=np.zeros(30, dtype=np.int64))
    assert found.asked_error == pytest.approx(found.mean_error)


@pytest.mark.parametrize(("bumps", "noise"), [(4, 0.0), (60, 0.0), (4, 2.0)])
def test_what_seems_to_vary_where_nothing_is_chance_is_told(bumps, noise):
    """A number that falls by a tenth, with rewards like waves: seen by few features, or by many."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 10.0, (4000, 1))
    no = np.zeros(4000, bool)
    reward = np.sin(2.0 * x[:, 0]) + noise * rng.standard_normal(4000)
    steps = Steps(x, reward, 0.9 * x, no, no)
    features = lincat.Smooth(bumps=bumps).fit(x)
    about = Potential.fit(lincat.Smooth(bumps=bumps, seed=1).fit(x), [steps], 0.9, ridge=1e-9)
    about = about.with_errors(steps, 0.9, ridge=1e-9)
    model = Plan(features, about, None, 1, 0.0, "").model(lincat.CategoricalLSTD(gamma=0.9))
    model.learner.partial_fit(model.transitions(steps))
    found = diagnosis_of(model).unresolved
    if noise:
        assert found is None
    elif bumps == 4:
        assert found > 0.02
    else:
        assert found < 0.005
