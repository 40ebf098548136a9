"""Learning from a log by parts: whoever sums them, what is done is kept in the run folder.

Most logs are read once. Where rows bring ids that a table does not have, or too many different
rewards after few in the first rows, the parts concerned are summed a second time: which numbers ids
get, and which nodes rewards, must be the same in all parts.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from lincat._arguments import InvalidInputError, fail
from lincat._files import is_own_folder, read_regular, write_atomically
from lincat.data.steps import Steps, joined
from lincat.features.id_text import ids_from_bytes
from lincat.features.tabular import Tabular
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.files import load_bytes
from lincat.learners.merging import merge_parts
from lincat.runs.beginning import check_rows_suffice, check_sums_fit
from lincat.runs.config import EvaluationConfig
from lincat.runs.held_out import HoldOut, SpreadHoldOut
from lincat.runs.model import Model
from lincat.runs.overflow import MOST_IDS
from lincat.runs.parts import PartSums, SumParts, cut_in_parts, held_out_steps
from lincat.runs.sources import Opened
from lincat.scale.pool import Pool
from lincat.statistics.reward_nodes import common_nodes
from lincat.tables.file_source import FileSource

_log = logging.getLogger("lincat.runs")
_WORD = 12  # letters of a fingerprint, in names of files


def check_parts(config: EvaluationConfig, opened: Opened) -> FileSource:
    """Return the log that is to be learned from by parts, or refuse what cannot be."""
    source, argument = opened.source, "--workers and --scheduler"
    if not isinstance(source, FileSource) or source.row_groups is None:
        expected = "Parquet files, a Dask frame or a dataset of Arrow"
        remedy = "write the log as Parquet, or leave them out"
        raise fail(argument, expected, source.description, remedy)
    if config.learner not in ("auto", "lstd"):
        raise fail(argument, "--learner lstd, which adds sums up", config.learner)
    for name, value in (("--window", config.window), ("--steps", config.steps)):
        if value is not None:
            raise fail(argument, f"no {name}: all rows count", value, "leave one of them out")
    return source


def first_nodes(model: Model, steps: Iterable[Steps]) -> tuple[float, ...] | None:
    """Return the nodes of the first rewards; None where these are few enough to be kept."""
    learner = model.learner.clone()
    for batch in steps:
        learner.partial_fit(model.transitions(batch))
    statistics = learner.statistics_
    if statistics is None or statistics.exact_rewards:
        return None
    return tuple(statistics.nodes_.tolist())


@dataclass
class InParts:
    """Learning by parts.

    Parameters
    ----------
    folder : Path
        Where finished parts are kept.
    config : EvaluationConfig
    source : FileSource
    model : Model
        That has learned nothing.
    held : HoldOut or SpreadHoldOut
        What is held out.
    n_step : int
    nodes : tuple of float, or None
        For rewards, as the first rows have them; None while these are few.
    """

    folder: Path
    config: EvaluationConfig
    source: FileSource
    model: Model
    held: HoldOut | SpreadHoldOut
    n_step: int
    nodes: tuple[float, ...] | None
    rows: int = 0  # summed so far
    skipped: int = 0
    missing: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        check_sums_fit(self.model.features, self.config)
        groups = self.source.row_groups or []
        total = sum(groups)
        spread = isinstance(self.held, SpreadHoldOut)
        held = self.held.edges if isinstance(self.held, SpreadHoldOut) else []
        if not spread and self.held.rows:
            held = [max(total - self.held.rows, 0), total]
        self._edges, self._cuts = held, spread
        self._parts = cut_in_parts(groups, held, cuts=spread)
        if not self._parts:
            got = f"none that are not held out, of {total:,}"
            raise fail(self.source.description, "rows to learn from", got)
        rows = sum(map(self._rows_of, range(len(self._parts))))
        check_rows_suffice(self.model.features, rows, self.source.description)
        self._files: dict[int, Path] = {}

    def learn(
        self, pool: Pool, begun: Callable[[], None], *, stopped: Callable[[], bool]
    ) -> Iterator[int]:
        """Sum all parts, or as many as there are when it is stopped; yield rows done.

        ``begun`` is called when the first part is there.
        """
        todo: Sequence[int] = range(len(self._parts))
        while todo:
            job = SumParts(self.source, self._model_of_parts(), self.n_step, self._parts)
            yield from self._round(pool, job, todo, begun, stopped)
            if stopped():
                return
            todo = self._again()

    def _round(
        self,
        pool: Pool,
        job: SumParts,
        todo: Sequence[int],
        begun: Callable[[], None],
        stopped: Callable[[], bool],
    ) -> Iterator[int]:
        mark = self._mark()
        files = {number: self.folder / f"{mark}-{number:06d}" for number in todo}
        kept = [number for number in todo if files[number].is_file()]
        for number in kept:
            self._files[number] = files[number]
            self.rows += self._rows_of(number)
        if kept:
            _log.info("%s: %d parts are there already", self.folder, len(kept))
        yield self.rows
        left = [number for number in todo if number not in self._files or number not in kept]
        if not left:
            return
        try:
            for number, content in pool.results(job, left):
                if not is_own_folder(self.folder):
                    self.folder.mkdir()
                    begun()
                write_atomically(files[number], content)
                self._files[number] = files[number]
                self.rows += self._rows_of(number)
                yield self.rows
                if stopped():
                    return
        except InvalidInputError as error:
            if not self._files:
                raise
            raise InvalidInputError(
                f"{error}; {len(self._files):,} of {len(self._parts):,} parts are kept: "
                f"lincat resume {self.folder.parent} continues"
            ) from error

    def finished(self) -> Model:
        """Return the model that has learned from all parts that are there."""
        self.skipped, self.missing = 0, Counter()
        parts = []
        for number in sorted(self._files):
            sums = self._read(number)
            self.skipped += sums.skipped
            self.missing.update(sums.missing)
            if sums.learner:
                parts.append(partial(self._learner, number))
        if not parts:
            got = f"none ({self.skipped} bad rows)" if self.skipped else "none"
            raise fail(self.source.description, "rows that make at least one step", got)
        learner = self.model.learner
        assert isinstance(learner, CategoricalLSTD)
        return replace(self.model, learner=merge_parts(learner, parts))

    @property
    def notes(self) -> list[str]:
        """What was done, as sentences; whoever did it makes no difference."""
        return [f"The log was summed in {len(self._parts):,} parts."]

    def held_out(self) -> Steps | None:
        """Return the steps that are held out; what is left out of them is counted, too."""
        kept = list(held_out_steps(self.source, self._edges, cuts=self._cuts))
        return joined(kept) if kept else None

    # --------------------------------------------------------------------------------- inside

    def _rows_of(self, number: int) -> int:
        return sum(stretch.stop - stretch.first for stretch in self._parts[number])

    def _read(self, number: int) -> PartSums:
        file = self._files[number]
        try:
            return msgspec.msgpack.decode(read_regular(file), type=PartSums)
        except (OSError, msgspec.DecodeError) as error:
            raise fail(str(file), "a part that was kept", str(error), "remove it") from None

    def _learner(self, number: int) -> CategoricalLSTD:
        learner = load_bytes(self._read(number).learner, str(self._files[number]))
        assert isinstance(learner, CategoricalLSTD)
        return learner

    def _model_of_parts(self) -> Model:
        """The model of a part: as many parts have fewer blocks each."""
        learner = self.model.learner.clone()
        assert isinstance(learner, CategoricalLSTD)
        blocks = 1
        while blocks * len(self._parts) < learner.max_blocks:
            blocks *= 2
        learner.set_params(max_blocks=blocks)
        if self.nodes is not None:
            learner.set_params(nodes=np.array(self.nodes))
        return replace(self.model, learner=learner)

    def _mark(self) -> str:
        """What sums depend on, beside the features that were fitted when the run began."""
        features = self.model.features
        ids = features.n_known_ if isinstance(features, Tabular) else 0
        known = (self._parts, self.n_step, self.nodes, ids, features.n_features_)
        return hashlib.sha256(msgspec.msgpack.encode(known)).hexdigest()[:_WORD]

    def _again(self) -> list[int]:
        """Return the parts that have to be summed again, and change what they need."""
        sums = {number: self._read(number) for number in sorted(self._files)}
        asking = [number for number in sums if sums[number].ids]
        if asking:
            d = self.model.features.n_features_
            self._add_ids([ids_from_bytes(_as_array(sums[number].ids)) for number in asking])
            # Rows of a table that has grown are as many in all parts.
            again = asking if d == self.model.features.n_features_ else list(sums)
        else:
            reward_nodes = {number: x.nodes for number, x in sums.items() if x.nodes is not None}
            if not reward_nodes:
                return []
            first = np.array(next(iter(reward_nodes.values())))
            again = [
                number
                for number, nodes in reward_nodes.items()
                if common_nodes(first, np.array(nodes)) is None
            ]
            if again:
                self.nodes = tuple(first.tolist())
        for number in again:
            del self._files[number]
            self.rows -= self._rows_of(number)
        return again

    def _add_ids(self, new: list[list[object]]) -> None:
        """Give rows to new ids, in the order of the log."""
        features = self.model.features
        assert isinstance(features, Tabular)
        features.grow_to(MOST_IDS)
        features.transform(list(dict.fromkeys(x for ids in new for x in ids)))
        check_sums_fit(features, self.config)
        self.model.learner.set_params(n_features=features.n_features_)


def _as_array(content: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(content, dtype=np.uint8)
