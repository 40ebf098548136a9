"""What variance reduction and decaying steps cost beside Linear-CTD with a constant step."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from lincat.bench import ours
from lincat.bench.cases import DENSE, GAMMA, SPARSE, STEP, Case, Data, draw
from lincat.bench.contender import Contender, check, compare
from lincat.bench.results import Result, worst
from lincat.bench.settings import Settings
from lincat.data.transitions import Transitions
from lincat.learners._categorical import CategoricalLearner
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.schedules import PolynomialDecay
from lincat.learners.variance_reduced_ctd import VarianceReducedCTD

_QUICK = (Case("dense", 3, 8), Case("states", 10, 8))
_CASES = (*DENSE[:4], *SPARSE)


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure learners with everything that a user's call does, averaging included."""
    result = Result("Variance reduction and decaying steps: time over that of Linear-CTD")
    for case in _QUICK if settings.quick else _CASES:
        progress(case.name)
        count = 600 if settings.quick else int(min(max(3e6 / case.touched / case.K, 2_000), 20_000))
        data = draw(case, count, settings.seed)
        us, *others = (
            _contender(data, "LinearCTD", LinearCTD, STEP),
            _contender(data, "VarianceReducedCTD", VarianceReducedCTD, STEP),
            _contender(data, "decaying steps", LinearCTD, PolynomialDecay(STEP, 0.6)),
        )
        for contender in (us, *others):
            check(contender, ours.reference(data))
        seconds, ratios = compare(us, others, settings.rounds)
        result.rows.append({"case": case.name, "M/s": 1e-6 / seconds, **ratios})
    rows = result.rows
    tiles = [row for row in rows if row["case"].startswith("tiles")]
    few = [row for row in rows if row not in tiles]
    result.bars = [
        worst("cost of variance reduction", few, "VarianceReducedCTD", "<=", 12.0),
        worst("cost of variance reduction, tiles", tiles, "VarianceReducedCTD", "<=", 25.0),
        worst("cost of decaying steps", rows, "decaying steps", "<=", 1.5),
    ]
    result.notes.append("partial_fit of a whole stream with tail averaging, all checks included.")
    return result


def _contender(
    data: Data, label: str, kind: type[CategoricalLearner], step: float | PolynomialDecay
) -> Contender:
    model = kind(grid=data.grid, gamma=GAMMA, step_size=step, n_features=data.case.d)
    phi, phi_next = (ours.public_features(data, x) for x in (data.phi, data.phi_next))
    transitions = Transitions(phi, data.reward, phi_next)

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rounding may clip a last bit of mass
            model.partial_fit(transitions)

    return Contender(label, run, len(data))
