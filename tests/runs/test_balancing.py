from dataclasses import replace

import numpy as np
import pytest

import lincat
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.runs.balancing import BALANCED, balanced, balancing_weights, bumps_for
from lincat.runs.potential import Potential
from tests.naive import calibration_weights

GAMMA = 0.9


def walk(n, seed, *, chance=0.5):
    """A walk on a line between walls, one step left or right; the noise is that of the step."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < chance
    place = np.zeros(n + 1)
    for t in range(n):
        place[t + 1] = np.clip(place[t] + (1.0 if right[t] else -1.0), -5.0, 5.0)
    no = np.zeros(n, dtype=bool)
    noise = right[:, None] - chance
    seen = place[:, None]
    return Steps(seen[:-1], place[:-1].copy(), seen[1:], no, no, action_noise=noise), right


def test_at_few_points_weights_are_chances_over_frequencies():
    steps, right = walk(20_000, 0)
    weight = balancing_weights(steps)
    before, after = [], []
    for point in np.unique(steps.observation):
        here = steps.observation[:, 0] == point
        before.append(right[here].mean() - 0.5)
        after.append(np.average(right[here], weights=weight[here]) - 0.5)
    assert np.std(after) < 0.01 * np.std(before)
    assert weight.mean() == pytest.approx(1.0, abs=2e-3)


def test_noise_is_balanced_along_every_smooth_function():
    rng = np.random.default_rng(1)
    n = 40_000
    seen = rng.normal(size=(n, 2))
    noise = np.stack([rng.uniform(-1, 1, n), rng.exponential(size=n) - 1.0], axis=1)
    no = np.zeros(n, dtype=bool)
    steps = Steps(seen, np.zeros(n), seen, no, no, action_noise=noise)
    weight = balancing_weights(steps)
    functions = [np.ones(n), seen[:, 0], seen[:, 1] ** 2, np.sin(2 * seen[:, 0]) * seen[:, 1]]
    g = np.stack([u * f for u in noise.T for f in functions], axis=1)
    before, after = np.abs(g.mean(axis=0)), np.abs(weight @ g) / n
    error = g.std(axis=0) / np.sqrt(n)
    assert (after < 0.2 * error).all()
    assert before.mean() > 0.4 * error.mean()
    # As near to 1 as those that balance these functions alone, and what the bumps ask for.
    naive = calibration_weights(g)
    assert np.abs(naive @ g).max() < 1e-8 * n
    assert ((weight - 1) ** 2).mean() > ((naive - 1) ** 2).mean()


def test_means_vary_less_from_log_to_log():
    probe = np.array([[0.0], [3.0]])
    found = {True: [], False: []}
    for seed in range(20):
        steps, _ = walk(4000, seed)
        table = lincat.Nearby(bumps=11, neighbours=1).fit(steps.observation)
        for weighted in found:
            (made,) = balanced([steps]) if weighted else (replace(steps, action_noise=None),)
            V = Potential.fit(table, [made], GAMMA, ridge=1e-9)
            found[weighted].append(V.values(probe))
    spread = {key: np.std(value, axis=0) for key, value in found.items()}
    assert (spread[True] < 0.2 * spread[False]).all()
    off = np.mean(found[True], axis=0) - exact(probe)
    assert (np.abs(off) < 4.0 * spread[True] / np.sqrt(20)).all()


def exact(probe):
    """V of the walk."""
    places = np.arange(-5.0, 6.0)
    ahead = np.zeros((11, 11))
    for i in range(11):
        for j in (max(i - 1, 0), min(i + 1, 10)):
            ahead[i, j] += 0.5
    V = np.linalg.solve(np.eye(11) - GAMMA * ahead, places)
    return V[(probe[:, 0] + 5).astype(int)]


def test_noise_that_is_not_what_the_policy_says_is_left_alone():
    steps, right = walk(20_000, 0, chance=0.6)
    assert balancing_weights(steps) is not None
    wrong = replace(steps, action_noise=right[:, None] - 0.5)
    assert balancing_weights(wrong) is None
    (same,) = balanced([wrong])
    assert same is wrong


def test_nothing_is_done_where_there_is_nothing_to_do():
    steps, _ = walk(20_000, 0)
    assert balancing_weights(steps[:300]) is None  # too few
    assert balancing_weights(replace(steps, action_noise=None)) is None
    assert balancing_weights(replace(steps, action_noise=np.zeros((20_000, 1)))) is None
    infinite = np.where(np.arange(20_000)[:, None] == 7, np.inf, steps.action_noise)
    assert balancing_weights(replace(steps, action_noise=infinite)) is None
    huge = replace(steps, action_noise=1e200 * steps.action_noise)
    np.testing.assert_allclose(balancing_weights(huge), balancing_weights(steps), rtol=1e-6)
    plain = replace(steps, action_noise=None)
    assert [x is plain for x in balanced([plain, plain])] == [True, True]


def test_batches_stay_as_they_are_and_weights_are_multiplied():
    steps, _ = walk(12_000, 3)
    half = replace(steps, weight=np.full(12_000, 0.5))
    parts = [half[:2500], half[2500:7000], half[7000:]]
    made = list(balanced(parts, rows=6000))
    assert [len(part) for part in made] == [2500, 4500, 5000]
    np.testing.assert_array_equal(joined(made).observation, steps.observation)
    first, second = steps[:7000], steps[7000:]
    bumps = bumps_for(first)
    expected = np.concatenate([balancing_weights(first), balancing_weights(second, bumps)])
    np.testing.assert_allclose(joined(made).weight, 0.5 * expected)
    # What is left over has bumps of its own, if it is much less.
    few = list(balanced([steps[:10_000], steps[10_000:]], rows=9000))
    np.testing.assert_allclose(few[1].weight, balancing_weights(steps[10_000:]))


def test_runs_of_environments_say_so():
    run = lincat.evaluate("gym:CartPole-v1", policy="balance", gamma=0.9, steps=3000, validate=0)
    assert BALANCED in run.answer.notes
    alone = lincat.evaluate(
        *("gym:CartPole-v1",),
        policy=lambda seen: int(seen[2] > 0),
        gamma=0.9,
        steps=3000,
        validate=0,
    )
    assert BALANCED not in alone.answer.notes


def test_a_short_rest_has_weights_if_what_came_before_it_has():
    steps, right = walk(7300, 4)
    made = list(balanced([steps[:7000], steps[7000:]], rows=6000))
    np.testing.assert_array_equal(made[1].weight, np.ones(300))
    assert len(joined(list(n_step(made, 5, GAMMA)))) == 7300  # they are joined at the seam
    # And none, if that has none.
    wrong = replace(steps, action_noise=right[:, None] - 0.2)
    parts = [wrong[:7000], replace(steps[7000:], action_noise=steps.action_noise[7000:])]
    assert [part.weight is None for part in balanced(parts, rows=6000)] == [True, True]
