"""Features by name; "auto" chooses something sensible for the observations, and says why."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat._text import counted
from lincat._typing import FloatArray
from lincat.data.mixed import is_mixed
from lincat.features._base import Features
from lincat.features.mixed import Mixed
from lincat.features.observations import as_ids, finite_points
from lincat.features.registry import FEATURE_NAMES, FEATURES, is_imported
from lincat.features.scaling import Scaling
from lincat.features.tabular import Tabular
from lincat.features.tiles import Tiles
from lincat.features.transformer import FromTransformer

_TILINGS = 8
_BINS = 8
_TILES = 2**16  # tiles at most, so that they need not be hashed and a page can show them
_COORDINATES = 6  # beyond these, tiles are too coarse or too many


def choose_features(
    sample: Any, *, n_states: int | None = None, low: Any = None, high: Any = None
) -> tuple[Features, str]:
    """Choose features for the kind of observations in a warm-up sample, and fit them on it.

    Ids (integers, strings, tuples) get a table. Points of up to 6 coordinates that vary get tile
    coding with 8 tilings of 8 bins each, less where that would be more than 65,536 tiles or where a
    coordinate takes fewer values. Longer points get standardised, with an intercept. Rows of
    texts and numbers get :class:`lincat.Mixed`.

    Parameters
    ----------
    sample : array
        Observations: points of shape (n, m), floats of shape (n,), or n ids.
    n_states : int, optional
        Where observations are the numbers 0 .. n_states - 1.
    low, high : arrays of shape (m,), optional
        Bounds of the space of observations, infinite where unknown. They are used for coordinates
        of which the sample fills at least half: those of many environments are far wider than what
        is ever seen.

    Returns
    -------
    features : Features
        Fitted.
    reason : str
        What was chosen, and why, and what else there is.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> features, reason = lincat.choose_features(np.random.default_rng(0).normal(size=(500, 4)))
    >>> print(reason)
    4 numbers per observation: tile coding with 8 tilings of 8 x 8 x 8 x 8 tiles, 32,768 features;
    the Fourier basis ("fourier") is smaller and smoother.
    """
    if n_states is not None:
        table = Tabular(n_states=n_states).fit(sample)
        return table, (
            f"{table.n_features_:,} numbered states: a table with a row for each; there is no "
            "smaller choice without coordinates."
        )
    if is_mixed(sample):
        mixed = Mixed().fit(sample)
        return mixed, f"texts and numbers, or some that are missing. {mixed.describe()}"
    if are_ids(sample):
        return _table(sample)
    points = finite_points(sample)
    m = points.shape[1]
    values = [len(np.unique(points[:, j])) for j in range(m)]
    varying = sum(count > 1 for count in values)
    numbers = f"{counted(m, 'number')} per observation"
    if 0 < varying < m:
        numbers += f", of which {varying} var{'ies' if varying == 1 else 'y'}"
    if varying > _COORDINATES:
        scaling = Scaling().fit(points)
        return scaling, (
            f"{numbers}: too many for tiles, so standardised, with an intercept, "
            f'{scaling.n_features_} features; radial basis functions ("rbf") can bend where these '
            "cannot."
        )
    if varying == 0:
        scaling = Scaling().fit(points)
        return scaling, (
            f"{numbers}, the same in all {len(points):,} observations of the warm-up: an intercept "
            'alone has something to say; take a longer warm-up, or "tiles" with bounds of your own.'
        )
    bins = _bins(values)
    lows, highs = _useful_bounds(points, low, high)
    tiles = Tiles(tilings=_TILINGS, bins=bins, low=lows, high=highs).fit(points)
    return tiles, (
        f"{numbers}: tile coding with {_TILINGS} tilings of {' x '.join(map(str, bins))} tiles, "
        f'{tiles.n_features_:,} features; the Fourier basis ("fourier") is smaller and smoother.'
    )


def features_from_name(
    name: str, options: Mapping[str, Any] | None = None, *, n_states: int | None = None
) -> Features | None:
    """Return unfitted features, or None for "auto", which needs a sample (``choose_features``).

    Parameters
    ----------
    name : str
        "auto", "tabular", "tiles", "fourier", "rbf", "scaling", "identity", or "module:name" of a
        transformer.
    options : mapping, optional
        Hyper-parameters by name. Text is read as a number, true, false, null, or numbers with
        commas between them, where it is one of these.
    n_states : int, optional
        Where observations are the numbers 0 .. n_states - 1: a table uses them as they are, unless
        the options say otherwise.

    Examples
    --------
    >>> from lincat.features.auto import features_from_name
    >>> features_from_name("tiles", {"tilings": "4", "bins": "8,2"})
    Tiles(tilings=4, bins=[8, 2], low=None, high=None, size=None)
    """
    given = {key: _value(value) for key, value in (options or {}).items()}
    if name in FEATURES.offered:
        cls: type[Features] = FEATURES[name]
        _refuse_others(name, given, cls._parameter_names())
        if cls is Tabular and n_states is not None and not given:
            given["n_states"] = n_states
        return cls(**given)
    if name == "auto" or (isinstance(name, str) and is_imported(name)):
        _refuse_others(name, given, [])
        return None if name == "auto" else FromTransformer(name)
    near = difflib.get_close_matches(str(name), FEATURE_NAMES, n=1)
    raise fail(
        "features",
        f"one of {', '.join(FEATURE_NAMES)}, or module:name",
        repr(name),
        f"did you mean {near[0]}?" if near else "",
    )


def are_ids(sample: Any) -> bool:
    """Whether these are names: integers in one column, or anything but numbers.

    Rows of texts and numbers are not.
    """
    if is_mixed(sample):
        return False
    try:
        array = np.asarray(sample)
    except ValueError:  # tuples of different lengths
        return True
    return array.dtype.kind not in "fiub" or (array.ndim == 1 and array.dtype.kind != "f")


def _table(sample: Any) -> tuple[Features, str]:
    ids = as_ids(sample)
    table = Tabular().fit(sample)
    seen = len(table.ids_)
    rare = len(ids) >= 100 and 4 * seen > 3 * len(ids)
    return table, (
        f"ids, {seen:,} different ones among the first {len(ids):,}: a table with a row for each; "
        f"{'most came once only, so ' if rare else ''}if they are measurements rather than names, "
        'use "tiles".'
    )


def _bins(values: list[int]) -> list[int]:
    """As many bins along each coordinate as it takes values, but 8 at most, or what fits."""
    for most in range(_BINS, 1, -1):
        bins = [min(most, count) for count in values]
        if _TILINGS * math.prod(bins) <= _TILES:
            return bins
    return [min(2, count) for count in values]


def _useful_bounds(points: FloatArray, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of coordinates of which the sample fills half; infinite for the others."""
    m = points.shape[1]
    try:
        lows = np.array(np.broadcast_to(np.asarray(-math.inf if low is None else low, float), m))
        highs = np.array(np.broadcast_to(np.asarray(math.inf if high is None else high, float), m))
    except (TypeError, ValueError):
        raise fail("low", f"{m} bounds, one for each coordinate", (low, high)) from None
    with np.errstate(over="ignore"):
        filled = points.max(axis=0) - points.min(axis=0) >= 0.5 * (highs - lows)
    return np.where(filled, lows, -math.inf), np.where(filled, highs, math.inf)


def _refuse_others(name: str, options: dict[str, Any], known: list[str]) -> None:
    for option in options:
        if option not in known:
            expected = f"one of {', '.join(known)}" if known else "none"
            raise fail(f"option of {name} features", expected, repr(option))


def _value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for text in (value, f"[{value}]"):
        try:
            return json.loads(text)
        except ValueError:
            continue
    return value
