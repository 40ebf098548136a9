"""One run of one algorithm on a known process, and the errors that the paper plots.

A mini-batch of B independent transitions of a process with few outcomes holds most of them several
times. The mean of its updates, all taken at the same Theta, is

    Σ_o (count_o / B) update_o,     counts ~ Multinomial(B, mu(s_o) p_o),

so drawing the counts, and giving each outcome its weight, is the same distribution for less work.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.metrics import wasserstein
from lincat.core.representation import cdf_from_theta
from lincat.data.transitions import Transitions
from lincat.learners.divergence import DivergenceError
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.linear_pmf import LinearPMF
from lincat.processes.expected_bellman import ExpectedBellman
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical
from lincat.theory.stability import max_step_size

_LEARNERS = {"ctd": LinearCTD, "pmf": LinearPMF}
_CHUNK = 2000  # updates drawn at once


class Batches:
    """Mini-batches of independent transitions; any split into calls draws the same."""

    def __init__(self, problem: Problem, batch_size: int, seed: tuple[int, ...]) -> None:
        process = problem.process
        # A table is learned by the number of the state.
        self._Phi = np.arange(process.n_states) if problem.is_tabular else problem.Phi
        self._process = process
        self._chance = process.stationary[process.state] * process.probability
        self._chance /= self._chance.sum()
        self._random = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed)))
        self._batch_size = batch_size
        self._counted = len(self._chance) < batch_size
        #: Transitions per update as they are handed to a learner.
        self.size = len(self._chance) if self._counted else batch_size

    def take(self, updates: int) -> Transitions:
        """Return the transitions of the next updates, ``size`` each."""
        process, Phi, weight = self._process, self._Phi, None
        if self._counted:
            counts = self._random.multinomial(self._batch_size, self._chance, size=updates)
            weight = counts.ravel() * (self.size / self._batch_size)
            rows = np.tile(np.arange(self.size), updates)
        else:
            uniform = self._random.random(updates * self.size)
            rows = np.searchsorted(np.cumsum(self._chance)[:-1], uniform, side="right")
        return Transitions(
            Phi[process.state[rows]],
            process.reward[rows],
            Phi[process.next_state[rows]],
            process.terminated[rows],
            weight=weight,
        )


class Arena:
    """A problem on a grid of K intervals, with its fixed point to compare with."""

    def __init__(self, problem: Problem, intervals: int, batch_size: int = 25) -> None:
        self.problem, self.grid, self.batch_size = problem, problem.grid(intervals), batch_size
        self.star = solve_categorical(problem.process, problem.Phi, self.grid, problem.gamma)
        Phi = problem.Phi.toarray() if scipy.sparse.issparse(problem.Phi) else problem.Phi
        self._Phi: FloatArray = Phi
        self._weighted = (Phi * problem.process.stationary[:, None]).T
        self._Sigma = self._weighted @ Phi
        self._bellman = ExpectedBellman(problem.process, self.grid, problem.gamma)

    def error(self, Theta: FloatArray) -> float:
        """‖θ − θ*‖²/K in the norm of I ⊗ Sigma, which the figures plot: (1 − gamma) ℓ2,mu²."""
        gap = Theta - self.star
        return float(np.sum(gap * (self._Sigma @ gap)) / self.grid.intervals)

    def loss(self, Theta: FloatArray) -> float:
        """W1,mu to the fixed point, the left side of Lemma loss_bound_PMF."""
        found, exact = (
            ReturnDistribution(cdf_from_theta(self._Phi, x), self.grid) for x in (Theta, self.star)
        )
        return float(wasserstein(found, exact, weights=self.problem.process.stationary))

    def residual(self, Theta: FloatArray) -> float:
        """‖Ā_PMF (θ − θ*)‖/√K, the right side of Lemma loss_bound_PMF without its constants."""
        rows = self._Phi @ (Theta - self.star)
        change = self._weighted @ (rows - self._bellman.linear(rows))
        suffix = np.cumsum(change[:, ::-1], axis=1)[:, ::-1]
        stretched = np.cumsum(suffix, axis=1)  # times C Cᵀ
        return float(np.linalg.norm(stretched) / np.sqrt(self.grid.intervals))

    def max_step(self, rule: str, notion: str = "deterministic", seed: int = 0) -> float:
        """The noise-free maximum step size."""
        problem = self.problem
        return max_step_size(
            problem.process,
            problem.Phi,
            self.grid,
            problem.gamma,
            batch_size=self.batch_size,
            rule=rule,
            notion=notion,
            seed=seed,
        )

    def trial(
        self, rule: str, step_size: float, seed: tuple[int, ...], averaging: str = "full"
    ) -> Trial:
        """Return a run from Theta = 0 that has not begun."""
        return Trial(self, rule, step_size, seed, averaging)


class Trial:
    """A run that is advanced step by step; it says when it has diverged."""

    def __init__(
        self, arena: Arena, rule: str, step_size: float, seed: tuple[int, ...], averaging: str
    ) -> None:
        self._arena = arena
        self._learner = _LEARNERS[rule](
            grid=arena.grid,
            gamma=arena.problem.gamma,
            step_size=step_size,
            averaging=averaging,
            n_features=arena.problem.Phi.shape[1],
        )
        self._learner.recovers = False  # curves show where it led
        self._batches = Batches(arena.problem, arena.batch_size, seed)
        self.updates, self.diverged = 0, False
        self._ready: Transitions | None = None

    def advance(self, updates: int) -> bool:
        """Make that many updates; False if the parameters grew beyond all bounds on the way."""
        size = self._batches.size
        while updates > 0 and not self.diverged:
            if self._ready is None or len(self._ready) == 0:
                self._ready = self._batches.take(_CHUNK)
            part = self._ready[: updates * size]
            self._ready = self._ready[updates * size :]
            try:
                self._learner.partial_fit(part, batch_size=size)
            except DivergenceError:
                self.diverged = True
            updates -= len(part) // size
            self.updates = self._learner.n_updates_
        return not self.diverged

    @property
    def Theta(self) -> FloatArray:
        """The current iterate; the last finite one after divergence."""
        return self._learner.Theta_

    @property
    def mean(self) -> FloatArray:
        """The averaged iterates."""
        return self._learner.Theta_mean_

    def error(self) -> float:
        """The error of the average."""
        return self._arena.error(self.mean)
