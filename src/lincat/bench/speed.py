"""One core, one transition at a time: us against all others, at all sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lincat.bench import c_code, jax_scan, numpy_forms, ours, torch_eager
from lincat.bench.cases import DENSE, SPARSE, Case, Data, draw
from lincat.bench.contender import Contender, UnavailableError, check, compare
from lincat.bench.machine import second_level_cache
from lincat.bench.results import Bar, Result, worst
from lincat.bench.settings import Settings

Makers = list[Callable[[Data], list[Contender]]]

_QUICK = (Case("dense", 3, 8), Case("states", 10, 8), Case("tiles", 64, 8, active=4))
_ROOFLINE_FROM = 64  # features


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure the table of DESIGN section 6 and judge its bars."""
    result = Result("One transition at a time, one core: time of the others over ours")
    cases = _QUICK if settings.quick else DENSE + SPARSE
    for case in cases:
        progress(case.name)
        data = draw(case, _count(case, settings), settings.seed)
        makers: Makers = [ours.variants, c_code.contenders, jax_scan.contenders]
        makers += [torch_eager.contenders, numpy_forms.contenders]
        if case.kind == "dense" and case.d >= _ROOFLINE_FROM:
            makers += [c_code.roofline]
        result.rows.append(measure(data, available(makers, data, result), settings))
    result.bars = _bars(cases, result.rows)
    result.notes += [
        "M/s: million transitions a second in float64, without averaging, on data that are ready; "
        "float32, averaging (float64) and learner (LinearCTD.partial_fit without averaging, all "
        "checks included) are our own variants, their time over that of the float64 kernel.",
        "FMA bound and memory bound: three multiply-adds a parameter, and reading and writing "
        "Theta once, each in C and alone, over our time; the larger is the share of the roofline.",
    ]
    return result


def available(makers: Makers, data: Data, result: Result) -> list[Contender]:
    """Make contenders; a note says why those are missing that cannot be made."""
    made = []
    for make in makers:
        try:
            made += make(data)
        except UnavailableError as why:
            if str(why) not in result.notes:
                result.notes.append(str(why))
    return made


def measure(data: Data, others: list[Contender], settings: Settings) -> dict[str, Any]:
    """Check all contenders, let them take turns, and return the row of the table."""
    us, reference = ours.kernel(data), ours.reference(data)
    for contender in (us, *others):
        check(contender, reference)
    seconds, ratios = compare(us, others, settings.rounds)
    return {"case": data.case.name, "M/s": 1e-6 / seconds, **ratios}


def _count(case: Case, settings: Settings) -> int:
    if settings.quick:
        return 100
    return int(np.clip(1.5e7 / case.touched / case.K, 200, 50_000))


def _bars(cases: Sequence[Case], rows: list[dict[str, Any]]) -> list[Bar]:
    def of(kind: str, low: int = 0, high: int = 10**9) -> list[dict[str, Any]]:
        chosen = zip(cases, rows, strict=True)
        return [row for case, row in chosen if case.kind == kind and low <= case.d <= high]

    dense, states, tiles = of("dense"), of("states"), of("tiles")
    small, large = of("dense", high=256), of("dense", low=257)
    cache = second_level_cache() or 2**62
    within = [
        {"case": row["case"], "share": max(row["FMA bound"], row["memory bound"])}
        for case, row in zip(cases, rows, strict=True)
        if "FMA bound" in row and 8 * case.d * case.K <= cache
    ]
    return [
        worst("best C, dense", dense, "C best", ">=", 0.75),
        worst("straightforward C, dense", dense, "C simple", ">=", 1.5),
        worst("best JAX scan, dense, d <= 256", small, "JAX best", ">=", 4.0),
        worst("best JAX scan, dense, d = 1024", large, "JAX best", ">=", 1.8),
        worst("best JAX scan, one-hot", states, "JAX best", ">=", 4.0),
        worst("best JAX scan, tiles", tiles, "JAX best", ">=", 8.0),
        worst("PyTorch eager", rows, "torch eager", ">=", 10.0),
        worst("good NumPy", rows, "NumPy good", ">=", 8.0),
        worst("cost of averaging, dense", dense, "averaging", "<=", 1.35),
        worst("cost of averaging, one-hot", states, "averaging", "<=", 1.35),
        worst("cost of averaging, tiles", tiles, "averaging", "<=", 1.35),
        worst("share of the roofline, d >= 64, Theta within L2", within, "share", ">=", 0.65),
    ]
