"""What a stream of steps passes through on its way to the learner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lincat.data.steps import Steps, joined
from lincat.data.transitions import Transitions

#: Transitions learned from at a time: so many at first, then a share of those seen so far.
FIRST_PIECE = 1024
_PIECES = 32


def limited(batches: Iterable[Steps], steps: int | None) -> Iterator[Steps]:
    """Yield at most so many steps, and read no further; all of them for None."""
    left = steps
    source = iter(batches)  # not "yield from", which would close the source with this generator
    while (left is None or left > 0) and (batch := next(source, None)) is not None:
        yield batch[:left]
        left = None if left is None else left - len(batch)


def skipping(batches: Iterable[Steps], steps: int) -> Iterator[Steps]:
    """Yield all but the first so many steps."""
    for batch in batches:
        skipped = min(steps, len(batch))
        steps -= skipped
        if len(batch) > skipped:
            yield batch[skipped:]


def in_multiples(batches: Iterable[Steps], size: int) -> Iterator[Steps]:
    """Cut batches so that each but the last is a multiple of ``size``.

    An update of so many transitions must not end where a batch of the source happens to.
    """
    rest: list[Steps] = []
    for batch in batches:
        whole = joined([*rest, batch])
        full = len(whole) // size * size
        if full:
            yield whole[:full]
        rest = [whole[full:]] if full < len(whole) else []
    yield from rest


def pieces(reader: Iterable[Transitions], done: int, batch_size: int) -> Iterator[Transitions]:
    """Cut batches so that early on, where curves move, there is something to see of it."""
    for transitions in reader:
        begin = 0
        while begin < len(transitions):
            piece = max(FIRST_PIECE, done // _PIECES) // batch_size * batch_size or batch_size
            yield transitions[begin : begin + piece]
            begin += piece
            done += piece
