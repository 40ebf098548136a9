"""Hold-outs, limits and whole batches, against lists of single steps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lincat.data.steps import Steps, joined
from lincat.runs.held_out import HoldOut
from lincat.runs.stream import in_multiples, limited, skipping


@st.composite
def streams(draw):
    """Steps numbered 0, 1, 2, ... in batches of any size, empty ones too."""
    sizes = draw(st.lists(st.integers(0, 7), max_size=8))
    kind = draw(st.sampled_from(["number", "point", "text"]))
    extra = draw(st.booleans())
    batches, begin = [], 0
    for size in sizes:
        number = np.arange(begin, begin + size)
        begin += size
        state, following = number, number + 1
        if kind == "point":
            state, following = (
                np.stack([x, -x], axis=1).astype(float) for x in (number, following)
            )
        elif kind == "text":
            state, following = (np.array([f"s{i}" for i in x], object) for x in (number, following))
        column = number / 2 if extra else None
        batches.append(
            Steps(state, number * 1.0, following, number % 3 == 2, number % 5 == 4, column, column)
        )
    return batches, begin


def numbers(batches):
    """What is checked of a step: each column, as plain values."""
    rows = []
    for batch in batches:
        for i in range(len(batch)):
            columns = [
                None if c is None else c[i].tolist() if hasattr(c[i], "tolist") else c[i]
                for c in batch._columns()
            ]
            rows.append(columns)
    return rows


@given(streams(), st.integers(0, 20), st.integers(1, 20), st.integers(1, 4))
def test_how_much_to_hold_out_may_depend_on_the_first_rows(stream, rows, first, share):
    batches, n = stream
    asked = []

    def decide(steps):
        asked.append(len(steps))
        return len(steps) // share

    held = HoldOut(decide, first=first)
    passed = list(held.passing(batches))
    assert len(asked) == (n > 0)
    if n > 0:
        assert asked[0] == n or asked[0] >= first
    cut = max(n - held.rows, 0)
    assert numbers(passed) == numbers(batches)[:cut]
    # A stream that is continued holds out as many, and passes on the same.
    again = HoldOut(held.rows)
    after = cut // 2
    rest = [joined(batches)[after:]] if n else []
    assert numbers(again.passing(rest)) == numbers(batches)[after:cut]


@given(streams(), st.integers(0, 20))
def test_hold_out_keeps_exactly_the_last_rows(stream, rows):
    batches, n = stream
    everything = numbers(batches)
    held = HoldOut(rows)
    passed = list(held.passing(batches))
    cut = max(n - rows, 0)
    assert numbers(passed) == everything[:cut]
    kept = held.kept
    assert numbers([] if kept is None else [kept]) == everything[cut:]


@given(streams(), st.integers(0, 20))
def test_nothing_is_passed_on_before_enough_has_come_after_it(stream, rows):
    batches, _ = stream
    seen = 0

    def counted():
        nonlocal seen
        for batch in batches:
            seen += len(batch)
            yield batch

    given_out = 0
    for batch in HoldOut(rows).passing(counted()):
        given_out += len(batch)
        assert given_out <= seen - rows


@given(streams(), st.none() | st.integers(0, 40))
def test_limited_takes_the_first_steps(stream, steps):
    batches, _ = stream
    everything = numbers(batches)
    assert (
        numbers(limited(batches, steps))
        == everything[: len(everything) if steps is None else steps]
    )


@given(streams(), st.integers(0, 12))
def test_skipped_steps_are_the_first(stream, steps):
    batches, _ = stream
    out = list(skipping(batches, steps))
    assert numbers(out) == numbers(batches)[steps:]
    assert all(map(len, out))


def test_limited_does_not_ask_for_more_than_it_needs():
    one = Steps(*(np.zeros(2) for _ in range(3)), np.zeros(2, bool), np.zeros(2, bool))

    def source():
        yield one
        yield one
        raise AssertionError("asked for a third batch")

    assert sum(len(batch) for batch in limited(source(), 3)) == 3
    assert sum(len(batch) for batch in limited(source(), 4)) == 4


@given(streams(), st.integers(1, 9))
def test_multiples_are_whole_and_nothing_is_lost(stream, size):
    batches, _ = stream
    out = list(in_multiples(batches, size))
    assert numbers(out) == numbers(batches)
    assert all(len(batch) % size == 0 and len(batch) for batch in out[:-1])


@given(streams(), st.integers(0, 9), st.integers(1, 5), st.integers(1, 30))
def test_all_of_them_in_a_row(stream, rows, size, steps):
    batches, _ = stream
    everything = numbers(batches)[:steps]
    held = HoldOut(rows)
    learned = list(in_multiples(held.passing(limited(batches, steps)), size))
    kept = [] if held.kept is None else [held.kept]
    assert numbers(learned) + numbers(kept) == everything
    assert sum(map(len, kept)) == min(rows, len(everything))
    if learned:
        assert len(joined(learned)) == len(everything) - min(rows, len(everything))
