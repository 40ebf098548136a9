"""The pass of ``lincat stats``: from a source to sums, without any discount factor.

What a run learns about depends on gamma (a potential, levels of it, sums over several steps), and
serves that gamma alone. Here features are chosen from observations only, and rewards are summed as
they are, so that one pass answers for every gamma.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lincat._arguments import InvalidInputError, check_number, fail, reason
from lincat._threads import steady_blas
from lincat._typing import FloatArray, IntArray
from lincat.data.mixed import is_mixed
from lincat.data.steps import Steps, joined
from lincat.data.transitions import Transitions
from lincat.features._base import Features
from lincat.features.mixed import Mixed
from lincat.features.smooth import Smooth
from lincat.features.tabular import TableFullError, Tabular
from lincat.features.transformer import FromTransformer
from lincat.runs.beginning import features_for, sums_fit
from lincat.runs.cells import cells_of, dense, nearest_cell, summed_by
from lincat.runs.choosing import table_for
from lincat.runs.config import EvaluationConfig
from lincat.runs.held_out import HoldOut, SpreadHoldOut
from lincat.runs.holding_out import held_out_rows, spread_hold_out
from lincat.runs.known_returns import return_weights
from lincat.runs.loop import Progress
from lincat.runs.pilot import PILOT
from lincat.runs.scale import REWARD_NODES
from lincat.runs.site import GAMMAS, Clock, HeldReturns, Site, held_returns
from lincat.runs.source_statistics import Cells, SourceStatistics, with_one_table
from lincat.runs.sources import Opened
from lincat.runs.stream import limited
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.parts import settled
from lincat.tables.stores import is_address

_BUMPS = ((20_000, 64), (float("inf"), 100))  # of smooth features, for at most so many rows
_BLOCKS, _DENSE_BLOCKS = 64, 32  # of tables, and of other features, whose sums are larger
_MEMORY = 2**28  # bytes of sums: wide ones have fewer blocks
# Discount factors by which it is decided how much to hold out; of short records, returns of the
# lower ones only.
_NOMINAL = (0.99, 0.95, 0.9)
_MOST_IDS = 5_000
_ROOM = 4  # times as many rows for ids, when a table is full
_FEWEST_STARTS = 2


class Summing:
    """A pass over a source.

    Parameters
    ----------
    config : EvaluationConfig
        Of which gamma, grid and learner are not looked at.
    opened : Opened
    site : str
        Its name; by default that of the source.
    like : SourceStatistics, optional
        Statistics to agree with: features, cells and reward nodes are theirs.
    gammas : sequence of float
        For which held-out returns are kept.
    """

    def __init__(
        self,
        config: EvaluationConfig,
        opened: Opened,
        *,
        site: str = "",
        like: SourceStatistics | None = None,
        gammas: Sequence[float] = (),
    ) -> None:
        self.config, self._opened, self._like = config, opened, like
        self._gammas = sorted({check_number(g, "gamma", low=0.0, high=1.0) for g in gammas})
        self.site = site or _called(config, opened)
        self.notes: list[str] = []
        self._stopped = False
        self._capacity: int | None = None
        self.result: SourceStatistics

    def stop(self) -> None:
        """Finish after what is under way, as if the source ended here."""
        self._stopped = True

    def run(self) -> Iterator[Progress]:
        """Read the source; ``result`` is there afterwards."""
        while True:
            try:
                with steady_blas():
                    yield from self._pass()
                return
            except TableFullError:
                if not self._opened.is_recorded or (self._capacity or 0) >= _MOST_IDS:
                    raise
                self._capacity = min(_ROOM * (self._capacity or 1024), _MOST_IDS)

    def _pass(self) -> Iterator[Progress]:
        opened = self._opened
        held = self._hold_out()
        yield Progress("reading", 0, opened.rows)
        batches = held.passing(self._until_stopped(limited(opened.source.batches(), opened.steps)))
        first: list[Steps] = []
        for batch in batches:
            first.append(batch)
            if sum(map(len, first)) >= PILOT:
                break
        if not first:
            raise fail(opened.source.description, "transitions to sum", "none")
        sample = joined(first)[:PILOT]
        features, cells = self._features(sample)
        cuts = held.cuts if isinstance(held, SpreadHoldOut) else []
        sums = _Sums(features, cells, self._like, cuts)
        for batch in itertools.chain(first, batches):
            sums.add(batch)
            yield Progress("summing", sums.statistics.count, opened.rows)
        yield Progress("checking", sums.statistics.count, opened.rows)
        kept = None if self._stopped else held.kept
        self.result = self._whole(sums, kept)

    def _until_stopped(self, batches: Iterable[Steps]) -> Iterator[Steps]:
        for batch in batches:
            yield batch
            if self._stopped:
                return

    def _hold_out(self) -> HoldOut | SpreadHoldOut:
        """By default about a tenth, from all parts of the source."""
        validate = self.config.validate
        for gamma in _NOMINAL if validate != 0 else ():
            # Any stream can spare some of its steps.
            opened = replace(self._opened, gamma=gamma, is_recorded=True)
            held = spread_hold_out(validate, opened) or HoldOut(held_out_rows(validate, opened))
            if held.rows:
                return held
        return HoldOut(0)

    def _features(self, sample: Steps) -> tuple[Features, Cells | None]:
        like, opened, config = self._like, self._opened, self.config
        if like is not None:
            features = like.features
            if isinstance(features, Tabular) and features.n_states is None:
                ids = [*features.ids_, *Tabular().fit(sample.observation).ids_]
                features = Tabular(capacity=self._capacity).fit(ids)
            else:
                features.knows(sample.observation[:1])
            names = tuple(opened.source.space.names)
            if names != like.observation_names:
                expected = f"the observations of --like, {', '.join(like.observation_names)}"
                raise fail(opened.source.description, expected, ", ".join(names))
            return features, like.cells
        by_rule = config.features == "auto" and opened.problem is None and opened.features is None
        features = self._by_rule(sample) if by_rule else features_for(sample, config, opened)[0]
        if isinstance(features, FromTransformer):
            remedy = "such features serve lincat evaluate"
            raise fail("features", "features that a file holds without code", "others", remedy)
        if not sums_fit(features):
            expected = f"features whose sums can be kept, at most {_MOST_IDS} ids"
            raise fail("features", expected, f"{features.n_known_:,}", "choose other --features")
        self.notes.append(features.describe())
        return features, None if features.table else cells_of(features, sample.observation)

    def _by_rule(self, sample: Steps) -> Features:
        table = table_for(sample, self._opened.source.space)
        if table is not None:
            if self._capacity is not None and isinstance(table, Tabular):
                table = Tabular(capacity=self._capacity).fit(sample.observation)
            return table
        rows = max(self._opened.rows or 0, len(sample))
        bumps = next(bumps for most, bumps in _BUMPS if rows <= most)
        form = Mixed if is_mixed(sample.observation) else Smooth
        return form(bumps=bumps).fit(sample.observation)

    def _whole(self, sums: _Sums, held: Steps | None) -> SourceStatistics:
        source, problem = self._opened.source, self._opened.problem
        if held is not None:
            try:
                return_weights(held)
            except InvalidInputError as error:
                self.notes.append(f"No returns are kept to check answers by: {reason(error)}.")
                held = None
        site = replace(
            sums.site(self.site, source.description),
            held=() if held is None else sums.held(held, self._gammas or GAMMAS),
            skipped_rows=source.skipped_rows,
        )
        whole = SourceStatistics(
            features=sums.features,
            sites=(site,),
            observation_names=tuple(source.space.names),
            cells=sums.cells,
            labels=() if problem is None else tuple(problem.state_names),
        )
        return with_one_table([whole])[0]


class _Sums:
    """What is added up."""

    def __init__(
        self,
        features: Features,
        cells: Cells | None,
        like: SourceStatistics | None,
        cuts: Sequence[int],
    ) -> None:
        self.features, self.cells, self._cuts = features, cells, np.array(cuts, dtype=np.int64)
        nodes: object = REWARD_NODES
        if like is not None:
            spaced = [x.statistics for x in like.sites if not x.statistics.exact_rewards]
            nodes = spaced[0] if spaced else nodes
        self.statistics = Statistics(
            features.n_features_,
            max_blocks=_BLOCKS if features.table else _DENSE_BLOCKS,
            nodes=nodes,
            memory_limit=_MEMORY,
        )
        d, C = features.n_features_, 0 if cells is None else len(cells.centres)
        self._clock: Clock | None = Clock()
        self._cell_counts: IntArray = np.zeros(C, dtype=np.int64)
        self._cell_sums = np.zeros((C, d))
        self._starts, self._start_sum = 0, np.zeros(d)
        self._begins = True  # whether the next step begins an episode
        self._rows = 0

    def add(self, steps: Steps) -> None:
        """Add steps, in the order in which they were seen."""
        phi, phi_next = steps.both(self.features.transform)
        self.statistics.update(
            Transitions(
                *(phi, steps.reward, phi_next),
                *(steps.terminated, steps.discount, steps.weight, steps.truncated),
            )
        )
        if steps.time is None:
            self._clock = None
        elif self._clock is not None:
            self._clock = self._clock.then(steps.time)
        ends = steps.terminated | steps.truncated
        begins = np.flatnonzero(np.concatenate([[self._begins], ends[:-1]]))
        # What begins where others were held out is no start.
        begins = begins[~np.isin(self._rows + begins, self._cuts)]
        self._begins = bool(ends[-1])
        self._rows += len(steps)
        self._starts += len(begins)
        self._start_sum += self._sum_of(phi, begins)
        if self.cells is not None:
            cell = nearest_cell(phi, self.cells.centres)
            self._cell_counts += np.bincount(cell, minlength=len(self._cell_counts))
            self._cell_sums += summed_by(cell, phi, len(self._cell_counts))

    def _sum_of(self, phi: FloatArray, rows: IntArray) -> FloatArray:
        if phi.ndim == 1:
            return np.bincount(phi[rows], minlength=len(self._start_sum)).astype(np.float64)
        return np.asarray(phi[rows].sum(axis=0), dtype=np.float64).ravel()

    def site(self, name: str, source: str) -> Site:
        """Return what was added up."""
        # A record without ends, or one in which few rows follow each other, has no starts.
        known = _FEWEST_STARTS < self._starts <= 0.5 * self._rows
        return Site(
            name=name,
            source=source,
            statistics=settled(self.statistics),
            clock=self._clock,
            cell_counts=self._cell_counts,
            cell_sums=self._cell_sums,
            start_count=self._starts if known else 0,
            start_sum=self._start_sum if known else np.zeros_like(self._start_sum),
        )

    def held(self, steps: Steps, gammas: Sequence[float]) -> tuple[HeldReturns, ...]:
        """Return the returns of steps that were held out."""
        known = self.features.knows(steps.observation)
        if not known.any():
            return ()
        first = steps.observation[np.argmax(known)]
        # Returns are of a record without gaps: a stand-in for states never seen is not asked for.
        observation = steps.observation.copy()
        observation[~known] = first
        phi = self.features.lookup(observation)
        if self.cells is None:
            return held_returns(steps, np.asarray(phi), None, gammas, known)
        cell = nearest_cell(phi, self.cells.centres)
        return held_returns(steps, cell, dense(phi), gammas, known)


def _called(config: EvaluationConfig, opened: Opened) -> str:
    first = config.source[0]
    named = Path(first).exists() or is_address(first)
    return Path(first).stem if named else opened.source.description
