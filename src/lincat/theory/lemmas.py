"""The lemmas that the theorems stand on; their constants are printed, nothing is fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lincat._arguments import check_number
from lincat.theory.setting import Setting


@dataclass(frozen=True)
class Stability:
    """Lemma exponential_stable: E^{1/p}‖Γ_t u‖^p ≤ (1 − alpha a)^t ‖u‖ for alpha below the limit.

    Attributes
    ----------
    rate : float
        a = (1 − √gamma) lambda_min/2.
    limit : float
        alpha_{p,∞} = (1 − √gamma)/(38 p).
    """

    rate: float
    limit: float

    def contraction(self, step: float, updates: int) -> float:
        """Return (1 − alpha a)^t."""
        return float((1.0 - step * self.rate) ** updates)


def exponential_stability(setting: Setting, p: float = 2.0) -> Stability:
    """Return the rate and the largest step of Lemma exponential_stable.

    Examples
    --------
    >>> from lincat import Setting
    >>> from lincat.theory.lemmas import exponential_stability
    >>> exponential_stability(Setting(0.25, 4, lambda_min=0.4, norm_V1=1.0, norm_V2=1.0))
    Stability(rate=0.1, limit=0.006578947368421052)
    """
    p = check_number(p, "p", low=2.0)
    return Stability(setting.contraction * setting.lambda_min / 2.0, setting.contraction / (38 * p))


def stability_pmf(setting: Setting, p: float = 2.0) -> Stability:
    """Return the same for SSGD-PMF, Lemma pmf_convergence, in the coordinates of the masses.

    The paper hides the constant of alpha ≃ (1 − √gamma)/(p K²); here it is 1/38, as without C Cᵀ.
    """
    plain = exponential_stability(setting, p)
    return Stability(plain.rate, plain.limit / setting.intervals**2)


def loss_from_residual(setting: Setting, residual: float) -> float:
    """Return 2 ‖Ā(θ − θ*)‖/(√K (1 − gamma)² √lambda_min), Lemma translate_error_to_loss.

    It bounds W1,mu to the fixed point, here in the user's units.

    Examples
    --------
    >>> from lincat import Setting
    >>> from lincat.theory.lemmas import loss_from_residual
    >>> loss_from_residual(Setting(0.5, 4, lambda_min=0.25, norm_V1=1.0, norm_V2=1.0), 0.5)
    4.0
    """
    spread = math.sqrt(setting.intervals * setting.lambda_min) * (1.0 - setting.gamma) ** 2
    return setting.unit * 2.0 * residual / spread


def loss_from_pmf_residual(setting: Setting, residual: float) -> float:
    """Return the same from ‖Ā_PMF(θ − θ*)‖, Lemma loss_bound_PMF; 8 will do for its constant."""
    return 4.0 * loss_from_residual(setting, residual)


def approximation_bound(gamma: float, intervals: int, projected: float) -> float:
    """Return the bound of Prop. approx_error on W1,mu between fixed point and truth.

    √(1/(K (1 − gamma)³) + ℓ2,mu²/(1 − gamma)²) in the paper's units, ``projected`` the ℓ2,mu
    distance between the true distributions and their best linear-categorical approximation.

    Examples
    --------
    >>> from lincat.theory.lemmas import approximation_bound
    >>> approximation_bound(0.5, 8, 0.0)
    1.0
    """
    left = 1.0 - gamma
    return math.sqrt(1.0 / (intervals * left**3) + (projected / left) ** 2)
