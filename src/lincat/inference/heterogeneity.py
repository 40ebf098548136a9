"""Whether sites agree: the pooled answer, and where the rows of each site would move it.

With A = Σ phi (phi − δ phi')ᵀ and A psi = b the pooled equation of the mean, a site whose rows
speak of the same world has scores g_s = b_s − A_s psi of mean zero. Rows like its own, as many as
there are in all, would move the mean return from a state phi by

    x_s = (n / n_s) phi·A⁻¹ g_s

and the second moment likewise. The error of x_s comes from the blocks of the site. Sites agree if
the x_s differ by no more than these errors say: Welch's test, whose variances are each site's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from lincat._typing import FloatArray
from lincat.inference.moment_errors import scores
from lincat.solvers.moments import Moments, cross_sum, solve_linear
from lincat.solvers.whitening import whiten
from lincat.statistics.block_statistics import Statistics

_FEWEST_BLOCKS = 4
_CONFIDENCE = 0.95


class SiteFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one site says.

    Attributes
    ----------
    name : str
    transitions : int
    mean, mean_low, mean_high : float or None
        Mean return from the first state that is shown, as rows like its own have it, and its
        interval; no interval where there are too few blocks.
    std : float or None
        Likewise the standard deviation.
    """

    name: str
    transitions: int
    mean: float
    mean_low: float | None
    mean_high: float | None
    std: float | None


