"""A table: one row of parameters for each id."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from lincat._arguments import (
    InvalidInputError,
    check_array,
    check_integer,
    check_unmasked,
    fail,
)
from lincat._text import shown
from lincat._typing import BoolArray, FeatureMatrix, IntArray
from lincat.features._base import Features
from lincat.features.id_text import ids_from_bytes, ids_to_bytes
from lincat.features.observations import are_numbers_below, as_ids

_SPAN = 2**22  # integers, from the smallest to the largest id, that are looked up in an array
_NONE: IntArray = np.zeros(0, dtype=np.int64)


class TableFullError(InvalidInputError):
    """An id came for which a table has no row."""


@final
class Tabular(Features):
    """A table with a row for each id: state numbers, names, tuples, anything hashable.

    :meth:`fit` numbers the ids of the warm-up sample in order of appearance. These are the only
    features that continue to learn: an id that :meth:`transform` meets for the first time takes the
    next free row, until the table is full. :meth:`lookup` refuses such an id.

    Parameters
    ----------
    capacity : int, optional
        Rows of the table; by default 4 for each id of the warm-up sample, and 64.
    n_states : int, optional
        For observations that are the numbers 0 .. n_states - 1: they are row numbers as they are.

    Attributes
    ----------
    n_features_ : int
        Rows of the table, used or free.
    ids_ : list
        The ids, by row.

    Examples
    --------
    >>> import lincat
    >>> table = lincat.Tabular(capacity=4).fit(["home", "shop", "home"])
    >>> table.transform(["shop", "park", (1, "b")])
    array([1, 2, 3])
    >>> table.ids_
    ['home', 'shop', 'park', (1, 'b')]
    >>> lincat.Tabular(n_states=3).fit([0]).transform([2, 0])
    array([2, 0])
    """

    kind = "tabular"
    table = True

    def __init__(self, *, capacity: int | None = None, n_states: int | None = None) -> None:
        self.capacity = capacity
        self.n_states = n_states

    @property
    def ids_(self) -> list[Any]:
        """The ids, by row."""
        self._check_fitted()
        return list(self._rows_) if self._rows_ is not None else list(range(self.n_features_))

    def _fit(self, observations: Any) -> None:
        if self.n_states is not None:
            if self.capacity is not None:
                raise fail("capacity", "n_states or capacity, not both", self.capacity)
            n_states = check_integer(self.n_states, "n_states", low=1)
            _check_numbers(observations, n_states)
            self._settle(None, n_states)
            return
        capacity = self.capacity
        if capacity is not None:
            capacity = check_integer(capacity, "capacity", low=1)
        ids = as_ids(observations)
        values = ids.tolist() if isinstance(ids, np.ndarray) else ids
        if not values:
            raise fail("observations", "a warm-up sample of at least one observation", "none")
        try:
            different = list(dict.fromkeys(values))
        except TypeError:
            raise _unhashable(values) from None
        for value in different:
            if _holds_nan(value):
                raise fail("observations", "ids that equal themselves", repr(value))
        if capacity is not None and capacity < len(different):
            got = f"{capacity} for {len(different)} different ids in the warm-up sample"
            raise fail("capacity", "a row for each id", got)
        rows = {value: row for row, value in enumerate(different)}
        self._settle(rows, 4 * len(rows) + 64 if capacity is None else capacity)

    def _settle(self, rows: dict[Any, int] | None, n_features: int) -> None:
        self._rows_ = rows
        # A cache of rows for integers: _table_[id - _low_] is the row, or -1 if it is to be asked.
        self._low_, self._table_ = 0, _NONE
        self.n_features_ = n_features
        self._most_ = 0

    def grow_to(self, most: int) -> bool:
        """Let a table without a given capacity have up to so many rows; return whether it may.

        It doubles when it is full but for one row, so that whoever learns has an example of a row
        that was never used.
        """
        if self._rows_ is None or self.capacity is not None:
            return False
        self._most_ = most
        return True

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        if self._rows_ is None:
            return _check_numbers(observations, self.n_features_)
        ids = as_ids(observations)
        if not isinstance(ids, np.ndarray):
            return self._rows_of(ids, grow, range(len(ids)))
        if not self._cover(ids):
            return self._rows_of(ids.tolist(), grow, range(len(ids)))
        places = ids - self._low_ if self._low_ else ids
        rows = self._table_[places]
        unknown = np.flatnonzero(rows < 0)
        if unknown.size:
            found = self._rows_of(ids[unknown].tolist(), grow, unknown)
            rows[unknown] = self._table_[places[unknown]] = found
        return rows

    def _rows_of(self, values: list[Any], grow: bool, places: Sequence[int] | IntArray) -> IntArray:
        """Return the row of each id; ``places`` are their positions, for errors."""
        assert self._rows_ is not None  # only called with a table of ids
        try:
            asked = map(self._rows_.get, values, itertools.repeat(-1))
            rows = np.fromiter(asked, dtype=np.int64, count=len(values))
        except TypeError:
            raise _unhashable(values) from None
        for i in np.flatnonzero(rows < 0).tolist():
            value = values[i]
            row = self._rows_.get(value)
            if row is None:
                what = f"{shown(value)} at row {places[i]}"
                row = len(self._rows_)
                if not grow:
                    raise fail("observations", "ids that were seen before", what)
                if _holds_nan(value):
                    raise fail("observations", "ids that equal themselves", what)
                if row + 1 >= self.n_features_ < self._most_:
                    self.n_features_ = min(2 * self.n_features_, self._most_)
                if row == self.n_features_:
                    expected = f"at most {row} different ids"
                    remedy = (
                        f"raise capacity= (--features tabular --feature-option capacity={10 * row})"
                    )
                    full = fail("observations", expected, f"one more, {what}", remedy)
                    raise TableFullError(str(full))
                self._rows_[value] = row
            rows[i] = row
        return rows

    def _knows(self, observations: Any) -> BoolArray:
        if self._rows_ is None:
            return are_numbers_below(observations, self.n_features_)
        ids = as_ids(observations)
        values = ids.tolist() if isinstance(ids, np.ndarray) else ids
        try:
            return np.fromiter(map(self._rows_.__contains__, values), bool, len(values))
        except TypeError:
            raise _unhashable(values) from None

    def _n_known(self) -> int:
        return self.n_features_ if self._rows_ is None else len(self._rows_)

    def _cover(self, ids: IntArray) -> bool:
        """Make the cache reach from the smallest to the largest id; False if that is too far."""
        if ids.size == 0:
            return False
        low, high = int(ids.min()), int(ids.max())
        if self._table_.size:
            low, high = min(low, self._low_), max(high, self._low_ + self._table_.size - 1)
        if high - low >= _SPAN:
            return False
        if high - low >= self._table_.size:
            table = np.full(high - low + 1, -1, dtype=np.int64)
            start = self._low_ - low
            table[start : start + self._table_.size] = self._table_
            self._low_, self._table_ = low, table
        return True

    def _sentence(self) -> str:
        if self._rows_ is None:
            return f"A table with one row for each of {self.n_features_:,} states."
        used = len(self._rows_)
        return (
            f"A table with one row for each of {used:,} ids, and {self.n_features_ - used:,} free."
        )

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        names = [str(x) for x in self.ids_]
        return names + [f"free row {row}" for row in range(len(names), self.n_features_)]

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._rows_ is None:
            return {}, {"rows": self.n_features_, "numbers": True}
        arrays = {"ids": ids_to_bytes(list(self._rows_))}
        return arrays, {"rows": self.n_features_, "numbers": False}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        n_features = check_integer(values["rows"], "rows", low=1)
        if values["numbers"] is True:
            self._settle(None, n_features)
            return
        ids = ids_from_bytes(arrays["ids"])
        rows = {value: row for row, value in enumerate(ids)}
        if not 0 < len(ids) <= n_features or len(rows) < len(ids):
            raise fail("ids", f"different ones, 1 to {n_features} of them", f"{len(ids)} ids")
        self._settle(rows, n_features)


def _check_numbers(observations: Any, n_states: int) -> IntArray:
    """Return state numbers, each in 0 .. n_states - 1."""
    check_unmasked(observations, "observations")
    array = np.asarray(observations)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    expected = f"state numbers 0 .. {n_states - 1}"
    if array.dtype.kind not in "iu":
        numbers = check_array(array, "observations", shape=(None,))
        bad = np.flatnonzero(numbers != np.floor(numbers))
        if bad.size:
            raise fail("observations", expected, f"{numbers[bad[0]]:g} at row {int(bad[0])}")
        array = numbers
    if array.ndim != 1:
        raise fail("observations", f"{expected}, of shape (n,)", f"shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= n_states):
        row = int(np.argmax((array < 0) | (array >= n_states)))
        raise fail("observations", expected, f"{int(array[row])} at row {row}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _holds_nan(value: Any) -> bool:
    """Whether an id is NaN, or a tuple with one: it would never be found again."""
    if isinstance(value, tuple):
        return any(_holds_nan(x) for x in value)
    return isinstance(value, float | np.floating) and value != value


def _unhashable(values: list[Any]) -> InvalidInputError:
    for row, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            what = f"{shown(value, 60)} ({type(value).__name__}) at row {row}"
            return fail("observations", "hashable ids", what, "turn lists into tuples")
    raise AssertionError("all are hashable")
