"""Which groups the rows of a chunk are added to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat import kernels
from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.statistics.groups import Groups


@dataclass(frozen=True)
class Placement:
    """The bucket of each row, shape (n,), and how rewards are split, shape (n, 3), or None.

    Rows of a bucket go to the same groups: one, or three that their rewards are split over.
    ``groups`` are those of each bucket, (buckets, 1 or 3); ``follows`` says whether anything
    follows its rows, (buckets,): not where the episode terminated.
    """

    bucket: IntArray
    split: FloatArray | None
    groups: IntArray
    follows: BoolArray

    def __getitem__(self, part: slice) -> Placement:
        split = None if self.split is None else self.split[part]
        return Placement(self.bucket[part], split, self.groups, self.follows)

    def used_groups(self) -> tuple[IntArray, IntArray]:
        """Return the groups that have rows which something follows, and all that have rows."""
        used = np.bincount(self.bucket, minlength=len(self.groups)) > 0
        return self.groups[used & self.follows].ravel(), self.groups[used].ravel()

    def sorted(self) -> tuple[IntArray, IntArray]:
        """Return the rows by bucket, each in their order, and where each bucket ends."""
        # Small integers are sorted by counting.
        order = np.argsort(self.bucket.astype(np.uint16), kind="stable")
        return order, np.cumsum(np.bincount(self.bucket, minlength=len(self.groups)))

    def parts(self, weight: FloatArray) -> FloatArray:
        """Return how much of each row goes to each group of its bucket, shape (n, 1) or (n, 3)."""
        if self.split is None:
            return weight[:, None]
        return self.split if (weight == 1.0).all() else weight[:, None] * self.split

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
    bucket = np.empty(len(node), dtype=np.int64)
    present = kernels.placement.number_pairs(bucket, node, kind, len(values), len(kinds))
    width = 1 if split is None else 3
    numbers, follows = [], []
    for first, of_kind in zip(*np.divmod(present, len(kinds)), strict=True):
        power, given = kinds[of_kind]
        rewards = values[first : first + width].tolist()
        numbers.append([groups.number(reward, power, given) for reward in rewards])
        follows.append(power != 0)
    return Placement(bucket, split, np.array(numbers), np.array(follows))
