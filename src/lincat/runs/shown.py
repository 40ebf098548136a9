"""Which states a report shows: the start, and some that stand for all that were seen."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from lincat._arguments import check_array, fail
from lincat._json import decoded
from lincat._text import one_line
from lincat._typing import FloatArray, IntArray
from lincat.data.mixed import coordinates, is_mixed, is_text, mixed_of, rows_of
from lincat.data.steps import Steps

_MOST_STARTS = 256
_FEWEST_STARTS = 2  # after the first: a single gap does not make episodes
_MOST_CLUSTERED = 4096
_REPEATED = 20  # times that a row is seen on average, where mixed rows are like ids
OTHER = "other states"


@dataclass(frozen=True)
class ShownStates:
    """Named groups of observations: the distribution of a group is the average over its members.

    Attributes
    ----------
    names : list of str
    members : list of arrays
        Observations of each group; a single one, but for the start (and for "any state").
    Phi : array of shape (n, d), or None
        Mean features of each group, where its states are not to be had: what a member then stands
        for.
    """

    names: list[str]
    members: list[Any]
    Phi: FloatArray | None = None

    def observations(self) -> tuple[Any, IntArray]:
        """Return all members in one array, and the number of the group of each."""
        sizes = [len(member) for member in self.members]
        return np.concatenate(self.members), np.repeat(np.arange(len(sizes)), sizes)

    @property
    def asked(self) -> Any:
        """The observations that the headline speaks of; None where they are not to be had."""
        return None if self.Phi is not None else self.members[0]

    def nearest(self, observations: Any) -> list[str]:
        """Return for each observation the name of the shown state that stands for it."""
        single = [i for i, member in enumerate(self.members) if i > 0]
        if not single:
            return [self.names[0]] * len(observations)
        names = [self.names[i] for i in single]
        shown = np.concatenate([self.members[i] for i in single])
        if is_mixed(shown):
            points, centres = coordinates(observations, shown), coordinates(shown, shown)
            return [names[i] for i in _nearest(points, centres)]
        if shown.ndim == 1:
            known = dict(zip(shown.tolist(), names, strict=True))
            return [known.get(one, OTHER) for one in observations.tolist()]
        scale = _scale(shown)
        # Far from the origin these sums lose digits, so it is moved.
        middle = shown.mean(axis=0)
        points, centres = (observations - middle) / scale, (shown - middle) / scale
        return [names[i] for i in _nearest(points, centres)]

    def to_json(self) -> bytes:
        """Return the groups as JSON; :meth:`from_json` reads them back."""
        Phi = None if self.Phi is None else self.Phi.tolist()
        members = [_stored(one) for one in self.members]
        return msgspec.json.encode(_Stored(self.names, members, Phi))

    @classmethod
    def from_json(cls, text: bytes, place: str = "states") -> ShownStates:
        """Read what :meth:`to_json` wrote; ``place`` names it in errors."""
        stored = decoded(text, place, "the states of a run", _Stored)
        try:
            members = [_restored(one) for one in stored.members]
            if len(members) != len(stored.names) or not all(map(len, members)):
                raise ValueError(f"{len(stored.names)} names for {len(members)} states")
            np.concatenate(members)  # of one kind, and as wide as each other
            Phi = None
            if stored.features is not None:
                Phi = check_array(stored.features, "features", shape=(len(members), None))
        except (ValueError, TypeError, OverflowError) as error:
            got = f"something else ({one_line(error)[:200]})"
            raise fail(place, "the states of a run", got) from None
        return cls(stored.names, members, Phi)


def start_observations(steps: Steps, cuts: Collection[int] = ()) -> Any:
    """Return the first observations of episodes; None where the record does not tell.

    A record without an end of an episode has no starts, and one in which most rows do not follow
    each other (a shuffled one) does not show them. Nothing starts at ``cuts``, the steps before
    which others were held out.
    """
    begins = steps.begins()
    begins = begins[~np.isin(begins, list(cuts)) | (begins == 0)]
    if len(begins) <= _FEWEST_STARTS or len(begins) - 1 > 0.5 * len(steps):
        return None
    return steps.observation[begins[:_MOST_STARTS]]


def choose_states(
    seen: Any,
    starts: Any,
    *,
    n_states: int,
    seed: int,
    labels: Sequence[str] | None = None,
) -> ShownStates:
    """Choose the states of a report from the observations of a warm-up.

    The first is the start: the average over the observations with which episodes begin, or, where
    there are none, over all that were seen. Then come, of ids, the most frequent; of points, those
    nearest to the centres of clusters, largest cluster first.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.runs.shown import choose_states
    >>> shown = choose_states(np.array([2, 1, 2]), None, n_states=2, seed=0)
    >>> shown.names
    ['any state', '2', '1']
    """
    rng = np.random.default_rng(seed)
    if starts is None:
        take = rng.choice(len(seen), min(len(seen), _MOST_STARTS), replace=False)
        names, members = ["any state"], [seen[np.sort(take)]]
    else:
        names, members = ["start"], [starts[:_MOST_STARTS]]
    if is_mixed(seen):
        rows = rows_of(seen)
        for row in _typical_rows(seen, rows, n_states, rng):
            names.append(_row_name(rows[row]))
            members.append(seen[row : row + 1])
        return ShownStates(distinct(names), members)
    if seen.ndim == 1:
        common = [one for one, _ in Counter(seen.tolist()).most_common(n_states)]
        for one in common:
            names.append(str(one) if labels is None else labels[one])
            members.append(_one_id(one, seen.dtype))
        return ShownStates(distinct(names), members)
    for point in _cluster_points(seen, n_states, rng):
        names.append(_point_name(point))
        members.append(point[None])
    return ShownStates(distinct(names), members)


def named_states(members: Sequence[Any]) -> ShownStates:
    """Return observations, each an array of one, under the names that they have in a report."""
    names = []
    for one in members:
        if is_mixed(one):
            names.append(_row_name(rows_of(one)[0]))
        else:
            names.append(str(one.tolist()[0]) if one.ndim == 1 else _point_name(one[0]))
    return ShownStates(distinct(names), list(members))


def _nearest(points: FloatArray, centres: FloatArray) -> IntArray:
    """Which centre is nearest to each point, without an array of n x k x m."""
    distance = (centres**2).sum(axis=1) - 2.0 * points @ centres.T  # x·x is the same for all c
    return np.asarray(distance.argmin(axis=1))


def _typical_rows(
    seen: Any, rows: list[tuple[Any, ...]], n_states: int, rng: np.random.Generator
) -> list[int]:
    """Mixed rows: the most frequent if there are few different ones, else near centres."""
    common = Counter(rows).most_common()
    if _REPEATED * len(common) <= len(rows) or len(common) <= n_states:
        return [rows.index(row) for row, _ in common[:n_states]]
    take = rng.choice(len(seen), min(len(seen), _MOST_CLUSTERED), replace=False)
    chosen = _cluster_rows(coordinates(seen[take], seen[take]), n_states, rng)
    return list({rows[i]: int(i) for i in take[chosen]}.values())


def _cluster_points(seen: Any, n_states: int, rng: np.random.Generator) -> list[Any]:
    """Observations nearest to the centres of clusters."""
    take = rng.choice(len(seen), min(len(seen), _MOST_CLUSTERED), replace=False)
    distinct = np.unique(np.asarray(seen[take], dtype=np.float64), axis=0)
    if len(distinct) <= n_states:
        return list(distinct)
    points = np.asarray(seen[take], dtype=np.float64)
    return [points[i] for i in _cluster_rows(points / _scale(points), n_states, rng)]


def _cluster_rows(scaled: FloatArray, n_states: int, rng: np.random.Generator) -> list[int]:
    """Rows nearest to the centres of clusters, the largest first."""
    from scipy.cluster.vq import kmeans2

    first = scaled[spread_out(scaled, n_states, rng)]
    with warnings.catch_warnings():
        # An empty cluster is not worth one: it is left out below.
        warnings.filterwarnings("ignore", "One of the clusters is empty", UserWarning)
        centres, label = kmeans2(scaled, first, minit="matrix")
    order = np.argsort(-np.bincount(label, minlength=n_states), kind="stable")
    nearest = [
        int(np.argmin(((scaled - centres[c]) ** 2).sum(axis=1)))
        for c in order
        if (label == c).any()
    ]
    return list(dict.fromkeys(nearest))


def spread_out(points: Any, n: int, rng: np.random.Generator) -> list[int]:
    """k-means++: each next point with probability as its squared distance to those chosen."""
    chosen = [int(rng.integers(len(points)))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n and distance.sum() > 0.0:
        chosen.append(int(rng.choice(len(points), p=distance / distance.sum())))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return chosen


def _scale(points: Any) -> Any:
    deviation = np.asarray(points, dtype=np.float64).std(axis=0)
    return np.where(deviation > 0.0, deviation, 1.0)


def _point_name(point: Any) -> str:
    shown = [f"{x:.3g}" for x in point[:4]]
    return f"({', '.join([*shown, *(['…'] if len(point) > 4 else [])])})"


def _row_name(row: tuple[Any, ...]) -> str:
    cells = ["missing" if x is None else x if isinstance(x, str) else f"{x:.3g}" for x in row[:4]]
    return f"({', '.join([*cells, *(['…'] if len(row) > 4 else [])])})"


def distinct(names: Sequence[str]) -> list[str]:
    """Names that are taken get a number: points look alike when rounded, an id may be "start"."""
    taken = {OTHER, "all"}  # what groups of states are called elsewhere
    result = []
    for name in names:
        numbered = (f"{name} #{i}" for i in itertools.count(2))
        result.append(next(x for x in itertools.chain([name], numbered) if x not in taken))
        taken.add(result[-1])
    return result


def _one_id(one: Any, dtype: Any) -> Any:
    array = np.empty(1, dtype=dtype)
    array[0] = one
    return array


class _Column(msgspec.Struct, forbid_unknown_fields=True):
    """A column of mixed rows: texts or numbers, null where one is missing."""

    name: str
    text: bool
    values: list[str | float | None]


class _Member(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Observations of one group: points, numbers of states, other ids, or mixed rows."""

    points: list[list[float]] | None = None
    numbers: list[int] | None = None
    ids: list[Any] | None = None
    columns: list[_Column] | None = None


class _Stored(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The content of states.json."""

    names: list[str]
    members: list[_Member]
    features: list[list[float]] | None = None


def _stored(member: Any) -> _Member:
    if is_mixed(member):
        values = zip(*rows_of(member), strict=True)
        named = zip(member.dtype.names, values, strict=True)
        return _Member(columns=[_Column(x, is_text(member, x), list(v)) for x, v in named])
    if member.ndim == 2:
        return _Member(points=member.tolist())
    if member.dtype != object:
        return _Member(numbers=member.tolist())
    return _Member(ids=member.tolist())


def _restored(member: _Member) -> Any:
    if member.points is not None:
        return np.array(member.points, dtype=np.float64)
    if member.numbers is not None:
        return np.array(member.numbers, dtype=np.int64)
    if member.columns is not None:
        kinds = ((x, object if x.text else np.float64) for x in member.columns)
        return mixed_of({x.name: np.array(x.values, dtype=kind) for x, kind in kinds})
    ids = member.ids or []
    array = np.empty(len(ids), dtype=object)
    array[:] = [tuple(one) if isinstance(one, list) else one for one in ids]
    return array
