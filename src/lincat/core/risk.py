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
from lincat._typing import FloatArray, IntArray
from lincat.core.grid import Grid
from lincat.core.representation import pmf_from_cdf

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
    envelope, atoms = _envelope(cdf)[:, 1:], grid.atoms
    rows = [atoms[np.searchsorted(row, level - _LEVEL_TOLERANCE)] for row in envelope]
    return np.array(rows).reshape(len(cdf), len(level))


def spread_share(cdf: FloatArray) -> FloatArray:
    """Return how much of each atom's mass interpolation spreads over its cell, (n, K + 1).

    All of it where a neighbour has at least half the mass: such an atom stands for its cell
    [x_k − spacing/2, x_k + spacing/2]. From four times the larger neighbour on it is an atom
    indeed, and only the mean of its neighbours is spread; in between a mixture, so that no figure
    jumps.
    """
    pmf = np.maximum(pmf_from_cdf(cdf), 0.0)
    below, above = np.zeros_like(pmf), np.zeros_like(pmf)
    below[:, 1:], above[:, :-1] = pmf[:, :-1], pmf[:, 1:]
    larger = np.maximum(below, above)
    isolated = np.clip((pmf - 2.0 * larger) / np.maximum(2.0 * larger, 1e-300), 0.0, 1.0)
    kept = np.minimum((below + above) / 2.0 / np.maximum(pmf, 1e-300), 1.0)
    return np.where(pmf > 0.0, 1.0 - isolated * (1.0 - kept), 1.0)


def place_in_cells(
    share: FloatArray, grid: Grid, x: FloatArray, *, strict: bool
) -> tuple[IntArray, FloatArray]:
    """Return the cells k of m points, and how much of atom k's mass lies below them, (n, m).

    ``share`` is that of :func:`spread_share`. At the ends of the grid cells are half as wide; what
    is no part of ``share`` lies at the atom itself, and a point there counts it unless ``strict``.
    """
    K, u = grid.intervals, grid.position(x)
    k = np.clip(np.floor(u + 0.5), 0, K).astype(np.int64)
    left, right = np.maximum(k - 0.5, 0.0), np.minimum(k + 0.5, K)
    spread = np.clip((u - left) / (right - left), 0.0, 1.0)
    reached = u > k + 1e-9 if strict else u >= k - 1e-9
    return k, share[:, k] * spread + (1.0 - share[:, k]) * reached


def interpolated_cdf(
    cdf: FloatArray, grid: Grid, x: FloatArray, *, strict: bool = False
) -> FloatArray:
    """P(G <= x), or P(G < x), with the masses of atoms spread over their cells; shape (n, m)."""
    k, weight = place_in_cells(spread_share(cdf), grid, x, strict=strict)
    padded = _with_ends(cdf)
    return (1.0 - weight) * padded[:, k] + weight * padded[:, k + 1]


def interpolated_quantile(
    cdf: FloatArray, grid: Grid, level: FloatArray, *, share: FloatArray | None = None
) -> FloatArray:
    """Q(level) with the masses of atoms spread over their cells; shape (n, m).

    ``share`` may be given, (1 or n, K + 1), so that distributions are spread like another one.
    """
    return quantile_of(_envelope(cdf), grid, level, spread_share(cdf) if share is None else share)


def quantile_of(
    envelope: FloatArray, grid: Grid, level: FloatArray, share: FloatArray
) -> FloatArray:
    """The same of increasing CDF values with 0 before and 1 after them, (n, K + 2)."""
    shares = np.broadcast_to(share, (len(envelope), grid.intervals + 1))
    out = [_inverse(envelope, shares, grid, float(q) - _LEVEL_TOLERANCE) for q in level]
    return np.array(out).reshape(len(level), len(envelope)).T


def _inverse(envelope: FloatArray, share: FloatArray, grid: Grid, level: float) -> FloatArray:
    """The point of the cell at which its spread mass, and its atom, reach the level, (n,)."""
    K, row = grid.intervals, np.arange(len(envelope))
    k = np.minimum((envelope[:, 1:] < level).sum(axis=1), K)
    before, after = envelope[row, k], envelope[row, k + 1]
    reached = np.clip((level - before) / np.maximum(after - before, 1e-300), 0.0, 1.0)
    left, right = np.maximum(k - 0.5, 0.0), np.minimum(k + 0.5, K)
    s = share[row, k]
    # Up to the atom, a share of s lies on the left part of the cell.
    first = s * (k - left) / (right - left)
    width = (right - left) / np.maximum(s, 1e-300)
    upwards = np.minimum(left + reached * width, k)
    downwards = np.maximum(right - (1.0 - reached) * width, k)
    return np.asarray(grid.low + grid.spacing * np.where(reached <= first, upwards, downwards))


def draw(cdf: FloatArray, grid: Grid, uniform: FloatArray) -> FloatArray:
    """Q(u) for its own uniforms u in (0, 1] of each row, shape (n, m)."""
    rows = [quantile(row[None], grid, u)[0] for row, u in zip(cdf, uniform, strict=True)]
    return np.array(rows).reshape(uniform.shape)


def expected_shortfall(
    cdf: FloatArray, grid: Grid, level: FloatArray, *, upper: bool = False
) -> FloatArray:
    """Mean of the worst (or best) ``level`` share of returns, (1/level) ∫ Q(u) du, shape (n, m).

    The atom at the quantile is split: only as much of its mass counts as fills the level. Summed by
    parts, so that it is one pass over CDF values: the first atom, and what the level lacks at each.
    """
    return shortfall_of(_envelope(cdf), grid, level, upper=upper)


def shortfall_of(
    envelope: FloatArray, grid: Grid, level: FloatArray, *, upper: bool = False
) -> FloatArray:
    """The same of increasing CDF values with 0 before and 1 after them, (n, K + 2)."""
    inner = envelope[:, 1:-1]  # F_0 .. F_{K-1}
    return np.stack([_shortfall(inner, grid, float(a), upper) for a in level], axis=1)


def _shortfall(envelope: FloatArray, grid: Grid, level: float, upper: bool) -> FloatArray:
    # From the end that the tail begins at, so that an atom there is met to the last bit.
    if upper:
        above = np.maximum(envelope - (1.0 - level), 0.0).sum(axis=1)
        return np.asarray(grid.high - grid.spacing * above / level)
    missing = np.maximum(level - envelope, 0.0).sum(axis=1)
    return np.asarray(grid.low + grid.spacing * missing / level)


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
    padded = np.empty((len(cdf), cdf.shape[1] + 2))  # np.pad takes ten times as long for one state
    padded[:, 0], padded[:, 1:-1], padded[:, -1] = 0.0, cdf, 1.0
    return padded


def _envelope(cdf: FloatArray) -> FloatArray:
    """The increasing CDF in [0, 1] with the same quantile function, shape (n, K + 2)."""
    padded = _with_ends(cdf)
    np.clip(padded, 0.0, 1.0, out=padded)
    return np.maximum.accumulate(padded, axis=1, out=padded)
