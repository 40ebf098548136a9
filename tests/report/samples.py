"""Answers to draw: two that runs gave, and distributions of extreme shapes."""

import functools
import tempfile
from pathlib import Path

import msgspec
import numpy as np

import lincat
from lincat.inference.answer import Answer
from tests.runs.logs import write_names


@functools.cache
def learned(level=0.05, step_size="auto"):
    """What a run learned step by step from a log of names, checked against what was held out."""
    with tempfile.TemporaryDirectory() as folder:
        log = write_names(Path(folder) / "log.csv", rows=12_000)
        run = lincat.evaluate(
            log,
            out=Path(folder) / "run",
            gamma=0.8,
            learner="linear_ctd",
            validate=1000,
            intervals=60,
            n_states=7,
            level=level,
            step_size=step_size,
            below=-1.0,
        )
        # Whoever compares pages does not want the time that it took among them. Without intervals,
        # as more features than sums can be kept of would be.
        return msgspec.structs.replace(
            run.answer,
            source="A walk",
            seconds=0.42,
            bands=None,
            intervals=None,
            no_intervals="No intervals: sums of so many features are too large; take fewer.",
        )


@functools.cache
def solved(rows=12_000):
    """What the batch solution of the same log is; of a few rows it is not to be trusted."""
    with tempfile.TemporaryDirectory() as folder:
        log = write_names(Path(folder) / "log.csv", rows=rows)
        run = lincat.evaluate(log, out=Path(folder) / "run", gamma=0.8, below=-1.0)
        return msgspec.structs.replace(run.answer, source="A walk", seconds=0.42)


@functools.cache
def exact():
    """What a run learned of a known process, checked against its exact answer."""
    with tempfile.TemporaryDirectory() as folder:
        run = lincat.evaluate("random_process", out=folder, steps=20_000, validate=1)
        return run.answer


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
    """An answer with nothing but distributions."""
    fields = {
        "source": "Distributions",
        "gamma": 0.9,
        "grid": dist.grid,
        "state_names": ("start", *(f"state {i}" for i in range(1, len(dist)))),
        "cdf": tuple(map(tuple, dist.cdf_values.tolist())),
    }
    return Answer(**{**fields, **more})


def signed():
    """Distributions with negative mass."""
    dist = bells(0.0, 10.0, 4)
    wave = 0.05 * np.sin(np.arange(80) / 2.0) * (dist.cdf_values[:, :] > 0.001)
    return plain(
        lincat.ReturnDistribution(dist.cdf_values + wave, dist.grid), source="Signed distributions"
    )


def lake():
    """A distribution with nearly all of its mass at one atom."""
    problem = lincat.catalog.frozen_lake()
    dist = lincat.true_returns(problem.process, problem.gamma, lincat.Grid(0.0, 1.0, 50))
    return plain(dist, source="FrozenLake under a random policy", threshold=0.5)


def compared():
    """Three answers on common states and two grids, and what their runs are called."""
    one, two = learned(), learned(step_size=0.02)
    states = one.state_names
    three = plain(bells(-5.0, 7.0, len(states), intervals=40), state_names=states, gamma=0.8)
    return [one, two, three], ["fast", "slow", "other grid"]


def with_names(answer, names):
    """The same answer of states called otherwise."""
    curves = answer.curves and msgspec.structs.replace(answer.curves, state_names=tuple(names))
    return msgspec.structs.replace(answer, state_names=tuple(names), curves=curves)
