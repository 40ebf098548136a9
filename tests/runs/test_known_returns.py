"""Which returns of a record are known, and how much each counts."""

from dataclasses import replace

import numpy as np
import pytest

import lincat
from lincat.data.steps import Steps, joined
from lincat.runs.known_returns import known_returns, return_weights, said_of_weights


def record(rewards, ends=True, weight=None):
    n = len(rewards)
    state, last = np.arange(n), np.arange(n) == n - 1
    weight = None if weight is None else np.full(n, float(weight))
    no = np.zeros(n, dtype=bool)
    return Steps(
        *(state, np.array(rewards, dtype=float), state + 1),
        *((last, no) if ends else (no, last)),
        weight=weight,
    )


def test_returns_are_those_of_returns_to_go():
    steps = joined([record([1, 2, 3]), record([4, 5, 6, 7, 8, 9], ends=False)])
    returns, missing, known = known_returns(steps, 0.5, 0.1)
    expected, usable = lincat.returns_to_go(
        steps.reward, steps.terminated, steps.truncated, 0.5, tolerance=0.1
    )
    np.testing.assert_array_equal(returns, expected)
    np.testing.assert_array_equal(known, usable)
    np.testing.assert_allclose(missing, [0, 0, 0, *0.5 ** np.arange(6, 0, -1)])


def test_what_ended_soon_does_not_stand_for_what_broke_off():
    soon, late = record([1]), record([1] * 10, ends=False)
    assert not known_returns(joined([soon, late, soon]), 1.0, 0.1)[2].any()
    # Where nothing ends, what is known is a fair sample; and the last record says nothing.
    assert known_returns(joined([late, late]), 0.5, 0.01)[2].sum() == 8
    open_ended = replace(late, truncated=np.zeros(10, dtype=bool))
    assert known_returns(joined([soon, soon, open_ended]), 1.0, 0.1)[2].sum() == 2


def test_returns_count_as_much_as_their_record_does():
    steps = joined([record([1, 2], weight=2), record([3], weight=0)])
    np.testing.assert_array_equal(return_weights(steps), [2, 2, 0])
    assert return_weights(record([1, 2])) is None
    assert return_weights(steps[:0]) is None


def test_weights_that_change_within_a_record_say_nothing_of_returns():
    steps = replace(record([1, 2, 3]), weight=np.array([1.0, 1.0, 2.0]))
    with pytest.raises(lincat.InvalidInputError, match="weights that change within records"):
        return_weights(steps)
    # What balances the choices of a policy is no weight of the source.
    assert return_weights(replace(steps, action_noise=np.zeros((3, 1)))) is None


def test_a_few_that_count_for_nearly_all_are_worth_few():
    assert said_of_weights(None) == ""
    assert said_of_weights(np.array([1e6, 1.0, 1.0])) == ", weighted (worth 1 alike)"
