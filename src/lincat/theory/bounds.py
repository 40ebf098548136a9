"""The paper's theorems as functions: each returns its terms, its constant, and what it assumes.

Notation: T transitions, alpha the step, λ = lambda_min, V1 = ‖θ*‖_{V1}, V2 = ‖θ_0 − θ*‖_{V2}.
Errors are W1,mu between the tail average and the fixed point, in the user's units. The paper writes
≲ and hides a universal constant; ``Bound.constant`` is one that measurement asks for, and
``Bound.terms`` come without it.

Errors of a given T (l2_error, lp_error, residual_error, l2_error_pmf, l2_error_td), and the T for a
given error (sample_size, whp_sample_size, markov_sample_size, sample_size_td). Linear-TD has the
same bounds with V1 = ‖psi*‖_Sigma and V2 = ‖psi_0 − psi*‖ (Remark theory_match).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from lincat._arguments import check_integer, check_number
from lincat.theory.lemmas import exponential_stability, stability_pmf
from lincat.theory.reachable import reachable
from lincat.theory.setting import Bound, Setting, Term
from lincat.theory.universal import UNIVERSAL

_DOUBLINGS = 400


# -------------------------------------------------------------------------------------- steps


def largest_step(setting: Setting) -> float:
    """Return the largest step of Thm l2_error_linear_ctd that needs no lambda_min.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> round(bounds.largest_step(Setting(0.75, 30, 0.01, 1.0, 1.0)) * 76, 3)  # 1 − √gamma
    0.134
    """
    return setting.contraction / 76.0


def instance_step(setting: Setting) -> float:
    """Return the step that balances the terms, alpha ≃ (1 − gamma) lambda_min, within the range."""
    return largest_step(setting) * setting.lambda_min


# ------------------------------------------------------------------------------- errors at a T


def l2_error(setting: Setting, *, step: float, transitions: int) -> Bound:
    """Return the bound of Thm l2_error_linear_ctd on E^{1/2} W1,mu².

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.75, intervals=30, lambda_min=0.01, norm_V1=1.0, norm_V2=2.0)
    >>> bound = bounds.l2_error(setting, step=0.001, transitions=10**8)
    >>> [term.name for term in bound.terms]
    ['noise', 'noise of the step', 'sample-size barrier', 'start']
    >>> bound.violations, bound.dominant.name
    ((), 'noise')
    >>> bounds.l2_error(setting, step=0.1, transitions=10).violations
    ('the step 0.1 is not in (0, 0.001763)',)
    """
    alpha, T = _checked(step, transitions)
    left, lam, size = _parts(setting)
    noise = size / (math.sqrt(T) * left * math.sqrt(lam))
    barrier = size / (T * math.sqrt(alpha) * left**1.5 * lam)
    forgotten = math.exp(T / 2.0 * math.log1p(-alpha * setting.contraction * lam / 2.0))
    start = forgotten / (T * math.sqrt(alpha) * left * math.sqrt(lam))
    start *= (1.0 / math.sqrt(alpha) + 1.0 / math.sqrt(left * lam)) * setting.norm_V2
    values = (noise, noise * math.sqrt(alpha / (left * lam)), barrier, start)
    limit = exponential_stability(setting).limit
    return _bound("thm:l2_error_linear_ctd", setting, alpha, limit, values)


def lp_error(setting: Setting, *, step: float, transitions: int, p: float) -> Bound:
    """Return the bound of Thm lp_error_linear_ctd on E^{1/p} W1,mu^p, p > 2.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.75, intervals=30, lambda_min=0.01, norm_V1=1.0, norm_V2=2.0)
    >>> twice = bounds.l2_error(setting, step=1e-4, transitions=10**6).total
    >>> bounds.lp_error(setting, step=1e-4, transitions=10**6, p=4).total > twice
    True
    """
    alpha, T = _checked(step, transitions)
    p = check_number(p, "p", low=2.0)
    left, lam, size = _parts(setting)
    noise = math.sqrt(p / T) * size / (left * math.sqrt(lam))
    spread = (math.sqrt(alpha * p) + alpha * p) / math.sqrt(left * lam)
    barrier = p / T * size / (left**1.5 * lam) * (1.0 + 1.0 / math.sqrt(alpha * p))
    forgotten = math.exp(T / 2.0 * math.log1p(-alpha * setting.contraction * lam / 2.0))
    start = forgotten / (T * math.sqrt(alpha) * left * math.sqrt(lam))
    start *= (1.0 / math.sqrt(alpha) + p / math.sqrt(left * lam)) * setting.norm_V2
    limit = setting.contraction / (38.0 * (p + math.log(T)))
    values = (noise, noise * spread, barrier, start)
    return _bound("thm:lp_error_linear_ctd", setting, alpha, limit, values)


def residual_error(setting: Setting, *, step: float, transitions: int) -> Bound:
    """Return the bound of Thm exponential_stability_l2_convergence on E^{1/2}‖Ā(θ − θ*)‖².

    It needs ``setting.trace_Sigma_e``; :func:`lincat.theory.lemmas.loss_from_residual` leads on.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(0.75, 30, 0.01, norm_V1=1.0, norm_V2=2.0, trace_Sigma_e=1.0)
    >>> round(bounds.residual_error(setting, step=0.001, transitions=10**6).terms[0].value, 6)
    0.001
    """
    alpha, T = _checked(step, transitions)
    trace = check_number(setting.trace_Sigma_e, "setting.trace_Sigma_e", low=0.0)
    stability = exponential_stability(setting)
    a, root = stability.rate, math.sqrt(trace)
    noise = root / math.sqrt(T)
    forgotten = math.exp(T / 2.0 * math.log1p(-alpha * a)) / T
    start = forgotten * (1.0 / alpha + setting.C_A / math.sqrt(alpha * a)) * setting.start_norm
    barrier = root / (T * math.sqrt(alpha * a))
    values = (noise, noise * setting.C_A * math.sqrt(alpha / a), barrier, start)
    label = "thm:exponential_stability_l2_convergence"
    return _bound(label, replace(setting, unit=1.0), alpha, stability.limit, values)


def l2_error_pmf(setting: Setting, *, step: float, transitions: int) -> Bound:
    """Return the bound of Thm l2_error_linear_ctd_PMF, for SSGD-PMF: up to K³ times as large.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.75, intervals=30, lambda_min=0.01, norm_V1=1.0, norm_V2=2.0)
    >>> pmf = bounds.l2_error_pmf(setting, step=1e-6, transitions=10**8)
    >>> ctd = bounds.l2_error(setting, step=1e-6 * 30**2, transitions=10**8)
    >>> round(pmf.terms[0].value / ctd.terms[0].value), 30**2
    (900, 900)
    """
    alpha, T = _checked(step, transitions)
    left, lam, size = _parts(setting)
    K = float(setting.intervals)
    scaled = alpha * K**2
    noise = K**2 * size / (math.sqrt(T) * left * math.sqrt(lam))
    barrier = K**3 * size / (T * math.sqrt(scaled) * left**1.5 * lam)
    forgotten = math.exp(T / 2.0 * math.log1p(-alpha * setting.contraction * lam / 2.0))
    start = K * forgotten / (T * math.sqrt(scaled) * left * math.sqrt(lam))
    start *= (K / math.sqrt(scaled) + K**2 / math.sqrt(left * lam)) * setting.norm_V2
    values = (noise, noise * K * math.sqrt(scaled / (left * lam)), barrier, start)
    limit = stability_pmf(setting).limit
    return _bound("thm:l2_error_linear_ctd_PMF", setting, alpha, limit, values)


def l2_error_td(setting: Setting, *, step: float, transitions: int) -> Bound:
    """Return Linear-TD's counterpart of :func:`l2_error`, on E^{1/2}‖V − V*‖²_mu."""
    label = "subsection:convergence_linear_TD"
    bound = l2_error(setting, step=step, transitions=transitions)
    return replace(bound, label=label, constant=UNIVERSAL[label])


