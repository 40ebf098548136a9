"""Rows held out of every part of a record, against a list of their numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lincat.data.steps import Steps, joined
from lincat.runs.held_out import SpreadHoldOut
from lincat.runs.stream import skipping


def numbered(n):
    state = np.arange(n)
    return Steps(state, state * 1.0, state + 1, state % 7 == 6, state % 5 == 4)


@given(st.integers(1, 60), st.integers(1, 6), st.floats(0.0, 0.9), st.data(), st.integers(0, 10))
def test_some_of_every_part(total, parts, share, data, missing):
    parts = min(parts, total)
    rows = int(share * total)
    steps = numbered(max(total - missing, 0))  # a file may hold fewer steps than rows
    cuts = sorted(data.draw(st.lists(st.integers(0, len(steps)), max_size=5)))
    batches = [steps[a:b] for a, b in zip([0, *cuts], [*cuts, len(steps)], strict=True)]
    held = set()
    for part in range(1, parts + 1):
        size = rows * part // parts - rows * (part - 1) // parts
        first, end = total * (part - 1) // parts, total * part // parts
        begin = end - (end - first + size) // 2  # as many before as behind, or one fewer
        held |= set(range(begin, begin + size))
    wanted = [i for i in range(len(steps)) if i not in held]
    keeper = SpreadHoldOut(total, rows, parts)
    passed = [i for piece in keeper.passing(batches) for i in piece.observation.tolist()]
    assert passed == wanted
    kept = keeper.kept
    rest = [i for i in range(len(steps)) if i in held]
    assert ([] if kept is None else kept.observation.tolist()) == rest
    # Where neighbours are parted, the record breaks off; nowhere else.
    again = SpreadHoldOut(total, rows, parts)
    learned = list(again.passing([steps]))
    for piece in [joined(learned)] if learned else []:
        state = piece.observation
        parted = np.append(np.diff(state) > 1, state[-1] + 1 in held)
        np.testing.assert_array_equal(
            piece.truncated, (steps.truncated[state] | parted) & ~(parted & steps.terminated[state])
        )
        jumps = np.flatnonzero(np.diff(state) > 1) + 1
        assert set(jumps) == set(again.cuts) & set(range(1, len(state)))
    assert SpreadHoldOut.at(keeper.edges).rows == rows
    skip = data.draw(st.integers(0, len(wanted)))
    later = SpreadHoldOut(total, rows, parts)
    passed = [
        i for piece in skipping(later.passing(batches), skip) for i in piece.observation.tolist()
    ]
    assert passed == wanted[skip:]
    assert (later.kept is None) == (kept is None)
    if kept is not None:
        np.testing.assert_array_equal(later.kept.truncated, kept.truncated)


def test_a_sorted_log_is_fairly_parted():
    """Of rows in order, what is held out is on average what is learned from."""
    keeper = SpreadHoldOut(1000, 100, 10)
    learned = joined(list(keeper.passing([numbered(1000)]))).observation
    assert abs(learned.mean() - keeper.kept.observation.mean()) <= 1.0
