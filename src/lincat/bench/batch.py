"""The batch solution: summing transitions up, and solving for the fixed point of the sums.

Data: a walk of three numbers that forget at different speeds, radial features, rewards that depend
on where the walk is and on chance. The grid holds mean ± 6 standard deviations of every state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, gmres, splu

from lincat._typing import FloatArray
from lincat.bench import sums
from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions
from lincat.solvers.batch import BatchSolution, solve_totals
from lincat.solvers.equation import BatchEquation
from lincat.solvers.moments import solve_moments
from lincat.solvers.whitening import whiten
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.totals import Totals

_TOLERANCE = 1e-12
_OTHERS = 1e-10  # what is asked of the others
_WRITTEN_DOWN = 7000  # unknowns up to which a dense matrix, or SciPy's sparse LU, is tried
_ITERATED = 1e12  # operations up to which the operator is iterated
_SLOW = 5.0  # seconds from which one round is enough


@dataclass(frozen=True)
class _Case:
    d: int
    K: int
    nodes: int
    gamma: float
    rows: int = 50_000

    def __str__(self) -> str:
        return f"d {self.d}, K {self.K}, {self.nodes} rewards, gamma {self.gamma:g}"


_CASES = (
    _Case(16, 51, 5, 0.9),
    _Case(64, 101, 11, 0.9),
    _Case(64, 101, 11, 0.99),
    _Case(64, 101, 11, 0.999),
    _Case(256, 200, 64, 0.99),
    _Case(256, 200, 64, 0.999),
    _Case(512, 400, 128, 0.99),
)
_BARS = {
    (64, 101, 0.99): 0.5,
    (256, 200, 0.99): 3.0,
    (256, 200, 0.999): 3.0,
    (512, 400, 0.99): 20.0,
}
_QUICK = (_Case(4, 8, 5, 0.9, rows=300),)


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Solve each case, and with what else there is; then sum rows up, in memory and from a log."""
    result = Result("The batch solution: seconds to solve, and time of the others over ours")
    _solve_row(_QUICK[0], settings)  # compiles
    worst = 0.0
    for case in _QUICK if settings.quick else _CASES:
        progress(str(case))
        row = _solve_row(case, settings)
        worst = max(worst, float(str(row["residual"])))
        result.rows.append(row)
        limit = _BARS.get((case.d, case.K, case.gamma))
        if limit is not None:
            seconds = row["seconds"]
            assert isinstance(seconds, float)
            result.bars.append(
                Bar("seconds of the batch solution, one core", seconds, "<=", limit, str(case))
            )
    result.bars.append(Bar("relative residual of the batch solution", worst, "<=", _TOLERANCE))
    result.notes.append(
        f"Ours to a relative residual of {_TOLERANCE:g}, the others to {_OTHERS:g}; CPU seconds of "
        "one core, whitening and factors included: learners solve on one thread, so that bits do "
        "not depend on threads. Dense: numpy.linalg.solve of the d K equations. Sparse LU: "
        "scipy.sparse.linalg.splu of the same. GMRES: SciPy's, on the whitened equation without a "
        "preconditioner. Iterating: the Bellman operator of the data, as often as gamma asks for. "
        "Empty where they take minutes or gigabytes, or give up after 960 products."
    )
    for further in (sums.summing, sums.learning):
        bars, note = further(settings, progress)
        result.bars += bars
        result.notes.append(note)
    return result