# ---------------------------------------------------------------------------- T for an error


@reachable
def sample_size(setting: Setting, *, error: float, step: float) -> Bound:
    """Return the T of Corollary l2_sample_complexity_linear_ctd for E^{1/2} W1,mu² ≤ error.

    Its last term holds T itself, within a logarithm: this is the smallest that satisfies it. With
    ``largest_step`` it is Eq. (largest_step_size_l2_sample_complexity), with ``instance_step`` Eq.
    (instance_dependent_step_size_l2_sample_complexity).

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.75, intervals=30, lambda_min=1e-5, norm_V1=1.0, norm_V2=2.0)
    >>> steps = bounds.largest_step(setting), bounds.instance_step(setting)
    >>> large, instance = (bounds.sample_size(setting, error=1e-4, step=s).total for s in steps)
    >>> instance < large  # of order 1/λ rather than 1/λ², once error² is below λ
    True
    """
    alpha, epsilon = _checked(step, 1)[0], _error(setting, error)
    left, lam, size = _parts(setting)
    noise = size**2 / (epsilon**2 * left**2 * lam)
    barrier = size / (epsilon * math.sqrt(alpha) * left**1.5 * lam)
    inner = 1.0 / math.sqrt(alpha) + 1.0 / math.sqrt(left * lam)
    inner *= max(setting.norm_V2, 1e-300) / (math.sqrt(alpha) * left * math.sqrt(lam) * epsilon)

    def start(T: float) -> float:
        return max(math.log(inner / T), 0.0) / (alpha * left * lam)

    values = (noise, noise * alpha / (left * lam), barrier)
    limit = exponential_stability(setting).limit
    return _sizes("coro:l2_sample_complexity_linear_ctd", setting, alpha, limit, values, start)


