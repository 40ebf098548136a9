import numpy as np
import pytest

import lincat
from tests import naive
from tests.learners import cases


@pytest.mark.parametrize(("kind", "batch", "schedule", "averaging"), cases.OPTIONS)
def test_equals_naive(kind, batch, schedule, averaging):
    model, mean = cases.check_equals_naive("softmax", kind, batch, schedule, averaging)
    Phi = cases.features(kind)
    expected = [naive.rule_pmf(mean, phi, 8, "softmax") for phi in Phi]
    queries = np.arange(cases.STATES) if kind == "states" else Phi
    np.testing.assert_allclose(model.predict(queries).pmf, expected, rtol=0, atol=1e-10)


def test_updates_descend_the_cross_entropy():
    """The increment is minus the derivative of −Σ target log softmax(phi·Theta), by differences."""
    rng = np.random.default_rng(0)
    t = cases.stream("dense", 40, everything=False)
    model = cases.make("softmax", step_size=0.5, averaging="none").fit(t)
    Theta = np.array(model.Theta_)
    (phi, reward, phi_next, discount, _), *_ = cases.tuples(cases.stream("dense", 1, seed=9))
    target = naive.rule_pmf(Theta, phi_next, 8, "softmax") @ naive.g(cases.GRID, reward, discount)

    def loss(parameters):
        return -target @ np.log(naive.rule_pmf(parameters, phi, 8, "softmax"))

    model.set_params(step_size=1e-3).learn_one(phi, reward, phi_next, discount=discount)
    change = (np.array(model.Theta_) - Theta) / 1e-3
    for _ in range(5):
        direction = rng.normal(size=Theta.shape)
        slope = (loss(Theta + 1e-6 * direction) - loss(Theta - 1e-6 * direction)) / 2e-6
        assert (change * direction).sum() == pytest.approx(-slope, abs=1e-7)


def test_distributions_are_proper():
    t = cases.stream("dense", 2000)
    dist = cases.make("softmax").fit(t).predict(cases.features("dense"))
    assert (dist.pmf > 0.0).all()
    np.testing.assert_allclose(dist.pmf.sum(axis=1), 1.0, atol=1e-12)


def test_large_scores_do_not_overflow():
    t = cases.stream("states", 500, everything=False)
    model = cases.make("softmax", n_features=6, step_size=2000.0, averaging="none").fit(t)
    assert np.isfinite(model.Theta_).all()
    dist = model.predict(np.arange(6))
    np.testing.assert_allclose(dist.pmf.sum(axis=1), 1.0, atol=1e-12)


def test_there_is_no_gradient_step():
    model = lincat.SoftmaxCTD(grid=lincat.Grid(0.0, 1.0, 2), gamma=0.5, gradient_step=True)
    with pytest.raises(lincat.InvalidInputError, match="gradient_step: expected False for Soft"):
        model.partial_fit([[1.0]], [1.0], [[1.0]])
