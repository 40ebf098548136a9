"""What intervals cost: a stream with sums beside it, and a batch solution with its errors.

From the first transition to the last figure: intervals of mean, 5 % quantile, CVaR and a chance,
and a band of the whole CDF, of three states.
"""

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
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.linear_ctd import LinearCTD

_LIMIT = 2.5
_STATES = 3
_SOLVED_UP_TO = 64  # features of streams that are asked for intervals: more take seconds, once
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
# What is done once, whatever the length, weighs most where a pass is short and an update cheap.
_SHORT = tuple(case for case in _CASES if case.d <= 16)
_SOLVED = (_Case("dense", 16, 51, 0), _Case("dense", 64, 201, 0), _Case("walk", 1000, 51, 3))


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure every case in turns: a pass without sums, a pass with them."""
    rows: list[dict[str, Any]] = []
    n = 2000 if settings.quick else 1_000_000
    for case in _CASES[:2] if settings.quick else _CASES:
        progress(f"intervals: {case}")
        data = case.drawn(n, settings.seed)
        lengths = (n, n * 3 // 10) if case in _SHORT else (n,)
        rows += [_row(case, data[:length], settings) for length in lengths]
    bars = [
        _bar(rows, "with over without", "sums for intervals: a pass with them over one without"),
        _bar(rows, "in all", "a stream, its intervals and a band over the stream without"),
    ]
    solved: list[dict[str, Any]] = []
    for case in (_CASES if settings.quick else _SOLVED)[:3]:
        progress(f"intervals of the batch solution: {case}")
        lengths = (n // 10, n // 50) if case.d < 64 else (n // 10,)
        solved += [_solved_row(case, case.drawn(length, settings.seed)) for length in lengths]
    what = "intervals of the batch solution: rows, answer and intervals over rows and answer"
    bars.append(_bar(solved, "with over without", what))
    note = (
        "LinearCTD with and without statistics=True, one update a transition, with a tail average; "
        "one core, CPU time, in turns. In all: with the solution, and with four intervals and a "
        "band of three states, which take as long however long the stream was. Learners that are "
        "not asked for sums do none of this."
    )
    more = (
        "CategoricalLSTD, milliseconds from the first transition to the distributions of three "
        "states, and to the same intervals.\n\n"
    )
    return Result("What intervals cost", rows=rows, bars=bars, notes=[note, more + table(solved)])


def _bar(rows: list[dict[str, Any]], column: str, what: str) -> Bar:
    asked = [row for row in rows if row[column] is not None]
    worst = max(asked, key=lambda row: row[column])
    return Bar(what, worst[column], "<=", _LIMIT, f"{worst['case']}, {worst['transitions']:,}")


def _solved_row(case: _Case, data: Transitions) -> dict[str, Any]:
    states, turns = data.phi[:_STATES], []
    for _ in range(4 if len(data) * case.d * case.K < 1e8 else 1):
        start = time.process_time()
        model = CategoricalLSTD(gamma=_GAMMA, grid=case.grid, n_features=case.d).fit(data)
        model.predict(states)
        answered = time.process_time()
        _ask(model.predict(states, confidence=0.95))
        turns.append((answered - start, time.process_time() - start))
    without, taken = (median(turn[i] for turn in turns[1:] or turns) for i in (0, 1))
    return {
        "case": str(case),
        "transitions": len(data),
        "ms without": 1e3 * without,
        "ms with": 1e3 * taken,
        "with over without": taken / without,
    }


def _row(case: _Case, data: Transitions, settings: Settings) -> dict[str, Any]:
    plain, summed, asked = [], [], []
    for _ in range(1 + min(settings.rounds, 5)):
        plain.append(_pass(case, data, statistics=False)[0])
        seconds, model = _pass(case, data, statistics=True)
        summed.append(seconds)
        start = time.process_time()
        if case.d <= _SOLVED_UP_TO:
            _ask(model.predict(data.phi[:_STATES], confidence=0.95))
        asked.append(seconds + time.process_time() - start)
    ratio = [median(b / a for a, b in zip(plain[1:], x[1:], strict=True)) for x in (summed, asked)]
    return {
        "case": str(case),
        "transitions": len(data),
        "ns without": 1e9 * median(plain[1:]) / len(data),
        "ns with": 1e9 * median(summed[1:]) / len(data),
        "with over without": ratio[0],
        "in all": ratio[1] if case.d <= _SOLVED_UP_TO else None,
    }


def _pass(case: _Case, data: Transitions, *, statistics: bool) -> tuple[float, LinearCTD]:
    model = LinearCTD(
        grid=case.grid,
        gamma=_GAMMA,
        n_features=case.d,
        statistics=statistics,
    )
    start = time.process_time()
    model.fit(data)
    return time.process_time() - start, model


def _ask(dist: ReturnDistribution) -> None:
    dist.interval("mean")
    dist.interval("quantile", 0.05)
    dist.interval("cvar", 0.05)
    dist.interval("probability_below", float(dist.grid.atoms[dist.grid.intervals // 2]))
    dist.band(simultaneous=True)
