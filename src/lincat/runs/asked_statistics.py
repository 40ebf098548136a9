"""Statistics and a question: which blocks of time, which states, and held-out returns of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lincat._arguments import fail
from lincat._text import counted
from lincat._typing import FloatArray, IntArray
from lincat.features.points import Points
from lincat.features.tabular import Tabular
from lincat.runs.shown import ShownStates, distinct, named_states
from lincat.runs.site import HeldReturns, Site
from lincat.runs.source_statistics import SourceStatistics, joined_returns
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.merging import merge_statistics
from lincat.statistics.parts import some_blocks
from lincat.tables.times import times_of

_MOST_STARTS = 256
_ALIKE = 2.5  # times that a horizon may be longer than one for which returns were kept


@dataclass(frozen=True)
class Asked:
    """Statistics of the blocks that are asked for.

    Attributes
    ----------
    whole : SourceStatistics
        With those blocks only.
    pooled : Statistics
        Of all sites together.
    held : tuple of HeldReturns
        Of all sites, from the same time.
    notes : tuple of str
    """

    whole: SourceStatistics
    pooled: Statistics
    held: tuple[HeldReturns, ...]
    notes: tuple[str, ...]


def ask(
    whole: SourceStatistics,
    *,
    since: str | None = None,
    until: str | None = None,
    last_blocks: int | None = None,
) -> Asked:
    """Return the blocks of a time, or the last ones of each site; all of them by default."""
    begin = None if since is None else _micros(since, "since")
    end = None if until is None else _micros(until, "until")
    chosen = [_chosen(site, begin, end, last_blocks) for site in whole.sites]
    sites = [
        replace(site, statistics=some_blocks(site.statistics, blocks))
        for site, blocks in zip(whole.sites, chosen, strict=True)
        if blocks
    ]
    if not sites:
        got = f"none of {counted(whole.n_blocks, 'block')}{_known_times(whole)}"
        raise fail("since, until", "at least one block of time between them", got, "ask for more")
    if not any(site.statistics.weight > 0.0 for site in sites):
        raise fail("statistics", "rows whose weight is above 0", "none")
    notes = []
    if since is not None or until is not None or last_blocks is not None:
        rows, blocks = sum(x.statistics.count for x in sites), sum(map(len, chosen))
        some = f"{blocks} of {counted(whole.n_blocks, 'block')} of time"
        notes.append(f"{some}, {rows:,} of {whole.count:,} transitions.")
    held = [x for site in sites for x in site.held] if last_blocks is None else []
    if since is not None or until is not None:
        held = [x.within(begin, end) for x in held]
    held = [x for x in held if len(x.value)]
    gammas = sorted({x.gamma for x in held})
    return Asked(
        whole=replace(whole, sites=tuple(sites)),
        pooled=merge_statistics([site.statistics for site in sites]),
        held=tuple(joined_returns([x for x in held if x.gamma == gamma]) for gamma in gammas),
        notes=tuple(notes),
    )


def nearest_held(held: Sequence[HeldReturns], gamma: float) -> HeldReturns | None:
    """Return the returns at the discount factor next to one, if their horizons are alike."""
    if not held:
        return None

    def apart(other: float) -> float:
        if gamma == other:
            return 0.0
        if 1.0 in (gamma, other):
            return math.inf
        return abs(math.log((1.0 - gamma) / (1.0 - other)))

    best = min(held, key=lambda x: apart(x.gamma))
    return best if apart(best.gamma) <= math.log(_ALIKE) else None


def states_of(asked: Asked, n_states: int) -> ShownStates:
    """Return what a page shows: the start, or any state, and the most frequent ids or groups."""
    whole, sites = asked.whole, asked.whole.sites
    starts = sum(site.start_count for site in sites)
    totals = asked.pooled.totals()
    if starts:
        name, mean = "start", sum((site.start_sum for site in sites), 0.0) / starts
    else:
        name, mean = "any state", totals.phi_sum.sum(axis=0) / totals.weight
    if whole.cells is not None:
        shown = _groups(whole, n_states)
    else:
        shown = _ids(whole, totals.Sigma.diagonal(), n_states)
    assert shown.Phi is not None  # both have set it
    first = _standing_for(whole, np.asarray(mean), shown)
    return ShownStates(
        distinct([name, *shown.names]),
        [first, *shown.members],
        np.concatenate([np.asarray(mean)[None], shown.Phi]),
    )


def typical_features(whole: SourceStatistics) -> FloatArray | None:
    """Return mean features of all groups of states, (C, d), None for tables."""
    if whole.cells is None:
        return None
    counts, sums = _cell_sums(whole)
    seen = counts > 0
    return np.asarray(sums[seen] / counts[seen, None])


def _cell_sums(whole: SourceStatistics) -> tuple[IntArray, FloatArray]:
    counts = np.sum([site.cell_counts for site in whole.sites], axis=0)
    return counts, np.sum([site.cell_sums for site in whole.sites], axis=0)


def _ids(whole: SourceStatistics, visits: Any, n_states: int) -> ShownStates:
    features = whole.features
    visits = np.asarray(visits)
    rows = [r for r in np.argsort(-visits, kind="stable")[:n_states].tolist() if visits[r] > 0.0]
    members = [observation_of(whole, row) for row in rows]
    shown = named_states(members)
    Phi = np.zeros((len(rows), features.n_features_))
    if features.table:
        Phi[np.arange(len(rows)), rows] = 1.0
    names = [whole.labels[r] for r in rows] if whole.labels else shown.names
    return ShownStates(distinct(names), members, Phi)


def observation_of(whole: SourceStatistics, row: int) -> Any:
    """Return the id or the point that has a row of the table, as an array of one."""
    features = whole.features
    if isinstance(features, Points):
        return features.points_[row : row + 1]
    if isinstance(features, Tabular):
        one = features.ids_[row]
        if isinstance(one, int):
            return np.array([one])
        array = np.empty(1, dtype=object)
        array[0] = one
        return array
    return np.zeros(1, dtype=np.int64)


def _groups(whole: SourceStatistics, n_states: int) -> ShownStates:
    """Groups of cells: as many as are to be shown, the largest first."""
    from scipy.cluster.vq import kmeans2

    assert whole.cells is not None  # only called with cells
    counts, sums = _cell_sums(whole)
    seen = np.flatnonzero(counts > 0)
    label = np.arange(len(seen))
    if len(seen) > n_states:
        # From the largest cells on, so that it depends on nothing but the sums.
        means = sums[seen] / counts[seen, None]
        first = means[_far_apart(means, counts[seen], n_states)]
        _, label = kmeans2(means, first, minit="matrix")
    groups = [seen[label == g] for g in np.unique(label)]
    groups.sort(key=lambda cells: -int(counts[cells].sum()))
    largest = [int(cells[np.argmax(counts[cells])]) for cells in groups]
    states = whole.cells.states
    Phi = np.array([sums[cells].sum(axis=0) / counts[cells].sum() for cells in groups])
    names = [states.names[c] for c in largest]
    return ShownStates(names, [states.members[c] for c in largest], Phi)


def _far_apart(points: FloatArray, counts: IntArray, n: int) -> list[int]:
    """The largest, then each time the one furthest from those chosen."""
    chosen = [int(np.argmax(counts))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return chosen


def _standing_for(whole: SourceStatistics, mean: FloatArray, shown: ShownStates) -> Any:
    """Observations that stand for a mean of features: ids as often as they came, or a group."""
    if whole.cells is None:
        rows = np.argsort(-mean, kind="stable")[:_MOST_STARTS]
        times = np.round(mean[rows] / max(mean[rows].sum(), 1e-300) * _MOST_STARTS).astype(int)
        times[0] = max(times[0], 1)
        often = [(row, n) for row, n in zip(rows.tolist(), times.tolist(), strict=True) if n]
        return np.concatenate([np.repeat(observation_of(whole, r), n, axis=0) for r, n in often])
    assert shown.Phi is not None
    return shown.members[int(np.argmin(((shown.Phi - mean) ** 2).sum(axis=1)))]


def _chosen(site: Site, begin: int | None, end: int | None, last: int | None) -> list[int]:
    blocks = list(range(site.statistics.n_blocks))
    if begin is not None or end is not None:
        spans = site.spans()
        if spans is None:
            remedy = "name it for lincat stats, --column step=COLUMN, or ask for --last-blocks"
            raise fail("since, until", "rows with a time", f"none at site {site.name}", remedy)
        first, final = spans
        blocks = [
            i
            for i in blocks
            if (begin is None or first[i] >= begin) and (end is None or final[i] < end)
        ]
    return blocks if last is None else blocks[-last:]


def _known_times(whole: SourceStatistics) -> str:
    clocks = [site.clock for site in whole.sites if site.clock is not None]
    if not clocks:
        return ""
    first, last = min(int(c.first.min()) for c in clocks), max(int(c.last.max()) for c in clocks)
    ends = [str(np.datetime64(x, "us").astype("datetime64[s]")) for x in (first, last)]
    return f", which lie from {ends[0]} to {ends[1]}"


def _micros(text: str, argument: str) -> int:
    times = times_of([text])
    if times.bad[0] or times.missing[0]:
        raise fail(argument, "a date or time such as 2024-03-01", repr(text))
    return int(times.micros[0])
