"""Numbers behind the pictures of docs/theory.md, one function a claim; nothing is drawn here.

Each returns rows: dictionaries that the pictures take as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lincat.core.grid import Grid
from lincat.data.transitions import Transitions
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.learners.linear_ctd import LinearCTD
from lincat.learners.linear_pmf import LinearPMF
from lincat.learners.linear_td import LinearTD
from lincat.learners.variance_reduced_ctd import VarianceReducedCTD
from lincat.processes import catalog
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.problem import Problem
from lincat.solvers.exact import solve_categorical
from lincat.theory.asymptotic import asymptotic_error, mixing_time
from lincat.theory.stability import max_step_size

Rows = list[dict[str, Any]]


def largest_steps(intervals: tuple[int, ...] = (8, 16, 32, 64, 128, 256)) -> Rows:
    """The largest stable step of Linear-CTD and of SSGD-PMF, by K."""
    p = catalog.paper()
    rows = []
    for K in intervals:
        for rule, name in (("ctd", "Linear-CTD"), ("pmf", "SSGD-PMF")):
            place = (p.process, p.Phi, p.grid(K), p.gamma, 25)
            step = max_step_size(*place, rule=rule, notion="deterministic")
            rows.append({"K": K, "step": step, "algorithm": name})
    return rows


def mean_gaps(transitions: int = 2000) -> Rows:
    """How far the means of Linear-CTD and SSGD-PMF are from Linear-TD's on the same stream."""
    p = catalog.paper()
    grid, gamma, Phi = p.grid(30), p.gamma, p.Phi
    drawn = p.process.sample(transitions, seed=1)
    t = Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
    options: dict[str, Any] = {"gamma": gamma, "averaging": "none"}
    learners = {
        "Linear-CTD": LinearCTD(grid=grid, step_size=0.1, **options),
        "SSGD-PMF": LinearPMF(grid=grid, step_size=0.01, **options),
    }
    value = LinearTD(step_size=0.1, **options)
    # The same start: the mean of the uniform distribution is no function of the features alone,
    # so Linear-TD learns what is left of the mean around it.
    middle = (grid.low + grid.high) / 2.0
    centred = Transitions(t.phi, t.reward - (1.0 - gamma) * middle, t.phi_next)
    rows, done = [], 0
    for end in np.unique(np.geomspace(10, transitions, 30).astype(int)).tolist():
        value.partial_fit(centred[done:end])
        for name, model in learners.items():
            model.partial_fit(t[done:end])
            gap = np.abs(model.predict(Phi).mean() - middle - Phi @ value.psi_).max()
            rows.append({"updates": end, "gap": max(float(gap), 1e-16), "algorithm": name})
        done = end
    return rows


def rates(runs: int = 60, lengths: tuple[int, ...] = (1024, 4096, 16_384, 65_536)) -> Rows:
    """Root mean squares of ℓ2,mu by T along walks, and what is least possible."""
    p = catalog.paper("unit_norm")
    grid, Phi, gamma = p.grid(20), p.Phi, p.gamma
    star = solve_categorical(p.process, Phi, grid, gamma)
    limit = asymptotic_error(p.process, Phi, grid, gamma, star).walk
    Sigma = (Phi * p.process.stationary[:, None]).T @ Phi
    makers: dict[str, Any] = {
        "LinearCTD, auto": LinearCTD,
        "VarianceReducedCTD": VarianceReducedCTD,
        "CategoricalLSTD": CategoricalLSTD,
    }
    squares = {(name, T): 0.0 for name in makers for T in lengths}
    for seed in range(runs):
        drawn = p.process.sample(lengths[-1], seed=seed)
        t = Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
        for name, make in makers.items():
            model, done = make(grid=grid, gamma=gamma), 0
            for T in lengths:
                model.partial_fit(t[done:T])
                done = T
                Theta = model.Theta_ if isinstance(model, CategoricalLSTD) else model.Theta_mean_
                gap = Theta - star
                squares[name, T] += grid.spacing * float(np.sum(gap * (Sigma @ gap))) / runs
    rows = [{"T": T, "error": x**0.5, "learner": name} for (name, T), x in squares.items()]
    least = [{"T": T, "error": (limit / T) ** 0.5, "learner": "least possible"} for T in lengths]
    return [*rows, *least]


