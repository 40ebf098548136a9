"""Which groups the rows of a chunk are added to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lincat._typing import FloatArray, IntArray

__all__ = ["Bucket", "Placement"]


@dataclass(frozen=True)
class Bucket:
    """Rows that go to the same groups: one, or three that their rewards are split over."""

    groups: tuple[int, ...]
    follows: bool  # whether anything follows: False where the episode terminated


@dataclass(frozen=True)
class Placement:
    """The bucket of each row, shape (n,), and how rewards are split, shape (n, 3), or None."""

    bucket: IntArray
    buckets: tuple[Bucket, ...]
    split: FloatArray | None

    def __getitem__(self, part: slice) -> Placement:
        split = None if self.split is None else self.split[part]
        return Placement(self.bucket[part], self.buckets, split)

    def by_bucket(self) -> Iterator[tuple[Bucket, IntArray]]:
        """Yield each bucket that has rows, and these rows in their order."""
        # Small integers are sorted by counting.
        order = np.argsort(self.bucket.astype(np.uint16), kind="stable")
        last = np.cumsum(np.bincount(self.bucket, minlength=len(self.buckets)))
        first = 0
        for bucket, end in zip(self.buckets, last.tolist(), strict=True):
            if end > first:
                yield bucket, order[first:end]
            first = end

    def expanded(self, weight: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return rows, their groups and their weights, with one entry for each part of a reward."""
        width = 1 if self.split is None else 3
        groups = np.array([bucket.groups for bucket in self.buckets], dtype=np.int64)
        parts = weight[:, None] if self.split is None else weight[:, None] * self.split
        row = np.repeat(np.arange(len(weight)), width)
        return row, groups[self.bucket].ravel(), parts.ravel()

    @property
    def follows(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether anything follows, of each bucket."""
        return np.array([bucket.follows for bucket in self.buckets], dtype=bool)
