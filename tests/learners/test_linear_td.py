import numpy as np
import pytest

import lincat
from tests import naive
from tests.learners import cases


@pytest.mark.parametrize(("kind", "batch", "schedule", "averaging"), cases.OPTIONS)
def test_equals_naive(kind, batch, schedule, averaging):
    model, mean = cases.check_equals_naive("td", kind, batch, schedule, averaging)
    Phi = cases.features(kind)
    queries = np.arange(cases.STATES) if kind == "states" else Phi
    np.testing.assert_allclose(model.predict(queries), Phi @ mean[:, 0], atol=1e-10)


def test_finds_the_exact_value_function():
    problem = lincat.catalog.paper()
    drawn = problem.process.sample(300_000, seed=2, kind="generative")
    model = lincat.LinearTD(gamma=problem.gamma, step_size=0.1).fit(
        problem.Phi[drawn.state], drawn.reward, problem.Phi[drawn.next_state]
    )
    exact = problem.Phi @ lincat.solve_value(problem.process, problem.Phi, problem.gamma)
    np.testing.assert_allclose(model.predict(problem.Phi), exact, atol=0.02)


def test_rewards_of_any_scale_are_learned_alike():
    """Divergence is measured against the rewards, not against one."""
    t = cases.stream("dense", 500)
    one = cases.make("td", step_size=0.3).fit(t)
    for scale in (2.0**-80, 2.0**60):
        scaled = lincat.Transitions(
            t.phi, scale * t.reward, t.phi_next, t.terminated, t.discount, t.weight
        )
        other = cases.make("td", step_size=0.3).fit(scaled)
        np.testing.assert_array_equal(other.psi_, scale * one.psi_)


def test_no_rewards_no_values():
    t = cases.stream("dense", 500)
    nothing = lincat.Transitions(t.phi, np.zeros(500), t.phi_next)
    assert not cases.make("td").fit(nothing).psi_.any()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_divergence_is_told(dtype):
    t = cases.stream("dense", 20_000, everything=False)
    model = cases.make("td", step_size=5.0, dtype=dtype)
    with pytest.raises(lincat.DivergenceError, match="step size 5;") as caught:
        model.fit(t)
    n = caught.value.transition
    assert model.n_seen_ < n
    assert np.abs(model.psi_mean_).max() < 100.0
    iterates = naive.learner_iterates(
        np.zeros((4, 1)), cases.tuples(t)[:n], None, "td", step_size=("constant", 5.0)
    )
    assert 1e3 < np.abs(iterates[-1]).max() < 1e9
    safe = model.clone().set_params(step_size=caught.value.safe_step).fit(t)
    assert np.abs(safe.predict(cases.features("dense"))).max() <= 5.0
