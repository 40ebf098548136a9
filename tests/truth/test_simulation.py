"""Simulated logs and returns against closed forms, and environments against Gymnasium's own."""

import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

from lincat.truth import environments
from lincat.truth.known import efficient_variance, known
from lincat.truth.numbers import PERSISTENCE, PERSISTENT_NOISE
from lincat.truth.problems import FURTHER, PROBLEMS, problem_named
from lincat.truth.scores import wasserstein_to_samples
from lincat.truth.simulation import Log, Moved, known_returns, simulate, simulate_returns


def coin(state, rng):
    return Moved(rng.integers(0, 2, len(state)).astype(float), state, np.zeros(len(state), bool))


def test_a_fair_coin_at_one_half_has_uniform_returns():
    returns = simulate_returns(coin, np.zeros((50_000, 1)), 0.5, np.random.default_rng(0))
    even = (np.arange(1000) + 0.5) / 500
    assert wasserstein_to_samples(even, np.full(1000, 1e-3), np.sort(returns)) < 0.01


def test_an_episode_that_never_ends_is_no_return(monkeypatch):
    monkeypatch.setattr("lincat.truth.simulation._MOST_STEPS", 50)
    with pytest.raises(RuntimeError, match="did not end within 50 steps"):
        simulate_returns(coin, np.zeros((2, 1)), 1.0, np.random.default_rng(0))


def test_from_no_state_there_is_no_return_and_nothing_is_waited_for():
    def step(state, rng):
        raise AssertionError("nobody walks")

    assert simulate_returns(step, np.zeros((0, 1)), 1.0, np.random.default_rng(0)).shape == (0,)


