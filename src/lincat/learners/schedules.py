"""Step sizes: constant, decaying, or chosen from the stream.

**"auto"** needs no tuning. Let R be the largest ‖phi‖² seen so far (times the weight of the
transition, if it has one). For one transition of Linear-CTD write F, F' for the rows phi·Theta,
phi'·Theta and A for its update matrix. In expectation over on-policy transitions

    E‖F − BF'‖² = 2 E[F·(F − BF')] − E‖F‖² + E‖BF'‖² <= 2 E[F·(F − BF')],

because ‖B‖² <= gamma and F' is distributed as F. Hence

    E‖(I − alpha A)θ‖² = ‖θ‖² − 2 alpha E[F·(F − BF')] + alpha² E[‖phi‖² ‖F − BF'‖²]
                       <= ‖θ‖² − 2 alpha (1 − alpha R) E[F·(F − BF')],

so every alpha <= 1/R is stable in mean square, and alpha = 1/(2R) contracts fastest by this bound.
That is (1 + gamma)/(1 − √gamma) times the limit that the paper's proof gives. "auto" starts at
1/(4R): half the fastest step, for half the noise. Rules that multiply the error by a matrix of
norm c (SSGD-PMF: c = ‖C Cᵀ‖) take 1/(4Rc), by the same argument in their own coordinates.

Along a walk, where transitions follow each other, a constant step leaves a bias of the order of the
step that averaging does not remove. So "auto" decays, as slowly as that allows:

    alpha_t = (1 + t/tau)**(-0.6) / (4 R c),      tau = (1000 + 10 d) s,

nearly constant while each of d features is seen a few times, then with a power in (1/2, 1), for
which averages of the iterates are asymptotically as good as any (Polyak and Juditsky, 1992). The
slowness s is 1, but K + 1 for the softmax: c bounds its Jacobian, which is that much smaller where
the distribution is spread over all atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat import kernels
from lincat._arguments import InvalidInputError, check_number, fail
from lincat._typing import FloatArray

__all__ = ["SCHEDULES", "PolynomialDecay", "StepSize", "auto_steps", "schedule_from", "stable_step"]


@dataclass(frozen=True)
class PolynomialDecay:
    """alpha_t = initial * t**(-power), t = 1, 2, ...

    With power in (1/2, 1) and averaging, the classic choice of Polyak and Ruppert.

    Examples
    --------
    >>> from lincat import PolynomialDecay
    >>> PolynomialDecay(0.5, power=0.5).steps(0, 4).round(4)
    array([0.5   , 0.3536, 0.2887, 0.25  ])
    """

    initial: float
    power: float

    def __post_init__(self) -> None:
        check_number(self.initial, "initial", low=0.0, low_open=True)
        check_number(self.power, "power", low=0.0, high=1.0)

    def steps(self, done: int, n: int) -> FloatArray:
        """Return the step sizes of updates done + 1, ..., done + n."""
        return np.asarray(self.initial * np.arange(done + 1.0, done + n + 1.0) ** -self.power)


#: Every class of schedules; each has ``steps``, and can be written to a file.
SCHEDULES = (PolynomialDecay,)
StepSize = float | str | PolynomialDecay


def schedule_from(step_size: StepSize) -> PolynomialDecay | None:
    """Return the schedule that a learner's ``step_size`` asks for; None for "auto"."""
    if isinstance(step_size, SCHEDULES):
        return step_size
    if isinstance(step_size, str) and step_size == "auto":
        return None
    try:
        return PolynomialDecay(check_number(step_size, "step_size", low=0.0, low_open=True), 0.0)
    except InvalidInputError:
        raise fail(
            "step_size", "a number above 0, 'auto' or a PolynomialDecay", repr(step_size)
        ) from None


def stable_step(largest_squared_norm: float, curvature: float) -> float:
    """Return 1/(R c), the largest step that is stable in mean square (see above)."""
    return 1.0 / (max(largest_squared_norm, 1e-300) * curvature)


def auto_steps(
    largest_squared_norm: FloatArray, curvature: float, done: int, tau: float
) -> FloatArray:
    """Return the automatic step sizes of the updates after ``done`` of them (see above).

    ``largest_squared_norm`` holds R for each update; the step is 0 while no feature was seen.
    """
    steps = np.empty(len(largest_squared_norm))
    kernels.step_sizes.auto_steps(steps, largest_squared_norm, float(curvature), done, float(tau))
    return steps
