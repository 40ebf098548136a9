"""Step sizes: constant, decaying, or chosen from the stream.

**"auto"** needs no tuning. Let R be the largest ‖phi‖² seen so far (times the weight of the
transition, if it has one). For one transition of Linear-CTD write F, F' for the rows phi·Theta,
phi'·Theta and A for its update matrix. In expectation over on-policy transitions

    E‖F − BF'‖² = 2 E[F·(F − BF')] − E‖F‖² + E‖BF'‖² <= 2 E[F·(F − BF')],

because ‖B‖² <= gamma and F' is distributed as F. Hence

    E‖(I − alpha A)θ‖² = ‖θ‖² − 2 alpha E[F·(F − BF')] + alpha² E[‖phi‖² ‖F − BF'‖²]
                       <= ‖θ‖² − 2 alpha (1 − alpha R) E[F·(F − BF')],

so every alpha <= 1/R is stable in mean square, and alpha = 1/(2R) contracts fastest by this bound.
That is (1 + gamma)/(1 − √gamma) times the limit that the paper's proof gives. Rules that multiply
the error by a matrix of norm c (SSGD-PMF: c = ‖C Cᵀ‖) take Rc for R, by the same argument in their
own coordinates. This much is shown, for independent transitions. What follows was chosen by a study
(``lincat.tuning``) among steps that are shown to be stable, and holds where docs/learners.md says:

    alpha_t = start/(R c) (1 + t/tau)**(-3/4),     tau = max(100 + 3 d R t/E, 8 R/lambda) s.

- *start* is 3/4. It contracts three quarters as fast as the fastest step of the bound, and in the
  study faster than that, for the bound is loose: what it costs in noise, the decay and the average
  take back. A learner that starts near its goal (``start_at``) has less to forget: 3/8, for twice
  as long.
- *tau*: the mean eigenvalue of E[phi phiᵀ] is E‖phi‖²/d, and an error that is the same everywhere
  shrinks by the share 1 − δ of it, δ the discount, 0 where an episode ends. So with E the sum of
  ‖phi‖²(1 − δ) over the t transitions so far, an average error is learned in d R t/E transitions
  with a step of 1/R. Steps stay as they are for about three times as long; slower directions, and
  there are such, have to be learned with what the decay leaves.
- *lambda* is the rate of the slowest direction, the smallest eigenvalue of E[phi phiᵀ] times the
  share 1 − δ, where the first 1,024 rows of up to 64 dense features are independent of each other
  (``first_rows.py``): these have no bias that makes haste, and with a step that is much smaller
  than 1/(lambda t) the average remembers where its window began. Elsewhere there is no such term.
- *The decay* is there because a constant step leaves a bias of its own order where transitions
  follow each other, which averages keep. With a power in (1/2, 1) they are asymptotically as good
  as any (Polyak and Juditsky, 1992).
- *s* is how much slower than c says an average error decays: 1, but c over the mean eigenvalue of
  C Cᵀ for SSGD-PMF, and K + 1 for the softmax: c bounds its Jacobian, which is that much smaller
  where the distribution is spread over all atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lincat import kernels
from lincat._arguments import InvalidInputError, check_number, fail
from lincat._typing import FloatArray

# By `make tuning` on the processes of seed 0, the span of a near start on those of 1 and 2.
_START, _START_NEAR = 0.75, 0.375
_SPAN, _SPAN_NEAR = 3.0, 6.0
_HOLD, _HOLD_NEAR = 8.0, 16.0  # on dense features of seeds 0, 1 and 3
_FLOOR = 100.0


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


@dataclass(frozen=True)
class Seen:
    """What "auto" remembers of a stream: R, E and lambda (see above), and where learning started.

    ``slowest`` is 0 where nothing is known of lambda.
    """

    largest: float = 0.0
    ended: float = 0.0
    near: bool = False
    slowest: float = 0.0


@dataclass(frozen=True)
class StepSizes:
    """Step sizes of some transitions.

    Attributes
    ----------
    step : array of shape (n,)
        Of each transition: that of its update over the size of the batch.
    largest : array of shape (n,)
        R after each transition.
    seen : Seen
        What is remembered after all of them.
    """

    step: FloatArray
    largest: FloatArray
    seen: Seen


def next_steps(
    step_size: StepSize,
    seen: Seen,
    squared_norms: FloatArray,
    discount: FloatArray,
    *,
    batch_size: int,
    done: int,
    before: int,
    n_features: int,
    curvature: float,
    slowness: float,
) -> StepSizes:
    """Return the step sizes of the transitions after ``done`` updates.

    Parameters
    ----------
    step_size : float, "auto" or PolynomialDecay
    seen : Seen
    squared_norms, discount : arrays of shape (n,)
        ‖phi‖² times the weight, and δ, of each transition.
    batch_size, done, n_features : int
    before : int
        Updates that the start is worth.
    curvature, slowness : float
        c and s of the rule (see above).
    """
    n = len(squared_norms)
    largest = np.maximum.accumulate(np.maximum(squared_norms, seen.largest))
    begins = np.arange(0, n, batch_size)
    sizes = np.minimum(batch_size, n - begins)
    schedule, ended = schedule_from(step_size), seen.ended
    if schedule is not None:
        alpha = schedule.steps(done, len(begins))
    else:
        ending, known = squared_norms * (1.0 - discount), largest
        if batch_size > 1:
            ending, known = np.add.reduceat(ending, begins) / sizes, largest[begins + sizes - 1]
        sums = np.cumsum(np.concatenate([[ended], ending]))
        alpha, ended = np.empty(len(begins)), float(sums[-1])
        start, span, hold = _START, _SPAN, _HOLD
        if seen.near:
            start, span, hold = _START_NEAR, _SPAN_NEAR, _HOLD_NEAR
        hold = hold * slowness / seen.slowest if seen.slowest > 0.0 else 0.0
        times = (_FLOOR * slowness, span * n_features * slowness, hold)
        kernels.step_sizes.auto_steps(
            alpha, known, sums[1:], float(curvature), done, before, start, *times
        )
    step = alpha if batch_size == 1 else np.repeat(alpha / sizes, sizes)
    return StepSizes(step, largest, replace(seen, largest=float(largest[-1]), ended=ended))


def auto_step(done: int, *, largest: float, ending: float, n_features: int) -> float:
    """Return the step that "auto" takes after ``done`` updates of a walk like this one.

    Parameters
    ----------
    done : int
    largest : float
        R, the largest ‖phi‖².
    ending : float
        E/t, the mean of ‖phi‖²(1 − δ).
    n_features : int

    Examples
    --------
    >>> from lincat.learners.schedules import auto_step
    >>> [round(auto_step(t, largest=1.0, ending=0.1, n_features=3), 3) for t in (0, 10**4, 10**6)]
    [0.75, 0.038, 0.001]
    """
    following = next_steps(
        "auto",
        Seen(largest, ending * done),
        np.array([largest]),
        np.array([1.0 - ending / largest]),
        batch_size=1,
        done=done,
        before=0,
        n_features=n_features,
        curvature=1.0,
        slowness=1.0,
    )
    return float(following.step[0])
