"""Statistics of a source: sums that answer every later question, and that add up over sites.

They are made by one pass (:func:`lincat.stats`), added (:func:`lincat.merge`), kept in files and
asked (:func:`lincat.evaluate`): no row is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lincat._arguments import InvalidInputError, fail, reason
from lincat._tensors import write_packed
from lincat._typing import FloatArray, IntArray
from lincat.features._base import Features
from lincat.features.files import save_bytes as features_bytes
from lincat.features.tabular import Tabular
from lincat.runs.shown import ShownStates
from lincat.runs.site import Clock, HeldReturns, Site
from lincat.statistics.merging import agreed_nodes, merge_statistics
from lincat.statistics.parts import renumbered

if TYPE_CHECKING:
    from lincat.core.distribution import ReturnDistribution


@dataclass(frozen=True)
class Cells:
    """Groups of like states, where features are no table.

    Attributes
    ----------
    centres : array of shape (C, d)
        In the space of features.
    states : ShownStates
        What stands for each of them, and is called so: means and common values, not rows.
    """

    centres: FloatArray
    states: ShownStates


@dataclass(frozen=True)
class SourceStatistics:
    """Sums over the rows of one source or several; see :func:`lincat.stats`.

    Attributes
    ----------
    features : Features
        That rows were turned into; the same at all sites.
    sites : tuple of Site
        By name. ``sites[0].statistics`` are the :class:`lincat.Statistics` of one.
    observation_names : tuple of str
    cells : Cells or None
        None for tables.
    labels : tuple of str
        What states that are numbers are called, where they have names.

    Examples
    --------
    >>> import lincat
    >>> north = lincat.stats("frozen_lake", steps=20_000, site="north")
    >>> south = lincat.stats("frozen_lake", steps=20_000, seed=1, site="south")
    >>> both = lincat.merge([north, south])
    >>> both
    SourceStatistics(35540 transitions, 16 features, sites north, south)
    >>> run = lincat.evaluate(both, gamma=0.95)
    >>> run.trusted, run.answer.transitions
    (True, 35540)
    """

    features: Features
    sites: tuple[Site, ...]
    observation_names: tuple[str, ...]
    cells: Cells | None
    labels: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(site.name for site in self.sites)
        some = f"site{'s' * (len(self.sites) > 1)} {names}"
        features = f"{self.features.n_features_} features"
        return f"SourceStatistics({self.count} transitions, {features}, {some})"

    @property
    def count(self) -> int:
        """Transitions in the sums."""
        return sum(site.statistics.count for site in self.sites)

    @property
    def n_blocks(self) -> int:
        """Blocks of time, of all sites."""
        return sum(site.statistics.n_blocks for site in self.sites)

    def save(self, path: str | Path) -> None:
        """Write a file: safetensors, no code, a checksum, written whole or not at all."""
        from lincat.runs.statistics_files import save_bytes

        write_packed(path, save_bytes(self))

    @classmethod
    def load(cls, path: str | Path) -> SourceStatistics:
        """Read a file that :meth:`save` wrote; one that was changed since is refused."""
        from lincat.runs.statistics_files import load

        return load(path)

    def returns(
        self,
        *,
        gamma: float = 0.99,
        intervals: int = 200,
        observations: Any = None,
        confidence: float | None = None,
        since: str | None = None,
        until: str | None = None,
        last_blocks: int | None = None,
    ) -> ReturnDistribution:
        """Answer one question, in milliseconds where there are few features.

        Distributions alone, on a grid of few intervals: :func:`lincat.evaluate` checks them against
        held-out returns, compares sites, and keeps a run folder.

        Parameters
        ----------
        gamma : float
        intervals : int
            K; there are K + 1 atoms, where the returns are.
        observations : array or list of ids, optional
            States to answer for; by default the start, or any state, and the most frequent.
        confidence : float, optional
            With it the answer carries its sampling error (``interval``, ``band``).
        since, until : str, optional
            Only blocks of time between these.
        last_blocks : int, optional
            Only the last so many blocks of each site.

        Examples
        --------
        >>> import lincat
        >>> lake = lincat.stats("frozen_lake", steps=20_000)
        >>> for gamma in (0.9, 0.95):
        ...     returns = lake.returns(gamma=gamma)
        ...     print(returns.names[0], returns.mean()[0].round(4))
        start 0.0052
        start 0.009
        """
        from lincat.runs.asked_statistics import ask
        from lincat.runs.from_statistics import quick_returns

        asked = ask(self, since=since, until=until, last_blocks=last_blocks)
        return quick_returns(asked, gamma, intervals, observations, confidence)

    def called(self, name: str) -> SourceStatistics:
        """Return the statistics of a single site under another name."""
        if len(self.sites) > 1:
            raise fail("site", "a name for one site", f"{len(self.sites)} of them")
        return replace(self, sites=(replace(self.sites[0], name=name),))


def merged(parts: Sequence[SourceStatistics], names: Sequence[str] = ()) -> SourceStatistics:
    """Return the sum of statistics that belong together; sites of one name become one.

    Parameters
    ----------
    parts : list of SourceStatistics
    names : list of str
        What to call them in errors.
    """
    if not parts:
        raise fail("parts", "statistics to add", "none")
    names = names or [f"part {i}" for i in range(len(parts))]
    for part, name in zip(parts[1:], names[1:], strict=True):
        _check_alike(parts[0], part, names[0], name)
    parts = with_one_table(parts)
    sites = [site for part in parts for site in part.sites]
    seen: dict[tuple[int, int], str] = {}
    for site in sites:
        trace = (site.statistics.trace.count, site.statistics.trace.value)
        if trace in seen:
            got = f"the same rows twice, as {seen[trace]} and as {site.name}"
            raise fail("parts", "each row once", got, "leave one of the files out")
        seen[trace] = site.name
    # An order of their own, so that it does not matter in which they are given.
    sites.sort(key=_place)
    try:
        # Of all, though sites stay apart: their rewards have to go on the same nodes later.
        agreed_nodes(site.statistics for site in sites)
        grouped = tuple(_one_site(list(some)) for _, some in groupby(sites, lambda x: x.name))
    except InvalidInputError as error:
        remedy = "make one with lincat stats --like the other"
        raise fail("parts", "reward nodes that agree", reason(error), remedy) from None
    return replace(parts[0], sites=grouped)


def _place(site: Site) -> tuple[str, int, int]:
    """By name, then by time, then by what is in it."""
    clock = site.clock
    began = int(clock.first.min()) if clock is not None and len(clock.first) else 0
    return site.name, began, site.statistics.trace.value


def _one_site(sites: list[Site]) -> Site:
    """The same site at several times, one behind the other."""
    if len(sites) == 1:
        return sites[0]
    clocks = [site.clock for site in sites if site.clock is not None]
    clock = reduce(Clock.joined, clocks) if len(clocks) == len(sites) else None
    gammas = sorted({held.gamma for site in sites for held in site.held})
    return Site(
        name=sites[0].name,
        source=", ".join(dict.fromkeys(site.source for site in sites)),
        statistics=merge_statistics([site.statistics for site in sites]),
        clock=clock,
        cell_counts=np.sum([site.cell_counts for site in sites], axis=0),
        cell_sums=np.sum([site.cell_sums for site in sites], axis=0),
        start_count=sum(site.start_count for site in sites),
        start_sum=np.sum([site.start_sum for site in sites], axis=0),
        held=tuple(
            joined_returns([held for site in sites for held in site.held if held.gamma == gamma])
            for gamma in gammas
        ),
        skipped_rows=sum(site.skipped_rows for site in sites),
    )


def joined_returns(parts: Sequence[HeldReturns]) -> HeldReturns:
    """Return held-out returns of several sites at one discount factor as those of one."""
    if len(parts) == 1:
        return parts[0]
    stretches = np.cumsum([0, *(int(x.stretch.max(initial=-1)) + 1 for x in parts)])
    cells, Phi = np.zeros(len(parts), dtype=np.int64), None
    tables = [x.Phi for x in parts if x.Phi is not None]
    if tables:
        cells, Phi = np.cumsum([0, *map(len, tables)])[:-1], np.concatenate(tables)
    spans = [x.spans for x in parts if x.spans is not None]
    weight = None
    if any(x.weight is not None for x in parts):
        each = (np.ones(len(x.value)) if x.weight is None else x.weight for x in parts)
        weight = np.concatenate(list(each))
    return HeldReturns(
        gamma=parts[0].gamma,
        value=np.concatenate([x.value for x in parts]),
        cell=np.concatenate([x.cell + c for x, c in zip(parts, cells, strict=True)]),
        stretch=np.concatenate([x.stretch + s for x, s in zip(parts, stretches, strict=False)]),
        Phi=Phi,
        spans=np.concatenate(spans) if len(spans) == len(parts) else None,
        weight=weight,
    )


def _check_alike(
    first: SourceStatistics, other: SourceStatistics, name: str, other_name: str
) -> None:
    """Refuse statistics that do not belong together, with what differs."""
    remedy = f"make one with lincat stats --like {name}"

    def differ(what: str, expected: Any, got: Any) -> Exception:
        return fail(other_name, f"{what} of {name}, {expected}", got, remedy)

    names = (first.observation_names, other.observation_names)
    if names[0] != names[1]:
        raise differ("the observations", *(", ".join(x) or "none" for x in names))
    kinds = [type(x.features).__name__ for x in (first, other)]
    if kinds[0] != kinds[1]:
        raise differ("the features", *kinds)
    if _is_growing(first.features) and _is_growing(other.features):
        return  # ids of both fit into one table
    if features_bytes(first.features) != features_bytes(other.features):
        widths = [x.features.n_features_ for x in (first, other)]
        said = [f"{x} of them" for x in widths]
        if widths[0] == widths[1]:
            said = [f"{widths[0]} of them, fitted to its rows", "others, fitted to its own"]
        raise differ("the features", *said)
    pair = (first.cells, other.cells)
    if pair[0] is not None and pair[1] is not None:
        if not np.array_equal(pair[0].centres, pair[1].centres):
            raise differ("the groups of states", "fitted to its rows", "others")


def _is_growing(features: Features) -> bool:
    return isinstance(features, Tabular) and features.n_states is None


def with_one_table(parts: Sequence[SourceStatistics]) -> list[SourceStatistics]:
    """Number ids alike: all ids of all parts, in an order of their own, and no free rows."""
    tables = [x.features for x in parts if isinstance(x.features, Tabular)]
    if len(tables) < len(parts) or not all(map(_is_growing, tables)):
        return list(parts)
    every = {one for table in tables for one in table.ids_}
    ids = sorted(every, key=lambda one: (type(one).__name__, _sortable(one)))
    table = Tabular(capacity=len(ids)).fit(ids)
    if all(features_bytes(own) == features_bytes(table) for own in tables):
        return list(parts)
    return [
        replace(part, features=table, sites=tuple(_in_table(x, own, table) for x in part.sites))
        for part, own in zip(parts, tables, strict=True)
    ]


def _sortable(one: Any) -> Any:
    return one if isinstance(one, int | str) else repr(one)


def _in_table(site: Site, own: Tabular, table: Tabular) -> Site:
    rows: IntArray = np.full(own.n_features_, -1)
    rows[: len(own.ids_)] = table.lookup(own.ids_)
    start, there = np.zeros(table.n_features_), rows >= 0
    start[rows[there]] = site.start_sum[there]
    return replace(
        site,
        statistics=renumbered(site.statistics, rows, table.n_features_),
        cell_sums=np.zeros((0, table.n_features_)),  # rows of a table are in no cells
        start_sum=start,
        held=tuple(replace(x, cell=rows[x.cell]) for x in site.held),
    )
