"""The loop of ``lincat evaluate``: from a source to a learned model, with everything kept on disk.

A generator, so that progress is shown by whoever runs it. One thread reads, joins and makes
features, the other learns: the learner's loops leave the interpreter alone.
"""

from __future__ import annotations

import itertools
import logging
import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import msgspec

from lincat._arguments import InvalidInputError, fail, reason
from lincat._reach import NOTHING_ALLOWED, Allowed, check_allowed
from lincat._threads import steady_blas
from lincat.data.steps import Steps, joined
from lincat.data.transitions import Transitions
from lincat.features.tabular import TableFullError
from lincat.inference.answer import Caution
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.last_good import is_plausible
from lincat.runs.balancing import BALANCED, balanced
from lincat.runs.beginning import begin_model, pilot_rows, rehearse
from lincat.runs.binding import check_same_config, check_same_source, fingerprints_of, resolved
from lincat.runs.conclude import SourceFacts, answer_of
from lincat.runs.config import EvaluationConfig, config_from_toml, config_to_toml
from lincat.runs.folder import RunFolder
from lincat.runs.held_out import HoldOut, SpreadHoldOut
from lincat.runs.holding_out import hold_out_again, hold_out_of
from lincat.runs.in_parts import InParts, check_parts, first_nodes
from lincat.runs.model import Model
from lincat.runs.overflow import begun_larger, let_grow, with_room
from lincat.runs.passes import SETTLED, moved, said_of_passes
from lincat.runs.prefetch import prefetched
from lincat.runs.recorder import Recorder
from lincat.runs.shown import ShownStates, choose_states, start_observations
from lincat.runs.so_far import SoFar
from lincat.runs.sources import Opened, open_source
from lincat.runs.stream import FIRST_PIECE, in_multiples, limited, pieces, skipping
from lincat.runs.validation import check_model
from lincat.scale.pool import Pool
from lincat.tables.file_source import FileSource
from lincat.tables.fingerprints import Fingerprint

_log = logging.getLogger("lincat.runs")
_log.addHandler(logging.NullHandler())  # silent, unless a program or LINCAT_LOG listens

