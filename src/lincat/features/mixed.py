"""Features of columns of texts and numbers, some of which may be missing.

Texts become one-hot: frequent values have a place each, rare ones share one, what was never seen
has none. Numbers that are missing get their mean, and say so in an indicator. Returns jump with
texts as they do with numbers that take few values: as many of these columns as there are bumps for
are kept apart, with smooth features of the numbers z for each combination (see ``smooth.py``);
texts of the others, and indicators, are added,

    e_v,   e_v z_i        e_v: 1 where the text is v (or where a number is missing), else 0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from lincat._arguments import InvalidInputError, check_integer, check_number, check_plain, fail
from lincat._text import counted, listed, shown
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.data.mixed import is_missing, is_mixed, is_text, mixed_of
from lincat.features._base import Features
from lincat.features.smooth import FEWEST_BUMPS, Smooth

_MOST_PRODUCTS = 256  # features e_v z_i, in all; without them where there would be more
_OTHER = -1  # the code of a text without a place


@dataclass(frozen=True)
class _Text:
    """A column of texts: those with a place of their own, None for missing ones."""

    levels: tuple[str | None, ...]
    pooled: bool  # whether others were seen, which share a place

    @property
    def width(self) -> int:
        """Places; a column that takes one value says nothing."""
        places = len(self.levels) + self.pooled
        return places if places > 1 else 0

    def codes(self, column: Any) -> IntArray:
        """The place of each text, shape (n,); none for what was never seen."""
        places = {level: i for i, level in enumerate(self.levels)}
        other = len(self.levels) if self.pooled else _OTHER
        found = map(places.get, column.tolist(), [other] * len(column))
        return np.fromiter(found, dtype=np.int64, count=len(column))

    def one_hot(self, column: Any) -> FloatArray:
        """Shape (n, width)."""
        return np.asarray(self.codes(column)[:, None] == np.arange(self.width), dtype=np.float64)

    def names(self, name: str) -> list[str]:
        levels = ["missing" if level is None else level for level in self.levels]
        return [f"{name}={level}" for level in [*levels, *["others"] * self.pooled]][: self.width]


@dataclass(frozen=True)
class _Number:
    """A column of numbers: what stands for missing ones, and whether there are enough to tell."""

    mean: float
    indicator: bool

    @property
    def width(self) -> int:
        return int(self.indicator)

    def one_hot(self, column: Any) -> FloatArray:
        """The indicator, shape (n, width)."""
        return is_missing(column)[:, None][:, : self.width].astype(np.float64)

    def names(self, name: str) -> list[str]:
        return [f"{name}=missing"] * self.width


@final
class Mixed(Features):
    """Texts and numbers together: one-hot, smooth, and an indicator where a number is missing.

    Observations are mixed rows: structured arrays, as logs with texts give them, with a field for
    each column: float64, NaN where missing, or objects (texts), None where missing. Points will do.

    Parameters
    ----------
    bumps : int
        Of the smooth features of numbers, in all.
    few_values : int
        Numbers that take at most so many values may be kept apart by value, as texts are.
    rare : int
        Texts, and missing numbers, seen fewer times in the sample share a place, or have none.
    most_values : int
        Texts of a column with a place of their own, at most: the most frequent.
    seed : int
        For the choice of centres.

    Attributes
    ----------
    apart_ : list of str
        The columns that are kept apart.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> sample = np.empty(300, dtype=[("site", object), ("load", float)])
    >>> sample["site"] = ["north", "south", "east"] * 100
    >>> sample["load"] = np.random.default_rng(0).normal(size=300)
    >>> mixed = lincat.Mixed(bumps=12).fit(sample)
    >>> print(mixed.describe())
    Texts one-hot: site, 3 values. A quadratic and 12 bumps in all, apart for each of 3 combinations
    of values of site: 21 features.
    """

    kind = "mixed"

    def __init__(
        self,
        *,
        bumps: int = 64,
        few_values: int = 8,
        rare: int = 20,
        most_values: int = 64,
        seed: int = 0,
    ) -> None:
        self.bumps = bumps
        self.few_values = few_values
        self.rare = rare
        self.most_values = most_values
        self.seed = seed

    # ---------------------------------------------------------------------------------- fitting

    def _fit(self, observations: Any) -> None:
        frame = _as_mixed(observations, None)
        if len(frame) == 0:
            raise fail("observations", "a warm-up sample of at least one observation", "none")
        bumps = check_integer(self.bumps, "bumps", low=1)
        few = check_integer(self.few_values, "few_values", low=0)
        self._columns_ = {name: self._column(frame, name) for name in frame.dtype.names}
        self.apart_ = self._choose_apart(frame, bumps, few)
        matrix = self._matrix(frame)
        smooth = Smooth(bumps=bumps, apart=self._places_apart(), seed=self.seed)
        self._settle(smooth.fit(matrix))

    def _column(self, frame: Any, name: str) -> _Text | _Number:
        rare = check_integer(self.rare, "rare", low=1)
        values = frame[name]
        missing = is_missing(values)
        if is_text(frame, name):
            most = check_integer(self.most_values, "most_values", low=1)
            counts = Counter(values.tolist()).most_common()
            kept = tuple(value for value, n in counts[:most] if n >= min(rare, len(values)))
            return _Text(kept, pooled=len(kept) < len(counts))
        there = values[~missing]
        if not np.isfinite(there).all():
            raise fail("observations", "finite numbers", f"an infinite one in column {name}")
        n = int(missing.sum())
        return _Number(float(there.mean()) if there.size else 0.0, rare <= n < len(values))

    def _choose_apart(self, frame: Any, bumps: int, few: int) -> list[str]:
        """Columns whose values are kept apart, those with the fewest first, as far as they fit."""
        sizes: dict[str, int] = {}
        codes: dict[str, IntArray] = {}
        for name, column in self._columns_.items():
            if isinstance(column, _Text):
                sizes[name], codes[name] = column.width, column.codes(frame[name])
                continue
            values, codes[name] = np.unique(self._filled(frame, name), return_inverse=True)
            sizes[name] = len(values) - column.indicator if len(values) <= few + 1 else 0
            if sizes[name] > few:
                sizes[name] = 0
        chosen: list[str] = []
        together = np.zeros((len(frame), 0), dtype=np.int64)
        for name in sorted((x for x, size in sizes.items() if size > 1), key=lambda x: sizes[x]):
            more = np.column_stack([together, codes[name]])
            if len(np.unique(more, axis=0)) * FEWEST_BUMPS <= bumps:
                chosen.append(name)
                together = more
        return [name for name in self._columns_ if name in chosen]

    def _filled(self, frame: Any, name: str) -> FloatArray:
        column = self._columns_[name]
        assert isinstance(column, _Number)
        return np.where(np.isnan(frame[name]), column.mean, frame[name])

    def _settle(self, smooth: Smooth) -> None:
        self._smooth_ = smooth
        names = self._smooth_names()
        # Columns of _matrix that products are taken with: numbers that are not kept apart.
        bent = [j for j, name in enumerate(names) if name in self._bent()]
        added = sum(len(part) for part in self._added_names())
        products = added * len(bent)
        self._bent_ = np.array(bent if products <= _MOST_PRODUCTS else [], dtype=np.int64)
        self.n_features_ = smooth.n_features_ + added * (1 + len(self._bent_))

    # ------------------------------------------------------------------------------------ use

    def _bent(self) -> list[str]:
        numbers = (x for x, column in self._columns_.items() if isinstance(column, _Number))
        return [name for name in numbers if name not in self.apart_]

    def _smooth_names(self) -> list[str]:
        """Names of the columns of :meth:`_matrix`, of which there is always one."""
        names: list[str] = []
        for name, column in self._columns_.items():
            if isinstance(column, _Number):
                names.append(name)
            elif name in self.apart_:
                names += column.names(name)
        return names or ["0"]

    def _places_apart(self) -> list[int]:
        bent = self._bent()
        names = self._smooth_names()
        return [j for j, name in enumerate(names) if name not in bent] if self.apart_ else []

    def _added_names(self) -> list[list[str]]:
        return [
            column.names(name)
            for name, column in self._columns_.items()
            if name not in self.apart_ or isinstance(column, _Number)
        ]

    def _matrix(self, frame: Any) -> FloatArray:
        """What smooth features are made of: numbers, and texts that are kept apart, one-hot."""
        parts = []
        for name, column in self._columns_.items():
            if isinstance(column, _Number):
                parts.append(self._filled(frame, name)[:, None])
            elif name in self.apart_:
                parts.append(column.one_hot(frame[name]))
        return np.concatenate(parts or [np.zeros((len(frame), 1))], axis=1)

    def _transform(self, observations: Any, grow: bool) -> FeatureMatrix:
        frame = _as_mixed(observations, self._columns_)
        matrix = self._matrix(frame)
        smooth = self._smooth_.transform(matrix)
        parts = [
            column.one_hot(frame[name])
            for name, column in self._columns_.items()
            if name not in self.apart_ or isinstance(column, _Number)
        ]
        added = np.concatenate([np.zeros((len(frame), 0)), *parts], axis=1)
        z = self._smooth_.standardised(matrix)[:, self._bent_]
        products = added[:, :, None] * z[:, None, :]
        products = products.reshape(len(frame), added.shape[1] * z.shape[1])
        return np.ascontiguousarray(np.concatenate([smooth, added, products], axis=1))

    def _remarks(self, observations: Any) -> list[str]:
        frame = _as_mixed(observations, self._columns_)
        said: list[list[str]] = [[] for _ in range(len(frame))]
        for name, column in self._columns_.items():
            if isinstance(column, _Text):
                new = column.codes(frame[name]) == _OTHER
            else:
                new = is_missing(frame[name]) & (not column.indicator)
            for i in np.flatnonzero(new).tolist():
                value = frame[name][i]
                nothing = value is None or value != value
                what = "missing" if nothing else shown(value, 40)
                said[i].append(f"{name} {what} was never seen")
        return ["; ".join(parts) for parts in said]

    def _sentence(self) -> str:
        said = []
        texts = [(x, c) for x, c in self._columns_.items() if isinstance(c, _Text)]
        if texts:
            parts = []
            for name, column in texts:
                rest = ", rare ones together" if column.pooled else ""
                part = f"{name}, {counted(len(column.levels), 'value')}{rest}"
                parts.append(part if column.width else f"{name}, left out as it hardly repeats")
            said.append(f"Texts one-hot: {'; '.join(parts)}.")
        missing = [
            name
            for name, column in self._columns_.items()
            if isinstance(column, _Number) and column.indicator
        ]
        if missing:
            said.append(f"Where {listed(missing, 'or')} is missing, an indicator and the mean.")
        smooth = self._smooth_.describe().rpartition(":")[0]
        apart = f" of {listed(self.apart_)}" if self.apart_ else ""
        said.append(f"{smooth}{apart}: {self.n_features_} features.")
        return " ".join(said)

    def _names(self, inputs: Sequence[str] | None) -> list[str]:
        smooth = self._smooth_names()
        added = [name for part in self._added_names() for name in part]
        bent = [smooth[j] for j in self._bent_]
        products = [f"{name}*{x}" for name in added for x in bent]
        return [*self._smooth_.feature_names(smooth), *added, *products]

    # ---------------------------------------------------------------------------------- files

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays, _ = self._smooth_._state()
        columns = [
            {"name": name, "text": isinstance(column, _Text), **asdict(column)}
            for name, column in self._columns_.items()
        ]
        return arrays, {"columns": columns, "apart": self.apart_}

    def _restore(self, arrays: dict[str, Any], values: dict[str, Any]) -> None:
        self._columns_ = {}
        for fields in values["columns"]:
            given = dict(fields)
            name, text = given.pop("name"), given.pop("text")
            if not isinstance(name, str):
                raise fail("columns", "names", shown(name))
            self._columns_[name] = _restored_text(**given) if text else _restored_number(**given)
        self.apart_ = [name for name in values["apart"] if name in self._columns_]
        smooth = Smooth(bumps=self.bumps, apart=self._places_apart(), seed=self.seed)
        smooth._restore(arrays, {})
        width = len(self._smooth_names())
        if smooth.n_inputs_ != width:
            raise fail("columns", f"{width} of the smooth features", smooth.n_inputs_)
        self._settle(smooth)


def _restored_text(*, levels: Any, pooled: Any) -> _Text:
    known = tuple(levels)
    if any(not isinstance(x, str | None) for x in known) or type(pooled) is not bool:
        raise fail("columns", "texts", shown(levels))
    return _Text(known, pooled)


def _restored_number(*, mean: Any, indicator: Any) -> _Number:
    if type(indicator) is not bool:
        raise fail("columns", "true or false", shown(indicator))
    return _Number(check_number(mean, "mean"), indicator)


def _as_mixed(observations: Any, columns: Any) -> Any:
    """Return mixed rows, with these columns if they are settled; points have columns x0, x1, ..."""
    if not is_mixed(observations):
        check_plain(observations, "observations")
        try:
            points = np.asarray(observations, dtype=np.float64)
        except (TypeError, ValueError):
            raise _not_mixed(columns, shown(observations)) from None
        points = points[:, None] if points.ndim == 1 else points
        if points.ndim != 2 or (columns is not None and points.shape[1] != len(columns)):
            raise _not_mixed(columns, f"shape {points.shape}")
        names = columns or [f"x{j}" for j in range(points.shape[1])]
        observations = mixed_of({name: points[:, j] for j, name in enumerate(names)})
    if columns is None:
        return observations
    for name, column in columns.items():
        if name not in observations.dtype.names:
            raise _not_mixed(columns, f"no column {name!r}")
        if is_text(observations, name) != isinstance(column, _Text):
            kind = "texts" if isinstance(column, _Text) else "numbers"
            raise fail("observations", f"{kind} in column {name}", "others")
    return observations


def _not_mixed(columns: Any, got: str) -> InvalidInputError:
    expected = "mixed rows: a structured array with a field for each column"
    return fail("observations", f"{expected} {', '.join(columns or ())}".rstrip(), got)