@reachable
def whp_sample_size(setting: Setting, *, error: float, delta: float, step: float) -> Bound:
    """Return the T of Thm whp_error_linear_ctd for W1,mu ≤ error with probability 1 − delta.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.75, intervals=30, lambda_min=0.01, norm_V1=1.0, norm_V2=2.0)
    >>> ts = [bounds.whp_sample_size(setting, error=0.1, delta=d, step=1e-4) for d in (0.1, 0.01)]
    >>> round(ts[1].terms[0].value / ts[0].terms[0].value)  # log(1/delta)
    2
    """
    alpha, epsilon = _checked(step, 1)[0], _error(setting, error)
    delta = check_number(delta, "delta", low=0.0, high=1.0, low_open=True, high_open=True)
    left, lam, size = _parts(setting)
    tail = math.log(1.0 / delta)
    noise = size**2 / (epsilon**2 * left**2 * lam) * tail
    barrier = size / (epsilon * math.sqrt(alpha) * left**1.5 * lam) * tail
    start = max(math.log(max(setting.norm_V2, 1e-300) / epsilon), 0.0) / (alpha * left * lam)
    values = (noise, noise * alpha * tail / (left * lam), barrier)
    bound = _sizes("thm:whp_error_linear_ctd", setting, alpha, 1.0, values, lambda _: start)
    limit = setting.contraction / (38.0 * math.log(max(bound.total, 1.0) / delta**2))
    return replace(bound, violations=setting.violations(alpha, limit))


@reachable
def markov_sample_size(setting: Setting, *, error: float, delta: float, step: float) -> Bound:
    """Return the same along a walk: t_mix log(T/delta) times as many (Remark Markovian Setting).

    The remark names the factor; T within its logarithm is solved for.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> slow = Setting(0.75, 30, lambda_min=0.01, norm_V1=1.0, norm_V2=2.0, mixing_time=20.0)
    >>> walk = bounds.markov_sample_size(slow, error=0.1, delta=0.1, step=1e-4)
    >>> walk.total > 20 * bounds.whp_sample_size(slow, error=0.1, delta=0.1, step=1e-4).total
    True
    """
    label = "remark:markovian_setting"
    bound = whp_sample_size(setting, error=error, delta=delta, step=step)

    def factor(T: float) -> float:
        return setting.mixing_time * max(math.log(T / delta), 1.0)

    T = _smallest(lambda T: bound.total * factor(T))
    terms = tuple(Term(term.name, term.value * factor(T)) for term in bound.terms)
    return replace(bound, label=label, terms=terms, constant=UNIVERSAL[label])


@reachable
def sample_size_td(setting: Setting, *, error: float) -> Bound:
    """Return the T of Linear-TD, (V1² + 1)/((1 − gamma)² λ) (1/error² + 1/λ), at its best step.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.5, intervals=1, lambda_min=0.5, norm_V1=1.0, norm_V2=1.0)
    >>> bounds.sample_size_td(setting, error=0.5).total
    96.0
    """
    label, epsilon = "subsection:convergence_linear_TD, sample size", _error(setting, error)
    left, lam = 1.0 - setting.gamma, setting.lambda_min
    factor = (setting.norm_V1**2 + 1.0) / (left**2 * lam)
    terms = (Term("noise", factor / epsilon**2), Term("sample-size barrier", factor / lam))
    step = instance_step(setting) / 2.0  # any such share will do
    return Bound(label, terms, UNIVERSAL[label], setting.violations(step, largest_step(setting)))


# -------------------------------------------------------------------------------------- pieces

_NAMES = ("noise", "noise of the step", "sample-size barrier", "start")


def _checked(step: float, transitions: int) -> tuple[float, int]:
    alpha = check_number(step, "step", low=0.0, low_open=True)
    return alpha, check_integer(transitions, "transitions", low=1)


def _error(setting: Setting, error: float) -> float:
    """An error in the paper's units."""
    return check_number(error, "error", low=0.0, low_open=True) / setting.unit


def _parts(setting: Setting) -> tuple[float, float, float]:
    """1 − gamma, lambda_min and ‖θ*‖_{V1} + 1."""
    return 1.0 - setting.gamma, setting.lambda_min, setting.norm_V1 + 1.0


def _bound(
    label: str, setting: Setting, step: float, limit: float, values: tuple[float, ...]
) -> Bound:
    named = zip(_NAMES, values, strict=True)
    terms = tuple(Term(name, setting.unit * value) for name, value in named)
    return Bound(label, terms, UNIVERSAL[label], setting.violations(step, limit))


def _sizes(
    label: str,
    setting: Setting,
    step: float,
    limit: float,
    values: tuple[float, ...],
    start: Callable[[float], float],
) -> Bound:
    fixed = math.fsum(values)
    T = _smallest(lambda T: fixed + start(T))
    sizes = (*values, start(T))
    terms = tuple(Term(name, value) for name, value in zip(_NAMES, sizes, strict=True))
    return Bound(label, terms, UNIVERSAL[label], setting.violations(step, limit))


def _smallest(needed: Callable[[float], float]) -> float:
    """The smallest T ≥ 1 with T ≥ needed(T), where needed grows more slowly than T."""
    high = 1.0
    for _ in range(_DOUBLINGS):
        if high >= needed(high):
            break
        high *= 2.0
    low = high / 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if middle >= needed(middle) else (middle, high)
    return high
