"""How far the linear-categorical fixed point is from the truth (Prop. approx_error)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat._arguments import check_gamma, check_integer
from lincat._typing import FeatureMatrix
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.core.metrics import cramer, wasserstein
from lincat.core.projection import project
from lincat.core.representation import cdf_from_theta
from lincat.processes.finite import MarkovRewardProcess
from lincat.solvers.exact import solve_categorical
from lincat.solvers.regression import linear_projection
from lincat.solvers.returns import true_returns


@dataclass(frozen=True)
class ApproximationError:
    """The error of the fixed point, and the bound of Prop. approx_error with its two terms."""

    #: W1,mu between the true distribution and the fixed point.
    wasserstein: float
    #: (width/(1 − gamma)) * spacing: what the grid may cost, squared.
    grid_term: float
    #: (width/(1 − gamma)) * ℓ2,mu²(Pi_K eta, Pi_phi,K eta): what the features cost, squared.
    feature_term: float

    @property
    def bound(self) -> float:
        """The bound on ``wasserstein``, the root of the sum of the two terms."""
        return float(np.sqrt(self.grid_term + self.feature_term))


def approximation_error(
    process: MarkovRewardProcess,
    Phi: FeatureMatrix,
    grid: Grid,
    gamma: float,
    *,
    refinement: int = 16,
) -> ApproximationError:
    """Return the error that no amount of data removes, and its bound.

    The true distribution is computed on a grid ``refinement`` times finer. The bound is the
    paper's, for a grid of any width w: W1,mu² <= w/(1 − gamma) * (spacing + ℓ2,mu²(Pi_K eta,
    Pi_phi,K eta)); with w = 1/(1 − gamma) this is Prop. approx_error as printed. At gamma = 1 it is
    infinite.

    Examples
    --------
    >>> from lincat import approximation_error, catalog
    >>> p = catalog.paper()
    >>> error = approximation_error(p.process, p.Phi, p.grid(intervals=30), p.gamma)
    >>> error.wasserstein < error.bound
    True
    """
    gamma = check_gamma(gamma, one=True)
    refinement = check_integer(refinement, "refinement", low=1)
    mu = process.stationary
    fine = Grid(grid.low, grid.high, grid.intervals * refinement)
    truth = true_returns(process, gamma, fine)
    on_grid = ReturnDistribution.from_pmf(project(fine.atoms, truth.pmf, grid), grid)
    nearest = cdf_from_theta(Phi, linear_projection(on_grid, process, Phi))
    fixed_point = cdf_from_theta(Phi, solve_categorical(process, Phi, grid, gamma))
    factor = (grid.high - grid.low) / (1.0 - gamma) if gamma < 1.0 else np.inf
    feature_gap = float(cramer(on_grid, ReturnDistribution(nearest, grid), weights=mu))
    return ApproximationError(
        wasserstein=float(wasserstein(truth, ReturnDistribution(fixed_point, grid), weights=mu)),
        grid_term=factor * grid.spacing,
        feature_term=factor * feature_gap**2 if feature_gap > 0.0 else 0.0,
    )
