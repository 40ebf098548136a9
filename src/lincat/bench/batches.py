"""Mini-batches on one core."""

from __future__ import annotations

from collections.abc import Callable

from lincat.bench import jax_scan, numpy_forms
from lincat.bench.cases import DENSE, Case, draw
from lincat.bench.results import Result, worst
from lincat.bench.settings import Settings
from lincat.bench.speed import available, measure

_BATCH = 25


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure batches of 25 against JAX and NumPy."""
    result = Result(f"Mini-batches of {_BATCH}, one core: time of the others over ours")
    sizes = [(3, 8)] if settings.quick else [(case.d, case.K) for case in DENSE]
    for d, K in sizes:
        case = Case("dense", d, K, batch=_BATCH)
        progress(case.name)
        updates = 4 if settings.quick else int(min(max(6e5 / d / K, 20), 2_000))
        data = draw(case, updates * _BATCH, settings.seed)
        others = available([jax_scan.contenders, numpy_forms.contenders], data, result)
        result.rows.append(measure(data, others, settings))
    few = [row for (d, _), row in zip(sizes, result.rows, strict=True) if d <= 16]
    result.bars = [worst("best JAX scan, batch 25, d <= 16", few, "JAX best", ">=", 2.5)]
    return result
