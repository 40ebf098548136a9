"""Many independent runs at once: step sizes x grids x seeds, each with its error curve.

A run is one learner on one stream. Its loops are compiled and leave the interpreter alone, so runs
proceed side by side, one thread a core. Rows come out in the order of the settings, whatever the
number of threads, and do not depend on it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy as np

from lincat._arguments import check_choice, check_indices, check_integer, fail
from lincat._text import shown
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.core.metrics import cramer, wasserstein
from lincat.core.representation import cdf_from_theta
from lincat.data.transitions import Transitions
from lincat.learners._base import Learner
from lincat.learners._batch import BatchLearner
from lincat.learners.divergence import DivergenceError
from lincat.processes.finite import MarkovRewardProcess, Sampling
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical, solve_value

_CHUNK = 65_536  # transitions drawn at once

_AnyLearner: TypeAlias = Learner[Any] | BatchLearner


class SweepRow(TypedDict, total=False):
    """A row of an error curve; the last three where the truth is known."""

    step_size: Any
    intervals: int | None
    seed: int | None
    updates: int
    transitions: int
    diverged: bool
    cramer: float
    wasserstein: float
    value_error: float


def sweep(
    learner: _AnyLearner,
    source: Problem | MarkovRewardProcess | Transitions,
    *,
    step_size: Sequence[Any] | None = None,
    intervals: Sequence[int] | None = None,
    seed: Iterable[int] = (0,),
    updates: int | None = None,
    batch_size: int = 1,
    kind: Sampling = "generative",
    checkpoints: Sequence[int] | None = None,
    threads: int | None = None,
) -> Iterator[SweepRow]:
    """Run a learner for every combination of settings; yield rows of its error curve.

    Parameters
    ----------
    learner : learner of any kind
        Its hyper-parameters, except for those swept over; it is not changed itself.
    source : Problem, MarkovRewardProcess or Transitions
        A known process, from which each seed draws a stream of its own (a process without features
        is a table); or one stream for all, without a seed.
    step_size, intervals : lists, optional
        Values of ``step_size``, and numbers K of intervals of the learner's grid. Learners from
        sums (LSTD, CategoricalLSTD) have no step size, and solve at each checkpoint.
    seed : iterable of int
        One run each.
    updates : int, optional
        Length of each run in updates; all of the transitions by default.
    batch_size : int
        Transitions per update.
    kind : "generative" or "markov"
        How to draw from a process.
    checkpoints : list of int, optional
        Updates after which to report; by default about ten a decade, and the end.
    threads : int, optional
        Runs at a time; as many as there are cores by default.

    Yields
    ------
    SweepRow
        A dictionary of ``step_size``, ``intervals``, ``seed``, ``updates``, ``transitions`` and
        ``diverged``, and for a known process the distance of ``predict`` to the exact fixed point,
        weighted by the stationary distribution: ``cramer`` and ``wasserstein`` (ℓ2,mu and W1,mu),
        or ``value_error`` for learners of means. A run that diverges ends with a row that says so.

    Examples
    --------
    >>> import lincat
    >>> problem = lincat.catalog.paper()
    >>> learner = lincat.LinearCTD(grid=problem.grid(30), gamma=problem.gamma)
    >>> rows = list(lincat.sweep(learner, problem, step_size=[0.1, 3.0], seed=[1, 2],
    ...                          updates=2000, checkpoints=[2000]))
    >>> [(row["step_size"], row["seed"], row["diverged"]) for row in rows]
    [(0.1, 1, False), (0.1, 2, False), (3.0, 1, True), (3.0, 2, True)]
    """
    check_choice(kind, "kind", ("generative", "markov"))
    batch_size = check_integer(batch_size, "batch_size", low=1)
    if step_size is not None and isinstance(learner, BatchLearner):
        name = type(learner).__name__
        raise fail("step_size", f"none, as {name} has no steps", shown(step_size), "leave it out")
    if isinstance(source, MarkovRewardProcess):
        source = Problem("process", source, gamma=learner.gamma)
    seeds: list[int | None] = [check_integer(s, "seed", low=0) for s in seed]
    if isinstance(source, Transitions):
        seeds = [None]
        updates = -(-len(source) // batch_size) if updates is None else updates
    elif not isinstance(source, Problem):
        raise fail("source", "a Problem, a MarkovRewardProcess or Transitions", type(source))
    if updates is None:
        raise fail("updates", "the length of a run, as a process never ends", None)
    length = check_integer(updates, "updates", low=1)
    stops = _stops(checkpoints, length)

    truths = {}
    runs = []
    for K in [None] if intervals is None else intervals:
        template = learner.clone()
        if K is not None:
            template.set_params(grid=_with_intervals(learner, K))
        truths[K] = _Truth.of(template, source)
        for alpha, s in itertools.product([None] if step_size is None else step_size, seeds):
            one = template.clone()
            if alpha is not None:
                one.set_params(step_size=alpha)
            runs.append((one, truths[K], s))

    def rows(run: tuple[_AnyLearner, _Truth | None, int | None]) -> list[SweepRow]:
        one, truth, s = run
        return list(_run(one, source, truth, s, length, batch_size, kind, stops))

    workers = os.cpu_count() or 1 if threads is None else check_integer(threads, "threads", low=1)
    with ThreadPoolExecutor(workers) as pool:
        for result in pool.map(rows, runs):
            yield from result


@dataclass(frozen=True)
class _Truth:
    """The exact fixed point of a problem, and how far a prediction is from it."""

    Phi: Any
    weights: FloatArray
    fixed_point: ReturnDistribution | FloatArray

    @classmethod
    def of(cls, learner: _AnyLearner, source: Problem | Transitions) -> _Truth | None:
        if isinstance(source, Transitions):
            return None
        process, Phi = source.process, source.Phi
        if learner.grid is None:
            value = Phi @ solve_value(process, Phi, learner.gamma)
            return cls(Phi, process.stationary, value)
        grid = learner.grid
        if not isinstance(grid, Grid):
            raise fail("grid", "a lincat.Grid, to compare runs on", repr(grid))
        Theta = solve_categorical(process, Phi, grid, learner.gamma)
        distribution = ReturnDistribution(cdf_from_theta(Phi, Theta), grid)
        return cls(Phi, process.stationary, distribution)

    def errors(self, learner: _AnyLearner) -> SweepRow:
        found = learner.predict(self.Phi)
        if isinstance(self.fixed_point, ReturnDistribution):
            return {
                "cramer": float(cramer(found, self.fixed_point, weights=self.weights)),
                "wasserstein": float(wasserstein(found, self.fixed_point, weights=self.weights)),
            }
        return {"value_error": float(np.sqrt(self.weights @ (found - self.fixed_point) ** 2))}


def _run(
    learner: _AnyLearner,
    source: Problem | Transitions,
    truth: _Truth | None,
    seed: int | None,
    updates: int,
    batch_size: int,
    kind: Sampling,
    stops: list[int],
) -> Iterator[SweepRow]:
    """One run: learn up to each stop, and report."""
    grid = learner.grid
    settings: SweepRow = {
        "step_size": None if isinstance(learner, BatchLearner) else learner.step_size,
        "intervals": grid.intervals if isinstance(grid, Grid) else None,
        "seed": seed,
    }
    stream = _Stream(_pieces(source, seed, kind, updates * batch_size, batch_size))
    done = 0
    for stop in stops:
        try:
            for part in stream.take((stop - done) * batch_size):
                learner.partial_fit(part, batch_size=batch_size)
        except DivergenceError as error:
            seen = error.transition
            row = SweepRow(updates=seen // batch_size, transitions=seen, diverged=True)
            yield {**settings, **row}
            return
        done = stop
        errors = SweepRow() if truth is None else truth.errors(learner)
        row = SweepRow(updates=stop, transitions=learner.n_seen_, diverged=False)
        yield {**settings, **row, **errors}


class _Stream:
    """Transitions taken from a sequence of pieces, as many at a time as are wanted."""

    def __init__(self, pieces: Iterator[Transitions]) -> None:
        self._pieces = pieces
        self._left = next(pieces)

    def take(self, n: int) -> Iterator[Transitions]:
        while n > 0:
            if len(self._left) == 0:
                self._left = next(self._pieces)
            part = self._left[:n]
            self._left = self._left[n:]
            n -= len(part)
            yield part


def _pieces(
    source: Problem | Transitions, seed: int | None, kind: Sampling, n: int, batch_size: int
) -> Iterator[Transitions]:
    """The stream of one run, drawn as it is needed, in pieces that end between batches."""
    if isinstance(source, Transitions):
        yield source
        return
    Phi = np.arange(source.process.n_states) if source.is_tabular else source.Phi
    size = max(_CHUNK // batch_size, 1) * batch_size
    for drawn in source.process.stream(n, seed=seed or 0, kind=kind, chunk=size):
        yield Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state], drawn.terminated)


def _with_intervals(learner: _AnyLearner, K: int) -> Grid:
    grid = learner.grid
    if not isinstance(grid, Grid):
        raise fail("intervals", "a learner with a lincat.Grid", repr(grid))
    return Grid(grid.low, grid.high, K)


def _stops(checkpoints: Sequence[int] | None, updates: int) -> list[int]:
    if checkpoints is None:
        decades = np.arange(0, 10 * np.log10(updates)) / 10
        return sorted({*(10**decades).astype(int).tolist(), updates})
    stops = check_indices(np.asarray(checkpoints), "checkpoints")
    if len(stops) == 0 or (np.diff(stops) <= 0).any() or not 1 <= stops[0] <= stops[-1] <= updates:
        raise fail("checkpoints", f"increasing numbers of updates in [1, {updates}]", checkpoints)
    return [int(s) for s in stops]
