"""How loose the paper's bounds are: constants fitted on the catalog, tried on other processes.

Every bound is a sum of terms times a universal constant that the paper hides. On each process of
the catalog the error of tail averages is measured over runs, at steps within the theorem's range;
the smallest constant that covers all of them is the *fitted* one. On processes that were not used
it covers or it does not, and how far it is above what is measured is its looseness.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.core.metrics import wasserstein
from lincat.core.representation import cdf_from_theta
from lincat.data.transitions import Transitions
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.linear_pmf import LinearPMF
from lincat.learners.linear_td import LinearTD
from lincat.processes import catalog
from lincat.processes.finite import Sampling
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical, solve_value
from lincat.theory import bounds
from lincat.theory.asymptotic import mixing_time
from lincat.theory.constants import error_constants
from lincat.theory.mean_update import mean_update
from lincat.theory.setting import Bound, Setting

DELTA, P = 0.1, 4.0


@dataclass(frozen=True)
class Sizes:
    """How much is run: lengths at which the window of an average is exactly T/2 .. T."""

    lengths: tuple[int, ...] = (1024, 16_384, 131_072)
    runs: int = 8
    fitted: int = 96  # random processes beside the named ones of the catalog
    held_out: int = 20


QUICK = Sizes(lengths=(1024, 4096), runs=4, fitted=1, held_out=2)


@dataclass(frozen=True)
class Measured:
    """One bound beside one measurement.

    Attributes
    ----------
    label, process : str
    transitions : int
    ratio : float
        The constant that this measurement asks for: error over the terms, or T over them.
    """

    label: str
    process: str
    transitions: int
    ratio: float


# ---------------------------------------------------------------------------------- processes


def fitting_problems(count: int) -> list[Problem]:
    """Return the problems of the catalog that settle, and some random ones."""
    named = [_prepared(catalog.build(name)) for name in ("paper_unit_norm", "uniform_coin")]
    named += [_prepared(catalog.boyan_chain()), _prepared(catalog.frozen_lake())]
    return [*named, *(random_problem(1000 + seed) for seed in range(count))]


def held_out_problems(count: int) -> list[Problem]:
    """Return random problems that no constant was fitted on."""
    return [random_problem(3000 + seed) for seed in range(count)]


def random_problem(seed: int) -> Problem:
    """Return a random process: 2 to 12 states, a table or features, gamma from 0.3 to 0.95."""
    rng = np.random.default_rng(seed)
    states = int(rng.integers(2, 13))
    d = None if rng.random() < 0.3 else int(rng.integers(1, min(states, 5) + 1))
    problem = catalog.random_process(
        states,
        n_features=d,
        branching=int(rng.integers(2, 5)),
        gamma=float(rng.choice([0.3, 0.5, 0.7, 0.8, 0.9, 0.95])),
        seed=seed,
    )
    return _prepared(replace(problem, name=f"random {seed}"))


def _prepared(problem: Problem) -> Problem:
    """The problem with dense features that are independent on the states visited, ‖phi‖ ≤ 1."""
    Phi = problem.Phi.toarray() if scipy.sparse.issparse(problem.Phi) else problem.Phi
    mu = problem.process.stationary
    used = (mu[:, None] * Phi**2).sum(axis=0) > 0.0
    Phi = Phi[:, used]
    seen = mu > 0.0
    return replace(problem, Phi=Phi / max(1.0, float(np.linalg.norm(Phi[seen], axis=1).max())))


# ------------------------------------------------------------------------------- measurements


def measure(problem: Problem, sizes: Sizes) -> Iterator[Measured]:
    """Yield the constant that every bound needs on this problem, at every length."""
    arena = _Arena(problem)
    # In all ranges, as the T of a theorem stays below delta² e^40.
    common = (1.0 - math.sqrt(problem.gamma)) / (38.0 * 40.0)
    large = 0.9 * bounds.largest_step(arena.setting)
    for step in (common, large):
        losses, residuals = arena.losses(LinearCTD, step, sizes)
        for i, T in enumerate(sizes.lengths):
            yield from arena.of_length(losses[:, i], residuals[:, i], step, T, whole=step == common)
    walks, _ = arena.losses(LinearCTD, common, sizes, kind="markov")
    pmf_step = 0.9 * large / problem_intervals(problem) ** 2
    masses, _ = arena.losses(LinearPMF, pmf_step, sizes)
    values = arena.value_errors(large, sizes)
    slow_values = arena.value_errors(0.9 * bounds.instance_step(arena.td), sizes)
    for i, T in enumerate(sizes.lengths):
        tail = float(np.quantile(walks[:, i], 1.0 - DELTA))
        place = {"error": tail, "delta": DELTA, "step": common}
        yield arena.size(bounds.markov_sample_size(arena.setting, **place), T)
        bound = bounds.l2_error_pmf(arena.setting, step=pmf_step, transitions=T)
        yield arena.error(bound, _rms(masses[:, i]), T)
        bound = bounds.l2_error_td(arena.td, step=large, transitions=T)
        yield arena.error(bound, _rms(values[:, i]), T)
        yield arena.size(bounds.sample_size_td(arena.td, error=_rms(slow_values[:, i])), T)


def problem_intervals(problem: Problem) -> int:
    """Return K: the least that theorems take, and no fewer than 8."""
    return max(math.ceil(1.0 / (1.0 - problem.gamma) - 1e-9), 8)


class _Arena:
    """A problem with its fixed point and its setting."""

    def __init__(self, problem: Problem) -> None:
        process, Phi, gamma = problem.process, problem.Phi, problem.gamma
        self.problem = problem
        self.grid: Grid = problem.grid(problem_intervals(problem))
        place = (process, Phi, self.grid, gamma)
        self.star = solve_categorical(*place)
        self.exact = ReturnDistribution(cdf_from_theta(Phi, self.star), self.grid)
        self.update = mean_update(*place)
        width = self.grid.high - self.grid.low
        self.setting = Setting.of(
            error_constants(*place, self.star), width=width, mixing_time=mixing_time(process)
        )
        self.psi = solve_value(process, Phi, gamma)
        low, high = process.reward_range
        # Rewards in [0, 1] have values as large as in the paper's units.
        unit = max(abs(low), abs(high), 1e-12)
        norm = math.sqrt(float(self.psi @ self.update.Sigma @ self.psi))
        start = float(np.linalg.norm(self.psi))
        self.td = replace(self.setting, norm_V1=norm / unit, norm_V2=start / unit, unit=unit)

    def losses(
        self,
        kind_of: type[LinearCTD] | type[LinearPMF],
        step: float,
        sizes: Sizes,
        kind: Sampling = "generative",
    ) -> tuple[FloatArray, FloatArray]:
        """W1,mu and ‖Ā(θ − θ*)‖ of the tail average, (runs, lengths)."""
        losses, residuals = np.empty((2, sizes.runs, len(sizes.lengths)))
        for seed in range(sizes.runs):
            model = kind_of(grid=self.grid, gamma=self.problem.gamma, step_size=step)
            for i, part in enumerate(self._parts(sizes.lengths, seed, kind)):
                Theta = model.partial_fit(part).Theta_mean_
                found = ReturnDistribution(cdf_from_theta(self.problem.Phi, Theta), self.grid)
                weights = self.problem.process.stationary
                losses[seed, i] = float(wasserstein(found, self.exact, weights=weights))
                residual = self.update.matrix @ (Theta - self.star).ravel()
                residuals[seed, i] = float(np.linalg.norm(residual))
        return losses, residuals

    def value_errors(self, step: float, sizes: Sizes) -> FloatArray:
        """‖V − V*‖_mu of Linear-TD, (runs, lengths)."""
        errors = np.empty((sizes.runs, len(sizes.lengths)))
        for seed in range(sizes.runs):
            model = LinearTD(gamma=self.problem.gamma, step_size=step)
            for i, part in enumerate(self._parts(sizes.lengths, seed, "generative")):
                gap = model.partial_fit(part).psi_mean_ - self.psi
                errors[seed, i] = math.sqrt(float(gap @ self.update.Sigma @ gap))
        return errors

    def _parts(self, lengths: Sequence[int], seed: int, kind: Sampling) -> Iterator[Transitions]:
        drawn = self.problem.process.sample(lengths[-1], seed=seed, kind=kind)
        Phi = self.problem.Phi
        for begin, end in zip((0, *lengths), lengths, strict=False):
            s, r, after, ended = (x[begin:end] for x in drawn)
            yield Transitions(Phi[s], r, Phi[after], ended)

    def of_length(
        self, losses: FloatArray, residuals: FloatArray, step: float, T: int, *, whole: bool
    ) -> Iterator[Measured]:
        """What the theorems on Linear-CTD need; those with smaller steps only if ``whole``."""
        setting = self.setting
        bound = bounds.l2_error(setting, step=step, transitions=T)
        yield self.error(bound, _rms(losses), T)
        bound = bounds.residual_error(setting, step=step, transitions=T)
        yield self.error(bound, _rms(residuals), T)
        yield self.size(bounds.sample_size(setting, error=_rms(losses), step=step), T)
        if whole:
            mean = float(np.mean(losses**P) ** (1.0 / P))
            bound = bounds.lp_error(setting, step=step, transitions=T, p=P)
            yield self.error(bound, mean, T)
            tail = float(np.quantile(losses, 1.0 - DELTA))
            bound = bounds.whp_sample_size(setting, error=tail, delta=DELTA, step=step)
            yield self.size(bound, T)

    def error(self, bound: Bound, measured: float, T: int) -> Measured:
        """The constant with which a bound on the error is what was measured."""
        return self._row(bound, T, measured / bound.total)

    def size(self, bound: Bound, T: int) -> Measured:
        """The constant with which a sample size is the one that reached this error."""
        return self._row(bound, T, T / bound.total)

    def _row(self, bound: Bound, T: int, ratio: float) -> Measured:
        assert bound.violations == (), (self.problem.name, bound.label, bound.violations)
        return Measured(bound.label, self.problem.name, T, ratio)


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


# ----------------------------------------------------------------------------------- constants


def fitted(rows: Iterable[Measured]) -> dict[str, float]:
    """Return the smallest constants that cover these rows, rounded up to two digits."""
    largest: dict[str, float] = {}
    for row in rows:
        largest[row.label] = max(largest.get(row.label, 0.0), row.ratio)
    return {label: _rounded_up(value) for label, value in largest.items()}


def _rounded_up(value: float) -> float:
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / digit - 1e-9) * digit:.2g}")
