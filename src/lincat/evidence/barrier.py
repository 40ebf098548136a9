"""The sample-size barrier: mean squares of learners over the least that is possible.

A ratio is N E[ℓ2,mu²] over iota tr(Sigma Ā⁻¹ S Ā⁻ᵀ). Few directions make up most of the error, so a
plain mean over runs is known to a tenth only; most of its noise is that of the first term of every
such error, Ā⁻¹ times the mean score of the data, whose mean square *is* the limit, and which
therefore serves as a control: that of all transitions, and that of the second half, with twice the
limit, where its iterates are averaged. How much of each is taken off, a regression says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from lincat._typing import FloatArray
from lincat.core.bellman import bellman_target
from lincat.core.representation import cdf_from_theta
from lincat.data.transitions import Transitions
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.variance_reduced_ctd import VarianceReducedCTD
from lincat.processes import catalog
from lincat.processes.finite import Sampling
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical
from lincat.theory.asymptotic import asymptotic_error
from lincat.theory.mean_update import mean_update


@dataclass(frozen=True)
class Barrier:
    """A process with a small lambda_min, and how many transitions are too few for an average."""

    name: str
    problem: Problem
    transitions: int
    kind: Sampling


#: The paper's process with ‖phi‖ ≤ 1 has lambda_min = 0.0102, the random one 0.0028.
_PAPER = replace(catalog.paper("unit_norm"), gamma=0.9)
_RANDOM = catalog.random_process(30, n_features=12, gamma=0.95, seed=5)
BARRIERS = (
    Barrier("paper, gamma 0.9, a walk", _PAPER, 10_000, "markov"),
    Barrier("12 features, gamma 0.95", _RANDOM, 16_000, "generative"),
    Barrier("12 features, gamma 0.95, a walk", _RANDOM, 16_000, "markov"),
)
INTERVALS = 20
#: Constant steps, times the largest ‖phi‖².
STEPS = tuple(2.0**-j for j in range(1, 8))


@dataclass(frozen=True)
class Mean:
    """A mean over runs and its standard error."""

    mean: float
    error: float


def ratios(barrier: Barrier, seeds: Iterable[int]) -> dict[str, Mean]:
    """Return the ratio of each learner.

    Constant steps with the paper's tail average, over the iterates T/2 .. T; Linear-CTD's automatic
    step; the batch solution; and variance reduction.
    """
    problem, n, kind = barrier.problem, barrier.transitions, barrier.kind
    process, Phi, gamma, grid = problem.process, problem.Phi, problem.gamma, problem.grid(INTERVALS)
    place = (process, Phi, grid, gamma)
    star = solve_categorical(*place)
    limits = asymptotic_error(*place, star)
    limit = limits.independent if kind == "generative" else limits.walk
    update, cdf = mean_update(*place), cdf_from_theta(Phi, star)
    longest = float((Phi**2).sum(axis=1).max())

    def ratio(difference: FloatArray) -> float:
        return n * grid.spacing * float(np.sum(difference * (update.Sigma @ difference))) / limit

    found: dict[str, list[float]] = {}
    known: list[list[float]] = []
    for seed in seeds:
        drawn = process.sample(n, seed=seed, kind=kind)
        t = Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state], drawn.terminated)
        target = bellman_target(cdf[drawn.next_state], drawn.reward, t.discounts(gamma), grid)
        controls = []
        for begin in (0, n // 2):
            score = t.phi[begin:].T @ (target - cdf[drawn.state])[begin:] / (n - begin)
            controls.append(ratio(update.solve(score[None])[0]) - n / (n - begin))
        learned = {
            f"step {step:g}/R": LinearCTD(grid=grid, gamma=gamma, step_size=step / longest)
            for step in STEPS
        }
        learned["auto"] = LinearCTD(grid=grid, gamma=gamma)
        reduced = VarianceReducedCTD(grid=grid, gamma=gamma)
        thetas = {name: model.fit(t).Theta_mean_ for name, model in learned.items()}
        thetas["CategoricalLSTD"] = CategoricalLSTD(grid=grid, gamma=gamma).fit(t).Theta_
        thetas["VarianceReducedCTD"] = reduced.fit(t).Theta_mean_
        known.append(controls)
        for name, Theta in thetas.items():
            found.setdefault(name, []).append(ratio(Theta - star))
    return {name: controlled(np.array(x), np.array(known)) for name, x in found.items()}


def controlled(values: FloatArray, controls: FloatArray) -> Mean:
    """Return the mean of values (n,) less what controls (n, m), whose means are zero, explain.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.evidence.barrier import controlled
    >>> noise = np.array([[1.0], [-2.0], [0.5], [3.0]])
    >>> controlled(2.0 + 3.0 * noise[:, 0], noise).mean.__round__(9)
    2.0
    """
    design = np.column_stack([np.ones(len(values)), controls])
    weights = np.linalg.lstsq(design, values, rcond=None)[0]
    left = values - design @ weights
    free = max(len(values) - design.shape[1], 1)
    return Mean(float(weights[0]), float(np.sqrt((left @ left) / free / len(values))))
