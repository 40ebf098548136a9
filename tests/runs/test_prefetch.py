"""Reading ahead: the same items in the same order, errors in their place, no thread left."""

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lincat.runs.prefetch import prefetched


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "lincat-reader"]


@settings(max_examples=25)
@given(st.lists(st.none() | st.integers()), st.integers(1, 8))
def test_same_items_in_the_same_order(items, depth):
    assert list(prefetched(iter(items), depth=depth)) == items
    assert readers() == []


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise ValueError("broken")

    got = []
    with pytest.raises(ValueError, match="broken"):
        got.extend(iter_into(got, prefetched(items())))
    assert got == [1, 2]
    assert readers() == []


def iter_into(got, items):
    for item in items:
        got.append(item)
    return []


def test_an_error_of_the_first_item():
    def items():
        raise KeyError("none")
        yield

    with pytest.raises(KeyError):
        next(prefetched(items()))
    assert readers() == []


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_early_ends_the_thread_of_an_endless_source(taken):
    def endless():
        while True:
            yield "x"

    items = prefetched(endless(), depth=2)
    for _ in range(taken):
        assert next(items) == "x"
    items.close()
    assert readers() == []


def test_it_reads_no_more_than_depth_ahead():
    read = []

    def items():
        for i in range(100):
            read.append(i)
            yield i

    ahead = prefetched(items(), depth=3)
    for i in range(5):
        assert next(ahead) == i
        time.sleep(0.05)
        # depth items wait in the queue, and the reader has one more in its hand
        assert len(read) <= i + 1 + 3 + 1
    assert len(read) == 5 + 3 + 1
    ahead.close()


def test_reading_and_using_overlap():
    def slow():
        for i in range(4):
            time.sleep(0.05)
            yield i

    begun = time.perf_counter()
    for _ in prefetched(slow()):
        time.sleep(0.05)
    assert time.perf_counter() - begun < 0.38  # one after the other: 0.4


def test_a_stop_is_heard_while_nothing_comes():
    never, stop = threading.Event(), threading.Event()

    def stuck():
        yield 1
        never.wait()

    items = prefetched(stuck(), stop=stop)
    assert next(items) == 1
    stop.set()
    begun = time.perf_counter()
    assert list(items) == []
    assert time.perf_counter() - begun < 5.0
    never.set()
