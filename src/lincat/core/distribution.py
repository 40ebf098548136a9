"""Return distributions of n states on one grid: the only thing that flows out of lincat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lincat import kernels
from lincat._arguments import (
    check_array,
    check_each,
    check_integer,
    check_levels,
    check_number,
    fail,
)
from lincat._room import check_room
from lincat._typing import ArrayLike, FloatArray
from lincat.core import affine, bands, figure_intervals, risk
from lincat.core.grid import Grid
from lincat.core.representation import cdf_from_pmf, pmf_from_cdf
from lincat.core.showing import Showing
from lincat.core.uncertainty import Interval, Uncertainty


class ReturnDistribution(Showing):
    """The distributions of the return from n states, as CDF values on a grid.

    Parameters
    ----------
    cdf : array of shape (n, K), or (K,) for one state
        CDF values at the first K atoms; at the last one the CDF is 1. Learned distributions may be
        signed: not monotone, or outside [0, 1]; ``negative_mass`` measures it, ``proper()`` fixes
        it.
    grid : Grid
    uncertainty : Uncertainty, optional
        The sampling error of the CDF values, for :meth:`interval` and :meth:`band`; batch learners
        give it, with ``predict(Phi, confidence=0.95)``.

    Notes
    -----
    A scalar argument gives one number per state, shape (n,); m of them give shape (n, m).

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> dist = ReturnDistribution([[0.25, 0.5, 0.75]], Grid(0.0, 3.0, intervals=3))
    >>> dist.mean(), dist.variance()
    (array([1.5]), array([1.25]))
    >>> dist.quantile(0.3), dist.cvar(0.3)
    (array([1.]), array([0.16666667]))
    >>> dist.probability_below(1.0), dist.cdf(1.0)
    (array([0.25]), array([0.5]))
    """

    def __init__(self, cdf: ArrayLike, grid: Grid, uncertainty: Uncertainty | None = None) -> None:
        if not isinstance(grid, Grid):
            raise fail("grid", "a lincat.Grid", type(grid).__name__)
        values = check_array(cdf, "cdf")
        if values.ndim == 1:
            values = values[None, :]
        self._cdf = check_array(values, "cdf", shape=(None, grid.intervals)).copy()
        self._cdf.flags.writeable = False
        self._grid = grid
        if uncertainty is not None:
            shape = (None, *self._cdf.shape)
            check_array(uncertainty.directions, "uncertainty.directions", shape=shape)
        self._uncertainty = uncertainty

    @classmethod
    def from_pmf(cls, pmf: ArrayLike, grid: Grid) -> ReturnDistribution:
        """Build the distributions from masses at all K + 1 atoms, shape (n, K + 1)."""
        return cls(cdf_from_pmf(pmf), grid)

    @property
    def grid(self) -> Grid:
        """The grid that carries the distributions."""
        return self._grid

    @property
    def cdf_values(self) -> FloatArray:
        """CDF values at the first K atoms, shape (n, K), read-only."""
        return self._cdf

    @property
    def pmf(self) -> FloatArray:
        """The masses of all K + 1 atoms, shape (n, K + 1); negative where signed."""
        return pmf_from_cdf(self._cdf)

    @property
    def uncertainty(self) -> Uncertainty | None:
        """The sampling error of the CDF values, if it is known."""
        return self._uncertainty

    def __len__(self) -> int:
        return len(self._cdf)

    def __getitem__(self, states: Any) -> ReturnDistribution:
        rows = np.atleast_1d(np.arange(len(self))[states])
        known = None if self._uncertainty is None else self._uncertainty[rows]
        names = None if self.names is None else tuple(self.names[i] for i in rows)
        return self._alike(ReturnDistribution(self._cdf[rows], self._grid, known), names)

    def _alike(
        self, other: ReturnDistribution, names: tuple[str, ...] | None
    ) -> ReturnDistribution:
        other.names, other.frames = names, self.frames
        return other

    def mean(self) -> FloatArray:
        """Return E[G]."""
        return risk.mean(self._cdf, self._grid)

    def variance(self) -> FloatArray:
        """Return the variance of G; can be negative for a signed distribution."""
        return risk.variance(self._cdf, self._grid)

    def std(self) -> FloatArray:
        """Return the standard deviation of G; an error where a signed distribution has none."""
        variance = self.variance()
        rounding = 1e-12 * (self._grid.high - self._grid.low) ** 2
        if (variance < -rounding).any():
            raise fail(
                "std",
                "distributions with a variance of at least 0",
                f"{variance.min():g}, a signed distribution, in row {int(variance.argmin())}",
                "take proper() first",
            )
        return np.sqrt(np.maximum(variance, 0.0))

    def cdf(self, x: ArrayLike, *, interpolate: bool = False) -> FloatArray:
        """Return P(G <= x); ``interpolate`` as for :meth:`quantile`."""
        measure = risk.interpolated_cdf if interpolate else risk.cdf_at
        return self._map(measure, check_array(x, "x"))

    def probability_below(self, threshold: ArrayLike, *, interpolate: bool = False) -> FloatArray:
        """Return P(G < threshold): with the loss that ruins as threshold, the chance of ruin.

        ``interpolate`` as for :meth:`quantile`.
        """
        points = check_array(threshold, "threshold")
        if interpolate:
            return self._map(risk.interpolated_cdf, points, strict=True)
        return self._map(risk.probability_below, points)

    def quantile(self, q: ArrayLike, *, interpolate: bool = False) -> FloatArray:
        """Return the smallest atom x with P(G <= x) >= q (to 1e-12), for q in (0, 1].

        With ``interpolate`` an atom stands for its cell, half a spacing to both sides, over which
        its mass is spread: the CDF's value at x_k belongs at x_k + spacing/2. For smooth returns
        this errs less. What is much more than its neighbours stays where it is: from four times
        the larger neighbour on, only the mean of the neighbours is spread.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> grid = Grid(-4.0, 4.0, intervals=8)
        >>> smooth = ReturnDistribution.from_pmf([1/16, *[1/8] * 7, 1/16], grid)
        >>> smooth.quantile(0.3), smooth.quantile(0.3, interpolate=True)  # -1.6 if it is uniform
        (array([-2.]), array([-1.6]))
        >>> often_zero = ReturnDistribution.from_pmf([0, 0, 0.05, 0, 0.9, 0, 0.05, 0, 0], grid)
        >>> often_zero.probability_below(0.0, interpolate=True)
        array([0.05])
        """
        measure = risk.interpolated_quantile if interpolate else risk.quantile
        return self._map(measure, check_levels(q, "q", zero=False))

    def interval(self, measure: str, argument: ArrayLike | None = None) -> Interval:
        """Return (low, high), each of shape (n,), between which a figure lies.

        They hold the fixed point that more and more such data would lead to, at the confidence
        given to ``predict``, state by state. Errors of grid and features are not part of it.

        Parameters
        ----------
        measure : str
            "mean", "variance", "std"; or, with an argument, "quantile", "cvar",
            "probability_below", "entropic". Quantiles and probabilities are interpolated.
        argument : float or list of m floats, optional
            The level, the threshold, or the aversion; with a list, ends are of shape (n, m).

        Examples
        --------
        >>> import lincat
        >>> coin = lincat.catalog.uniform_coin().process.sample(20_000, seed=1)
        >>> model = lincat.CategoricalLSTD(gamma=0.5, n_features=1)
        >>> model = model.fit(coin.state, coin.reward, coin.next_state)
        >>> dist = model.predict([0], confidence=0.95)
        >>> [end.round(2).tolist() for end in dist.interval("mean")]
        [[0.98], [1.01]]
        >>> [end.round(2).tolist() for end in dist.interval("quantile", 0.05)]
        [[0.09], [0.11]]
        """
        known = self._known_uncertainty("interval")
        return figure_intervals.interval(self._cdf, self._grid, known, measure, argument)

    def band(self, *, simultaneous: bool = False) -> Interval:
        """Return (low, high), each (n, K), that hold the CDF's values at the first K atoms.

        Each value for itself; or, if ``simultaneous``, all of a state's at once (sup-t).
        """
        known = self._known_uncertainty("band")
        return bands.band(self._cdf, known, simultaneous=simultaneous)

    def _known_uncertainty(self, asked: str) -> Uncertainty:
        if self._uncertainty is None:
            raise fail(
                asked,
                "a distribution that knows its sampling error",
                "one that does not",
                "take it from predict(Phi, confidence=0.95)",
            )
        return self._uncertainty

    def cvar(self, level: ArrayLike) -> FloatArray:
        """Return the mean of the worst ``level`` share of returns (lower tail)."""
        return self.expected_shortfall(level, tail="lower")

    def expected_shortfall(self, level: ArrayLike, *, tail: str = "lower") -> FloatArray:
        """Return the mean of the lowest (or highest) ``level`` share of returns.

        The atom at the quantile is split, so that exactly ``level`` of the mass is averaged.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution([0.5], Grid(0.0, 1.0, intervals=1))
        >>> coin.expected_shortfall(0.8), coin.expected_shortfall(0.8, tail="upper")
        (array([0.375]), array([0.625]))
        """
        if tail not in ("lower", "upper"):
            raise fail("tail", "'lower' or 'upper'", repr(tail))
        levels = check_levels(level, "level", zero=False)
        return self._map(risk.expected_shortfall, levels, upper=tail == "upper")

    def entropic(self, aversion: float) -> FloatArray:
        """Return the certainty equivalent −(1/β) log E[exp(−βG)] at risk aversion β.

        Below the mean for β > 0, above it for β < 0 (seeking risk), the mean itself at β = 0.
        """
        return risk.entropic(self._cdf, self._grid, check_number(aversion, "aversion"))

    def spectral(self, cumulative_spectrum: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return a spectral risk measure, the integral of the quantile function against Ψ.

        Parameters
        ----------
        cumulative_spectrum : callable
            Ψ, an increasing function on [0, 1] with Ψ(0) = 0 and Ψ(1) = 1, applied elementwise:
            the weight that the worst u share of returns gets, i.e. the integral of the spectrum.

        Examples
        --------
        >>> import numpy as np
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution([0.5], Grid(0.0, 1.0, intervals=1))
        >>> coin.spectral(lambda u: np.sqrt(u))  # looks hard at the worst
        array([0.29289322])
        """
        mesh = np.linspace(0.0, 1.0, 1025)
        weight = np.asarray(cumulative_spectrum(mesh), dtype=np.float64)
        proper = weight.shape == mesh.shape and (
            abs(weight[0]) <= 1e-12
            and abs(weight[-1] - 1.0) <= 1e-12
            and bool((np.diff(weight) >= -1e-12).all())
        )
        if not proper:
            raise fail(
                "cumulative_spectrum",
                "an increasing function with Psi(0) = 0 and Psi(1) = 1",
                f"Psi(0) = {weight.flat[0]:g}, Psi(1) = {weight.flat[-1]:g}"
                + (" or decreasing in between" if weight.size > 1 else ""),
                "integrate the spectrum from 0",
            )
        return risk.spectral(self._cdf, self._grid, cumulative_spectrum)

    def sample(self, n: int, *, seed: int | np.random.Generator = 0) -> FloatArray:
        """Draw n returns for each state, shape (states, n), through the quantile function."""
        n = check_integer(n, "n", low=0)
        if not isinstance(seed, np.random.Generator):
            seed = np.random.Generator(np.random.Philox(check_integer(seed, "seed", low=0)))
        check_room(2 * len(self) * n, "n", n, "draw fewer at a time")
        uniform = 1.0 - seed.random((len(self), n))  # in (0, 1], where quantiles live
        return risk.draw(self._cdf, self._grid, uniform)

    @property
    def negative_mass(self) -> FloatArray:
        """The total of the negative masses of each distribution, >= 0; 0 for a proper one."""
        negative: FloatArray = np.maximum(-self.pmf, 0.0).sum(axis=1)
        return negative

    def proper(self) -> ReturnDistribution:
        """Return the nearest proper distributions: the L2-nearest CDFs that increase within [0, 1].

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> signed = ReturnDistribution([-0.1, 0.6, 0.4, 1.1], Grid(0.0, 4.0, intervals=4))
        >>> signed.negative_mass
        array([0.4])
        >>> signed.proper().cdf_values
        array([[0. , 0.5, 0.5, 1. ]])
        """
        known = self._uncertainty
        if known is not None and known.centre is not None:
            known = replace(known, centre=_nearest_proper(known.centre))
        proper = ReturnDistribution(_nearest_proper(self._cdf), self._grid, known)
        return self._alike(proper, self.names)

    def within(self, low: float, high: float) -> ReturnDistribution:
        """Return the nearest distributions with no mass outside [low, high]: it lies at the ends.

        Where returns cannot be outside, these are never further from the true ones, which are among
        them. An end between two atoms counts as the nearer one.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> wide = ReturnDistribution([0.2, 0.4, 0.6, 0.8], Grid(0.0, 4.0, intervals=4))
        >>> wide.within(1.0, 3.0).pmf.round(9)
        array([[0. , 0.4, 0.2, 0.4, 0. ]])
        """
        first, last = np.floor(self._grid.position([low, high]) + 0.5)
        k = np.arange(self._grid.intervals)
        if first <= 0 and last >= len(k):
            return self

        def cut(cdf: FloatArray) -> FloatArray:
            return np.where(k >= last, 1.0, np.where(k < first, 0.0, cdf))

        known = self._uncertainty
        if known is not None:
            inside = (k >= first) & (k < last)
            centre = None if known.centre is None else cut(known.centre)
            known = known.through(lambda one: one * inside, unknown=known.unknown, centre=centre)
        return self._alike(ReturnDistribution(cut(self._cdf), self._grid, known), self.names)

    def shifted(self, amount: ArrayLike) -> ReturnDistribution:
        """Return the distributions of G + amount, one amount for each state, on a common grid.

        The grid keeps its spacing and grows to hold all states; where that would take more than
        20,000 intervals it becomes coarser. Means are exact. An amount that is no multiple of the
        spacing splits each atom between two, which adds at most spacing²/4 of variance.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution([[0.5], [0.5]], Grid(0.0, 1.0, intervals=1))
        >>> moved = coin.shifted([0.0, 2.5])
        >>> moved.grid, moved.mean()
        (Grid(low=0.0, high=4.0, intervals=4), array([0.5, 3. ]))
        """
        values = check_array(amount, "amount", shape=(len(self),))
        return self if len(self) == 0 else self._with_masses(*affine.shifting(self._grid, values))

    def rescaled(self, factor: ArrayLike, amount: ArrayLike) -> ReturnDistribution:
        """Return the distributions of factor G + amount, one of each for each state.

        They share a grid that holds all states, with the spacing of a state that nine in ten are
        no narrower than; where that would take more than 20,000 intervals it is coarser. The mass
        of an atom is spread over its cell, so that wide states have no gaps on a grid for narrow
        ones. Means are exact; the cell adds a twelfth of its square to the variance, and the new
        spacing at most a quarter of its own.

        Examples
        --------
        >>> import numpy as np
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution(np.full((2, 200), 0.5), Grid(-1.0, 1.0, intervals=200))
        >>> made = coin.rescaled([1.0, 3.0], [0.0, 5.0])
        >>> made.mean().round(9) + 0.0, made.std().round(3)
        (array([0., 5.]), array([1., 3.]))
        """
        factors = check_array(factor, "factor", shape=(len(self),))
        factors = check_each(factors, factors > 0.0, "factor", "numbers above 0")
        values = check_array(amount, "amount", shape=(len(self),))
        if len(self) == 0:
            return self
        return self._with_masses(*affine.rescaling(self._grid, factors, values))

    def _with_masses(self, grid: Grid, change: affine.MassMap) -> ReturnDistribution:
        """Apply a linear map of masses, (n, K + 1), also to the directions of the uncertainty."""
        known = self._uncertainty
        if known is not None:
            centre = known.centre
            if centre is not None:
                centre = cdf_from_pmf(change(pmf_from_cdf(centre)))

            def errors(one: FloatArray) -> FloatArray:
                masses = change(np.diff(one, axis=1, prepend=0.0, append=0.0))
                return np.cumsum(masses, axis=1)[:, :-1].reshape(len(self), grid.intervals)

            known = known.through(errors, unknown=known.unknown, centre=centre)
        moved = ReturnDistribution(cdf_from_pmf(change(self.pmf)), grid, known)
        return self._alike(moved, self.names)

    def _map(
        self, measure: Callable[..., FloatArray], argument: FloatArray, **options: Any
    ) -> FloatArray:
        """Apply a measure with m arguments; a scalar argument drops the second axis."""
        if argument.ndim > 1:
            raise fail("argument", "a number or a list of numbers", f"shape {argument.shape}")
        table = measure(self._cdf, self._grid, np.atleast_1d(argument), **options)
        return table[:, 0] if argument.ndim == 0 else table


def _nearest_proper(cdf: FloatArray) -> FloatArray:
    """The L2-nearest rows that increase within [0, 1]: the nearest increasing ones, clipped."""
    values = np.clip(cdf, 0.0, 1.0)
    rows = (cdf[:, 1:] < cdf[:, :-1]).any(axis=1)
    if rows.any():  # most are: nothing is compiled, or loaded, for those
        signed = np.ascontiguousarray(cdf[rows])
        kernels.figures.make_proper(signed)
        values[rows] = signed
    return values
