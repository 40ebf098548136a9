"""Distributions of n states, each on a grid of its own, for those who want figures and no curves.

A common grid has to hold all states, so it depends on who is asked about together, and takes
longer than the figures do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_levels
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution


@dataclass(frozen=True)
class Apart:
    """CDF values, and where the atoms of each state are.

    Attributes
    ----------
    cdf : array of shape (n, K)
    low, spacing : arrays of shape (n,)
        The first atom of each state, and the gap between its atoms.
    share : array of shape (n,)
        How much of each mass lies one atom further, where the atoms of what was learned lie between
        those of the grid.
    ends : pair of floats
        Outside of which nothing can lie: what does counts as there.
    """

    cdf: FloatArray
    low: FloatArray
    spacing: FloatArray
    share: FloatArray
    ends: tuple[float, float] = (-np.inf, np.inf)

    @classmethod
    def of(
        cls,
        returns: ReturnDistribution,
        amount: FloatArray | None = None,
        factor: FloatArray | None = None,
    ) -> Apart:
        """Return the distributions of factor G + amount, as ``rescaled`` does for a single state.

        Without a factor, as ``shifted`` does.

        Examples
        --------
        >>> import numpy as np
        >>> from lincat import Grid, ReturnDistribution
        >>> from lincat.core.apart import Apart
        >>> coin = ReturnDistribution([[0.5], [0.5]], Grid(0.0, 1.0, intervals=1))
        >>> Apart.of(coin, np.array([0.0, 2.5])).figures((0.5,), 0.5, 1.0).round(2).tolist()
        [[0.5, 0.5, 0.0, 0.0, 0.5, 0.0], [3.0, 0.71, 3.0, 2.5, 0.0, 0.0]]
        """
        cdf, grid = returns.cdf_values, returns.grid
        ones = np.ones(len(cdf))
        low, spacing = grid.low * ones, grid.spacing * ones
        if amount is None:
            return cls(cdf, low, spacing, 0.0 * ones)
        if factor is None:
            place = np.floor(amount / spacing)
            return cls(cdf, low + place * spacing, spacing, amount / spacing - place)
        # Masses are spread over their cells, from whose middle half of them goes to either end.
        cell = factor * spacing
        return cls(cdf, factor * low + amount - 0.5 * cell, cell, 0.5 * ones)

    def within(self, low: float, high: float) -> Apart:
        """Return the same with no mass outside [low, high], as ``ReturnDistribution.within``."""
        return replace(self, ends=(low, high))

    @property
    def high(self) -> FloatArray:
        """The last atom of each state, shape (n,)."""
        intervals = self.cdf.shape[1] + (self.share > 0.0)
        return np.asarray(self.low + self.spacing * intervals)

    def figures(
        self, quantiles: tuple[float, ...], level: float, threshold: float | None
    ) -> FloatArray:
        """Return the figures of each state, shape (n, 5 + the number of quantiles).

        Mean, standard deviation, quantiles, CVaR at the level and the chance to end below the
        threshold (NaN without one), of the nearest proper distribution; negative mass.
        """
        levels = check_levels(quantiles, "quantiles", zero=False)
        out = np.empty((len(self.cdf), 5 + len(levels)))
        cdf = check_array(self.cdf, "cdf", shape=(None, None))
        below = np.nan if threshold is None else float(threshold)
        ends = np.array(self.ends, dtype=np.float64)
        kernels.figures.figures_of_rows(
            out, cdf, self.share, self.low, self.spacing, ends, levels, float(level), below
        )
        return out