def test_an_id_that_never_occurs_is_not_divided_by():
    """Ids 0 and 2 alone occur: id 1 has no return, and no variance either."""

    def start(n, rng):
        return 2.0 * rng.integers(0, 2, (n, 1))

    def step(state, rng):
        return Moved(rng.standard_normal(len(state)), start(len(state), rng), state[:, 0] < 0.0)

    problem = replace(problem_named("chain"), name="even ids", start=start, step=step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        truth = known(problem, samples=50)
    assert np.isfinite(truth.rows_a_return).all()


def test_persistent_returns_have_the_mean_and_variance_of_the_closed_form():
    problem, phi = problem_named("persistent"), PERSISTENCE
    truth = known(problem, samples=10_000)
    gamma = problem.gamma
    variance = (gamma / (1 - gamma * phi)) ** 2 / (1 - gamma**2)
    variance += PERSISTENT_NOISE**2 / (1 - gamma**2)
    mean = truth.probes[:, 0] / (1 - gamma * phi)
    z = (truth.returns.mean(axis=1) - mean) / np.sqrt(variance / 10_000)
    assert np.abs(z).max() < 4.0
    assert truth.returns.std(axis=1) == pytest.approx(np.sqrt(variance), rel=0.03)
    pooled = variance + 1 / (1 - phi**2) / (1 - gamma * phi) ** 2
    assert truth.pooled_std == pytest.approx(np.sqrt(pooled), rel=0.03)
    assert truth.rows_a_return == pytest.approx((1 + gamma) / (1 - gamma), rel=1e-3)


def test_the_queue_and_the_week_have_the_means_of_linear_equations():
    gamma, size = 0.99, np.arange(31.0)
    P = np.diag(np.full(30, 0.40), 1) + np.diag(np.full(30, 0.45), -1)
    P += np.diag(1 - P.sum(axis=1))
    value = np.linalg.solve(np.eye(31) - gamma * P, -size)
    truth = known(problem_named("queue"), samples=4000)
    error = truth.returns.mean(axis=1) - value[truth.probes[:, 0].astype(int)]
    assert np.abs(error / truth.returns.std(axis=1) * np.sqrt(4000)).max() < 4.0

    week = known(problem_named("weekly"), samples=4000)
    assert week.returns.std(axis=1) == pytest.approx(6 / np.sqrt(1 - 0.98**2), rel=0.05)


def test_without_discount_a_return_takes_as_many_rows_as_an_episode_has_left():
    problem = problem_named("undiscounted")
    truth = known(problem, samples=1000)
    log = problem.log(20_000, seed=1)
    _, weight, _ = known_returns(log, 1.0, 0.0)
    left = np.bincount(log.record)[log.record] - log.step
    assert truth.rows_a_return == pytest.approx(left[weight == 0].mean(), rel=0.15)


def test_rows_a_return_of_ids_is_what_independent_logs_show():
    problem, gamma, n = problem_named("chain"), 0.9, 5000
    log = problem.log(400_000, seed=0)
    variance, of_return = efficient_variance(log, gamma)
    estimates = []
    for seed in range(60):  # the value by least-squares TD on a table
        part = problem.log(n, seed=100 + seed)
        state, following = part.observation[:, 0].astype(int), part.following[:, 0].astype(int)
        A, b = np.zeros((50, 50)), np.bincount(state, part.reward, minlength=50)
        np.add.at(A, (state, state), 1.0)
        np.add.at(A, (state, following), -gamma)
        estimates.append(np.linalg.solve(A, b))
    spread = np.var(estimates, axis=0) * n
    assert (spread / variance).mean() == pytest.approx(1.0, abs=0.15)
    truth = known(problem, samples=5000)
    probe = truth.probes[:, 0].astype(int)
    assert of_return[probe] == pytest.approx(truth.returns.var(axis=1), rel=0.12)


def test_truth_is_kept_and_read_back(tmp_path):
    problem = problem_named("chain")
    first = known(problem, tmp_path, samples=50)
    assert len(list(tmp_path.iterdir())) == 1
    again = known(problem, tmp_path, samples=50)
    np.testing.assert_array_equal(first.returns, again.returns)
    assert first.pooled_std == again.pooled_std
    np.testing.assert_array_equal(first.rows_a_return, again.rows_a_return)


def test_returns_to_go_of_records_against_their_definition():
    rng = np.random.default_rng(3)
    problem = problem_named("short episodes")
    log = simulate(problem.start, problem.step, 300, rng, walkers=3, limit=6)
    returns, weight, whole = known_returns(log, 0.9, residual=0.0)
    for t in range(len(log)):
        end = t + int(np.argmax(log.last[t:]))
        powers = 0.9 ** np.arange(end - t + 1)
        assert returns[t] == pytest.approx(powers @ log.reward[t : end + 1])
        assert weight[t] == (0.0 if log.terminated[end] else pytest.approx(0.9 ** (end - t + 1)))
        assert whole[t] == log.terminated[end]


def test_records_follow_each_other_and_the_longest_can_come_first():
    log = problem_named("rare ruin").log(200_000, seed=0)
    length = np.bincount(log.record)
    assert (np.diff(length) <= 0).all()
    assert not log.terminated[:10_000].any()
    assert log.terminated.sum() > 10
    inner = ~log.last[:-1]
    np.testing.assert_array_equal(log.following[:-1][inner], log.observation[1:][inner])


@pytest.mark.parametrize("problem", [*PROBLEMS, *FURTHER], ids=lambda problem: problem.name)
def test_logs_are_repeatable_and_have_the_rows_that_were_asked_for(problem):
    log = problem.log(1500, seed=5)
    assert isinstance(log, Log)
    assert problem.table(log).num_rows == len(log) == 1500
    assert np.isfinite(log.observation).all()
    assert np.isfinite(log.reward).all()
    np.testing.assert_array_equal(log.reward, problem.log(1500, seed=5).reward)
    assert len(problem.note) <= 90


def test_problems_are_many_and_unlike_each_other():
    assert len(PROBLEMS) >= 16
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
    assert {problem.layout.kind for problem in PROBLEMS} == {"record", "episodes", "transitions"}
    sizes = {problem.log(20, seed=0).observation.shape[1] for problem in PROBLEMS}
    assert sizes == {1, 2, 3, 4}


def test_problems_at_edges_are_what_their_notes_say():
    rng = np.random.default_rng(0)

    def returns(name, state, n=2000):
        problem = problem_named(name)
        return simulate_returns(problem.step, np.tile(state, (n, 1)), problem.gamma, rng)

    below, above = (returns("fishery", [stock]).mean() for stock in (0.156, 0.160))
    assert above > below + 20.0  # a jump within four thousandths
    assert set(np.sign(returns("game", [1.0, 1.0, 6.0]))) == {-1.0, 1.0}
    drone = returns("drone", [0.0, 0.0, 0.0])
    assert 0.01 < (drone < -50.0).mean() < 0.3
    still, moved = ([0.5, 0.0, slow, 0.0, 20.0, 1.0] for slow in (-2.0, 2.0))
    apart = returns("robot", still).mean() - returns("robot", moved).mean()
    assert abs(apart) < 4.0 * np.sqrt(2.0 / 2000) * returns("robot", still).std()


def walk(name, actions, step, state_of):
    """Gymnasium's observations, rewards and ends, beside ours from the same states."""
    env = gymnasium.make(name)
    env.reset(seed=1)
    for action in actions:
        before = state_of(env.unwrapped.state)
        observation, reward, terminated, _, _ = env.step(action)
        ours = step(before[None, :], np.array([action]).reshape(1))
        assert ours.state[0] == pytest.approx(observation, abs=1e-5)
        assert ours.reward[0] == pytest.approx(reward, abs=1e-9)
        assert ours.terminated[0] == terminated
        if terminated:
            break


def test_cartpole_is_gymnasiums():
    actions = np.random.default_rng(0).integers(0, 2, 100)
    walk("CartPole-v1", actions, lambda s, a: environments.cartpole(s, a == 1), np.asarray)


def test_mountain_car_is_gymnasiums_and_reaches_the_top():
    env = gymnasium.make("MountainCar-v0")
    env.reset(seed=1)
    rng, terminated = np.random.default_rng(0), False
    for _ in range(199):
        before = np.array(env.unwrapped.state)
        action = environments.push(before, rng)
        observation, reward, terminated, _, _ = env.step(action)
        ours = environments.mountain_car(before[None, :], np.array([action]))
        assert ours.state[0] == pytest.approx(observation, abs=1e-6)
        assert (ours.reward[0], ours.terminated[0]) == (reward, terminated)
        if terminated:
            break
    assert terminated


def test_pendulum_is_gymnasiums():
    torques = np.random.default_rng(0).uniform(-2, 2, (150, 1))

    def state_of(state):
        return np.array([np.cos(state[0]), np.sin(state[0]), state[1]])

    walk("Pendulum-v1", torques, environments.pendulum, state_of)