_SECONDS_BETWEEN_CHECKPOINTS = 10.0
_MOST_PASSES = 10  # over a log, without being asked for


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    doing : str
        What is being done, in a word or two.
    transitions : int
        Learned from so far.
    total : int or None
        How many there will be, if that is known.
    """

    doing: str
    transitions: int
    total: int | None


class EvaluationRun:
    """A run: begun in a new folder, or continued in an old one.

    Parameters
    ----------
    folder : RunFolder
    opened : Opened, optional
        The source that its configuration names, if it is open.
    config : EvaluationConfig, optional
        By default that of the folder; another one is written there with the first checkpoint, so
        that what fails before leaves the run as it was.
    append : bool
        Whether rows were added to a source of which all was learned from; what comes through
        standard input is all new then.
    pool : Pool, optional
        Who sums a log by parts; it is closed at the end.
    allowed : Allowed
        What the folder may have done: a checkpoint code run, by features of the form module:name.
    """

    def __init__(
        self,
        folder: RunFolder,
        opened: Opened | None = None,
        *,
        config: EvaluationConfig | None = None,
        append: bool = False,
        allowed: Allowed = NOTHING_ALLOWED,
        pool: Pool | None = None,
    ) -> None:
        self.folder = folder
        self._written = folder.config
        self.config = self._written if config is None else config
        self._allowed = allowed
        self.notes: list[str] = []
        self._stop = threading.Event()
        self.model: Model
        self.shown: ShownStates
        self._held: HoldOut | SpreadHoldOut = HoldOut(0)
        if opened is None:
            check_allowed(self.config, str(folder.config_file), allowed)
            opened = open_source(resolved(self.config))
        self._opened = opened
        self._prints: list[Fingerprint] = []
        self.seconds = 0.0
        self._n_step = 1
        self._warmed = 0
        self._passes, self._in_pass = 0, 0
        self._append, self._pool = append, pool
        self._nodes: tuple[float, ...] | None = None  # of the first rewards, for parts
        self._failure: InvalidInputError | None = None  # that ended a stream
        self._begun_with = 0  # transitions of the checkpoint
        self._rows = 0  # of the table, when the learner last had room
        self._grows = False  # the table of a stream
        self._to_mend = False  # the source, of which a row ended this

    def stop(self) -> None:
        """Finish after what is under way, as if the stream ended here."""
        self._stop.set()

    def run(self) -> Iterator[Progress]:
        """Learn, write the model and the result; yield after every batch.

        A bad row that the source stops at is an error, before which everything learned is kept.
        """
        self.folder.claim()
        try:
            while True:
                try:
                    with steady_blas():
                        yield from self._run()
                    return
                except TableFullError:
                    if not self._larger_table():
                        raise
        except OSError as error:  # no space, no folder, no permission: what is on disk stays
            kept, place = self.folder.checkpoints.newest(), str(self.folder.path)
            got, remedy = error.strerror or reason(error), ""
            if kept is not None:
                remedy = f"lincat resume {place} continues after {int(kept.name):,} transitions"
            raise fail(place, "a run folder that can be written", got, remedy) from error
        except InvalidInputError as error:
            if not hasattr(self, "recorder") or self.model.done <= self._begun_with:
                raise
            self._to_mend = True
            self._keep()
            _log.error("%s: %s", self.folder.path, error)
            raise InvalidInputError(
                f"{error}; what was learned from {self.model.done:,} transitions is kept: lincat "
                f"resume {self.folder.path} continues, with --on-bad-rows skip without such rows"
            ) from error
        finally:
            self.folder.release()
            if self._pool is not None:
                self._pool.close()

    def _larger_table(self) -> bool:
        """Begin a log again, with more rows for ids than its first part showed, if that helps."""
        config = begun_larger(self.config, self._opened, self.model.features)
        if config is None:
            return False
        self.config = self._written = self.folder.config = config
        self.folder.checkpoints.forget()
        rows = config.feature_options["capacity"]
        self.notes = [f"More ids came than the first rows showed: a table of {rows:,} rows."]
        self.seconds, self._begun_with, self._passes, self._in_pass = 0.0, 0, 0, 0
        return True

    def _make_room(self) -> None:
        """Give the learner a row for each id that a stream has brought."""
        model = with_room(self.model, self.config)
        if model.learner is not self.model.learner:
            self.notes.append("More ids came than sums are kept for: from then on step by step.")
            self.model = model
            self.recorder = Recorder(self.folder, model, self.shown, live=self._opened.is_live)
            _log.info("%s: step by step, for %d ids", self.folder.path, model.features.n_known_)
        elif self._rows != model.features.n_features_:
            self.recorder.look_again()
        self._rows = model.features.n_features_

    def _run(self) -> Iterator[Progress]:
        opened, config = self._opened, self.config
        restored = self._restore()
        self._prints = fingerprints_of(opened, config)
        done, held = restored or 0, self._held
        total = opened.rows
        total = None if total is None else max(total - (held.rows or 0), 0)
        yield Progress("reading", done, total)
        batches = self._batches(done)
        if restored is None:
            first = self._read_pilot(batches)
            yield Progress("choosing features", done, total)
            batches = self._begin_with(first, batches)
            if config.validate is None and held.rows:
                self.notes.append(held.note(opened.rows))
        yield Progress("preparing", done, total)
        stop = None if opened.is_live else self._stop
        if self._pool is not None and self.model.done == 0:
            yield from self._by_parts(self._pool, total)
            return
        while True:
            made = (self.model.transitions(steps) for steps in self._prepared(batches))
            # A table must not grow ahead of its learner: when it does would be a matter of chance.
            ahead = made if self._grows else prefetched(made, stop=stop)
            with closing(ahead) as reader:
                for done in self._learn(reader):
                    yield Progress("learning", done, total)
            if not self._another_pass():
                break
            self._passes += 1
            self._in_pass = self.model.done // self._passes
            total = None if total is None else self.model.done + self._in_pass
            batches = self._batches(0)
        if self._failure is not None:
            raise self._failure
        self.recorder.record(self.seconds, last=True)
        self._keep()
        yield Progress("checking", done, total)
        self._conclude(None if self._stop.is_set() else self._held.kept)
        yield Progress("done", done, total)

    def _by_parts(self, pool: Pool, total: int | None) -> Iterator[Progress]:
        """Have a log summed by parts, and conclude from their sums."""
        source = check_parts(self.config, self._opened)
        work = InParts(
            *(self.folder.parts, self.config, source, self.model, self._held),
            *(self._n_step, self._nodes),
        )
        before, begun, rows = self.seconds, time.perf_counter(), 0
        for rows in work.learn(pool, self._keep, stopped=self._stop.is_set):
            self.seconds = before + time.perf_counter() - begun
            yield Progress("learning", rows, total)
        self.model = work.finished()
        self.notes += [*work.notes, *pool.notes]
        self.recorder = Recorder(self.folder, self.model, self.shown)
        complete = not self._stop.is_set()
        if complete:
            self._keep()
        yield Progress("checking", rows, total)
        held = work.held_out() if complete else None
        source.count_elsewhere(work.skipped, work.missing)
        self._conclude(held)
        yield Progress("done", rows, total)

    def _batches(self, skip: int) -> Iterator[Steps]:
        """The steps that may be learned from, after the first so many."""
        opened, held = self._opened, self._held
        unread = held.skippable(skip)
        # Kept: to close it would wait for a stream that is silent.
        self._source_batches = opened.source.batches(skip=unread)
        batches: Iterable[Steps] = self._source_batches
        if opened.is_live:  # whose end is the user's to say, in the warm-up too
            batches = self._until_failure(prefetched(batches, stop=self._stop))
        batches = limited(batches, None if opened.steps is None else opened.steps - unread)
        batches = skipping(held.passing(batches), skip - unread)
        return balanced(batches) if self.config.from_sums else batches

    def _until_failure(self, batches: Iterable[Steps]) -> Iterator[Steps]:
        """A bad row ends a stream: what came before it will not come again, and is learned from."""
        try:
            yield from batches
        except InvalidInputError as error:
            self._failure = error

    def _prepared(self, batches: Iterable[Steps]) -> Iterable[Steps]:
        size = self.config.batch_size
        batches = self.model.sums_of(batches, self._n_step)
        return in_multiples(batches, size) if size > 1 else batches

    def _another_pass(self) -> bool:
        """Whether to read a log once more: as often as asked for, or until learning has settled."""
        opened, wanted, over = self._opened, self.config.passes, self._passes + 1
        if not isinstance(self.model.learner, CategoricalLearner) or self._stop.is_set():
            return False
        if not opened.is_recorded or opened.is_live or self._append:
            return False
        if wanted != "auto":
            again = over < wanted
        else:
            distance = moved(self.model, self.shown)
            again = over < _MOST_PASSES and distance is not None and distance > SETTLED
        if again:
            self._held = self._held.afresh()
        return again

    def _learn(self, reader: Iterator[Transitions]) -> Iterator[int]:
        """Learn from all transitions, and keep what must not be lost; yield how far it is."""
        learner = self.model.learner
        begun = kept = time.perf_counter()
        # A stream may be silent for long after any row: early on, it is kept each time it doubles.
        doubled = 2 * learner.n_seen_ if self._opened.is_live else math.inf
        before, size = self.seconds, self.config.batch_size
        if isinstance(learner, CategoricalLearner):  # sums have no curves
            reader = pieces(reader, learner.n_seen_, size)
        for transitions in reader:
            self._make_room()
            learner = self.model.learner
            if isinstance(learner, CategoricalLearner):
                learner.warn = False  # of mass off the grid: said with everything else, at the end
                learner.counting = self._passes == 0  # rows that come again say nothing new
            learner.partial_fit(transitions, batch_size=min(size, max(len(transitions), 1)))
            now = time.perf_counter()
            self.seconds = before + now - begun
            self.recorder.record(self.seconds)
            due = now - kept > _SECONDS_BETWEEN_CHECKPOINTS or learner.n_seen_ > doubled
            # Of parameters that run away nothing is kept: the checkpoint before stays.
            if due and learner.n_seen_ > 0 and is_plausible(learner, transitions):
                self._keep()
                kept = time.perf_counter()
                doubled = 2 * learner.n_seen_ if self._opened.is_live else math.inf
            yield learner.n_seen_
            if self._stop.is_set() and learner.n_seen_ >= self._warmed:
                break

    def _conclude(self, held: Steps | None) -> None:
        """Check the model and write the answer."""
        opened, config, model = self._opened, self.config, self.model
        complete = not self._stop.is_set()
        validation, cautions = None, []
        if complete:
            try:
                validation = check_model(model, self.shown, opened, config, held)
            except Exception as error:  # no reason to lose what was learned
                cautions.append(Caution("not_validated", f"Not validated: {reason(error)}."))
        answer = answer_of(
            self.folder,
            SourceFacts.of(opened),
            model,
            self.recorder,
            validation=validation,
            seconds=self.seconds,
            complete=complete,
            notes=self._said(),
            cautions=cautions,
        )
        self.folder.write_model(model.files())  # solved by now, and with its errors
        self.folder.answer = answer
        if complete:  # a run that was killed after its last part has some to forget, too
            self.folder.forget_parts()
        for caution in answer.warnings:
            _log.warning("%s: %s", self.folder.path, caution.text)
        _log.info("%s: %s", self.folder.path, answer.verdict.sentence)

    def _said(self) -> list[str]:
        source = self._opened.source
        of_rows = source.notes if isinstance(source, FileSource) else []
        passes = said_of_passes(self.model, self.shown, self._passes, self._in_pass)
        return [*of_rows, *self.notes, *passes]

    # ------------------------------------------------------------------- beginning, continuing

    def _restore(self) -> int | None:
        """Continue from the newest checkpoint, if there is one; return how far its pass is."""
        intact = self.folder.checkpoints.intact()
        checkpoint = intact.place
        opened = self._opened
        if checkpoint is None:
            self.folder.forget_metrics()
            self._held = hold_out_of(self.config, opened)
            return None
        so_far = SoFar.read(checkpoint)
        check_same_config(
            config_from_toml(so_far.config), self.config, str(self.folder.config_file)
        )
        if not so_far.to_mend:
            check_same_source(so_far.prints, opened, self.config, append=self._append)
        self.model = Model.read(
            checkpoint, trust_code=self._allowed.code, transformer=opened.transformer
        )
        self.shown = self.folder.shown
        self.seconds, self.notes, self._n_step = so_far.seconds, so_far.notes, so_far.n_step
        if intact.damaged:
            _log.warning("%s: %s", self.folder.path, intact.word)
            self.notes.append(intact.word)
            self.folder.checkpoints.forget(intact.damaged)
        self._warmed = so_far.warmed
        self._passes, self._in_pass = so_far.passes, so_far.in_pass
        self._held = hold_out_again(so_far, self.config, opened, append=self._append)
        self._nodes = so_far.nodes
        self._begun_with = self.model.done
        self._rows = self.model.features.n_features_
        self._grows = let_grow(self.model, self.config, opened)
        done: int = self.model.done - self._passes * self._in_pass
        self.recorder = Recorder.read(
            checkpoint, self.folder, self.model, self.shown, live=opened.is_live
        )
        return 0 if self._append and opened.is_live else done

    def _read_pilot(self, batches: Iterator[Steps]) -> list[Steps]:
        """Read the steps that features are chosen from."""
        first: list[Steps] = []
        seen, enough = 0, pilot_rows(self.config)
        for batch in batches:
            first.append(batch)
            seen += len(batch)
            if seen >= enough:
                break
        if seen == 0 and self._failure is not None:
            raise self._failure
        if seen == 0:
            expected, got = "transitions to learn from", "none"
            if self.config.validate and self._opened.is_recorded:
                got = f"none that are not held out (--validate {self.config.validate})"
            raise fail(self._opened.source.description, expected, got)
        return first

    def _begin_with(self, first: list[Steps], batches: Iterator[Steps]) -> Iterator[Steps]:
        """Fit the features and choose the states of the report; nothing is taken away."""
        enough = pilot_rows(self.config)
        sample = joined(first)[:enough]
        self._warmed = len(sample)
        self.model, self._n_step, said = begin_model(sample, self.config, self._opened)
        self.notes += said
        if sample.action_noise is not None and sample.weight is not None:
            self.notes.append(BALANCED)
        self._rows = self.model.features.n_features_
        self._grows = let_grow(self.model, self.config, self._opened)
        self.shown = self._choose_shown(sample)
        self.folder.shown = self.shown
        self.recorder = Recorder(self.folder, self.model, self.shown, live=self._opened.is_live)
        if self._pool is not None:
            self._nodes = first_nodes(self.model, self._prepared([sample]))
        rehearse(self.model, sample[:FIRST_PIECE], self.config.batch_size)
        if self._grows:  # not before there is something to go on from
            whole = joined(first)
            first = [part for part in (whole[:enough], whole[enough:]) if len(part)]
        return itertools.chain(first, batches)

    def _choose_shown(self, sample: Steps) -> ShownStates:
        source, problem = self._opened.source, self._opened.problem
        starts = source.starts
        if starts is None or len(starts) == 0:
            held = self._held
            cuts = held.cuts if isinstance(held, SpreadHoldOut) else ()
            starts = start_observations(sample, cuts)
        return choose_states(
            sample.observation,
            starts,
            n_states=self.config.n_states,
            seed=self.config.seed,
            labels=None if problem is None else problem.state_names,
        )

    def _keep(self) -> None:
        """Write a checkpoint."""
        if self.config != self._written:
            self.folder.config = self._written = self.config
        self._make_room()
        source = self._opened.source
        held = self._held.rows or 0
        so_far = SoFar(
            seconds=self.seconds,
            notes=self.notes,
            n_step=self._n_step,
            held=held,
            warmed=self._warmed,
            passes=self._passes,
            in_pass=self._in_pass,
            config=config_to_toml(self.config),
            prints=self._prints,
            to_mend=self._to_mend,
            facts=SourceFacts.of(self._opened),
            places=source.places if isinstance(source, FileSource) else [],
            rows=self._opened.rows,
            edges=self._held.edges if isinstance(self._held, SpreadHoldOut) else None,
            nodes=self._nodes,
        )
        files = {
            **self.model.files(),
            "progress.json": msgspec.json.encode(so_far),
            **self.recorder.files(),
        }
        self.folder.checkpoints.write(self.model.learner.n_seen_, files)
        _log.info("%s: checkpoint, %d transitions", self.folder.path, self.model.done)
