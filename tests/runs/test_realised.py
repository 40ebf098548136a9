"""Realised returns: with the model's mean for what lies after a record."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps
from lincat.runs.model import Model
from lincat.runs.realised import realised_returns


def coin(n, *, breaks=()):
    """One state, rewards 100 or 101: far from zero."""
    rng = np.random.default_rng(0)
    state, no = np.zeros(n, dtype=np.int64), np.zeros(n, bool)
    truncated = no.copy()
    truncated[list(breaks)] = True
    return Steps(state, 100.0 + rng.integers(0, 2, n), state, no, truncated)


@pytest.fixture(scope="module")
def model():
    steps = coin(5000)
    features = lincat.Tabular(n_states=1).fit(steps.observation)
    model = Model(features, lincat.CategoricalLSTD(gamma=0.9, n_features=features.n_features_))
    model.learner.partial_fit(model.transitions(steps))
    return model


def test_the_rest_of_a_record_is_what_the_model_says(model):
    steps = coin(400, breaks=[199])
    returns, usable = realised_returns(steps, model, 0.01)
    mean = model.predict(np.zeros(1, dtype=np.int64)).mean()[0]
    expected = mean
    for t in reversed(range(200)):
        expected = steps.reward[t] + 0.9 * expected
        assert returns[t] == pytest.approx(expected)
    assert usable[:150].all()
    assert not usable[190:200].any()
    # Without the rest, the last usable returns would be low by one per cent of 1,005: many sd.
    last = np.flatnonzero(usable[:200])[-1]
    assert abs(returns[last] - mean) < 4.0 * model.predict(np.zeros(1, dtype=np.int64)).std()[0]


def test_records_of_a_row_are_no_fair_sample(model):
    steps = coin(100, breaks=range(100))
    ended = Steps(
        steps.observation,
        steps.reward,
        steps.next_observation,
        np.arange(100) % 10 == 0,
        steps.truncated,
    )
    assert not realised_returns(ended, model, 0.01)[1].any()


def test_where_nothing_ends_every_known_return_is_fair(model):
    steps = coin(100, breaks=range(49, 100, 50))
    _, usable = realised_returns(steps, model, 0.05)  # 0.9**29 = 0.047: 22 returns of fifty
    assert usable.sum() == 2 * 22


def test_a_rest_that_is_drawn_leaves_the_distribution_as_it_is(model):
    whole, _ = realised_returns(coin(40_000), model, 0.01)
    short = coin(40_000, breaks=range(4, 40_000, 5))  # 0.9**5 = 0.59 of the weight is not seen
    drawn, usable = realised_returns(short, model, 0.6, drawn=True)
    by_mean, _ = realised_returns(short, model, 0.6)
    first = np.arange(0, 40_000, 5)
    assert usable[first].all()
    assert drawn[first].mean() == pytest.approx(whole[:39_000].mean(), abs=0.05)
    assert drawn[first].std() == pytest.approx(whole[:39_000].std(), rel=0.05)
    assert by_mean[first].std() < 0.9 * whole.std()
