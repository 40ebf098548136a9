"""Which groups the rows of a chunk are added to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lincat import kernels
from lincat._typing import BoolArray, FloatArray, IntArray
from lincat.statistics.groups import Groups


class Names:
    """Numbers of groups, (m,), and where each of them lies among the others."""

    def __init__(self, groups: IntArray) -> None:
        self.groups = groups
        self._slots = np.full(int(groups.max(initial=-1)) + 2, -1)  # as beyond the last
        self._slots[groups] = np.arange(len(groups))

    def __len__(self) -> int:
        return len(self.groups)

    def slots(self, groups: IntArray) -> IntArray:
        """Return where groups lie; −1 for those that are not there."""
        return self._slots.take(groups, mode="clip")

    def missing(self, groups: IntArray) -> IntArray:
        """Return those groups that are not there, ascending."""
        return np.flatnonzero(np.bincount(groups[self.slots(groups) < 0]))


@dataclass(frozen=True, eq=False)
class Buckets:
    """The groups of each bucket, (buckets, 1 or 3), and whether anything follows its rows.

    Nothing does where the episode terminated. Chunks with the same rewards have the same buckets,
    as one object, so that what is found out about them is found out once.
    """

    groups: IntArray
    follows: BoolArray
    made_of: tuple[bytes, list[tuple[int, float]]]  # rewards, powers of gamma and given discounts

    @cached_property
    def names(self) -> tuple[Names, Names]:
        """The groups that something follows, and all of them, ascending."""
        following, every = self.groups[self.follows], self.groups
        return Names(np.unique(following)), Names(np.unique(every))

    def slots(self, cross: Names, phi_sum: Names) -> tuple[IntArray, IntArray]:
        """Return where the groups lie, (buckets, parts), in N (−1 for none) and in c."""
        mine = self.names
        if cross is mine[0] and phi_sum is mine[1]:
            return self._own_slots
        return self._slots_in(cross, phi_sum)

    @cached_property
    def _own_slots(self) -> tuple[IntArray, IntArray]:
        return self._slots_in(*self.names)

    def _slots_in(self, cross: Names, phi_sum: Names) -> tuple[IntArray, IntArray]:
        slots = cross.slots(self.groups)
        slots[~self.follows] = -1
        return slots, phi_sum.slots(self.groups)


@dataclass(frozen=True)
class Placement:
    """The bucket of each row, (n,), and how much of it goes to each group of its bucket.

    Rows of a bucket go to the same groups: one, or three that their rewards are split over.
    ``parts`` are (n, 1 or 3); they add up to the weight of a row.
    """

    bucket: IntArray
    parts: FloatArray
    buckets: Buckets

    def __getitem__(self, part: slice) -> Placement:
        return Placement(self.bucket[part], self.parts[part], self.buckets)

    def __len__(self) -> int:
        return len(self.bucket)

    def used_groups(self) -> tuple[IntArray, IntArray]:
        """Return the groups that have rows which something follows, and all that have rows."""
        groups, follows = self.buckets.groups, self.buckets.follows
        used = np.bincount(self.bucket, minlength=len(groups)) > 0
        return groups[used & follows].ravel(), groups[used].ravel()

    def sorted(self) -> tuple[IntArray, IntArray]:
        """Return the rows by bucket, each in their order, and where each bucket ends."""
        # Small integers are sorted by counting.
        order = np.argsort(self.bucket.astype(np.uint16), kind="stable")
        return order, np.cumsum(np.bincount(self.bucket, minlength=len(self.buckets.groups)))

    def expanded(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return rows, their groups and their weights, with one entry for each part of a reward."""
        row = np.repeat(np.arange(len(self)), self.parts.shape[1])
        return row, self.buckets.groups[self.bucket].ravel(), self.parts.ravel()


def placed(
    node: IntArray,
    split: FloatArray | None,
    values: FloatArray,
    discount: FloatArray,
    weight: FloatArray,
    groups: Groups,
    before: Buckets | None = None,
) -> Placement:
    """Return where rows go, by their (first) node among ``values`` and their discount.

    Groups that are new get numbers. ``before`` are the buckets of the last rows, which these are
    likely to have too.
    """
    kind, kinds = groups.discount_kinds(discount)
    bucket = np.empty(len(node), dtype=np.int64)
    present = kernels.placement.number_pairs(bucket, node, kind, len(values), len(kinds))
    first, of_kind = np.divmod(present, len(kinds))
    rewards = values[first if split is None else first[:, None] + np.arange(3)]
    of = [kinds[k] for k in of_kind]
    made_of = (rewards.tobytes(), of)
    if before is None or before.made_of != made_of:
        numbers = groups.numbers(rewards.reshape(len(first), -1), of)
        before = Buckets(numbers, np.array([power != 0 for power, _ in of]), made_of)
    if split is None:
        return Placement(bucket, weight[:, None], before)
    plain = (weight == 1.0).all()
    return Placement(bucket, split if plain else weight[:, None] * split, before)
