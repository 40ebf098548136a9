"""Numbers and shares as people write them; draw.js holds the same rules for the page."""

from __future__ import annotations

import math

import numpy as np

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGE, _SMALL = 1e7, 1e-3  # beyond these a power of ten reads better than its digits


def show_number(value: float, low: float, high: float, *, fine: bool = True) -> str:
    """Return a number as text, with digits to a few hundredths of the range [low, high].

    Tables have ``fine`` numbers; sentences do with a little less.

    Examples
    --------
    >>> from lincat.report.numbers import show_number
    >>> show_number(12.3456, 0.0, 20.0), show_number(-1234567.8, -2e6, 0.0)
    ('12.35', '−1,234,568')
    >>> show_number(1.234e-6, 0.0, 4e-6), show_number(2.5e9, 0.0, 3e9)
    ('1.23 × 10⁻⁶', '2.500 × 10⁹')
    """
    size = max(abs(low), abs(high))
    # A quarter of the range is about a standard deviation, which gets three digits.
    width = (high - low) / (4.0 if fine else 1.0)
    coarse = _magnitude(width) if high > low else _magnitude(size)
    if value == 0.0 or not _SMALL <= size < _LARGE:
        return _scientific(value, coarse)
    return _signed(value, min(max(0, 2 - coarse), 12))


def show_share(share: float) -> str:
    """Return a share as a percentage with as many digits as say something.

    Examples
    --------
    >>> from lincat.report.numbers import show_share
    >>> [show_share(p) for p in (0.0, 0.00002, 0.0034, 0.034, 0.343, 0.9966, 1.0)]
    ['0 %', 'less than 0.01 %', '0.34 %', '3.4 %', '34 %', '99.7 %', '100 %']
    """
    percent = 100.0 * share
    gap = min(percent, 100.0 - percent)
    if gap <= 1e-9:
        return f"{percent:.0f} %"
    if gap < 0.01:
        return "less than 0.01 %" if percent < 50.0 else "more than 99.99 %"
    # Near 0 and near 100 the digits after the point are what matters.
    digits = 2 if gap < 0.095 or percent < 0.995 else 1 if gap < 9.95 else 0
    return f"{percent:.{digits}f} %"


def show_given(value: float) -> str:
    """Return a number that somebody gave as they would write it.

    Examples
    --------
    >>> from lincat.report.numbers import show_given
    >>> show_given(-12500.0), show_given(0.5), show_given(3e9)
    ('−12,500', '0.5', '3 × 10⁹')
    """
    if value == 0.0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:,.7g}".replace("-", "−")
    mantissa, exponent = f"{value:.7e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    return f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def show_level(level: float) -> str:
    """Return a level as it was chosen: ``show_level(0.05)`` is "5 %"."""
    return f"{100.0 * level:.6g} %"


def show_seconds(seconds: float) -> str:
    """Return a duration: ``show_seconds(90.0)`` is "90 s"."""
    if seconds < 120.0:
        return f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes = seconds / 60.0
    return f"{minutes:.0f} min" if minutes < 120.0 else f"{minutes / 60.0:.1f} h"


def show_count(n: float) -> str:
    """Return a large number to three digits: ``show_count(2.5e6)`` is "2.5 million"."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if n >= size:
            return f"{n / size:.3g} {word}"
    return f"{float(f'{n:.3g}'):,.0f}"


def _magnitude(size: float) -> int:
    return math.floor(math.log10(size)) if size > 0.0 else 0


def _scientific(value: float, coarse: int) -> str:
    if value == 0.0:
        return "0"
    power = max(_magnitude(abs(value)), coarse - 2)
    digits = min(max(power - coarse + 2, 0), 9)
    mantissa = value / np.float64(10.0) ** power
    if abs(round(float(mantissa), digits)) >= 10.0:  # 9.999 becomes 10.00
        power, mantissa = power + 1, mantissa / 10.0
    if round(float(mantissa), digits) == 0.0:
        return "0"
    times = "" if power == 0 else f" × 10{str(power).translate(_SUPERSCRIPTS)}"
    return _signed(float(mantissa), digits) + times


def _signed(value: float, digits: int) -> str:
    """Digits with a true minus sign, and none before zeros only."""
    text = f"{abs(value):,.{digits}f}"
    return f"−{text}" if value < 0.0 and text.strip("0.,") else text
