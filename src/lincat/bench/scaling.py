"""The cost of a transition is linear in K and in the number of features that are not zero."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import numpy as np

from lincat.bench import ours
from lincat.bench.cases import Case, draw
from lincat.bench.contender import seconds_of
from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Fit time = a + b x over a decade of each."""
    result = Result("Nanoseconds a transition over a decade: straight line, and exponent (log-log)")
    K, active = (8, 2) if settings.quick else (96, 4)
    cases = {
        "intervals K, 3 dense features": {k: Case("dense", 3, k) for k in _decade(K)},
        "active features (nnz) of 960, K = 51": {
            nnz: Case("tiles", 960 // nnz * nnz, 51, active=nnz) for nnz in _decade(active)
        },
    }
    for what, by_size in cases.items():
        progress(what)
        _fit(result, what, by_size, settings)
    return result


def _decade(first: int) -> list[int]:
    return [int(first * x) for x in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0)]


def _fit(result: Result, what: str, cases: dict[int, Case], settings: Settings) -> None:
    sizes = list(cases)
    count = 50 if settings.quick else 20_000
    contenders = [ours.kernel(draw(case, count, settings.seed)) for case in cases.values()]
    seconds: list[list[float]] = [[] for _ in contenders]
    for round_ in range(settings.rounds + 1):
        for contender, found in zip(contenders, seconds, strict=True):
            taken = seconds_of(contender)
            if round_:  # the first one compiles
                found.append(taken)
    x, y = np.asarray(sizes, dtype=np.float64), 1e9 * np.array([median(s) for s in seconds])
    slope, at_zero = np.polyfit(x, y, 1)
    unexplained = ((y - at_zero - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    exponent = float(np.polyfit(np.log(x), np.log(y), 1)[0])
    r2 = float(1.0 - unexplained)
    result.rows.append(
        {
            "over": f"{what}: {sizes[0]} to {sizes[-1]}",
            "ns at the ends": f"{y[0]:.0f} to {y[-1]:.0f}",
            "ns per unit": float(slope),
            "ns at zero": float(at_zero),
            "R2": r2,
            "exponent": exponent,
        }
    )
    name = what.partition(",")[0].partition(" (")[0]
    result.bars += [
        Bar(f"linear in {name}: 1 - R2 of a line", 1.0 - r2, "<=", 0.03, f"{sizes[0]}-{sizes[-1]}"),
        Bar(f"linear in {name}: exponent", exponent, "<=", 1.1, f"{sizes[0]}-{sizes[-1]}"),
    ]
