"""How errors grow with log(1/delta): constant steps beside polynomially decaying ones.

Thm whp_error_linear_ctd asks for T of order log(1/delta) + alpha log²(1/delta)/((1 − gamma) λ) with
a constant step; decaying steps are known to need log(1/delta) alone. Over many short runs, the
quantile of the squared error at 1 − delta, in units of its median, shows which. Runs start at the
fixed point, so that only noise is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lincat._typing import FloatArray
from lincat.data.transitions import Transitions
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.schedules import PolynomialDecay, StepSize
from lincat.processes import catalog
from lincat.solvers.exact import solve_categorical

DELTAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
_INTERVALS, _TRANSITIONS, _POWER = 8, 4096, 0.6


@dataclass(frozen=True)
class Tail:
    """A quantile of the squared error of one kind of step.

    Attributes
    ----------
    steps : str
    delta : float
    squared : float
        The quantile at 1 − delta of T ℓ2,mu².
    relative : float
        Over the median.
    """

    steps: str
    delta: float
    squared: float
    relative: float


def tails(runs: int) -> list[Tail]:
    """Return the quantiles of every kind of step, on the paper's process with ‖phi‖ ≤ 1."""
    problem = catalog.paper("unit_norm")
    Phi, grid = problem.Phi, problem.grid(_INTERVALS)
    star = solve_categorical(problem.process, Phi, grid, problem.gamma)
    Sigma = (Phi * problem.process.stationary[:, None]).T @ Phi
    kinds: dict[str, StepSize] = {  # R is 0.99
        "constant 1/R": 1.0,
        "constant 1/(4R)": 0.25,
        f"2 t^-{_POWER:g}/R": PolynomialDecay(2.0, _POWER),
    }
    squares: dict[str, FloatArray] = {name: np.empty(runs) for name in kinds}
    drawn = problem.process.sample(runs * _TRANSITIONS, seed=0, kind="generative")
    for run in range(runs):
        part = slice(run * _TRANSITIONS, (run + 1) * _TRANSITIONS)
        s, reward, after, _ = (x[part] for x in drawn)
        t = Transitions(Phi[s], reward, Phi[after])
        for name, step in kinds.items():
            model = LinearCTD(grid=grid, gamma=problem.gamma, step_size=step)
            gap = model.start_at(grid, star).fit(t).Theta_mean_ - star
            squares[name][run] = _TRANSITIONS * grid.spacing * np.sum(gap * (Sigma @ gap))
    found = []
    for name, values in squares.items():
        median = float(np.median(values))
        for delta in DELTAS:
            quantile = float(np.quantile(values, 1.0 - delta))
            found.append(Tail(name, delta, quantile, quantile / median))
    return found
