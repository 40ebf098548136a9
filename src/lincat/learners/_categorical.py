"""What learners of a distribution on a grid share: the grid, the kernels, what fell off it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_integer, fail
from lincat._text import shown
from lincat._threads import one_blas_thread
from lincat._typing import ArrayLike, FeatureMatrix, FloatArray
from lincat.core.bellman import GridMisfitWarning, reward_shifts
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid, reach
from lincat.data.transitions import Transitions
from lincat.learners._base import Learner
from lincat.learners._forecasts import Forecasts
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.growing import EVERY, GridWatch
from lincat.learners.inputs import kernel_features
from lincat.learners.schedules import StepSize
from lincat.solvers.influence import Ensemble
from lincat.statistics.block_statistics import Statistics

WARM_UP = 1000  # transitions that decide an automatic grid
# From here on matrix products beat the loop over transitions, by 1.2 to 1.5 on one thread.
_BLAS_BATCH = 128
_BLAS_FEATURES = 256
_GROWS = 2  # times as many intervals as at first; then neighbours are merged
# CDFs live in [0, 1], or not far from it; an error row of this norm means that Theta has left for
# good, while all numbers are still finite.
_LARGEST_ERROR = 1e6
_LARGEST_CDF = 10.0  # of parameters that are worth going back to


class CategoricalLearner(Learner[ReturnDistribution], Forecasts):
    """Base of the learners of return distributions."""

    grid: Grid | str
    #: One of the constants of ``kernels.rules``.
    _rule: ClassVar[str]
    #: Whether the first parameters depend on the first transitions.
    _needs_warm_up: ClassVar[bool] = False
    #: Whether the rule settles where the batch solution of the same transitions is.
    settles_at_solution: ClassVar[bool] = True
    #: Whether an automatic grid grows where mass leaves it.
    _grid_grows: ClassVar[bool] = True
    #: Whether the rule descends on ℓ2², whose gradient has the factor 2 * spacing.
    _descends_on_cramer: ClassVar[bool] = True
    #: What was seen, summed by blocks of time, if ``statistics`` is True.
    statistics_: Statistics | None = None
    #: Whether what comes is added to these: not where rows come again, which say nothing new.
    counting: bool = True
    _solved_: CategoricalLSTD | None = None
    #: What is seen of an automatic grid, which grows where mass leaves it.
    _watch_: GridWatch | None = None
    #: Transitions before the grid was as it is.
    _since_: int = 0

    def __init__(
        self,
        *,
        grid: Grid | str,
        gamma: float,
        step_size: StepSize = "auto",
        averaging: str = "tail",
        horizon: int | None = None,
        intervals: int = 50,
        n_features: int | None = None,
        dtype: str = "float64",
        gradient_step: bool = False,
        statistics: bool = False,
    ) -> None:
        super().__init__(
            gamma=gamma,
            step_size=step_size,
            averaging=averaging,
            horizon=horizon,
            n_features=n_features,
            dtype=dtype,
        )
        self.grid = grid
        self.intervals = intervals
        self.gradient_step = gradient_step
        self.statistics = statistics

    @abstractmethod
    def _distributions(self, scores: FloatArray) -> FloatArray:
        """CDF values (n, K) from phi·Theta (n, columns)."""

    # ------------------------------------------------------------------------------- the grid

    @property
    def grid_(self) -> Grid:
        """The grid in use: the given one, or the one chosen from the first transitions."""
        self._end_warm_up()
        return self._grid_

    def _prepare(self, waiting: list[Transitions], warm_up_over: bool) -> bool:
        if not isinstance(self.grid, Grid) and not (
            isinstance(self.grid, str) and self.grid == "auto"
        ):
            raise fail("grid", "a lincat.Grid or 'auto'", shown(self.grid))
        if self.gradient_step and not self._descends_on_cramer:
            raise fail("gradient_step", f"False for {type(self).__name__}", self.gradient_step)
        if self.statistics and not self.settles_at_solution:
            expected = f"False for {type(self).__name__}, which settles elsewhere than sums say"
            raise fail("statistics", expected, self.statistics, "take lincat.LinearCTD")
        enough = warm_up_over or sum(map(len, waiting)) >= WARM_UP
        settled = isinstance(self.grid, Grid) or self._start is not None
        if (not settled or self._needs_warm_up) and not enough:
            return False
        self._clipped_ = np.zeros(2)
        self._reach_ = (np.inf, -np.inf)
        self.statistics_ = Statistics(self.n_features) if self.statistics else None
        if isinstance(self.grid, Grid):
            self._grid_ = self.grid
        else:
            self._grid_ = self._choose_grid(waiting) if self._start is None else self._start[0]
            if self.settles_at_solution and self._grid_grows:
                self._watch_ = GridWatch(_GROWS * self._grid_.intervals)
        return True

    def start_at(self, grid: Grid, Theta: ArrayLike, *, after: int = 0, seen: int = 0) -> Self:
        """Begin from parameters (d, K) on this grid, rather than from the uniform distribution.

        For learners that have learned nothing yet; a fixed ``grid`` must be this one, an automatic
        one begins here and grows where mass leaves it. Such parameters may come from the batch
        solution of the first transitions (:class:`lincat.CategoricalLSTD`), or of other data.
        ``after`` says how many transitions they rest on: automatic steps are then as small as they
        would be by now, and do not undo them. Where it takes over from another learner, ``seen`` is
        what ``n_seen_`` counts on from.

        Examples
        --------
        >>> import lincat
        >>> coin = lincat.catalog.uniform_coin()
        >>> drawn = coin.process.sample(2000, seed=1)
        >>> first = lincat.CategoricalLSTD(gamma=0.5, intervals=20, n_features=1)
        >>> first = first.fit(drawn.state, drawn.reward, drawn.next_state)
        >>> model = lincat.LinearCTD(grid="auto", gamma=0.5, n_features=1)
        >>> model = model.start_at(first.grid_, first.Theta_, after=2000)
        >>> more = coin.process.sample(2000, seed=2)
        >>> model.partial_fit(more.state, more.reward, more.next_state).grid_
        Grid(low=0.0, high=2.0, intervals=20)
        """
        if not self.settles_at_solution:
            raise fail("start_at", "LinearCTD or LinearPMF", type(self).__name__)
        if self.begun:
            raise fail("start_at", "a learner that has learned nothing yet", "one that has")
        if isinstance(self.grid, Grid) and self.grid != grid:
            raise fail("grid", f"{self.grid}, as the learner has", grid)
        parameters = check_array(Theta, "Theta", shape=(None, grid.intervals))
        self._start = (grid, parameters, check_integer(after, "after", low=0))
        self.n_seen_ = self._since_ = check_integer(seen, "seen", low=0)
        return self

    def _begun_at(self, rows: int) -> FloatArray | float:
        """The parameters to begin with; 0 is the uniform distribution."""
        if self._start is None:
            return 0.0
        self._before_ = self._start[2]
        return check_array(self._start[1], "Theta", shape=(rows, self._grid_.intervals))

    def _updates_to_look(self) -> int | None:
        return None if self._watch_ is None else EVERY - self.n_updates_ % EVERY

    def _look(self) -> None:
        if self._watch_ is None:
            return
        growth = self._watch_.look(self._grid_, self._clipped_, self.n_seen_, self._reach_)
        if growth is None or not self._watch_.constants:
            return
        (theta, sums), average = self._theta_and_sums(), self._average_
        constant = self._watch_.constants[0].vector(len(theta))
        moved = np.outer(constant, growth.offset())
        average.reexpress(lambda total, n: growth.sums(total) + n * moved)
        dtype, self._grid_ = theta.dtype, growth.new
        self._lay_out(len(theta), dtype, self._kind_)
        new_theta, new_sums = self._theta_and_sums()
        new_theta[:] = growth.sums(theta.astype(np.float64)) + moved
        if average.needs_sums:
            new_sums[:] = growth.sums(sums)
        self._clipped_, self._since_ = np.zeros(2), self.n_seen_
        self._solved_ = None

    def _choose_grid(self, waiting: list[Transitions]) -> Grid:
        intervals = check_integer(self.intervals, "intervals", low=1)
        reward = np.concatenate([part.reward for part in waiting])[:WARM_UP]
        discount = np.concatenate([part.discounts(self.gamma) for part in waiting])[:WARM_UP]
        if not np.isfinite(reach(reward, discount)).all():  # a discount of 1 sets no bounds
            return Grid.for_episodes(reward, discount, intervals=intervals)
        return Grid.for_transitions(reward, discount, intervals=intervals)

    @property
    def clipped_mass_(self) -> FloatArray:
        """Mass that fell (below, above) the grid as it is, per transition, shape (2,)."""
        self._end_warm_up()
        return self._clipped_ / max(self.n_seen_ - self._since_, 1)

    @property
    def reach_(self) -> tuple[float, float]:
        """Ends of the shortest grid that no mass would have fallen off."""
        self._end_warm_up()
        return self._reach_

    def _after_fit(self) -> None:
        grows = self.n_updates_ >= EVERY and self._watch_ is not None and self._watch_.constants
        if self.warn and self._clipped_.any() and not grows and not hasattr(self, "_warned_"):
            self._warned_ = True
            below, above = self.clipped_mass_
            low, high = self._reach_
            fits = f"; the rewards so far would fit [{low:.6g}, {high:.6g}], with atoms as close"
            warnings.warn(
                f"{below:.3g} of the mass falls below the grid "
                f"[{self._grid_.low:g}, {self._grid_.high:g}] and {above:.3g} above it, and is "
                f"moved to its ends, so means are biased{fits if np.isfinite(high - low) else ''}",
                GridMisfitWarning,
                stacklevel=6,
            )

    # ---------------------------------------------------------------------------- the updates

    def _columns(self) -> int:
        return int(kernels.rules.columns(self._grid_.intervals, self._rule_number()))

    def _rule_number(self) -> int:
        return int(getattr(kernels.rules, self._rule))

    def _step_factor(self) -> float:
        """What a step size is multiplied by: 2 * spacing for the gradient of ℓ2² (App. D)."""
        return 2.0 * self._grid_.spacing if self.gradient_step else 1.0

    def _see(self, transitions: Transitions) -> None:
        if self.statistics_ is not None and self.counting and len(transitions):
            self.statistics_.update(transitions)
            self._solved_ = None

    def _run(self, transitions: Transitions, step: FloatArray, batch_size: int) -> int:
        grid = self._grid_
        discount = transitions.discounts(self.gamma)
        ends = reach(transitions.reward, discount)
        self._reach_ = (
            min(self._reach_[0], float(ends.min())),
            max(self._reach_[1], float(ends.max())),
        )
        if self._watch_ is not None:
            self._watch_.see(transitions.phi, transitions.reward, discount, grid)
        phi, phi_next = kernel_features(transitions, self._Theta_.dtype)
        numbers = (
            reward_shifts(transitions.reward, discount, grid),
            discount,
            step * self._step_factor(),
        )
        return self._update(transitions, phi, phi_next, numbers, batch_size)

    def _update(
        self,
        transitions: Transitions,
        phi: Any,
        phi_next: Any,
        numbers: tuple[FloatArray, ...],
        batch_size: int,
    ) -> int:
        """Call the compiled loop that fits these features."""
        grid = self._grid_
        large = batch_size >= _BLAS_BATCH and self._Theta_.shape[0] >= _BLAS_FEATURES
        if transitions.kind == "dense" and large:
            return self._run_matrices(phi, phi_next, numbers, batch_size)
        arguments = (
            self._Theta_,
            self._U_,
            self._clipped_,
            phi,
            phi_next,
            *numbers,
            _LARGEST_ERROR**2,
            grid.intervals,
            self._rule_number(),
            self._average_.in_sums(self.n_updates_),
        )
        if transitions.kind == "dense" and batch_size == 1:
            return int(kernels.dense.dense_updates(*arguments))
        run = {
            "dense": kernels.dense.dense_batches,
            "sparse": kernels.csr.csr_updates,
            "states": kernels.states.state_updates,
        }[transitions.kind]
        return int(run(*arguments, batch_size))

    def _run_matrices(
        self, phi: FloatArray, phi_next: FloatArray, numbers: tuple[FloatArray, ...], size: int
    ) -> int:
        """Large dense batches: dot products and updates as matrix products.

        On one BLAS thread, so that the number of threads does not change the sums.
        """
        n, Theta, columns = len(phi), self._Theta_, self._columns()
        with one_blas_thread:
            for number, first in enumerate(range(0, n, size)):
                batch = slice(first, min(first + size, n))
                rows, ahead = phi[batch] @ Theta, phi_next[batch] @ Theta
                errors = np.zeros_like(rows)
                fine = kernels.dense.batch_increments(
                    errors,
                    self._clipped_,
                    rows,
                    ahead,
                    *(x[batch] for x in numbers),
                    _LARGEST_ERROR**2,
                    self._grid_.intervals,
                    self._rule_number(),
                )
                if not fine:
                    return first
                change = phi[batch].T @ errors
                Theta += change
                if self._average_.needs_sums:
                    lag = float(self._average_.in_sums(self.n_updates_) + number)
                    self._U_[:, :columns] -= lag * change[:, :columns]
        return n

    # -------------------------------------------------------------------------------- answers

    @property
    def Theta_(self) -> FloatArray:
        """The current parameters, shape (d, K), or (d, K + 1) where the rule has one more."""
        return self._parameters()

    @property
    def Theta_mean_(self) -> FloatArray:
        """The averaged parameters; the current ones if averaging="none"."""
        return self._mean()

    def _predict(self, Phi: FeatureMatrix, parameters: FloatArray) -> ReturnDistribution:
        scores = parameters[Phi] if Phi.ndim == 1 else Phi @ parameters
        return ReturnDistribution(
            self._distributions(np.asarray(scores, dtype=np.float64)), self._grid_
        )

    def _predict_with_error(self, Phi: FeatureMatrix, confidence: float) -> ReturnDistribution:
        return self._solution().predict(Phi, confidence=confidence)

    def _is_plausible(self, scores: FloatArray) -> bool:
        return bool(np.abs(self._distributions(scores)).max(initial=0.0) <= _LARGEST_CDF)

    # ------------------------------------------------------------------- sums beside the stream

    @property
    def ensemble_(self) -> Ensemble:
        """Errors that one Newton step from Theta may have, (nu, d, K), with cautions."""
        self._end_warm_up()
        return self._solution().ensemble_

    def _solution(self) -> CategoricalLSTD:
        """The batch solution of the same transitions, from the sums beside the stream.

        The equation that updates follow on average is linear, so a Newton step from any parameters
        ends there.
        """
        if self.statistics_ is None:
            name = type(self).__name__
            if self.settles_at_solution:
                got, remedy = "none", f"pass statistics=True to {name} before it learns"
            else:
                got, remedy = f"{name}, which settles elsewhere", "take lincat.LinearCTD"
            raise fail("confidence", "sums kept beside the stream", got, remedy)
        if self._solved_ is None:
            self._solved_ = CategoricalLSTD(gamma=self.gamma, grid=self._grid_)
            self._solved_.statistics_ = self.statistics_
        return self._solved_

    # ---------------------------------------------------------------------------------- files

    def _extra_state(self) -> dict[str, Any]:
        return {
            "grid": [self._grid_.low, self._grid_.high, self._grid_.intervals],
            "clipped": self._clipped_.tolist(),
            "reach": list(self._reach_),
            "since": self._since_,
            "before": self._before_,
            "watch": None if self._watch_ is None else self._watch_.state(),
        }

    def _restore_extra(self, state: dict[str, Any]) -> None:
        self._grid_ = Grid(*state["grid"])
        self._clipped_ = check_array(state["clipped"], "clipped", shape=(2,))
        low, high = state["reach"]
        self._reach_ = (float(low), float(high))
        self._since_ = check_integer(state.get("since", 0), "since", low=0)
        self._before_ = check_integer(state.get("before", 0), "before", low=0)
        watch = state.get("watch")
        self._watch_ = None if watch is None else GridWatch.from_state(watch)
