"""Targets that no number of transitions reaches which can be told."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from lincat._arguments import fail
from lincat.theory.setting import Bound

_P = ParamSpec("_P")
_R = TypeVar("_R")


def reachable(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Refuse an ``error`` for which a function's answer is beyond what float64 holds.

    Formulas square targets and divide by what is left of constants: rather than a limit for each of
    these, what comes out is looked at.

    Examples
    --------
    >>> from lincat import Setting, bounds
    >>> setting = Setting(gamma=0.75, intervals=30, lambda_min=0.01, norm_V1=1.0, norm_V2=2.0)
    >>> bounds.sample_size(setting, error=1e-300, step=1e-4)
    Traceback (most recent call last):
    lincat._arguments.InvalidInputError: error: expected a target for which the transitions can be
    counted, got 1e-300; take another unit, or constants (gamma, lambda_min) that are less extreme
    """

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            found = function(*args, **kwargs)
        except ArithmeticError:
            raise _refused(kwargs.get("error")) from None
        if isinstance(found, Bound) and not math.isfinite(found.value):
            raise _refused(kwargs.get("error"))
        return found

    return checked


def _refused(error: Any) -> Exception:
    expected = "a target for which the transitions can be counted"
    remedy = "take another unit, or constants (gamma, lambda_min) that are less extreme"
    return fail("error", expected, f"{error:g}", remedy)
