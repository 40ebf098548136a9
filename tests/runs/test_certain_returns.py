"""What rounding leaves over is no chance."""

import numpy as np

import lincat


def test_td_errors_of_a_certain_return_are_zero():
    n = 500
    value = 10.0 + 1e-13 * np.random.default_rng(0).normal(size=n + 1)
    rows = lincat.Transitions(np.zeros(n, int), np.ones(n), np.zeros(n, int))
    centred = rows.centred(value[:-1], value[1:], gamma=0.9)
    assert (centred.reward == 0.0).all()
    small = rows.centred(np.full(n, 10.0), np.full(n, 10.0 + 1e-8), gamma=0.9)
    np.testing.assert_allclose(small.reward, 9e-9, rtol=1e-6)


def test_a_certain_return_of_points_is_learned_as_such():
    x = np.random.default_rng(0).random(3001)
    log = {"obs_x": x[:-1], "reward": np.ones(3000), "next_obs_x": x[1:]}
    run = lincat.evaluate(log, gamma=0.8)
    found = run.predict([[0.2], [0.8]])
    np.testing.assert_allclose(found.mean(), 5.0, rtol=1e-6)
    assert found.proper().std().max() < 1e-2
    assert run.trusted is not False
    assert found.grid.intervals < 5000


def test_certain_returns_that_differ_from_state_to_state_are_trusted():
    """A number that falls by a tenth at each step, its square the reward: G(x) = x²/(1 − 0.9³).

    What is left about a potential is the error of features: small beside how returns differ, in
    units of its own as large as any.
    """
    steps = np.arange(30)
    begin = np.random.default_rng(0).uniform(1.0, 10.0, 200)
    x = (begin[:, None] * 0.9**steps).ravel()
    log = {"obs_x": x, "reward": x**2, "next_obs_x": 0.9 * x, "terminated": np.zeros(len(x), bool)}
    run = lincat.evaluate(log, gamma=0.9)
    assert run.model.potential is not None
    at = np.array([2.0, 5.0, 8.0])
    true = at**2 / (1.0 - 0.9**3)
    found = run.predict(at[:, None])
    tenth = 0.1 * np.std(x**2) / (1.0 - 0.9**3)
    np.testing.assert_allclose(found.mean(), true, atol=0.2 * tenth)
    np.testing.assert_allclose(found.quantile(0.05), true, atol=0.3 * tenth)
    assert found.proper().std().max() < 0.3 * tenth
    assert run.trusted is True, run.verdict


def test_rollouts_that_are_cut_off_agree_with_what_would_follow():
    """A car that never reaches the goal: every return is −1/(1 − gamma)."""
    run = lincat.evaluate("gym:MountainCar-v0", gamma=0.9, steps=3_000, validate=100)
    np.testing.assert_allclose(run.answer.returns.mean(), -10.0, rtol=1e-6)
    assert run.trusted is True, run.verdict
