"""Processes of known return distribution: episodes that end, gamma = 1/2, whole rewards."""

import numpy as np

import lincat
from tests import naive
from tests.statements.cases import Case

HORIZON = 3


def dyadic_case(seed, intervals, d):
    """States 0..2, each leading further on; rewards 0, 1/2 or 1; a return is a multiple of 1/8."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(HORIZON):
        for s_next in range(s + 1, HORIZON + 1):
            for reward in rng.choice([0.0, 0.5, 1.0], size=2, replace=False):
                rows.append((s, reward, s_next, rng.uniform(0.5, 1.0)))
    state, reward, following, weight = (np.array(column) for column in zip(*rows, strict=True))
    chance = weight / np.bincount(state, weight)[state]
    initial = np.append(rng.dirichlet(np.ones(HORIZON)), 0.0)
    # The terminal state has no experience of its own: it is folded into the transition before.
    process = lincat.MarkovRewardProcess(
        state,
        reward,
        np.where(following == HORIZON, state, following),
        chance,
        terminated=following == HORIZON,
        initial=initial[:HORIZON],
    )
    Phi = np.column_stack([np.ones(HORIZON), rng.normal(size=(HORIZON, d - 1))])
    return Case(process, Phi, 0.5, lincat.Grid(0.0, 2.0, intervals), rng)


def exact_distributions(case):
    """The distribution of the return from every state, by listing all paths."""
    distributions = []
    for s in range(HORIZON):
        paths = naive.return_by_enumeration(case.process, case.gamma, s, HORIZON)
        distributions.append(tuple(np.array(column) for column in zip(*paths, strict=True)))
    return distributions
