"""What intervals cost: a stream with sums beside it, and a batch solution with its errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from lincat.bench.page import table
from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.linear_ctd import LinearCTD

_LIMIT = 2.5
_GAMMA = 0.9


@dataclass(frozen=True)
class _Case:
    kind: str  # "dense", "table" (any state after any), "walk" (neighbours)
    d: int
    K: int
    rewards: int  # 0 for continuous ones

    def __str__(self) -> str:
        words = {"dense": "dense", "table": "table, any follows any", "walk": "table, a walk"}
        rewards = f"{self.rewards} rewards" if self.rewards else "continuous rewards"
        return f"{words[self.kind]}, {self.d} x {self.K}, {rewards}"

    @property
    def grid(self) -> Grid:
        """All returns."""
        return Grid(0.0, max(self.rewards - 1, 1) / (1.0 - _GAMMA), self.K)

    def drawn(self, n: int, seed: int) -> Transitions:
        """n transitions of a stream."""
        rng = np.random.default_rng(seed)
        reward = np.floor(rng.random(n) * self.rewards) if self.rewards else rng.random(n)
        if self.kind == "dense":
            Phi = rng.random((n + 1, self.d))
            Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
            return Transitions(Phi[:-1], reward, Phi[1:])
        walks = self.kind == "walk"
        state = rng.integers(-1, 2, n + 1) if walks else rng.integers(0, self.d, n + 1)
        state = np.cumsum(state) % self.d if walks else state
        return Transitions(state[:-1], reward, state[1:])


_CASES = tuple(
    _Case(kind, d, K, rewards)
    for kind, d, K in (
        ("dense", 3, 30),
        ("dense", 16, 51),
        ("dense", 64, 201),
        ("table", 16, 51),
        ("table", 1000, 51),
        ("walk", 1000, 51),
    )
    for rewards in (3, 0)
)
_SOLVED = (_Case("dense", 16, 51, 0), _Case("dense", 64, 201, 0), _Case("walk", 1000, 51, 3))


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure every case in turns: a pass without sums, a pass with them."""
    rows: list[dict[str, Any]] = []
    n = 2000 if settings.quick else 1_000_000
    for case in _CASES[:2] if settings.quick else _CASES:
        progress(f"intervals: {case}")
        data = case.drawn(n, settings.seed)
        # What is done once for the first rows, and for the first blocks, weighs most where a pass
        # is short and an update cheap.
        lengths = (n, n * 3 // 10) if case in _CASES[:2] else (n,)
        rows += [_row(case, data[:length], settings) for length in lengths]
    worst = max(rows, key=lambda row: row["with over without"])
    what = "sums for intervals: a pass with them over one without"
    bars = [Bar(what, worst["with over without"], "<=", _LIMIT, worst["case"])]
    solved: list[dict[str, Any]] = []
    for case in (_CASES if settings.quick else _SOLVED)[:3]:
        progress(f"intervals of the batch solution: {case}")
        solved.append(_solved_row(case, case.drawn(n // 10, settings.seed)))
    worst = max(solved, key=lambda row: row["with over without"])
    what = "intervals of the batch solution: rows, answer and intervals over rows and answer"
    bars.append(Bar(what, worst["with over without"], "<=", _LIMIT, worst["case"]))
    note = (
        "LinearCTD with and without statistics=True, one update a transition, with a tail average; "
        "one core, CPU time, in turns. The solution for the answer comes on top, once, however "
        "long the stream was. Learners that are not asked for sums do none of this."
    )
    more = (
        f"CategoricalLSTD on {n // 10:,} transitions, seconds from the first of them to the "
        "distributions of ten states, and to intervals of their means and CVaR: one turn.\n\n"
    )
    return Result("What intervals cost", rows=rows, bars=bars, notes=[note, more + table(solved)])


def _solved_row(case: _Case, data: Transitions) -> dict[str, Any]:
    states = data.phi[:10]
    start = time.process_time()
    model = CategoricalLSTD(gamma=_GAMMA, grid=case.grid, n_features=case.d).fit(data)
    model.predict(states)
    answered = time.process_time()
    dist = model.predict(states, confidence=0.95)
    dist.interval("mean")
    dist.interval("cvar", 0.05)
    without, taken = answered - start, time.process_time() - start
    return {
        "case": str(case),
        "s without": without,
        "s with": taken,
        "with over without": taken / without,
    }


def _row(case: _Case, data: Transitions, settings: Settings) -> dict[str, Any]:
    plain, summed = [], []
    for _ in range(1 + min(settings.rounds, 5)):
        plain.append(_pass(case, data, statistics=False))
        summed.append(_pass(case, data, statistics=True))
    return {
        "case": str(case),
        "transitions": len(data),
        "ns without": 1e9 * median(plain[1:]) / len(data),
        "ns with": 1e9 * median(summed[1:]) / len(data),
        "with over without": median(b / a for a, b in zip(plain[1:], summed[1:], strict=True)),
    }


def _pass(case: _Case, data: Transitions, *, statistics: bool) -> float:
    model = LinearCTD(
        grid=case.grid,
        gamma=_GAMMA,
        n_features=case.d,
        statistics=statistics,
    )
    start = time.process_time()
    model.fit(data)
    return time.process_time() - start
