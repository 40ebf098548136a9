"""Numbers that returns do not depend on count less."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps
from lincat.runs.candidates import Pilot
from lincat.runs.potential import Potential
from lincat.runs.relevance import importance_of

GAMMA = 0.8


def walk(n=6000, seed=0, *, spread=0.0, others=3):
    """A number that moves the mean, one that moves the spread (or nothing), and others."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n + 1, 2 + others))
    for t in range(n):
        x[t + 1] = 0.7 * x[t] + rng.normal(size=x.shape[1])
    reward = np.sin(2.0 * x[:-1, 0]) + np.exp(spread * x[:-1, 1]) * rng.normal(size=n) * 0.3
    no = np.zeros(n, bool)
    return Steps(x[:-1], reward, x[1:], no, no)


def test_what_moves_mean_or_spread_counts():
    np.testing.assert_array_equal(
        importance_of(walk(30_000, spread=0.8), GAMMA), [1.0, 1.0, 0.2, 0.2, 0.2]
    )
    assert importance_of(walk(30_000), GAMMA)[:2].tolist() == [1.0, 0.2]


def test_where_all_matter_or_nothing_can_be_told_they_count_alike():
    assert importance_of(walk(30_000, spread=0.8, others=0), GAMMA) is None
    data = walk(500)
    flat = Steps(data.observation, np.ones(500), *(
        getattr(data, x) for x in ("next_observation", "terminated", "truncated")
    ))  # fmt: skip
    assert importance_of(flat, GAMMA) is None
    single = Steps(
        data.observation[:, :1],
        data.reward,
        data.next_observation[:, :1],
        data.terminated,
        data.truncated,
    )
    assert importance_of(single, GAMMA) is None


@pytest.mark.parametrize("narrow", [False, True])
def test_potentials_are_nearer_without_numbers_that_say_nothing(narrow):
    """V(x) = E Σ gamma^t sin(2 x_t), in closed form of the characteristic function."""
    rng, at = np.random.default_rng(9), np.linspace(-2.0, 2.0, 9)
    t = np.arange(60)[:, None]
    variance = (1.0 - 0.49**t) / (1.0 - 0.49)
    true = (GAMMA**t * np.sin(2.0 * 0.7**t * at) * np.exp(-2.0 * variance)).sum(axis=0)
    probes = rng.normal(size=(9, 5)) * 1.4
    probes[:, 0] = at
    errors = []
    for seed in range(3):
        data = walk(20_000, seed)
        pilot = Pilot(data, GAMMA, len(data))
        with_it = pilot.potential(120, narrow=narrow)
        form = lincat.Nearby if narrow else lincat.Smooth
        plain = form(bumps=120, seed=1).fit(data.observation)
        ridge = pilot.ridge_of(narrow)
        without = Potential.fit(plain, [data], GAMMA, ridge=ridge)
        errors.append([np.abs(V.values(probes) - true).mean() for V in (with_it, without)])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 0.75 * theirs
