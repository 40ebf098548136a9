"""Experiments that the paper does not have: where its theory can be seen, and where it ends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lincat.learners.linear_ctd import LinearCTD
from lincat.paper.experiments import Row, Unit, iterations_to_target
from lincat.paper.settings import RULES, Settings
from lincat.paper.trials import Arena
from lincat.processes import catalog
from lincat.processes.finite import Sampling
from lincat.processes.problem import Problem
from lincat.runs.sweep import sweep
from lincat.solvers.exact import solve_categorical
from lincat.theory import bounds
from lincat.theory.constants import error_constants
from lincat.theory.setting import Setting


def beyond_units(settings: Settings) -> list[Unit]:
    """Return the units of everything that goes beyond the paper."""
    paper = catalog.paper(settings.process)
    walks = 0.05 + settings.markov_seeds * settings.markov_updates / 6e6
    units = [
        Unit(
            "bound",
            f"{T}",
            ("bound",),
            0.05 + T * settings.bound_seeds / 8e6,
            _Bound(settings, T).rows,
        )
        for T in settings.bound_lengths
    ]
    for rule in RULES:
        slow = rule == "pmf"
        for K in settings.large_intervals:
            seeds = settings.large_seeds
            cost = seeds * (K + 500) * (1.1e-3 if slow else 4e-4)
            rows = _Rate(settings, paper, rule, K, seeds, settings.error_target).rows
            units.append(Unit("large_K", f"{rule}-{K}", ("large_K",), cost, rows))
        for gamma in settings.gammas:
            K, seeds = settings.gamma_intervals, settings.gamma_seeds
            cost = seeds * (K + 150) * (8e-4 * (1 + gamma**-4) if slow else 6e-4)
            problem = replace(paper, gamma=gamma)
            rows = _Rate(settings, problem, rule, K, seeds, settings.error_target).rows
            units.append(Unit("gammas", f"{rule}-{gamma:g}", ("gammas",), cost, rows))
        for K in settings.random_intervals:
            cost = settings.random_seeds * (K + 30) * 1.8e-3 if slow else 0.3
            rows = _Rate(
                settings,
                _random_problem(settings),
                rule,
                K,
                settings.random_seeds,
                settings.random_target,
                step_intervals=min(K, 30) if rule == "ctd" else K,
            ).rows
            units.append(Unit("random_process", f"{rule}-{K}", ("random_process",), cost, rows))
    kinds: tuple[Sampling, ...] = ("generative", "markov")
    for kind in kinds:
        for step in settings.markov_steps:
            rows = _Walk(settings, kind, step).rows
            units.append(Unit("markov", f"{kind}-{step:g}", ("markov",), walks, rows))
    return units


def _random_problem(settings: Settings) -> Problem:
    return catalog.random_process(
        settings.random_states,
        branching=settings.random_branching,
        gamma=settings.random_gamma,
        seed=settings.seed + 1,
    )


@dataclass(frozen=True)
class _Rate:
    """The maximum step of an algorithm, and the iterations that it needs at a share of it."""

    settings: Settings
    problem: Problem
    rule: str
    K: int
    seeds: int
    target: float
    #: The K to compute the maximum step for, if not this one: Linear-CTD's hardly depends on it.
    step_intervals: int | None = None

    def rows(self) -> Iterator[Row]:
        settings = self.settings
        arena = Arena(self.problem, self.K, settings.batch_size)
        same = self.step_intervals in (None, self.K)
        measured = arena if same else Arena(self.problem, self.step_intervals or self.K)
        largest = measured.max_step(self.rule)
        for replicate in range(self.seeds):
            count = iterations_to_target(
                arena,
                self.rule,
                settings.step_share * largest,
                "full",
                replicate,
                settings,
                self.target,
            )
            yield {
                "rule": self.rule,
                "K": self.K,
                "gamma": self.problem.gamma,
                "max_step": largest,
                "target": self.target,
                "replicate": replicate,
                "iterations": count,
            }


@dataclass(frozen=True)
class _Bound:
    """Measured error and theorem for one length of the run, T."""

    settings: Settings
    T: int

    def rows(self) -> Iterator[Row]:
        settings, T = self.settings, self.T
        problem = catalog.paper("unit_norm")
        process, Phi, gamma = problem.process, problem.Phi, problem.gamma
        grid = problem.grid(settings.bound_intervals)
        Theta = solve_categorical(process, Phi, grid, gamma)
        constants = error_constants(process, Phi, grid, gamma, Theta)
        step = 0.999 * (1.0 - math.sqrt(gamma)) / 76.0  # the theorem wants less than this / 0.999
        bound = bounds.l2_error(Setting.of(constants), step=step, transitions=T).total
        learner = LinearCTD(grid=grid, gamma=gamma, step_size=step, horizon=T)
        seeds = _seeds(settings, settings.bound_seeds)
        for row in sweep(learner, problem, seed=seeds, updates=T, checkpoints=[T], threads=1):
            yield {
                "T": T,
                "step": step,
                "seed": row["seed"],
                "wasserstein": row["wasserstein"],
                "bound": bound,
            }


@dataclass(frozen=True)
class _Walk:
    """Linear-CTD on one walk, or on independent transitions."""

    settings: Settings
    kind: Sampling
    step: float

    def rows(self) -> Iterator[Row]:
        settings = self.settings
        problem = catalog.paper(settings.process)
        learner = LinearCTD(
            grid=problem.grid(settings.markov_intervals), gamma=problem.gamma, step_size=self.step
        )
        found = sweep(
            learner,
            problem,
            seed=_seeds(settings, settings.markov_seeds),
            updates=settings.markov_updates,
            kind=self.kind,
            threads=1,
        )
        for row in found:
            if row["updates"] >= 100:
                yield {
                    "kind": self.kind,
                    "step": self.step,
                    "seed": row["seed"],
                    "iterations": row["updates"],
                    "wasserstein": row["wasserstein"],
                }


def _seeds(settings: Settings, count: int) -> range:
    return range(1000 * settings.seed, 1000 * settings.seed + count)
