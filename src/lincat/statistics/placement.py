"""Which groups the rows of a chunk are added to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.statistics.groups import Groups


@dataclass(frozen=True)
class Bucket:
    """Rows that go to the same groups: one, or three that their rewards are split over."""

    groups: tuple[int, ...]
    follows: bool  # whether anything follows: False where the episode terminated


@dataclass(frozen=True)
class Placement:
    """The bucket of each row, shape (n,), and how rewards are split, shape (n, 3), or None.

    ``groups`` are those of each bucket, (buckets, 1 or 3); ``follows`` says where anything follows.
    """

    bucket: IntArray
    buckets: tuple[Bucket, ...]
    split: FloatArray | None
    groups: IntArray
    follows: BoolArray

    def __getitem__(self, part: slice) -> Placement:
        split = None if self.split is None else self.split[part]
        return replace(self, bucket=self.bucket[part], split=split)

    def used(self) -> list[Bucket]:
        """Return the buckets that have rows."""
        return [self.buckets[k] for k in np.flatnonzero(np.bincount(self.bucket))]

    def sorted(self) -> tuple[IntArray, IntArray]:
        """Return the rows by bucket, each in their order, and where each bucket ends."""
        # Small integers are sorted by counting.
        order = np.argsort(self.bucket.astype(np.uint16), kind="stable")
        return order, np.cumsum(np.bincount(self.bucket, minlength=len(self.buckets)))

    def parts(self, weight: FloatArray) -> FloatArray:
        """Return how much of each row goes to each group of its bucket, shape (n, 1) or (n, 3)."""
        return weight[:, None] if self.split is None else weight[:, None] * self.split

    def expanded(self, weight: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return rows, their groups and their weights, with one entry for each part of a reward."""
        row = np.repeat(np.arange(len(weight)), self.groups.shape[1])
        return row, self.groups[self.bucket].ravel(), self.parts(weight).ravel()


def placed(
    node: IntArray,
    split: FloatArray | None,
    values: FloatArray,
    discount: FloatArray,
    groups: Groups,
) -> Placement:
    """Return where rows go, by their (first) node among ``values`` and their discount.

    Groups that are new get numbers.
    """
    kind, kinds = groups.discount_kinds(discount)
    key = node * len(kinds) + kind
    present = np.flatnonzero(np.bincount(key))
    number = np.zeros(int(key.max()) + 1, dtype=np.int64)
    number[present] = np.arange(len(present))
    width = 1 if split is None else 3
    buckets = []
    for first, of_kind in zip(*np.divmod(present, len(kinds)), strict=True):
        power, given = kinds[of_kind]
        rewards = values[first : first + width].tolist()
        of = tuple(groups.number(reward, power, given) for reward in rewards)
        buckets.append(Bucket(of, follows=power != 0))
    return Placement(
        number[key],
        tuple(buckets),
        split,
        groups=np.array([bucket.groups for bucket in buckets], dtype=np.int64),
        follows=np.array([bucket.follows for bucket in buckets], dtype=bool),
    )
