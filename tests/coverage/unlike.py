"""Intervals on processes unlike those of `make coverage`: ``python -m tests.coverage.unlike``.

Walks of 20,000 steps, three states each: single CDF values, whole CDFs and all figures, as on the
page of `make coverage`, of which nothing was chosen here. Prints the share of intervals of 95 %
that hold the fixed point and, in brackets, their width over the ideal one; what misses a bar by
more than twice its standard error is named. ``--bare`` counts intervals of sampling error alone.
Takes some minutes.
"""

import argparse
import warnings
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import numpy as np
from scipy import stats

import lincat
from lincat.core import bands
from lincat.core.representation import cdf_from_theta
from lincat.core.uncertainty import Uncertainty
from lincat.coverage.cases import Case
from lincat.coverage.document import misses
from lincat.coverage.run import Cell, count_case
from lincat.learners import categorical_lstd


def noisy(P, rewards, masses):
    """A process whose reward in state s is rewards[s, m] with probability masses[s, m]."""
    S, M = rewards.shape
    s, t, m = (x.ravel() for x in np.meshgrid(range(S), range(S), range(M), indexing="ij"))
    chance = P[s, t] * masses[s, m]
    used = chance > 0.0
    s, t, m, chance = s[used], t[used], m[used], chance[used]
    return lincat.MarkovRewardProcess(s, rewards[s, m], t, chance)


def lattice(distribution, low, high, points):
    """A distribution on a fine lattice, so that the truth is exact."""
    edges = np.linspace(low, high, points + 1)
    mass = np.diff(distribution.cdf(edges))
    return (edges[1:] + edges[:-1]) / 2.0, mass / mass.sum()


def case(name, process, Phi, gamma, grid, probes):
    with warnings.catch_warnings():
        # Grids leave out what has a chance of a thousandth at most; the fixed point is on them too.
        warnings.simplefilter("ignore", lincat.GridMisfitWarning)
        Theta = lincat.solve_categorical(process, Phi, grid, gamma)
    true = lincat.ReturnDistribution(cdf_from_theta(Phi[list(probes)], Theta), grid)
    threshold = float(true.quantile(0.2, interpolate=True).mean())
    return Case(name, "", process, Phi, gamma, grid, probes, threshold), true.cdf_values


def heavy_tails():
    """Two regimes of 20 steps, rewards with the tails of Student's t, 4 degrees of freedom."""
    x, mass = lattice(stats.t(4), -12.0, 12.0, 481)
    P = np.array([[0.95, 0.05], [0.05, 0.95]])
    process = noisy(P, np.stack([0.5 + x, -0.5 + 2.0 * x]), np.stack([mass, mass]))
    grid = lincat.Grid(-80.0, 80.0, 160)
    return case("heavy tails", process, np.eye(2), 0.9, grid, (0, 1))


def slow_table():
    """A lazy walk over 30 places in a ring, gamma 0.97; what a place pays varies slowly."""
    S = 30
    P = 0.4 * np.eye(S) + 0.3 * (np.roll(np.eye(S), 1, axis=1) + np.roll(np.eye(S), -1, axis=1))
    pays = np.sin(2.0 * np.pi * np.arange(S) / S)
    rewards = pays[:, None] + np.array([-0.5, 0.5])
    process = noisy(P, rewards, np.full((S, 2), 0.5))
    return case("slow table", process, np.eye(S), 0.97, lincat.Grid(-50.0, 50.0, 200), (0, 9, 21))


def skewed():
    """Twelve states, of which three features know little, and rewards with exponential tails."""
    x, mass = lattice(stats.expon(), 0.0, 12.0, 360)
    rng, S = np.random.default_rng(5), 12
    P = rng.dirichlet(np.full(S, 0.4), size=S)
    process = noisy(P, np.linspace(0.2, 2.0, S)[:, None] * x, np.tile(mass, (S, 1)))
    place = np.linspace(-1.0, 1.0, S)
    Phi = np.stack([np.ones(S), place, place**2], axis=1)
    return case("skewed rewards", process, Phi, 0.9, lincat.Grid(0.0, 60.0, 120), (1, 5, 10))


def long_episodes():
    """Episodes of 200 steps, gamma 0.99, a ruin at the end of one in five."""
    S, end = 4, 4
    move = np.array(
        [[0.5, 0.3, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.5, 0.2], [0.1, 0.1, 0.3, 0.5]]
    )
    state, reward, following, chance = [], [], [], []
    for s in range(S):
        for t in range(S):
            for noise in (-0.5, 0.5):
                state += [s]
                reward += [0.1 * s + noise]
                following += [t]
                chance += [0.995 * move[s, t] / 2]
        for loss, share in ((0.0, 0.8), (-30.0, 0.2)):
            state += [s]
            reward += [loss]
            following += [end]
            chance += [0.005 * share]
    process = lincat.MarkovRewardProcess(
        state, reward, following, chance, terminal=[end], initial=np.eye(S + 1)[0]
    )
    Phi = np.eye(S + 1)[:, :S]
    return case("long episodes", process, Phi, 0.99, lincat.Grid(-60.0, 60.0, 120), (0, 1, 3))