class Sites(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Sites side by side.

    Attributes
    ----------
    state : str
        From which the returns are.
    mean : float
        Of all sites together.
    confidence : float
    figures : tuple of SiteFigures
    p_value : float or None
        Of Welch's test that all means are the same; None where blocks are too few to tell.
    p_value_spread : float or None
        Likewise of second moments about the pooled mean.
    sentence : str
    """

    state: str
    mean: float
    confidence: float
    figures: tuple[SiteFigures, ...]
    p_value: float | None
    p_value_spread: float | None
    sentence: str


def compare_sites(
    names: Sequence[str],
    sites: Sequence[Statistics],
    pooled: Statistics,
    moments: Moments,
    gamma: float,
    phi: FloatArray,
    *,
    ridge: float = 0.0,
    state: str = "start",
) -> Sites:
    """Return what each site says of the mean return from a state, and whether they agree.

    Parameters
    ----------
    names : list of str
    sites : list of Statistics
    pooled : Statistics
        Their sum.
    moments : Moments
        Solved from it.
    gamma : float
    phi : array of shape (d,)
        Features of the state, or their mean over several.
    ridge : float
        That the moments were solved with.
    state : str
        Its name.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> from lincat.inference.heterogeneity import compare_sites
    >>> process = lincat.catalog.uniform_coin().process
    >>> parts = []
    >>> for seed in (0, 1):
    ...     seen = process.sample(20_000, seed=seed)
    ...     parts.append(lincat.Statistics(n_features=1).update(
    ...         lincat.Transitions(seen.state, seen.reward + 0.1 * seed, seen.next_state)))
    >>> whole = parts[0].copy().merge(parts[1])
    >>> model = lincat.CategoricalLSTD(gamma=0.5, n_features=1).add_statistics(whole)
    >>> found = compare_sites(["a", "b"], parts, whole, model.moments_, 0.5, np.ones(1))
    >>> found.p_value < 1e-6, [round(one.mean, 1) for one in found.figures]
    (True, [1.0, 1.2])
    """
    totals = pooled.totals()
    whitening = whiten(totals.Sigma, ridge=ridge)
    discount = totals.discount(gamma)
    mean, variance = float(phi @ moments.value), float(moments.variance(phi[None, :])[0])
    found, weights = [], []
    for site in sites:
        pairs = [scores(site.block_totals(i), moments, gamma) for i in range(site.n_blocks)]
        first, second = (np.array(x).T for x in zip(*pairs, strict=True))
        dpsi = solve_linear(totals, discount, first, whitening=whitening)
        # The second moment's equation holds V(s'), whose error comes along.
        carried = [cross_sum(totals, (2.0 * discount * totals.reward)[:, None] * d) for d in dpsi.T]
        dm = solve_linear(totals, discount**2, second + np.array(carried).T, whitening=whitening)
        moved = phi @ dpsi
        found.append(np.stack([moved, phi @ dm - 2.0 * mean * moved]))  # mean, variance
        weights.append(site.block_weights)
    shifts = [_shift(x, w, pooled.weight) for x, w in zip(found, weights, strict=True)]
    figures = tuple(
        _figures(name, site, mean, variance, *shift)
        for name, site, shift in zip(names, sites, shifts, strict=True)
    )
    p_value, p_spread = (
        _welch([(x[i], e[i], dof) for x, e, dof in shifts if e is not None]) for i in (0, 1)
    )
    return Sites(
        state=state,
        mean=mean,
        confidence=_CONFIDENCE,
        figures=figures,
        p_value=p_value,
        p_value_spread=p_spread,
        sentence=_sentence(figures, p_value, p_spread),
    )


def _shift(
    moved: FloatArray, weight: FloatArray, total: float
) -> tuple[FloatArray, FloatArray | None, int]:
    """Where a site would move mean and variance, (2,), standard errors, degrees of freedom.

    From ``moved`` (2, blocks), what each block moves.
    """
    own = float(weight.sum())
    shift = moved.sum(axis=1) * total / own
    n = len(weight)
    if n < _FEWEST_BLOCKS:
        return shift, None, 0
    # Blocks of unequal weight about their mean; neighbours hardly depend on each other.
    rest = moved * total / own - np.outer(shift, weight / own)
    return shift, np.sqrt((rest**2).sum(axis=1) * n / (n - 1)), n - 1


def _figures(
    name: str,
    site: Statistics,
    mean: float,
    variance: float,
    shift: FloatArray,
    error: FloatArray | None,
    dof: int,
) -> SiteFigures:
    from scipy.stats import t

    low = high = None
    own = mean + float(shift[0])
    if error is not None:
        reach = float(t.ppf(0.5 + _CONFIDENCE / 2.0, dof) * error[0])
        low, high = own - reach, own + reach
    spread = variance + float(shift[1])
    return SiteFigures(
        name=name,
        transitions=site.count,
        mean=own,
        mean_low=low,
        mean_high=high,
        std=float(np.sqrt(spread)) if spread > 0.0 else None,
    )


def _welch(sites: Sequence[tuple[float, float, int]]) -> float | None:
    """Welch's test of equal means: values, standard errors and degrees of freedom."""
    from scipy.stats import f

    k = len(sites)
    if k < 2:
        return None
    value, error, dof = (np.array(x, dtype=np.float64) for x in zip(*sites, strict=True))
    if not (error > 0.0).all():
        return None
    weight = 1.0 / error**2
    share = weight / weight.sum()
    between = float((weight * (value - share @ value) ** 2).sum()) / (k - 1)
    rest = float(((1.0 - share) ** 2 / dof).sum())
    ratio = between / (1.0 + 2.0 * (k - 2) / (k**2 - 1) * rest)
    return float(f.sf(ratio, k - 1, (k**2 - 1) / (3.0 * rest)))


def _sentence(figures: Sequence[SiteFigures], p_value: float | None, p_spread: float | None) -> str:
    if len(figures) < 2:
        return "One site alone."
    if p_value is None:
        return "Whether sites agree cannot be told: too few blocks of time."
    if p_value < 0.01:
        low, high = (pick(figures, key=lambda x: x.mean) for pick in (min, max))
        return (
            f"Sites differ (p = {p_value:.1g}): from {low.mean:.4g} at {low.name} to "
            f"{high.mean:.4g} at {high.name}; the pooled answer is an average that holds at "
            "none."
        )
    if p_spread is not None and p_spread < 0.01:
        return (
            f"Sites agree in the mean (p = {p_value:.2g}), but differ in spread "
            f"(p = {p_spread:.1g})."
        )
    return f"Sites agree as far as their blocks can tell (p = {p_value:.2g})."
