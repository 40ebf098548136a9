"""Whether plans hold: the share of runs that reach the target with the planned transitions.

Six processes, each planned for from the process itself or from a sample of it; every learner gets
the number of transitions that its row of the plan says, along walks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.metrics import wasserstein
from lincat.core.representation import cdf_from_theta
from lincat.data.transitions import Transitions
from lincat.evidence.looseness import random_problem
from lincat.inference.planning import SamplePlan, plan_model, plan_problem
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.variance_reduced_ctd import VarianceReducedCTD
from lincat.processes import catalog
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical

CONFIDENCE = 0.95
_SAMPLE, _SAMPLE_SEED = 5_000, 10**6  # the sample is none of the runs


@dataclass(frozen=True)
class Case:
    """A process and a target error: about two hundredths of the range of its returns."""

    problem: Problem
    error: float


CASES = (
    Case(catalog.paper(), 0.05),
    Case(catalog.paper("unit_norm"), 0.05),
    Case(catalog.uniform_coin(), 0.02),
    Case(catalog.boyan_chain(), 0.3),
    Case(catalog.frozen_lake(), 0.02),
    Case(catalog.random_process(20, n_features=6, gamma=0.9, seed=3), 0.1),
)


def other_cases(count: int) -> list[Case]:
    """Return random processes that no factor was chosen on; targets two hundredths of the grid."""
    problems = [random_problem(4000 + number) for number in range(count)]
    grids = [problem.grid(1) for problem in problems]
    return [Case(p, 0.02 * (g.high - g.low)) for p, g in zip(problems, grids, strict=True)]


@dataclass(frozen=True)
class Reached:
    """What came of one row of one plan.

    Attributes
    ----------
    process, planned_from, learner : str
    transitions, least : int
        Planned, and the least possible by the exact asymptotic row.
    share : float
        Of runs whose error was below the target.
    runs : int
    """

    process: str
    planned_from: str
    learner: str
    transitions: int
    least: int
    share: float
    runs: int

    @property
    def holds(self) -> bool:
        """Whether the share is as promised, and the number within ten times the least."""
        return self.share >= CONFIDENCE and self.transitions <= 10 * self.least


def check_case(case: Case, runs: int, *, from_sample: bool) -> Iterator[Reached]:
    """Plan, learn as planned, and count."""
    problem, exact_plan = case.problem, plan_problem(case.problem, error=case.error)
    Phi = problem.Phi.toarray() if scipy.sparse.issparse(problem.Phi) else problem.Phi
    plan = _from_sample(case, Phi) if from_sample else exact_plan
    grid = exact_plan.grid if plan.grid is None or from_sample else plan.grid
    assert grid is not None
    used = problem.process.stationary @ Phi**2 > 0.0
    star = solve_categorical(problem.process, Phi[:, used], grid, problem.gamma)
    exact = ReturnDistribution(cdf_from_theta(Phi[:, used], star), grid)
    makers = (LinearCTD, VarianceReducedCTD, CategoricalLSTD)
    for need, make in zip(plan.needs[:3], makers, strict=True):
        reached = 0
        for seed in range(runs):
            t = _walk(problem, Phi[:, used], need.transitions, seed)
            model = make(grid=grid, gamma=problem.gamma).fit(t)
            found = model.predict(Phi[:, used])
            away = float(wasserstein(found, exact, weights=problem.process.stationary))
            reached += away <= case.error
        yield Reached(
            process=problem.name,
            planned_from="a sample" if from_sample else "the process",
            learner=make.__name__,
            transitions=need.transitions,
            least=exact_plan.least,
            share=reached / runs,
            runs=runs,
        )


def _from_sample(case: Case, Phi: FloatArray) -> SamplePlan:
    t = _walk(case.problem, Phi, _SAMPLE, _SAMPLE_SEED)
    return plan_model(CategoricalLSTD(gamma=case.problem.gamma).fit(t), error=case.error)


def _walk(problem: Problem, Phi: FloatArray, n: int, seed: int) -> Transitions:
    s, reward, after, ended = problem.process.sample(n, seed=seed)
    return Transitions(np.ascontiguousarray(Phi[s]), reward, Phi[after], ended)
