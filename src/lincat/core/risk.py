"""Risk measures of distributions on a grid, row by row, as pure functions of the CDF values.

Let F_k be the CDF values of one distribution, k = 0..K, with F_K = 1. Measures that follow from
moments (mean, variance, entropic, probability) use its masses as they are, signed or not. Measures
of the tail use the quantile function

    Q(u) = the smallest atom x_k with F_k >= u,

which is defined, and increasing in u, for signed distributions too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from lincat._arguments import fail
from lincat._typing import FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import pmf_from_cdf

__all__ = [
    "cdf_at",
    "draw",
    "entropic",
    "expected_shortfall",
    "mean",
    "probability_below",
    "quantile",
    "spectral",
    "variance",
]

# F >= u is tested to this much, so that sums of masses that only differ in rounding agree.
_LEVEL_TOLERANCE = 1e-12


def mean(cdf: FloatArray, grid: Grid) -> FloatArray:
    """E[G] = low + spacing * Σ_k (1 − F_k) (proof of Prop. mean_preserve_property)."""
    result: FloatArray = grid.low + grid.spacing * (1.0 - cdf).sum(axis=1)
    return result


def variance(cdf: FloatArray, grid: Grid) -> FloatArray:
    """E[(G − E[G])²]; can be negative for a signed distribution."""
    deviation = grid.atoms - mean(cdf, grid)[:, None]
    result: FloatArray = (pmf_from_cdf(cdf) * deviation**2).sum(axis=1)
    return result


def probability_below(cdf: FloatArray, grid: Grid, threshold: FloatArray) -> FloatArray:
    """P(G < c), strictly; shape (n, m) for m thresholds."""
    return _with_ends(cdf)[:, grid.index_below(threshold) + 1]


def cdf_at(cdf: FloatArray, grid: Grid, x: FloatArray) -> FloatArray:
    """P(G <= x); shape (n, m) for m points."""
    return _with_ends(cdf)[:, grid.index_at_or_below(x) + 1]


def quantile(cdf: FloatArray, grid: Grid, level: FloatArray) -> FloatArray:
    """Q(level), shape (n, m) for m levels."""
    envelope = _envelope(cdf)[:, 1:]
    rows = [grid.atoms[np.searchsorted(row, level - _LEVEL_TOLERANCE)] for row in envelope]
    return np.array(rows).reshape(len(cdf), len(level))


def draw(cdf: FloatArray, grid: Grid, uniform: FloatArray) -> FloatArray:
    """Q(u) for its own uniforms u in (0, 1] of each row, shape (n, m)."""
    rows = [quantile(row[None], grid, u)[0] for row, u in zip(cdf, uniform, strict=True)]
    return np.array(rows).reshape(uniform.shape)


def expected_shortfall(
    cdf: FloatArray, grid: Grid, level: FloatArray, *, upper: bool = False
) -> FloatArray:
    """Mean of the worst (or best) ``level`` share of returns, (1/level) ∫ Q(u) du, shape (n, m).

    The atom at the quantile is split: only as much of its mass counts as fills the level.
    """
    return np.stack([_shortfall(cdf, grid, float(a), upper) for a in level], axis=1)


def _shortfall(cdf: FloatArray, grid: Grid, level: float, upper: bool) -> FloatArray:
    if upper:
        return spectral(cdf, grid, lambda u: np.maximum(u - (1.0 - level), 0.0) / level)
    return spectral(cdf, grid, lambda u: np.minimum(u, level) / level)


def spectral(
    cdf: FloatArray, grid: Grid, cumulative_spectrum: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """∫ Q(u) dΨ(u), where Ψ(u) is the weight given to the worst u share of returns; shape (n,).

    Acerbi's spectral measure with spectrum Ψ'; concave Ψ is averse to risk. The integral is
    exact, because Q is a step function.
    """
    cumulated = np.asarray(cumulative_spectrum(_envelope(cdf)), dtype=np.float64)
    result: FloatArray = np.diff(cumulated, axis=1) @ grid.atoms
    return result


def entropic(cdf: FloatArray, grid: Grid, aversion: float) -> FloatArray:
    """−(1/β) log E[exp(−βG)], the certainty equivalent at risk aversion β; the mean at β = 0."""
    if aversion == 0.0:
        return mean(cdf, grid)
    log_moment, sign = logsumexp(
        -aversion * grid.atoms, b=pmf_from_cdf(cdf), axis=1, return_sign=True
    )
    if (sign <= 0).any():
        raise fail(
            "entropic",
            "a distribution with a positive exponential moment",
            f"a signed distribution in row {int(np.argmax(sign <= 0))}",
            "take proper() first",
        )
    return np.asarray(-log_moment / aversion)


def _with_ends(cdf: FloatArray) -> FloatArray:
    """CDF values with F = 0 below the grid before them and F_K = 1 after, shape (n, K + 2)."""
    return np.pad(cdf, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))


def _envelope(cdf: FloatArray) -> FloatArray:
    """The increasing CDF in [0, 1] with the same quantile function, shape (n, K + 2)."""
    padded = _with_ends(cdf)
    np.clip(padded, 0.0, 1.0, out=padded)
    return np.maximum.accumulate(padded, axis=1, out=padded)
