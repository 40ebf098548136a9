"""Which plan meets returns best that none was fitted to."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps
from lincat.runs.candidates import Pilot, candidates_for
from lincat.runs.trial import trial

N = 400


def gains(mean, se, seed=0):
    """Gains with this mean and this standard error, each of a record of its own."""
    noise = np.random.default_rng(seed).normal(size=N)
    return mean + (noise - noise.mean()) / noise.std() * se * np.sqrt(N)


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ([[(0.010, 0.002), (0.0, 0.001)]], 1),  # in the CRPS
        ([[(0.001, 0.004), (0.008, 0.001)]], 1),  # in the quantile
        ([[(0.003, 0.002), (0.002, 0.001)]], 0),  # by chance
        ([[(0.003, 0.002), (0.0025, 0.001)]], 0),  # a quantile must win by more
        ([[(-0.010, 0.002), (0.050, 0.001)]], 0),  # a tail at the expense of the rest
        ([[(0.050, 0.002), (-0.010, 0.001)]], 0),  # and the other way round
        ([[(-0.003, 0.004), (0.002, 0.0001)]], 0),  # worse on the whole
        ([[(0.010, 0.002), (0.0, 0.001)], [(0.020, 0.002), (0.001, 0.001)]], 2),  # the best
    ],
)
def test_better_in_one_score_worse_in_neither(monkeypatch, found, best):
    made = np.array([[gains(*x, seed=i) for i, x in enumerate(pair)] for pair in found])
    record = np.arange(N)
    monkeypatch.setattr("lincat.runs.trial._compared", lambda *_: (made, record))
    monkeypatch.setattr("lincat.runs.trial._splits", lambda _: [(None, None)])
    assert trial(None, 0.9, [None] * (len(found) + 1)) == best


def test_few_returns_decide_nothing(monkeypatch):
    made, record = np.ones((1, 2, 99)), np.arange(99)
    monkeypatch.setattr("lincat.runs.trial._compared", lambda *_: (made, record))
    monkeypatch.setattr("lincat.runs.trial._splits", lambda _: [(None, None)])
    assert trial(None, 0.9, [None, None]) == 0


def ladder(n, seed=0):
    """A climb in [0, 1] that ends in 1, at the top, or in −1, an atom, wherever it slips."""
    rng = np.random.default_rng(seed)
    place, after, reward, ends = np.zeros((4, n))
    now = rng.random()
    for t in range(n):
        place[t] = now
        slips = rng.random() < 0.02 + 0.1 * (1.0 - now)
        now = now + rng.normal(0.05, 0.1)
        if slips or not 0.0 < now < 1.0:
            reward[t], ends[t] = (-1.0 if slips or now <= 0.0 else 1.0), 1.0
            after[t], now = 0.5, rng.random()
        else:
            after[t] = now
    no = np.zeros(n, bool)
    return Steps(place[:, None], reward, after[:, None], ends > 0.0, no)


def test_an_atom_that_a_potential_would_smear_is_seen():
    steps = ladder(12_000)
    candidates = candidates_for(len(steps), 1)
    assert candidates[trial(steps, 0.99, candidates)].scale == 0


def test_more_rows_have_more_narrow_bumps_up_to_a_limit():
    few, many, most = (candidates_for(n, 1)[1] for n in (2_000, 20_000, 10**7))
    assert few.narrow
    assert (few.potential, many.potential, most.potential) == (246, 778, 2500)
    assert few.scale < few.potential


@pytest.mark.parametrize("m", [2, 9])
def test_among_many_numbers_nothing_is_near(m):
    x = np.random.default_rng(0).normal(size=(600, m))
    no = np.zeros(599, bool)
    pilot = Pilot(Steps(x[:-1], x[:-1, 0], x[1:], no, no), 0.9, 599)
    found = pilot.smooth(60, narrow=True)
    assert isinstance(found, lincat.Nearby if m == 2 else lincat.Smooth)
    assert (pilot.narrow_ridge < pilot.ridge) == (m == 2)
    assert found.n_features_ == (6 + 60 if m == 2 else 1 + 9 + 30)
