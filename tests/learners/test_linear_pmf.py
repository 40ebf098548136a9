import numpy as np
import pytest

import lincat
from tests import naive
from tests.learners import cases


@pytest.mark.parametrize(("kind", "batch", "schedule", "averaging"), cases.OPTIONS)
def test_equals_naive(kind, batch, schedule, averaging):
    cases.check_equals_naive("pmf", kind, batch, schedule, averaging)


@pytest.mark.parametrize("schedule", cases.STEPS)
def test_gradient_step_is_twice_the_spacing(schedule):
    cases.check_equals_naive("pmf", "dense", 1, schedule, "tail", gradient_step=True)


def test_equals_descent_on_the_masses():
    """Eq. (ssgd_pmf) on W, where Theta = W Cᵀ."""
    t = cases.stream("dense", 300, everything=False)
    model = cases.make("pmf", step_size=0.01, averaging="none").fit(t)
    W = np.zeros((4, 8))
    for phi, reward, phi_next, discount, _ in cases.tuples(t):
        W = naive.ssgd_pmf_update(W, phi, reward, phi_next, discount, cases.GRID, 0.01)
    np.testing.assert_allclose(lincat.weights_from_theta(model.Theta_), W, rtol=0, atol=1e-10)


def test_means_are_not_those_of_linear_td():
    """Neither with the same step nor with the one that its curvature asks for."""
    t, Phi = cases.stream("dense", 1000), cases.features("dense")
    td = cases.make("td", step_size=0.01).fit(t)
    pmf = cases.make("pmf", step_size=0.01).fit(t)
    assert np.abs(pmf.predict(Phi).mean() - td.predict(Phi)).max() > 1e-2


def test_the_papers_step_diverges_and_the_safe_one_converges():
    problem = lincat.catalog.paper()
    drawn = problem.process.sample(200_000, seed=1)
    Phi, grid = problem.Phi, problem.grid(30)
    t = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
    model = lincat.LinearPMF(grid=grid, gamma=problem.gamma, step_size=0.03)
    with pytest.raises(lincat.DivergenceError) as caught:
        model.fit(t)
    error = caught.value
    assert error.step_size == pytest.approx(0.03)
    norm = np.linalg.norm(naive.C_matrix(30) @ naive.C_matrix(30).T, 2)
    assert error.safe_step == pytest.approx(0.25 / 1.09 / norm)
    assert model.n_seen_ < error.transition < len(t)
    assert np.abs(model.predict(Phi).cdf_values).max() <= 10.0
    safe = model.clone().set_params(step_size=error.safe_step).fit(t)
    star = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    fixed = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, star), grid)
    weights = problem.process.stationary
    start = lincat.ReturnDistribution(np.tile(np.arange(1, 31) / 31, (3, 1)), grid)
    before = lincat.cramer(start, fixed, weights=weights)
    assert lincat.cramer(safe.predict(Phi), fixed, weights=weights) < before / 3