def mixing(runs: int = 60, transitions: int = 20_000) -> Rows:
    """What a walk costs beside independent transitions, by the mixing time of the chain.

    Two features that tell the states of a ring apart only roughly, or a table.
    """
    S = 8
    ring = 0.5 * (np.roll(np.eye(S), 1, axis=1) + np.roll(np.eye(S), -1, axis=1))
    rewards = (np.arange(S) % 3) / 2.0
    angle = 2.0 * np.pi * np.arange(S) / S
    rough = np.column_stack([np.ones(S), np.cos(angle)]) / np.sqrt(2.0)
    rows = []
    for stay in (0.1, 0.5, 0.8, 0.9, 0.95):
        process = MarkovRewardProcess.from_matrices(stay * np.eye(S) + (1 - stay) * ring, rewards)
        for name, Phi in (("a table", np.eye(S)), ("two features", rough)):
            p = Problem("ring", process, 0.7, Phi)
            grid = p.grid(16)
            star = solve_categorical(process, Phi, grid, p.gamma)
            limit = asymptotic_error(process, Phi, grid, p.gamma, star)
            point = {"mixing time": mixing_time(process), "features": f"{name}, limit"}
            rows.append({**point, "walk over independent": limit.walk / limit.independent})
            squares = [_squared(p, grid, star, transitions, seed) for seed in range(runs)]
            found = transitions * float(np.mean(squares)) / limit.independent
            seen = {"mixing time": point["mixing time"], "features": f"{name}, measured"}
            rows.append({**seen, "walk over independent": found})
    return rows


def _squared(p: Problem, grid: Grid, star: Any, n: int, seed: int) -> float:
    """ℓ2,mu² of the batch solution of one walk."""
    drawn = p.process.sample(n, seed=seed)
    t = Transitions(p.Phi[drawn.state], drawn.reward, p.Phi[drawn.next_state])
    gap = CategoricalLSTD(grid=grid, gamma=p.gamma).fit(t).Theta_ - star
    Sigma = (p.Phi * p.process.stationary[:, None]).T @ p.Phi
    return grid.spacing * float(np.sum(gap * (Sigma @ gap)))


def metric(updates: int = 30) -> Rows:
    """Noise-free paths of both algorithms, K = 2, in the plane of the two CDF values.

    The coin's state repeated on an uneven start. SSGD-PMF multiplies the error by C Cᵀ: it runs
    along the long axis of that matrix and is slow across it, whatever the step.
    """
    coin = catalog.uniform_coin()
    grid = coin.grid(2)
    star = solve_categorical(coin.process, coin.Phi, grid, coin.gamma)[0]
    place = (coin.process, coin.Phi, grid, coin.gamma)
    C = np.tril(np.ones((2, 2)))
    rows = []
    for rule, name in (("ctd", "Linear-CTD"), ("pmf", "SSGD-PMF")):
        step = 0.5 * max_step_size(*place, rule=rule, notion="deterministic")
        behind = C @ C.T if rule == "pmf" else np.eye(2)
        matrix = _mean_matrix(coin, grid) @ behind
        gap = np.array([0.15, 0.2])
        for update in range(updates):
            first, second = (gap + star + np.array([1.0, 2.0]) / 3.0).tolist()
            size = float(np.linalg.norm(gap))
            point = {"F at the first atom": first, "F at the second atom": second}
            rows.append({**point, "algorithm": name, "update": update, "error": size})
            gap = gap - step * gap @ matrix
    return rows


def _mean_matrix(coin: Problem, grid: Grid) -> Any:
    """I − E[B(r)]ᵀ, by which errors of a row are multiplied."""
    from lincat.core.bellman import bellman_matrix

    mean = sum(
        p * bellman_matrix(grid, r, coin.gamma)
        for p, r in zip(coin.process.probability, coin.process.reward, strict=True)
    )
    return np.eye(grid.intervals) - np.asarray(mean).T
