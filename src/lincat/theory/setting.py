"""What the paper's bounds depend on, and how a bound is told: by terms, with what it assumes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from lincat._arguments import check_gamma, check_integer, check_number
from lincat.theory.constants import ErrorConstants

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Setting:
    """The numbers that bounds are made of.

    Attributes
    ----------
    gamma : float
        Below 1.
    intervals : int
        K.
    lambda_min : float
        Smallest eigenvalue of Sigma = E[phi phiᵀ].
    norm_V1 : float
        ‖θ*‖ in the norm of I ⊗ Sigma, over √K (1 − gamma); ‖psi*‖_Sigma for Linear-TD.
    norm_V2 : float
        ‖θ_0 − θ*‖ over √K (1 − gamma); ‖psi_0 − psi*‖ for Linear-TD.
    max_squared_norm : float
        Largest ‖phi‖²; theorems ask for at most 1.
    C_A, trace_Sigma_e : float
        As in Lemma upper_bound_error_quantities.
    mixing_time : float
        Of the walk that transitions come from; 1 where they are independent.
    unit : float
        Width of the grid times 1 − gamma: what a reward of 1 is in the paper's units. Errors come
        in the user's units.
    """

    gamma: float
    intervals: int
    lambda_min: float
    norm_V1: float
    norm_V2: float
    max_squared_norm: float = 1.0
    C_A: float = 4.0
    trace_Sigma_e: float = math.nan
    mixing_time: float = 1.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        check_integer(self.intervals, "intervals", low=1)
        check_number(self.lambda_min, "lambda_min", low=0.0, low_open=True)
        for name in ("norm_V1", "norm_V2", "mixing_time"):
            check_number(getattr(self, name), name, low=0.0)
        check_number(self.unit, "unit", low=0.0, low_open=True)
        check_number(self.max_squared_norm, "max_squared_norm", low=0.0, low_open=True)

    @classmethod
    def of(
        cls, constants: ErrorConstants, *, width: float | None = None, mixing_time: float = 1.0
    ) -> Setting:
        """Return the setting of a process, started at Theta = 0.

        ``width`` is that of the grid, high − low; by default the paper's, 1/(1 − gamma).

        Examples
        --------
        >>> from lincat import Setting, catalog, error_constants, solve_categorical
        >>> p = catalog.paper("unit_norm")
        >>> place = (p.process, p.Phi, p.grid(20), p.gamma)
        >>> Setting.of(error_constants(*place, solve_categorical(*place))).norm_V1 < 4.0
        True
        """
        root = math.sqrt(constants.intervals) * (1.0 - constants.gamma)
        return cls(
            gamma=constants.gamma,
            intervals=constants.intervals,
            lambda_min=constants.lambda_min,
            norm_V1=constants.norm_theta_Sigma / root,
            norm_V2=constants.norm_theta / root,
            max_squared_norm=constants.max_squared_norm,
            C_A=constants.C_A,
            trace_Sigma_e=constants.trace_Sigma_e,
            mixing_time=max(mixing_time, 1.0),
            unit=1.0 if width is None else width * (1.0 - constants.gamma),
        )

    def unit_norm(self) -> Setting:
        """Return the same problem with features over their largest norm, as theorems ask.

        A step alpha there is alpha/max_squared_norm here.
        """
        R = self.max_squared_norm
        return replace(
            self,
            lambda_min=self.lambda_min / R,
            norm_V2=self.norm_V2 * math.sqrt(R),
            C_A=self.C_A / R,
            trace_Sigma_e=self.trace_Sigma_e / R,
            max_squared_norm=1.0,
        )

    @property
    def contraction(self) -> float:
        """1 − √gamma."""
        return 1.0 - math.sqrt(self.gamma)

    @property
    def start_norm(self) -> float:
        """‖θ_0 − θ*‖."""
        return self.norm_V2 * math.sqrt(self.intervals) * (1.0 - self.gamma)

    def violations(self, step: float, limit: float) -> tuple[str, ...]:
        """Return in words which assumptions of a theorem do not hold; ``limit`` bounds its step."""
        found = []
        if self.intervals * (1.0 - self.gamma) < 1.0 - _ROUNDING:
            least = f"1/(1 - gamma) = {1.0 / (1.0 - self.gamma):.4g}"
            found.append(f"K = {self.intervals} is below {least}")
        if not 0.0 < step < limit:
            found.append(f"the step {step:.4g} is not in (0, {limit:.4g})")
        if self.max_squared_norm > 1.0 + _ROUNDING:
            found.append(f"‖phi‖² is up to {self.max_squared_norm:.4g}, above 1")
        return tuple(found)


@dataclass(frozen=True)
class Term:
    """One term of a bound: what it stands for, and how large it is without any constant."""

    name: str
    value: float


@dataclass(frozen=True)
class Bound:
    """A bound of the paper.

    Attributes
    ----------
    label : str
        The paper's LaTeX label.
    terms : tuple of Term
        As they are printed, up to the universal constant that the paper hides.
    constant : float
        The smallest one that covers what is measured on the catalog (docs/theory.md).
    violations : tuple of str
        Assumptions that do not hold; the bound then promises nothing.
    """

    label: str
    terms: tuple[Term, ...]
    constant: float
    violations: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return math.fsum(term.value for term in self.terms)

    @property
    def value(self) -> float:
        """The constant times that."""
        return self.constant * self.total

    @property
    def dominant(self) -> Term:
        """The largest term."""
        return max(self.terms, key=lambda term: term.value)
