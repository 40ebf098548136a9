"""What all learners share: parameters, the loop over a stream, averaging, divergence, files.

A concrete learner says how to lay out its parameters, how to make one run of updates in compiled
code, and how to predict. Everything else is here, once. Implemented methods are not overridden.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from lincat import kernels
from lincat._arguments import check_choice, check_gamma, check_integer, fail
from lincat._parameters import Parametrised
from lincat._room import check_room
from lincat._threads import steady_blas
from lincat._typing import BoolArray, FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions, check_state_features
from lincat.learners._learning import Learning
from lincat.learners.averaging import IterateAverage
from lincat.learners.divergence import DivergenceError
from lincat.learners.first_rows import MOST_FEATURES, FirstRows
from lincat.learners.inputs import Rows, used_rows
from lincat.learners.last_good import LastGood, go_back, keep_between, keep_good, look_at
from lincat.learners.registry import AVERAGINGS, DTYPES
from lincat.learners.schedules import (
    Seen,
    StepSize,
    StepSizes,
    next_steps,
    schedule_from,
    stable_step,
)

#: What is predicted: distributions, or means.
_Answer = TypeVar("_Answer")

# Updates after which averages in float32 are put aside (averaging.py): √_FOLD roundings add up.
_FOLD = 16_384
_CACHE_LINE = 8  # numbers: rows of parameters are whole lines
# Transitions handed to a kernel at once: enough to hide the call, little enough to stay in cache.
_CHUNK = 16_384


class Learner(Learning, Parametrised, Generic[_Answer], ABC):
    """Base of all learners; see :class:`lincat.LinearCTD` for the parameters that all have."""

    #: Whether what is predicted is linear in the parameters, so that averages of one are averages
    #: of the other.
    linear: ClassVar[bool] = True
    #: Growth of the epochs in which it learns, at which windows of averages begin; None for none.
    _epochs: ClassVar[float | None] = None
    #: Further matrices of the shape of the parameters, float64, that files keep: ``_name_`` each.
    _matrices: ClassVar[tuple[str, ...]] = ()
    #: Where distributions live; None for a learner of means.
    grid: Grid | str | None = None
    #: Whether the learner itself warns of what it meets; set it to False to tell of it yourself.
    warn: bool = True
    #: Whether a divergence leads back to the last good parameters; else to those at its end.
    recovers: bool = True
    #: Transitions seen and updates made.
    n_seen_: int = 0
    n_updates_: int = 0
    #: Where to begin, if that was said: grid, parameters, and the updates that these are worth.
    _start: tuple[Grid, FloatArray, int] | None = None
    #: The first rows, while automatic steps wait for what they say.
    _first_: FirstRows | None = None
    #: Updates that the parameters it began with are worth: automatic steps begin smaller.
    _before_: int = 0
    #: What a divergence leads back to.
    _last_good_: LastGood | None = None
    #: Features of transitions of the last calls, that tell whether these ended well.
    _looked_at_: tuple[FeatureMatrix | None, ...] = ()
    #: The first parameters, or the one number that all of them were.
    _begun_with_: FloatArray | float | None = None

    def __init__(
        self,
        *,
        gamma: float,
        step_size: StepSize = "auto",
        averaging: str = "tail",
        horizon: int | None = None,
        n_features: int | None = None,
        dtype: str = "float64",
    ) -> None:
        # Stored as given, validated at first use.
        self.gamma = gamma
        self.step_size = step_size
        self.averaging = averaging
        self.horizon = horizon
        self.n_features = n_features
        self.dtype = dtype

    # ------------------------------------------------------------------ what a learner provides

    @abstractmethod
    def _prepare(self, waiting: list[Transitions], warm_up_over: bool) -> bool:
        """Settle what depends on the data; False to wait for more (these are kept)."""

    @abstractmethod
    def _columns(self) -> int:
        """Columns of the parameter matrix."""

    @abstractmethod
    def _initial(self, waiting: list[Transitions], rows: int) -> FloatArray | float:
        """The parameters to start from."""

    @abstractmethod
    def _curvature(self) -> float:
        """The norm c of what multiplies the error in an update (see schedules.py)."""

    @abstractmethod
    def _slowness(self) -> float:
        """How much slower than that norm says an average error decays (see schedules.py)."""

    @abstractmethod
    def _run(self, transitions: Transitions, step: FloatArray, batch_size: int) -> int:
        """Make the updates of these transitions; return how many were made before divergence."""

    @abstractmethod
    def _predict(self, Phi: FeatureMatrix, parameters: FloatArray) -> _Answer:
        """What the parameters say of the states with features Phi."""

    @abstractmethod
    def _is_plausible(self, scores: FloatArray) -> bool:
        """Whether phi·Theta (n, columns) may be what the parameters should say."""

    @abstractmethod
    def _predict_with_error(self, Phi: FeatureMatrix, confidence: float) -> _Answer:
        """The same with sampling errors, where the learner knows them."""

    @abstractmethod
    def _updates_to_look(self) -> int | None:
        """After how many updates :meth:`_look` is to be called; None for never."""

    @abstractmethod
    def _look(self) -> None:
        """Change what has to be changed between two updates."""

    @abstractmethod
    def _after_fit(self) -> None:
        """Say what the user should hear of, after each call that learned."""

    @abstractmethod
    def _extra_state(self) -> dict[str, Any]:
        """Numbers of its own that a learner needs to continue, for files."""

    @abstractmethod
    def _restore_extra(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`_extra_state` gave."""

    # -------------------------------------------------------------------------------- learning

    def _take(self, transitions: Transitions, batch_size: int, *, whole: bool) -> Self:
        horizon = self.horizon
        if whole and horizon is None:
            horizon = -(-len(transitions) // batch_size)
        self._learn(transitions, batch_size, horizon)
        if whole:
            self._end_warm_up()
        return self

    @steady_blas()
    def predict(self, Phi: Any, *, confidence: float | None = None) -> _Answer:
        """Return what was learned of the states with features Phi (n, d), or of state numbers.

        Uses the averaged parameters, unless averaging="none". With ``confidence``, in (0, 1), the
        distributions carry their sampling error, for :meth:`ReturnDistribution.interval` and
        ``band``; their centre is then one Newton step from the parameters, which is where the sums
        beside the stream lead (``statistics=True``).
        """
        features = self._check_states(Phi)
        if confidence is not None:
            return self._predict_with_error(features, confidence)
        rows, features = used_rows(features)
        return self._predict(features, self._mean(rows))

    def _check_states(self, Phi: Any) -> FeatureMatrix:
        """Return features, or state numbers, that the parameters can be applied to."""
        features = check_state_features(Phi, "Phi")
        self._end_warm_up()
        d = self._Theta_.shape[0]
        if features.ndim == 2 and features.shape[1] != d:
            raise fail("Phi", f"{d} features, as learned from", f"shape {features.shape}")
        if features.ndim == 1 and features.max(initial=0) >= d:
            raise fail("Phi", f"states below {d}, as learned from", int(features.max()))
        return features

    # ------------------------------------------------------------------------------- the loop

    def _learn(self, transitions: Transitions, batch_size: int, horizon: int | None) -> None:
        self._validate()
        if not self.begun:
            self._waiting_: list[tuple[Transitions, int]] = []
            self._seen_ = Seen(near=self._start is not None)
            self._average_ = self._new_average(horizon)
        before = len(self._waiting_)
        self._waiting_.append((transitions, batch_size))
        try:
            self._work_off(warm_up_over=False)
        except Exception:
            del self._waiting_[before:]  # a call that fails leaves nothing behind
            if before == 0 and not hasattr(self, "_Theta_"):
                self._forget()
            raise

    def _new_average(self, horizon: int | None) -> IterateAverage:
        if self._epochs is None:
            return IterateAverage(self.averaging, horizon)
        return IterateAverage(self.averaging, None, growth=self._epochs)

    def _end_warm_up(self) -> None:
        """Start with what there is, if transitions still wait for a warm-up to be complete."""
        if not self.begun:
            raise fail(type(self).__name__, "a call of fit or partial_fit first", "none")
        if self._waiting_:
            self._work_off(warm_up_over=True)

    def _work_off(self, *, warm_up_over: bool) -> None:
        if not hasattr(self, "_Theta_"):
            waiting = [transitions for transitions, _ in self._waiting_]
            d, got = waiting[0].n_features, waiting[-1].n_features
            if d != got:
                raise fail("phi", f"{d} features, as before", got)
            if not self._prepare(waiting, warm_up_over):
                # The caller may reuse its arrays before these are learned from.
                self._waiting_[-1] = (copy.deepcopy(waiting[-1]), self._waiting_[-1][1])
                return
            self._allocate(waiting)
        todo, self._waiting_ = self._waiting_, []
        for transitions, batch_size in todo:
            self._learn_all(transitions, batch_size)
        self._after_fit()

    def _validate(self) -> None:
        check_gamma(self.gamma, one=True)
        check_choice(self.averaging, "averaging", AVERAGINGS)
        check_choice(self.dtype, "dtype", DTYPES)
        schedule_from(self.step_size)
        for name in ("horizon", "n_features"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name, low=1)

    def _allocate(self, waiting: list[Transitions]) -> None:
        d = waiting[0].n_features
        rows = self.n_features if d is None else d
        if rows is None:
            raise fail(
                "n_features",
                "the number of states, as states are given by number",
                None,
                f"pass n_features= to {type(self).__name__}",
            )
        if self.n_features not in (None, rows):
            raise fail("phi", f"{self.n_features} features, as n_features says", d)
        small = waiting[0].kind == "dense" and rows <= MOST_FEATURES
        if small and schedule_from(self.step_size) is None:
            self._first_ = FirstRows.none_yet(rows)
        self._check_room(rows, "n_features" if d is None else "phi")
        self._lay_out(rows, np.dtype(self.dtype), waiting[0].kind)
        self._begun_with_ = self._initial(waiting, rows)
        self._Theta_[:, : self._columns()] = self._begun_with_
        if self.dtype == "float32":
            self._average_.fold_every = max(_FOLD, rows)

    def _check_room(self, rows: int, argument: str) -> None:
        """Refuse more parameters than memory has room for, with sums and what lies beside them."""
        columns, matrices = self._columns(), 1 + self._average_.needs_sums + len(self._matrices)
        numbers = matrices * rows * -(-columns // _CACHE_LINE) * _CACHE_LINE
        if columns > rows:
            check_room(numbers, "intervals", columns, "use fewer")
        check_room(numbers, argument, f"{rows} features", "use fewer")

    def _lay_out(self, rows: int, dtype: np.dtype[Any], kind: str) -> None:
        """Make room for Theta and U, row beside row where features touch few rows."""
        self._kind_ = kind
        sizes, sums = (rows, self._columns(), dtype), self._average_.needs_sums
        made = kernels.layout.parameters_and_sums(*sizes, averaging=sums, paired=kind != "dense")
        self._Theta_, self._U_ = made

    def _learn_all(self, transitions: Transitions, batch_size: int) -> None:
        rows = self._Theta_.shape[0]
        if transitions.n_features not in (None, rows):
            raise fail("phi", f"{rows} features, as before", transitions.n_features)
        if transitions.kind == "states" and len(transitions):
            top = max(int(transitions.phi.max()), int(transitions.phi_next.max()))
            if top >= rows:
                raise fail("phi", f"states below n_features = {rows}", top)
        if transitions.discount is not None and (transitions.discount > 1.0).any():
            got, remedy = f"{transitions.discount.max():g}", "use a batch learner"
            raise fail("discount", "discounts in [0, 1] for steps to be stable", got, remedy)
        if not hasattr(self, "_kind_"):  # read from a file, and not laid out yet
            theta, sums = self._theta_and_sums()
            self._lay_out(rows, theta.dtype, transitions.kind)
            for new, old in zip(self._theta_and_sums(), (theta, sums), strict=True):
                new[:] = old
        batch_size = min(batch_size, max(len(transitions), 1))
        keep_between(self, transitions)
        self._see(transitions)
        for part in self._parts(len(transitions), batch_size):
            chunk = transitions[part]
            steps = self._steps(chunk, batch_size)
            updates, to_look = -(-len(chunk) // batch_size), self._updates_to_look()
            keep_good(self, chunk)
            done = self._run(chunk, steps.step, batch_size)
            if done < len(chunk):
                at = self.n_seen_ + done
                largest = float(steps.largest[done])
                alpha = float(steps.step[done]) * min(batch_size, len(chunk) - done)
                # Not the step that failed, whatever the constants say of it.
                safe = min(stable_step(largest, self._curvature()), alpha) / 4.0
                auto = schedule_from(self.step_size) is None
                if not go_back(self):
                    self.n_updates_, self.n_seen_ = self.n_updates_ + done // batch_size, at
                raise DivergenceError(at, alpha, largest, safe, auto=auto)
            self.n_updates_ += updates
            self.n_seen_ += len(chunk)
            self._seen_ = steps.seen
            self._judge(chunk)
            if self._average_.updates_to_boundary(self.n_updates_) == 0:
                self._average_.pass_boundary(self.n_updates_, *self._theta_and_sums())
            if to_look == updates:
                self._look()
        look_at(self, transitions)

    def _judge(self, chunk: Transitions) -> None:
        """Once enough of the first rows are there, tell automatic steps what these say."""
        if self._first_ is None or chunk.kind != "dense":
            self._first_ = None
            return
        self._first_.see(chunk, self.gamma)
        if not self._first_.left:
            self._seen_ = replace(self._seen_, slowest=self._first_.slowest())
            self._first_ = None

    def _see(self, transitions: Transitions) -> None:
        """Take note of transitions before they are learned from."""

    def _parts(self, n: int, batch_size: int) -> Iterator[slice]:
        """Cut n transitions into pieces that end between batches and where a window begins."""
        longest = max(_CHUNK // batch_size, 1)
        begin = 0
        while begin < n:
            boundaries = (
                self._average_.updates_to_boundary(self.n_updates_),
                self._updates_to_look(),
                None if self._first_ is None else -(-self._first_.left // batch_size),
            )
            updates = min([longest, *(n for n in boundaries if n is not None)])
            end = min(begin + updates * batch_size, n)
            yield slice(begin, end)
            begin = end

    def _steps(self, chunk: Transitions, batch_size: int) -> StepSizes:
        """Step sizes times weights over sizes of batches, and what they depend on."""
        norms = chunk.squared_norms()
        if chunk.weight is not None:
            norms = norms * chunk.weight
        steps = next_steps(
            self.step_size,
            self._seen_,
            norms,
            chunk.discounts(self.gamma),
            batch_size=batch_size,
            done=self.n_updates_,
            before=self._before_,
            n_features=self._Theta_.shape[0],
            curvature=self._curvature(),
            slowness=self._slowness(),
        )
        return steps if chunk.weight is None else replace(steps, step=steps.step * chunk.weight)

    # --------------------------------------------------------------------------- what it knows

    @property
    def begun(self) -> bool:
        """Whether anything was learned from, or waits until a warm-up is complete."""
        return hasattr(self, "_average_")

    @property
    def stable_step_(self) -> float:
        """The largest step that is stable in mean square, for the features seen so far."""
        self._end_warm_up()
        return stable_step(self._seen_.largest, self._curvature())

    def touched_rows(self) -> BoolArray:
        """Return which rows of the parameters are not zero any more, shape (d,).

        The others say what they said at the start, as no transition had that feature.
        """
        self._end_warm_up()
        return np.asarray((self._iterate_and_sums()[0] != 0.0).any(axis=1))

    def _theta_and_sums(self) -> tuple[FloatArray, FloatArray]:
        """Parameters and averaging sums without their padding (no sums without averaging)."""
        columns = self._columns()
        return self._Theta_[:, :columns], self._U_[:, :columns]

    def _iterate_and_sums(self) -> tuple[FloatArray, FloatArray]:
        """The same as they are meant, where a learner puts off what changes all rows."""
        return self._theta_and_sums()

    def _parameters(self) -> FloatArray:
        """A copy of the current parameters."""
        self._end_warm_up()
        return self._iterate_and_sums()[0].copy()

    def _mean(self, rows: Rows = slice(None)) -> FloatArray:
        """The averaged parameters, float64; some rows of them, if that is all that is needed."""
        self._end_warm_up()
        return self._average_.mean(self.n_updates_, *self._iterate_and_sums(), rows)

    def predict_overall(self, Phi: Any) -> tuple[_Answer, int]:
        """Return what the average of *all* iterates says, and how many of them predict leaves out.

        Times ``n_updates_``, for a linear distribution, this is a sum over the run, and the
        difference of two such sums belongs to the stretch between them: see
        ``lincat.inference.settling``. Needs averaging, which keeps the sums.
        """
        Phi = self._check_states(Phi)
        average, done = self._average_, self.n_updates_
        if not average.needs_sums:
            raise fail("averaging", "'tail' or 'full', which keep sums", repr(average.kind))
        rows, Phi = used_rows(Phi)
        total = average.total(done, *self._iterate_and_sums(), rows)
        windowed = average.begin_sum is not None and done > average.begin
        return self._predict(Phi, total / max(done, 1)), average.begin if windowed else 0

    # ---------------------------------------------------------------------------------- files

    def save(self, path: str | Path) -> None:
        """Write the learner to a file: safetensors, no code, written whole or not at all."""
        from lincat.learners.files import save

        save(self, path)
