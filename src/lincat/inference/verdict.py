"""The verdict: whether the data support what the headline says.

It judges the figures themselves (are they known well enough, is the grid fine enough, are the
distributions proper), and, where there are returns that were not learned from, the figures against
them: the mean, the share of returns below the reported quantile, CVaR, the distance W1 and skill,
each against its own noise. One check that fails is enough: "I cannot tell" is an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lincat.inference.answer import Check, Verdict
from lincat.inference.validation import GroupValidation, Validation

#: What a verdict looks at, in words for programs.
Code: TypeAlias = Literal[
    "precision",
    "precision_sd",
    "precision_asked",
    "precision_cvar",
    "unresolved",
    "signed",
    "grid",
    "off_grid",
    "mean",
    "below_quantile",
    "w1",
    "states",
    "typical",
    "cvar",
    "skill",
]

#: The same for people, as pages list it.
WORDS: dict[str, str] = {
    "precision": "Standard error of means, in standard deviations",
    "precision_sd": "Standard error of standard deviations, relative",
    "precision_asked": "Standard error of means in the headline's states, one in thirty",
    "precision_cvar": "Standard error of CVaR, in standard deviations",
    "unresolved": "Spread that features miss, as a share of that of all returns",
    "signed": "Negative mass",
    "grid": "Times coarser than the returns ask for",
    "off_grid": "Mass off the grid, per transition",
    "mean": "Mean, off by",
    "below_quantile": "Share below the reported quantile, off by",
    "w1": "W1, all states together",
    "states": "W1 in the worst tenth of states, in standard deviations",
    "typical": "W1 state by state, in standard deviations, on average",
    "cvar": "CVaR, off by",
    "skill": "Worse than one distribution for all states by",
}

_PRECISION = 0.12  # standard error of mean and standard deviation, in standard deviations
_TAIL_PRECISION = 0.14  # likewise of CVaR, which may be off by 0.2, and seldom is then
_ASKED_PRECISION = 0.24  # likewise of the mean, in all but one in thirty of the headline's states
_UNRESOLVED = 0.01  # of that of all returns: what standard deviations may be that should be 0
_SIGNED = 0.02  # negative mass, of which errors of single states often come
_SIGNED_SEEN = 0.05  # likewise, where single states were held against returns of their own
_COARSER = 2.5  # times fewer intervals than wanted: deviations 6 % too large, quantiles 0.1 off
_OFF_GRID = 1e-3  # mass, per transition
_SURE = 4.0  # standard errors, known but roughly, of a difference that is no accident
_BIAS = 0.15  # of a standard deviation: smaller errors of the mean are let pass
_DISTANCE = 0.10  # likewise of W1
_NOISE = 3.0  # times that W1 may be
_OWN = 2.0  # likewise of the error of the figures themselves
_SHARE = 0.03  # likewise of shares of returns
_MANY = 10.0  # standard deviations: what is more is told as it is
_ROUNDING = 1e-8  # of a return: what differs by less does not differ
_WORST = 0.2  # of a standard deviation, in the worst tenth of states
_TYPICAL = 0.125  # likewise, in all of them


@dataclass(frozen=True)
class Diagnosis:
    """What a solution knows of itself.

    Attributes
    ----------
    mean_error, sd_error : float or None
        Standard errors of mean and standard deviation, in standard deviations, that nine states in
        ten, as often as they were seen, do not exceed; None where there are too few data even for
        that.
    cvar_error : float or None
        Likewise of CVaR.
    negative_mass : float
        Typical of the states seen.
    coarser : float
        How many times more intervals are wanted than there are.
    off_grid : float
        Mass that falls off the grid, per transition.
    asked_error : float or None
        Likewise of the means of the states that the headline speaks of, of which one in thirty may
        exceed it; None where they are too few to tell.
    unresolved : float or None
        Where rewards and steps show no chance: the standard deviation that nine states in ten do
        not exceed, of that of all returns. It is what the features miss. None elsewhere.
    """

    mean_error: float | None
    sd_error: float | None
    cvar_error: float | None
    negative_mass: float
    coarser: float
    off_grid: float
    asked_error: float | None = None
    unresolved: float | None = None


@dataclass(frozen=True)
class _Finding:
    """A check, with its text in two: what was found, and what helps or what it was held against."""

    check: Check
    found: str
    rest: str


def judge(diagnosis: Diagnosis | None, validation: Validation | None) -> Verdict:
    """Return the verdict on a run.

    Examples
    --------
    >>> from lincat.inference.verdict import Diagnosis, judge
    >>> judge(Diagnosis(0.3, 0.05, 0.1, 0.0, 1.0, 0.0), None).sentence
    'Not to be trusted: means are known to 0.3 of a standard deviation only; more rows help.'
    >>> judge(None, None).trusted is None
    True
    """
    findings: list[_Finding] = []
    if diagnosis is not None:
        by_state = validation is not None and validation["all"].w1_worst is not None
        findings += _of_itself(diagnosis, by_state=by_state)
    if validation is not None:
        own = 0.0 if diagnosis is None else diagnosis.mean_error or 0.0
        findings += _against_returns(validation, own)
    checks = tuple(finding.check for finding in findings)
    failed = [finding for finding in findings if not finding.check.passed]
    if failed:
        return Verdict(
            trusted=False, sentence=f"Not to be trusted: {_reasons(failed)}.", checks=checks
        )
    if validation is None:
        held = "" if not checks else " The figures are precise enough, but were not held against "
        rest = f"{held}returns that were not learned from." if held else ""
        return Verdict(trusted=None, sentence=f"Not checked.{rest}", checks=checks)
    return Verdict(
        trusted=True,
        sentence=f"The figures agree with {validation.description}.",
        checks=checks,
    )


def _reasons(failed: list[_Finding]) -> str:
    """What was found, one after the other; what several have in common is said once, at the end."""
    rests = [*(finding.rest for finding in failed[1:]), ""]
    return "; ".join(
        finding.found + (finding.rest if finding.rest != following else "")
        for finding, following in zip(failed, rests, strict=True)
    )


def _of_itself(found: Diagnosis, *, by_state: bool) -> list[_Finding]:
    """What the solution says; less, where single states were held against returns of their own."""
    checks = []
    known: list[tuple[Code, str, float | None, float]] = [
        ("precision", "means are known to", found.mean_error, _PRECISION),
        ("precision_sd", "standard deviations are known to", found.sd_error, _PRECISION),
        ("precision_cvar", "CVaR is known to", found.cvar_error, _TAIL_PRECISION),
    ]
    for code, what, value, limit in known:
        if value is None:
            # With many rows, sums of many features leave memory for few blocks.
            text = f"it cannot be told how well {what.removesuffix(' to')}"
            checks.append(_check(code, value, limit, text, "; more rows, or fewer features, help"))
        else:
            text = f"{what} {value:.2g} of a standard deviation only"
            checks.append(_check(code, value, limit, text, "; more rows help"))
    if found.asked_error is not None:
        text = (
            "in one of thirty states that the headline speaks of, means are known to "
            f"{found.asked_error:.2g} of a standard deviation only"
        )
        help_ = "; more rows near there help"
        checks.append(_check("precision_asked", found.asked_error, _ASKED_PRECISION, text, help_))
    if found.unresolved is not None and not by_state:
        text = (
            "neighbouring states show no chance, so that distributions vary by what features miss, "
            f"up to {found.unresolved:.2g} of the standard deviation of all returns"
        )
        help_ = "; more rows, or other --features, help"
        checks.append(_check("unresolved", found.unresolved, _UNRESOLVED, text, help_))
    checks.append(
        _check(
            "signed",
            found.negative_mass,
            _SIGNED_SEEN if by_state else _SIGNED,
            f"distributions have negative mass ({found.negative_mass:.2g}), so the features do "
            "not suit",
            "; other --features, or a larger --n-step, may",
        )
    )
    checks.append(
        _check(
            "grid",
            found.coarser,
            _COARSER,
            f"the grid is {found.coarser:.1f} times coarser than the returns ask for",
            "; raise --intervals",
        )
    )
    checks.append(
        _check(
            "off_grid",
            found.off_grid,
            _OFF_GRID,
            f"{found.off_grid:.2g} of the mass falls off the grid",
            "; leave --low and --high out",
        )
    )
    return checks


def _against_returns(validation: Validation, own: float) -> list[_Finding]:
    """Hold the figures against returns; ``own`` is their own error, in standard deviations."""
    group = validation["all"]
    sd = _pooled_sd(group, validation.atoms)
    where = f" ({validation.description})"
    # Where all returns are the same, a grid cannot tell them from its next atom.
    first, last = validation.atoms[0], validation.atoms[-1]
    atom = max(validation.atoms[1] - first, _ROUNDING * max(abs(first), abs(last)))
    error = group.mean_error_se
    if error is not None:
        error = math.hypot(error, own * sd)
    # Three times the noise of the returns, and twice the error of the figures: the states' own
    # errors of their means, of which the average over states has no more.
    noise = math.hypot(_NOISE * group.w1_noise, _OWN * own * sd)
    checks = [
        _difference(
            "mean", group.mean_error, error, max(_BIAS * sd, atom),
            f"means are off by {_told(group.mean_error, sd, '+')}", where,
        ),
        _difference(
            "below_quantile", group.quantile_miss, group.below_tail_se, _SHARE,
            f"{100 * group.below_quantile:.3g} % of returns lie below the reported "
            f"{100 * validation.tail:g} % quantile", where,
        ),
    ]  # fmt: skip
    if sd <= atom:
        return checks[:1]
    limit = max(noise, _DISTANCE * sd, atom)
    checks.append(_check("w1", group.w1, limit, f"W1 is {_told(group.w1, sd)}", where))
    if group.w1_worst is not None:
        text = f"in one state of ten W1 is above {group.w1_worst:.2g} of its standard deviation"
        checks.append(_check("states", group.w1_worst, _WORST, text, where))
    if group.w1_typical is not None:
        text = f"state by state, W1 is {group.w1_typical:.2g} standard deviations on average"
        checks.append(_check("typical", group.w1_typical, _TYPICAL, text, where))
    tail = abs(group.cvar_predicted - group.cvar_realised)
    # Fewer returns tell of the tail than of the whole.
    limit = max(2.0 * _BIAS * sd, noise / math.sqrt(validation.tail), atom)
    if validation.method == "exact":
        limit = max(2.0 * _BIAS * sd, atom)
    text = f"CVaR is {group.cvar_predicted:.4g} where {group.cvar_realised:.4g} came back"
    checks.append(_check("cvar", tail, limit, text, where))
    if group.skill is not None and group.mean_error_se is not None:
        allowed = 0.05 if sd == 0.0 else max(0.05, noise / (_NOISE * sd))
        checks.append(
            _check(
                "skill", -group.skill, allowed,
                f"one distribution for all states would do better, skill {group.skill:.2g}", where,
            )
        )  # fmt: skip
    return checks


def _told(error: float, sd: float, sign: str = "") -> str:
    """An error in standard deviations of the returns, or as it is where these hardly differ."""
    if abs(error) <= _MANY * sd:
        return f"{error / sd if sd else 0.0:{sign}.2g} standard deviations"
    return f"{error:{sign}.2g}, where returns have a standard deviation of {sd:.2g}"


def _pooled_sd(group: GroupValidation, atoms: tuple[float, ...]) -> float:
    """The standard deviation of the returns, all states together."""
    x = np.asarray(atoms)
    mass = np.diff(np.asarray(group.empirical_cdf), prepend=0.0)
    return float(np.sqrt(max(mass @ (x - mass @ x) ** 2, 0.0)))


def _check(code: Code, value: float | None, limit: float, found: str, rest: str) -> _Finding:
    passed = value is not None and value <= limit
    check = Check(code=code, passed=passed, value=value, limit=limit, text=found + rest)
    return _Finding(check, found, rest)


def _difference(
    code: Code, value: float, error: float | None, floor: float, found: str, rest: str
) -> _Finding:
    """A difference from what is claimed; unknown errors let anything pass but what is gross."""
    limit = max(floor, _SURE * error) if error is not None else 3.0 * floor
    return _check(code, abs(value), limit, found, rest)
