"""Evaluations to draw: one learned from a process of the catalog, and hand-made extremes."""

import dataclasses
import functools

import numpy as np

import lincat
from lincat.inference.validation import validate
from lincat.report.comparison import ComparedRun
from lincat.report.evaluation import Evaluation
from lincat.report.validation import validation_data

CONFIG = """[learner]
kind = "linear_ctd"
step_size = 0.05

[grid]
low = 0.0
high = 10.0
intervals = 60
"""


@functools.cache
def learned(n_states=8, step_size=0.3, seed=1):
    """A learner on sampled data of a random process, with its curves and its validation."""
    problem = lincat.catalog.random_process(n_states, seed=seed)
    Phi = np.eye(n_states)
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=problem.gamma, intervals=60)
    names = ["start", *(f"state {s}" for s in range(1, n_states))]
    model = lincat.LinearCTD(grid=grid, gamma=problem.gamma, step_size=step_size, averaging="tail")
    data = problem.process.sample(40_000, seed=seed)
    curves, begin = [], 0
    for end in np.unique(np.geomspace(50, 40_000, 24).astype(int)):
        states = slice(begin, int(end))
        phi, phi_next = Phi[data.state[states]], Phi[data.next_state[states]]
        model.partial_fit(phi, data.reward[states], phi_next)
        dist = model.predict(Phi)
        proper = dist.proper()
        rows = zip(names, dist.mean(), proper.quantile(0.05), proper.cvar(0.05), strict=True)
        curves += [
            {"transitions": int(end), "state": name, "mean": m, "q": q, "cvar": c}
            for name, m, q, c in rows
        ]
        curves.append(
            {
                "transitions": int(end),
                "clipped": 0.0,
                "negative": float(dist.negative_mass.mean()),
                "step_size": step_size,
                "per_second": 2e6,
            }
        )
        begin = int(end)
    truth = lincat.true_returns(problem.process, problem.gamma, grid)
    width = 0.06 * np.sqrt(proper.cdf_values * (1.0 - proper.cdf_values)) + 0.004
    return Evaluation(
        title="Random process under its own policy",
        names=names,
        dist=dist,
        observations=[f"id {s}" for s in range(n_states)],
        source="catalog process random_process, 8 states",
        learner="Linear-CTD, step size 0.3, tail average",
        features="one-hot, 8 states",
        n_seen=40_000,
        seconds=0.42,
        gamma=problem.gamma,
        bands=(proper.cdf_values - width, proper.cdf_values + width),
        threshold=3.0,
        curves=curves,
        validation=validated(proper, truth, names),
        config_text=CONFIG,
        command="lincat evaluate random_process --seed 1 --validate 4000",
        versions={"lincat": lincat.__version__, "numpy": np.__version__},
    )


def validated(dist, truth, names):
    """Scores against returns drawn from the truth, for all states and for two groups of them."""
    returns = truth.sample(500, seed=3)
    groups = ["low states" if i < len(names) // 2 else "high states" for i in range(len(names))]
    result = validate(dist, returns, groups=groups)
    return validation_data(result, f"{returns.size:,} rollouts from {len(names)} held-out states")


def bells(low, high, n, intervals=80, seed=0):
    """Bell-shaped distributions on a grid, their centres going up."""
    atoms = np.linspace(0.0, 1.0, intervals + 1)
    rng = np.random.default_rng(seed)
    centre = np.linspace(0.25, 0.75, n)[:, None] + rng.normal(0, 0.02, (n, 1))
    spread = rng.uniform(0.05, 0.13, (n, 1))
    pmf = np.exp(-0.5 * ((atoms - centre) / spread) ** 2)
    pmf += 0.12 * np.exp(-0.5 * ((atoms - 0.4 * centre) / 0.04) ** 2)
    grid = lincat.Grid(low, high, intervals)
    return lincat.ReturnDistribution.from_pmf(pmf / pmf.sum(axis=1, keepdims=True), grid)


def plain(dist, **more):
    """An evaluation with nothing but distributions."""
    names = ["start", *(f"state {i}" for i in range(1, len(dist)))]
    return Evaluation(**{"title": "Distributions", "names": names, "dist": dist, **more})


def signed():
    """Distributions with negative mass."""
    dist = bells(0.0, 10.0, 4)
    wave = 0.05 * np.sin(np.arange(80) / 2.0) * (dist.cdf_values[:, :] > 0.001)
    return plain(
        lincat.ReturnDistribution(dist.cdf_values + wave, dist.grid), title="Signed distributions"
    )


def lake():
    """A distribution with nearly all of its mass at one atom."""
    problem = lincat.catalog.frozen_lake()
    dist = lincat.true_returns(problem.process, problem.gamma, lincat.Grid(0.0, 1.0, 50))
    return plain(dist, title="FrozenLake under a random policy", threshold=0.5)


def compared():
    """Three runs on common states, on two grids."""
    one, two = learned(), learned(step_size=0.02)
    three = bells(0.0, 12.0, 8, intervals=40)
    return [
        ComparedRun(
            name="fast",
            dist=one.dist,
            description="step size 0.3",
            curves=one.curves,
            validation=one.validation,
        ),
        ComparedRun(
            name="slow",
            dist=two.dist,
            description="step size 0.02",
            curves=two.curves,
            validation=two.validation,
        ),
        ComparedRun(name="other grid", dist=three),
    ], one.names


def with_names(evaluation, names):
    return dataclasses.replace(evaluation, names=names)