def autoregression():
    """An autoregression on 40 points, five Fourier features, gamma 0.97."""
    x = np.linspace(-3.0, 3.0, 40)
    P = stats.norm.pdf(x[None, :], 0.9 * x[:, None], np.sqrt(1.0 - 0.81))
    P /= P.sum(axis=1, keepdims=True)
    rewards = 0.1 * (x[:, None] + np.array([-1.0, 0.0, 1.0]))
    process = noisy(P, rewards, np.full((40, 3), 1.0 / 3.0))
    unit = (x + 3.0) / 6.0
    Phi = np.stack([np.cos(np.pi * k * unit) for k in range(5)], axis=1)
    return case("autoregression", process, Phi, 0.97, lincat.Grid(-8.0, 8.0, 160), (10, 20, 32))


def lottery():
    """Three states; one step in two hundred and fifty pays thirty times as much as all others."""
    P = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.3, 0.3, 0.4]])
    rewards = np.tile([0.0, 1.0, 30.0], (3, 1))
    masses = np.array([[0.5, 0.496, 0.004], [0.7, 0.296, 0.004], [0.3, 0.696, 0.004]])
    process = noisy(P, rewards, masses)
    return case("lottery", process, np.eye(3), 0.8, lincat.Grid(0.0, 80.0, 160), (0, 1, 2))


def nearly_certain():
    """Jumps among 40 places, each with eight rewards of its own that hardly differ: 320 of them."""
    rng, S = np.random.default_rng(8), 40
    P = 0.5 * rng.dirichlet(np.full(S, 0.2), size=S) + 0.5 / S
    rewards = rng.normal(size=(S, 1)) + 0.02 * rng.normal(size=(S, 8))
    process = noisy(P, rewards, np.full((S, 8), 1.0 / 8.0))
    return case("nearly certain", process, np.eye(S), 0.5, lincat.Grid(-6.0, 6.0, 240), (3, 17, 31))


def rare_ruin():
    """Ways of eight places to an end, each step a gain or a loss; one in 2,500 is a ruin."""
    S = 8
    s = np.arange(S)
    following = np.stack([s + 1, s + 1, np.maximum(s - 1, 0), np.full(S, S)])
    process = lincat.MarkovRewardProcess(
        state=np.tile(s, 4),
        reward=np.repeat([1.0, 0.0, -1.0, -15.0], S),
        next_state=following.ravel(),
        probability=np.repeat([0.4, 0.3, 0.2996, 0.0004], S),
        terminal=[S],
        initial=np.eye(S + 1)[0],
    )
    Phi = np.eye(S + 1)[:, :S]
    return case("rare ruin", process, Phi, 0.95, lincat.Grid(-25.0, 15.0, 80), (0, 3, 6))


CASES = (
    heavy_tails,
    slow_table,
    skewed,
    long_episodes,
    autoregression,
    lottery,
    nearly_certain,
    rare_ruin,
)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.coverage.unlike")
    names = [make.__name__ for make in CASES]
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument(
        "--bare",
        action="store_true",
        help="leave out what nodes move, and in whole CDFs what may not have been seen",
    )
    options = parser.parse_args(argv)
    with bare() if options.bare else nullcontext():
        for make in CASES:
            if make.__name__ in options.cases:
                known, true = make()
                cell = Cell(known.name, "walk", options.rows, options.runs)
                print(told(count_case(known, true, cell)), flush=True)


def told(row):
    """A line about a row."""
    found = ", ".join(
        f"{c.figure} {c.coverage:.1%}" + (f" ({c.width:.2f})" if c.width else "")
        for c in row.counted
    )
    missed = misses(row)
    words = f" MISSED: {', '.join(missed)}" if missed else ""
    cost = row.seconds / row.seconds_without
    return f"{row.case}: {found}; cautions {row.cautions:.0%}, cost {cost:.2f}{words}"


@contextmanager
def bare():
    """Leave out what nodes move, and in whole CDFs what may not have been seen."""
    blind = patch.object(categorical_lstd, "Uncertainty", lambda *known, moved: Uncertainty(*known))
    with blind, patch.object(bands, "_reach_out", lambda *_: None):
        yield


if __name__ == "__main__":
    main()