def _data(case: _Case, seed: int) -> Transitions:
    rng = np.random.default_rng(seed)
    keep = np.array([0.9, 0.8, 0.95])
    noise = np.sqrt(1.0 - keep**2) * rng.normal(size=(case.rows + 1, 3))
    place = np.empty_like(noise)
    place[0] = noise[0]
    for t in range(case.rows):
        place[t + 1] = keep * place[t] + noise[t + 1]
    centres = place[rng.choice(case.rows, case.d - 1)]
    width = 1.6 / case.d ** (1.0 / 3.0)
    squares = (place**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * place @ centres.T
    Phi = np.concatenate([np.ones((len(place), 1)), np.exp(-squares / (2.0 * width))], axis=1)
    Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
    reward = np.sin(place[:-1, 0]) + 0.5 * place[:-1, 1] + 0.3 * rng.normal(size=case.rows)
    if case.nodes <= 64:
        reward = 2.0 * np.round(reward.clip(-2, 2) * (case.nodes - 1) / 4.0) / (case.nodes - 1) * 2
    return Transitions(Phi[:-1], reward, Phi[1:])


def _problem(case: _Case, seed: int) -> tuple[Totals, Grid]:
    data = _data(case, seed)
    totals = Statistics(max_blocks=1, nodes=max(case.nodes, 8)).update(data).totals()
    moments, some = solve_moments(totals, case.gamma), data.phi[:2000]
    mean = moments.mean(some)
    spread = 6.0 * np.sqrt(np.maximum(moments.variance(some), 0.0))
    return totals, Grid(float((mean - spread).min()), float((mean + spread).max()), case.K)


def _solve_row(case: _Case, settings: Settings) -> dict[str, object]:
    totals, grid = _problem(case, settings.seed)

    solution: BatchSolution | None = None

    def ours() -> None:
        nonlocal solution
        solution = solve_totals(totals, grid, case.gamma, tolerance=_TOLERANCE)

    seconds = _seconds(ours, 1)
    rounds = 1 if seconds > _SLOW else min(settings.rounds, 3)
    if rounds > 1:
        seconds = _seconds(ours, rounds)
    assert solution is not None
    row: dict[str, object] = {
        "case": str(case),
        "seconds": seconds,
        "method": solution.method,
        "products": solution.iterations,
        "residual": f"{solution.residual:.1e}",
    }
    equation = BatchEquation(totals, totals.discount(case.gamma), grid, whiten(totals.Sigma))
    others = _others(equation, case)
    return row | {name: _ratio(run, seconds) for name, run in others.items()}


def _others(equation: BatchEquation, case: _Case) -> dict[str, Callable[[], object]]:
    """Other ways to the same solution, as far as they are within reach."""
    right, n = equation.right, equation.right.size

    def operator(v: FloatArray) -> FloatArray:
        return v - equation.apply(v.reshape(right.shape)).ravel()

    found: dict[str, Callable[[], object]] = {}
    if n <= 1000 or (n <= _WRITTEN_DOWN and case.gamma == 0.99):  # as long at another gamma
        found["dense"] = lambda: np.linalg.solve(_written_down(equation).toarray(), right.ravel())
        found["sparse LU"] = lambda: splu(_written_down(equation)).solve(right.ravel())
    products = len(equation.discount) * 2.0 * equation.size**2 * case.K
    steps = np.log(_OTHERS) / np.log(case.gamma)
    if 1000.0 * products <= _ITERATED:
        matrix = LinearOperator((n, n), operator, dtype=np.float64)
        found["GMRES"] = lambda: (
            gmres(matrix, right.ravel(), rtol=_OTHERS, restart=80, maxiter=12)[1] == 0
        )
    if steps * products <= _ITERATED:
        found["iterating"] = lambda: _iterated(equation, int(steps))
    return found


def _iterated(equation: BatchEquation, steps: int) -> FloatArray:
    X = equation.right
    for _ in range(steps):
        X = equation.right + equation.apply(X)
    return X


def _written_down(equation: BatchEquation) -> scipy.sparse.csc_array:
    """The d K equations as one sparse matrix."""
    K, G = equation.intervals, len(equation.discount)
    blocks = (
        scipy.sparse.kron(equation.stack[g * K : (g + 1) * K], equation.cross[g]) for g in range(G)
    )
    total = scipy.sparse.eye_array(K * equation.size, format="csc")
    for block in blocks:
        total = total - block
    return scipy.sparse.csc_array(total)


def _ratio(run: Callable[[], object], seconds: float) -> float | None:
    """Its time over ours; None if it gives up."""
    start = time.process_time()
    done = run()
    return None if done is False else (time.process_time() - start) / seconds


def _seconds(run: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return median(taken)
