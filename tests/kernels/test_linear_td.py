"""Linear-TD against the naive version, for each feature kind."""

import itertools

import numpy as np
import pytest
import scipy.sparse

from lincat.kernels.linear_td import linear_td
from tests import naive
from tests.kernels.cases import KINDS, LIMIT, transitions, triple


def run(kind, phi, phi_next, reward, delta, step, batch, start, splits=(), limit=LIMIT):
    psi, u, worked_off = np.zeros(phi.shape[1]), np.zeros(phi.shape[1]), 0
    edges = [0, *splits, len(reward)]
    for a, b in itertools.pairwise(edges):
        x, y = phi[a:b], phi_next[a:b]
        rest = (reward[a:b], delta[a:b], step[a:b], limit, a // batch - start, batch)
        if kind == "csr":
            x, y = (triple(scipy.sparse.csr_array(z)) for z in (x, y))
        elif kind == "states":
            x, y = x.argmax(1), y.argmax(1)
        worked_off += linear_td(psi, u, x, y, *rest)
    return psi, psi + u / (-(-len(reward) // batch) - start), worked_off


def naive_iterates(phi, phi_next, reward, delta, step, batch):
    data = list(zip(phi, reward, phi_next, delta, step, strict=True))
    zero = np.zeros((phi.shape[1], 1))
    # The steps stand in for weights, and their mean over a batch for the sum.
    iterates = naive.learner_iterates(
        zero, data, None, "td", step_size=("constant", float(batch)), batch=batch
    )
    return iterates[:, :, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 25])
def test_equals_naive_in_any_split(kind, batch):
    phi, phi_next, _, delta = transitions(1000, 13, 30, one_hot=kind == "states")
    reward, step = np.random.default_rng(1).random(1000), np.full(1000, 0.1 / batch)
    data = (phi, phi_next, reward, delta, step)
    whole = run(kind, *data, batch, start=10)
    pieces = run(kind, *data, batch, start=10, splits=(25, 500, 975))
    iterates = naive_iterates(*data, batch)
    for a, b in zip(whole[:2], pieces[:2], strict=True):
        assert a.tobytes() == b.tobytes()
    np.testing.assert_allclose(whole[0], iterates[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(whole[1], iterates[10:].mean(axis=0), rtol=0, atol=1e-12)
    assert whole[2] == pieces[2] == 1000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 5])
def test_the_limit_stops_before_the_offending_transition(kind, batch):
    phi, phi_next, _, _ = transitions(500, 3, 30, one_hot=kind == "states")
    reward, delta = np.random.default_rng(1).random(500), np.full(500, 0.9)
    data = (phi, phi_next, reward, delta, np.full(500, 5.0 / batch))
    psi, mean, done = run(kind, *data, batch, 0, limit=1e4)
    assert 0 < done < 500
    assert done % batch == 0
    iterates = naive_iterates(*(x[:done] for x in data), batch)
    np.testing.assert_allclose(psi, iterates[-1], rtol=1e-9)
    assert np.isfinite(mean).all()
    ahead = phi[done : done + batch] - 0.9 * phi_next[done : done + batch]
    assert np.abs(ahead @ psi - reward[done : done + batch]).max() > 1e4


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_reward_is_not_learned_from(kind):
    phi, phi_next, _, delta = transitions(50, 5, 30, one_hot=kind == "states")
    reward = np.ones(50)
    reward[20] = np.nan
    psi, _, done = run(kind, phi, phi_next, reward, delta, np.full(50, 0.1), 1, 0)
    assert done == 20
    assert np.isfinite(psi).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_an_episode_does_not_look_ahead(kind):
    phi, phi_next, _, _ = transitions(50, 5, 30, one_hot=kind == "states")
    reward, delta, step = np.ones(50), np.zeros(50), np.full(50, 0.1)
    first, second = (
        run(kind, phi, x, reward, delta, step, 1, 0)[0] for x in (phi_next, phi_next[::-1].copy())
    )
    np.testing.assert_array_equal(first, second)
