"""Blocks of time: sums over stretches of a stream, a bounded number of about equal length.

A block takes `length` rows, then as many as its last episode still has, but never more than twice
`length`; where no episode ended in it, it stops at once: episodes longer than a block are cut,
others stay whole. When there would be too many blocks, neighbours are merged in pairs and `length`
doubles. All of that depends on the rows alone, not on how they came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from lincat._typing import BoolArray, FloatArray
from lincat.statistics.dense import DenseSums, as_dense
from lincat.statistics.groups import Shares
from lincat.statistics.sparse import SparseSums

Sums: TypeAlias = DenseSums | SparseSums


@dataclass
class Block:
    """Sums over neighbouring rows."""

    sums: Any  # Sums, of one kind for all blocks
    count: int = 0
    weight: float = 0.0
    has_end: bool = False  # whether an episode ended in it
    closed: bool = False

    def absorb(self, other: Block) -> None:
        """Take in what follows."""
        self.sums.absorb(other.sums)
        self.count += other.count
        self.weight += other.weight
        self.has_end = self.has_end or other.has_end

    def copy(self) -> Block:
        """Return a block that can be added to without changing this one."""
        return replace(self, sums=self.sums.copy())

    def with_dense_sums(self, n_groups: int) -> Block:
        """Return the block with its sums in dense matrices."""
        if isinstance(self.sums, DenseSums):
            return self
        return replace(self, sums=as_dense(self.sums, n_groups))


class Blocks:
    """The blocks of a stream, in the order of time."""

    def __init__(
        self, most: int, length: int = 1, items: list[Block] | None = None, *, owned: bool = True
    ) -> None:
        self.most, self.length = most, length
        self.owned = owned  # False if others may hold the blocks, so that only the last may change
        self.items: list[Block] = [] if items is None else items
        self._spare: list[Sums] = []  # memory of merged blocks: new memory costs more than sums

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(block.sums.nbytes for block in self.items)

    def copy(self) -> Blocks:
        """Return blocks that can be added to without changing these; only the last is copied."""
        self.owned = False
        items = [*self.items[:-1], *(block.copy() for block in self.items[-1:])]
        return Blocks(self.most, self.length, items, owned=False)

    def begin(self, n: int, size: int, limit: int) -> None:
        """Choose number and length of the first blocks, of so many bytes, for the first n rows."""
        while self.most > 1 and self.most * size > limit:
            self.most //= 2
        while n > self.most * self.length:
            self.length *= 2

    def open(self, empty: Callable[[], Sums]) -> Block:
        """Return the block that the next row belongs to, a new one if need be."""
        if self.items and not self.items[-1].closed:
            return self.items[-1]
        if len(self.items) >= self.most:
            self.merge_pairs()
            if not self.items[-1].closed:
                return self.items[-1]
        sums = self._spare.pop() if self._spare else empty()
        sums.clear()  # now, and not when it was merged: it is in the cache for what comes
        self.items.append(Block(sums))
        return self.items[-1]

    def take(self, block: Block, weight: FloatArray, end: BoolArray) -> int:
        """Count the rows, of those given, that belong to an open block; return their number."""
        n = self._room(block, end)
        block.count += n
        block.weight += float(weight[:n].sum())
        block.has_end = block.has_end or bool(end[:n].any())
        return n

    def _room(self, block: Block, end: BoolArray) -> int:
        enough = max(self.length - block.count, 0)
        if enough > len(end):
            return len(end)
        if enough and (end[enough - 1] or not (block.has_end or end[:enough].any())):
            block.closed = True
            return enough
        cap = 2 * self.length - block.count
        ahead = np.flatnonzero(end[enough:cap])
        if ahead.size:
            cap = enough + int(ahead[0]) + 1
        block.closed = cap <= len(end)
        return min(cap, len(end))

    def merge_pairs(self) -> None:
        """Merge neighbours, which doubles the length."""
        before, self.items = self.items[::-1], []
        self.length *= 2
        while before:
            block = before.pop() if self.owned else before.pop().copy()
            if before:
                after = before.pop()
                block.absorb(after)
                if self.owned:
                    self._spare.append(after.sums)
            self.items.append(block)
        self.owned = True
        for last in self.items[-1:]:
            last.closed = last.count >= self.length

    def forget(self, rows: int) -> None:
        """Drop the oldest blocks, as long as the others hold so many rows."""
        held = sum(block.count for block in self.items)
        while len(self.items) > 1 and held - self.items[0].count >= rows:
            oldest = self.items.pop(0)
            held -= oldest.count

    def fit(self, limit: int, needed: int, refusal: Callable[[int], Exception]) -> bool:
        """Merge pairs if the blocks, and so many bytes more, take more than a limit.

        Returns whether nothing had to be merged; raises what ``refusal`` makes of the bytes needed
        if there is a single block.
        """
        if self.nbytes + needed <= limit:
            return True
        if len(self.items) <= 1:
            raise refusal(self.nbytes + needed)
        self.most = max(1, self.most // 2)
        self.merge_pairs()
        self._spare = []
        return False

    def regrouped(self, shares: Shares) -> Blocks:
        """Return the blocks with other groups: ``shares[g]`` says which get how much of g."""
        items = [replace(block, sums=block.sums.regrouped(shares)) for block in self.items]
        return Blocks(self.most, self.length, items)

    def append(self, other: Blocks) -> None:
        """Take over the blocks of another stream, behind these, all of about the same length."""
        while self.length < other.length:
            self.merge_pairs()
        while other.length < self.length:
            other.merge_pairs()
        self.items += other.items
        while len(self.items) > self.most:
            self.merge_pairs()
        for block in self.items:
            block.closed = True  # what follows is another stream
