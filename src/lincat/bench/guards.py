"""What guards cost: what a loop looks at before it touches memory, over the time of the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lincat import kernels
from lincat._typing import FloatArray
from lincat.bench import ours
from lincat.bench.cases import Case, Data, draw
from lincat.bench.contender import Contender, compare
from lincat.bench.results import Result, worst
from lincat.bench.settings import Settings

_CASES = (Case("states", 1000, 51), Case("tiles", 100_000, 51, active=8))
_QUICK = (Case("states", 10, 8), Case("tiles", 64, 8, active=4))


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure the loops whose guards pass over all addresses; dense features have shapes alone."""
    result = Result("Guards of the kernels, by themselves: their time over that of the loop")
    states, tiles = _QUICK if settings.quick else _CASES
    for case in (states, tiles):
        data = draw(case, 100 if settings.quick else 200_000, settings.seed)
        guards = _guards(data)
        loops = {"Linear-CTD": ours.kernel(data)}
        if case is tiles:  # of states Linear-TD looks at each as it comes, for nothing
            loops["Linear-TD"] = _linear_td(data)
        for name, loop in loops.items():
            progress(f"{name}, {case.name}")
            guards.run()  # compiles, as the next one does
            loop.run()
            _, ratios = compare(loop, [guards], settings.rounds)
            result.rows.append({"case": f"{name}, {case.name}", "share": ratios["guards"]})
    result.bars = [worst("guards, share of the loop's time", result.rows, "share", "<=", 0.03)]
    return result


def _guards(data: Data) -> Contender:
    features = [ours.kernel_features(data, x, np.float64) for x in (data.phi, data.phi_next)]
    n, d = len(data), data.case.d
    states, csr = kernels.guards.guard_states, kernels.guards.guard_csr
    guard = states if data.case.kind == "states" else csr

    def run() -> None:
        for phi in features:
            guard(phi, d, n)

    return Contender("guards", run, n)


def _linear_td(data: Data) -> Contender:
    psi: FloatArray = np.zeros(data.case.d)
    phi, phi_next = (ours.kernel_features(data, x, np.float64) for x in (data.phi, data.phi_next))
    arguments = (psi, np.zeros(0), phi, phi_next, data.reward, data.delta, data.step, 1e12, 0, 1)
    return Contender("lincat", lambda: kernels.linear_td.linear_td(*arguments), len(data))
