"""Parts of a log: numbered stretches of rows whose sums are taken apart from each other.

What a part is depends on the log alone, its row groups and what is held out of it; not on who sums
it. Sums of parts are added in one tree, so that the answer has the same bits whoever did the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from lincat._threads import one_blas_thread
from lincat.data.steps import Steps
from lincat.features.id_text import ids_to_bytes
from lincat.features.tabular import Tabular
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.files import save_bytes
from lincat.runs.held_out import broken_off
from lincat.runs.model import Model
from lincat.runs.overflow import MOST_IDS
from lincat.tables.file_source import FileSource

_ROWS = 2**18  # of a part: some tenths of a second
_FEWEST, _MOST = 64, 4096  # parts, where row groups allow


class Stretch(msgspec.Struct, frozen=True):
    """Rows first .. stop − 1 of a log, and where the record breaks off after them.

    ``until`` is the row from which rows are held out, or the end; ``cut`` whether the record
    breaks off there.
    """

    first: int
    stop: int
    until: int
    cut: bool


class PartSums(msgspec.Struct, frozen=True):
    """What comes of a part.

    Attributes
    ----------
    learner : bytes
        The file of a learner that has seen its transitions; empty if it has none.
    skipped : int
        Rows that were left out.
    missing : dict
        Cells of each column that were missing in rows that were kept.
    nodes : tuple of float, or None
        Of its rewards, where these are not kept as they are.
    ids : bytes
        If not empty, ids that the table does not have; then nothing was summed.
    """

    learner: bytes
    skipped: int
    missing: dict[str, int]
    nodes: tuple[float, ...] | None
    ids: bytes


def cut_in_parts(
    groups: Sequence[int], held: Sequence[int], *, cuts: bool
) -> tuple[tuple[Stretch, ...], ...]:
    """Return the stretches of each part.

    Parameters
    ----------
    groups : sequence of int
        Rows of each group that can be read alone.
    held : sequence of int
        Rows from which others are held out, and from which they are not any more, in turn.
    cuts : bool
        Whether the record breaks off where some are held out.

    Examples
    --------
    >>> from lincat.runs.parts import cut_in_parts
    >>> for part in cut_in_parts([60, 40, 40], held=[90, 110], cuts=True):
    ...     print([(x.first, x.stop) for x in part])
    [(0, 60)]
    [(60, 90)]
    [(110, 140)]
    """
    total = sum(groups)
    size = max(min(_ROWS, -(-total // _FEWEST)), -(-total // _MOST))
    ends = np.cumsum(groups)
    parts, first = [], 0
    for end in map(int, ends):
        if end - first >= size or (end == total and end > first):
            parts.append(tuple(_learned(first, end, total, held, cuts)))
            first = end
    return tuple(part for part in parts if part)


def _learned(
    first: int, stop: int, total: int, held: Sequence[int], cuts: bool
) -> Iterator[Stretch]:
    free = 0
    for begin, end in [*zip(held[::2], held[1::2], strict=True), (total, total)]:
        low, high = max(first, free), min(stop, begin)
        if low < high:
            yield Stretch(low, high, begin, cuts and begin < total)
        free = end


@dataclass(frozen=True)
class SumParts:
    """The work of summing parts.

    Attributes
    ----------
    source : FileSource
    model : Model
        That has learned nothing; its learner has the nodes and the number of blocks of a part.
    n_step : int
    parts : tuple of tuples of Stretch
    """

    source: FileSource
    model: Model
    n_step: int
    parts: tuple[tuple[Stretch, ...], ...]

    def __call__(self, number: int) -> bytes:
        """Return the sums of a part, as bytes."""
        with one_blas_thread:  # the number of threads could change the last bits
            return msgspec.msgpack.encode(self._sums(self.parts[number]))

    def _sums(self, part: tuple[Stretch, ...]) -> PartSums:
        features, learner = self.model.features, self.model.learner.clone()
        known = features.n_known_
        if isinstance(features, Tabular):
            features.grow_to(MOST_IDS)
        counts = _Counts()
        for stretch in part:
            for steps in self._steps(stretch, counts):
                transitions = self.model.transitions(steps)
                if features.n_known_ == known:
                    learner.partial_fit(transitions)
        if features.n_known_ > known and isinstance(features, Tabular):
            ids = ids_to_bytes(features.ids_[known:]).tobytes()
            return PartSums(b"", counts.skipped, dict(counts.missing), None, ids)
        if not learner.n_seen_:
            return PartSums(b"", counts.skipped, dict(counts.missing), None, b"")
        assert isinstance(learner, CategoricalLSTD)
        exact = learner.statistics_.exact_rewards
        nodes = None if exact else tuple(learner.statistics_.nodes_.tolist())
        return PartSums(save_bytes(learner), counts.skipped, dict(counts.missing), nodes, b"")

    def _steps(self, stretch: Stretch, counts: _Counts) -> Iterator[Steps]:
        """The steps of a stretch, as the learner takes them."""
        n = self.n_step
        own = self._read(stretch.first, stretch.stop, stretch, counts)
        if n == 1:
            yield from own
            return
        # Sums over n steps reach into what follows, of which some rows are read for them.
        begun = done = 0

        def longer() -> Iterator[Steps]:
            nonlocal begun
            for steps in own:
                begun += len(steps)
                yield steps
            ahead = min(stretch.stop + n - 1, stretch.until)
            if stretch.stop < ahead:
                yield from self._read(stretch.stop, ahead, stretch, None)

        for made in self.model.sums_of(longer(), n):
            if done < begun:
                yield made[: begun - done]
            done += len(made)

    def _read(
        self, first: int, stop: int, stretch: Stretch, counts: _Counts | None
    ) -> Iterator[Steps]:
        steps: Iterable[Steps] = self.source.between(first, stop)
        yield from _cut(steps) if stretch.cut and stop == stretch.until else steps
        if counts is not None:
            counts.skipped += self.source.skipped_rows
            counts.missing.update(self.source.missing_cells)


class _Counts:
    """What was left out, and what was missing."""

    def __init__(self) -> None:
        self.skipped = 0
        self.missing: Counter[str] = Counter()


def _cut(batches: Iterable[Steps]) -> Iterator[Steps]:
    """The same steps; after the last of them the record breaks off."""
    last: Steps | None = None
    for steps in batches:
        if last is not None:
            yield last
        last = steps
    if last is not None:
        yield broken_off(last)


def held_out_steps(source: FileSource, held: Sequence[int], *, cuts: bool) -> Iterator[Steps]:
    """Yield the steps of the rows that are held out."""
    for first, stop in zip(held[::2], held[1::2], strict=True):
        steps = source.between(first, stop)
        yield from _cut(steps) if cuts else steps
