"""Categorical LSTD: the return distributions that solve the data's own Bellman equation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Self, final

import numpy as np

from lincat._arguments import check_array, check_choice, check_integer, check_number, fail
from lincat._text import shown
from lincat._threads import one_blas_thread, steady_blas
from lincat._typing import BoolArray, FeatureMatrix, FloatArray
from lincat.core.bellman import clipped_mass
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf
from lincat.core.uncertainty import Uncertainty
from lincat.data.transitions import Transitions
from lincat.learners._batch import BatchLearner
from lincat.learners._forecasts import Forecasts
from lincat.solvers.batch import BatchSolution, solve_totals
from lincat.solvers.grid_choice import GridChoice, choose_grid
from lincat.solvers.influence import CAUTIONS, Ensemble, influence
from lincat.solvers.moments import Moments, solve_moments
from lincat.solvers.rank_report import RankReport, touched
from lincat.solvers.refinement import refined
from lincat.solvers.whitening import whiten

_SHOWN = 1e-7  # residual of what only shows differences


@final
class CategoricalLSTD(BatchLearner, Forecasts):
    """The linear-categorical fixed point of all data seen (Thm linear_cate_TD_equation).

    ::

        Σ phi (phiᵀTheta − phi'ᵀTheta B(r)ᵀ) = Σ phi b(r)ᵀ

    No step size, no start to forget: what :class:`lincat.LinearCTD` converges to if it sees the
    data again and again. The sums depend on neither gamma, the grid nor its number of intervals, so
    that :meth:`solve` answers other questions without another pass.

    Parameters
    ----------
    gamma : float
        In [0, 1]; 1 where every episode ends.
    grid : Grid or "auto"
        "auto" places it when the data are known: where the returns are.
    intervals : int or "auto"
        K of an automatic grid; "auto" takes as many as keep standard deviations within 1 %.
    ridge : float
        Added to the diagonal of Σ phi phiᵀ, relative to its mean: draws the distributions of all
        states together.
    n_features : int, optional
        Needed where states are given by number.
    max_blocks, nodes, memory_limit, keep_last
        As for :class:`lincat.Statistics`.
    tolerance : float
        ``residual_`` that is aimed at; 1e-6 takes half the time, where figures are only compared.

    Attributes
    ----------
    Theta_ : array of shape (d, K)
    grid_ : Grid
    residual_ : float
        Of the equation, relative to its right-hand side.
    solution_ : BatchSolution
        With rank, null directions, spectral radius, and further right-hand sides.
    moments_ : Moments
        Mean and second moment by equations of their own, which no grid widens.
    ensemble_ : Ensemble
        Errors that Theta may have, computed when they are first asked for; with cautions.
    statistics_ : Statistics
    n_seen_ : int

    Examples
    --------
    >>> import lincat
    >>> lake = lincat.catalog.frozen_lake()
    >>> seen = lake.process.sample(100_000, seed=0)
    >>> model = lincat.CategoricalLSTD(gamma=0.95, n_features=16)
    >>> model = model.fit(seen.state, seen.reward, seen.next_state, terminated=seen.terminated)
    >>> model.predict([14]).mean().round(2)
    array([0.41])
    >>> model.solve(gamma=0.9).predict([14]).mean().round(2)  # no pass over the data
    array([0.39])
    """

    def __init__(
        self,
        *,
        gamma: float,
        grid: Grid | str = "auto",
        intervals: int | str = "auto",
        ridge: float = 0.0,
        n_features: int | None = None,
        max_blocks: int = 64,
        nodes: Any = "auto",
        memory_limit: int = 2**31,
        keep_last: int | None = None,
        tolerance: float = 1e-12,
    ) -> None:
        super().__init__(
            gamma=gamma,
            ridge=ridge,
            n_features=n_features,
            max_blocks=max_blocks,
            nodes=nodes,
            memory_limit=memory_limit,
            keep_last=keep_last,
        )
        self.grid = grid
        self.intervals = intervals
        self.tolerance = tolerance

    def solve(
        self,
        *,
        gamma: float | None = None,
        grid: Grid | str | None = None,
        intervals: int | str | None = None,
    ) -> Self:
        """Return a copy that answers for another gamma, grid or K, from the same statistics.

        Discounts that came with the data stay as they are. With ``intervals`` alone, a grid that
        was given keeps its ends.
        """
        if grid is None and intervals is not None and isinstance(self.grid, Grid):
            K = check_integer(intervals, "intervals", low=1)
            grid = Grid(self.grid.low, self.grid.high, K)
        return self._solved_copy(gamma=gamma, grid=grid, intervals=intervals)

    def doubled(self) -> Self:
        """Return a copy that answers on twice as many intervals, to show what more would change.

        By the factors of this solution, to a residual of 1e-7: a tenth of the time of new ones.

        Examples
        --------
        >>> import lincat
        >>> seen = lincat.catalog.paper().process.sample(5_000, seed=0)
        >>> model = lincat.CategoricalLSTD(gamma=0.75, grid=lincat.Grid(0, 4, 20), n_features=3)
        >>> twice = model.fit(seen.state, seen.reward, seen.next_state).doubled()
        >>> twice.grid_, twice.residual_ < 1e-7
        (Grid(low=0.0, high=4.0, intervals=40), True)
        """
        grid = Grid(self.grid_.low, self.grid_.high, 2 * self.grid_.intervals)
        with one_blas_thread:
            solution = solve_totals(
                self.statistics_.totals(),
                grid,
                self.gamma,
                ridge=self.ridge,
                tolerance=_SHOWN,
                coarse=self.solution_,
            )
        self._is_shared_ = True
        other = copy.copy(self).set_params(grid=grid)
        other._grid_, other._choice_ = grid, None
        other._keep(solution)
        return other

    @steady_blas()
    def refine(
        self,
        transitions: Transitions | Callable[[], Iterable[Transitions]],
        *,
        tolerance: float = 1e-12,
        passes: int = 20,
    ) -> Self:
        """Solve for the rewards themselves, where there were too many to keep apart.

        Sums hold 64 to 256 distinct rewards as they are, and split others over nodes, which keeps
        means and second moments. With some more passes over the data the answer is that of the
        rewards. What is learned, merged or solved afterwards begins from the nodes again.

        Parameters
        ----------
        transitions : Transitions, or a function that returns an iterable of them
            All that were learned from, in any order.
        tolerance : float
            Residual of the equation of the data that is aimed at; see ``residual_``.
        passes : int
            Over the data, at most.

        Examples
        --------
        >>> import numpy as np
        >>> import lincat
        >>> rng = np.random.default_rng(0)
        >>> t = lincat.Transitions(np.zeros(500, int), rng.normal(size=500), np.zeros(500, int))
        >>> model = lincat.CategoricalLSTD(gamma=0.9, intervals=50, n_features=1, nodes=9).fit(t)
        >>> model.refine(t).residual_ < 1e-12
        True
        """
        self._ready()
        check_integer(passes, "passes", low=3)
        check_number(tolerance, "tolerance", low=0.0, low_open=True)
        read = (lambda: [transitions]) if isinstance(transitions, Transitions) else transitions
        if not callable(read):
            expected = "lincat.Transitions, or a function that returns an iterable of them"
            raise fail("transitions", expected, type(transitions).__name__)
        self._Theta_, self._residual_ = refined(
            self.solution_,
            self.statistics_.totals(),
            read,
            self._grid_,
            self.gamma,
            tolerance=tolerance,
            passes=passes,
        )
        self._is_refined_ = True
        return self

    def _validate(self) -> None:
        super()._validate()
        if not isinstance(self.grid, Grid) and self.grid != "auto":
            raise fail("grid", "a lincat.Grid or 'auto'", shown(self.grid))
        if self.intervals != "auto":
            check_integer(self.intervals, "intervals", low=1)
        check_number(self.tolerance, "tolerance", low=0.0, low_open=True)

    def _solve(self) -> None:
        totals = self.statistics_.totals()
        whitening = whiten(totals.Sigma, ridge=self.ridge)
        if isinstance(self.grid, Grid):
            self._moments_ = solve_moments(totals, self.gamma, whitening=whitening)
            self._grid_, self._choice_ = self.grid, None
        else:
            intervals = self.intervals if isinstance(self.intervals, int) else None
            self._choice_ = choose_grid(
                totals,
                self.gamma,
                self.sampled_features(),
                intervals=intervals,
                whitening=whitening,
            )
            self._grid_, self._moments_ = self._choice_.grid, self._choice_.moments
        solution = solve_totals(
            totals, self._grid_, self.gamma, ridge=self.ridge, tolerance=self.tolerance
        )
        self._keep(solution)

    def _keep(self, solution: BatchSolution) -> None:
        self._solution_: BatchSolution | None = solution
        self._Theta_, self._residual_ = solution.Theta, solution.residual
        self._ensemble_: Ensemble | None = None
        self._is_refined_ = False
        self._null_: FeatureMatrix | None = solution.null_directions if self.ridge == 0.0 else None

    def _answer(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        grid, choice, ensemble = self._grid_, self._choice_, self._ensemble_
        arrays = {**self._moments_.arrays(), "Theta": self._Theta_}
        numbers: dict[str, Any] = {
            "grid": [grid.low, grid.high, grid.intervals],
            "wanted": None if choice is None else choice.wanted,
            "residual": self._residual_,
            "refined": self._is_refined_,
        }
        if ensemble is not None:
            arrays["Psi"] = ensemble.Psi
            arrays |= {} if ensemble.moved is None else {"moved": ensemble.moved}
            numbers["correlation"] = ensemble.correlation
            numbers["cautions"] = list(ensemble.cautions)
        return arrays, numbers

    def _restore_answer(self, arrays: dict[str, FloatArray], numbers: dict[str, Any]) -> None:
        d, wanted = self.statistics_.n_features or 0, numbers["wanted"]
        self._grid_ = Grid(*numbers["grid"])
        self._moments_ = Moments.from_arrays(arrays, d)
        self._Theta_ = check_array(arrays["Theta"], "Theta", shape=(d, self._grid_.intervals))
        self._residual_ = check_number(numbers["residual"], "residual", low=0.0)
        self._ensemble_, self._null_ = None, None
        self._is_refined_ = numbers.get("refined", False) is True
        if "Psi" in arrays:
            words = tuple(CAUTIONS)
            self._ensemble_ = Ensemble(
                check_array(arrays["Psi"], "Psi", shape=(None, d, self._grid_.intervals)),
                check_number(numbers["correlation"], "correlation"),
                tuple(check_choice(word, "cautions", words) for word in numbers["cautions"]),
                check_array(arrays["moved"], "moved", shape=self._Theta_.shape)
                if "moved" in arrays
                else None,
            )
        self._choice_ = None if wanted is None else GridChoice(self._grid_, wanted, self._moments_)
        self._solution_ = None  # found again if it is asked for

    # ---------------------------------------------------------------------------------- answering

    @steady_blas()
    def predict(self, Phi: Any, *, confidence: float | None = None) -> ReturnDistribution:
        """Return the distributions of the return from states.

        Parameters
        ----------
        Phi : array or CSR matrix of shape (n, d), or n state numbers
        confidence : float, optional
            In (0, 1): the distributions then know their sampling error, for
            :meth:`ReturnDistribution.interval` and :meth:`ReturnDistribution.band`. It is computed
            when it is first asked for, from the blocks of the statistics.
        """
        self._ready()
        features = self._check_states(Phi)
        cdf = features @ self._Theta_ + uniform_cdf(self._grid_.intervals)
        if confidence is None:
            return ReturnDistribution(cdf, self._grid_)
        share = check_number(
            confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True
        )
        Psi, moved = self.ensemble_.Psi, None if self._is_refined_ else self.ensemble_.moved
        directions = np.empty((len(Psi), *cdf.shape))
        for along, error in zip(directions, Psi, strict=True):
            along[:] = features @ error
        known = Uncertainty(
            directions,
            share,
            self._touches_nothing(features),
            moved=None if moved is None else features @ moved,
        )
        return ReturnDistribution(cdf, self._grid_, known)

    def _touches_nothing(self, Phi: FeatureMatrix) -> BoolArray:
        """Whether a state has features in directions of which no transition had any, (n,)."""
        if self.ridge > 0.0:  # which says something of every direction
            return np.zeros(Phi.shape[0], dtype=bool)
        return touched(Phi, self._unreached())

    def _unreached(self) -> FeatureMatrix:
        if self._null_ is None:
            self._null_ = whiten(self.statistics_.totals().Sigma).null
        return self._null_

    def rank_report(self, Phi: Any) -> RankReport:
        """Return which directions of the features have no data, and which states touch them.

        A ridge says something of every direction; it is not looked at here.

        Examples
        --------
        >>> import numpy as np
        >>> import lincat
        >>> phi = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # the third is never left
        >>> model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0.0, 2.0, 4))
        >>> model = model.fit(phi, [0.0, 1.0], np.eye(3)[1:])
        >>> report = model.rank_report(np.eye(3))  # print it for a sentence or two
        >>> report.rank, report.features, report.states
        (2, array([2]), array([2]))
        """
        self._ready()
        features, directions = self._check_states(Phi), self._unreached()
        rank = features.shape[1] - directions.shape[1]
        states = np.flatnonzero(touched(features, directions))
        return RankReport(rank, directions, states, features.shape[0])

    # ------------------------------------------------------------------------------ what it knows

    @property
    def grid_(self) -> Grid:
        """The grid in use: the given one, or the one placed where the returns are."""
        self._ready()
        return self._grid_

    @property
    def choice_(self) -> GridChoice | None:
        """What speaks for an automatic grid; None for a given one."""
        self._ready()
        return self._choice_

    @property
    def Theta_(self) -> FloatArray:
        """Parameters of the distributions, shape (d, K)."""
        self._ready()
        return self._Theta_

    @property
    def moments_(self) -> Moments:
        """Weights of mean and second moment."""
        self._ready()
        return self._moments_

    @property
    def residual_(self) -> float:
        """The residual of the equation, relative to its right-hand side."""
        self._ready()
        return self._residual_

    @property
    def solution_(self) -> BatchSolution:
        """The solution with its factors; solved again where the learner came from a file."""
        self._ready()
        if self._solution_ is None:
            totals = self.statistics_.totals()
            with one_blas_thread:
                self._solution_ = solve_totals(totals, self._grid_, self.gamma, ridge=self.ridge)
        return self._solution_

    @property
    def ensemble_(self) -> Ensemble:
        """Errors that Theta may have, (nu, d, K), from the blocks of the statistics."""
        self._ready()
        if self._ensemble_ is None:
            with one_blas_thread:
                self._ensemble_ = influence(self.statistics_, self.solution_)
        return self._ensemble_

    @property
    def attainable_(self) -> tuple[float, float]:
        """What returns keep within, where they are learned about a potential; else infinite.

        Of returns that are learned as they are, the grid is cut to that.
        """
        return self.statistics_.extremes.range()

    @property
    def clipped_mass_(self) -> FloatArray:
        """Mass that the Bellman update moves off the grid (below, above), per transition, (2,)."""
        self._ready()
        totals = self.statistics_.totals()
        whitening = whiten(totals.Sigma)
        # phi·constant = 1 where the features span a constant: sums over rows follow from it.
        constant = whitening.up(whitening.down(totals.phi_sum.sum(axis=0)))
        weight = totals.phi_sum @ constant
        seen = weight > 1e-12 * totals.weight
        following = totals.following(constant)[seen] / weight[seen, None]
        cdf = np.clip(following @ self._Theta_ + uniform_cdf(self._grid_.intervals), 0.0, 1.0)
        discount = totals.discount(self.gamma)[seen]
        lost = clipped_mass(cdf, totals.reward[seen], discount, self._grid_)
        return np.asarray(weight[seen] @ lost / totals.weight)
