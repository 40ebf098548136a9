"""The tail average approaches the fixed point like T^(-1/2), over two decades of T."""

import dataclasses

import numpy as np
import pytest

import lincat

SEEDS = 48


def without_unvisited(problem):
    """The problem with one feature for each state that is not an end: the others do not matter."""
    visited = problem.process.stationary > 0.0
    if visited.all():
        return problem
    return dataclasses.replace(problem, Phi=np.eye(len(visited))[:, visited])


def slope(sizes, errors):
    """Of log RMS error over the seeds (rows) against log T."""
    return np.polyfit(np.log(sizes), np.log((errors**2).mean(axis=0)) / 2, 1)[0]


# The default step size, "auto", and the default average, the anytime tail; 128 = 2^7 is more than
# two decades, and at powers of two the tail is always the same share of the run. T begins where
# the start is forgotten, which takes longer where there are more features; and where the bias that
# steps leave along a walk, which falls like T^(-3/4), is below the error.
@pytest.mark.parametrize(
    ("name", "kind", "first"),
    [
        ("paper", "generative", 1024),
        ("paper", "markov", 4096),
        ("paper_unit_norm", "generative", 1024),
        ("paper_unit_norm", "markov", 4096),
        ("uniform_coin", "generative", 1024),
        ("uniform_coin", "markov", 1024),
        ("random_walk", "generative", 1024),
        ("random_walk", "markov", 1024),
        ("boyan_chain", "generative", 2048),
        ("boyan_chain", "markov", 2048),
    ],
)
def test_rate_on_the_catalog_without_tuning(name, kind, first):
    problem = without_unvisited(lincat.catalog.build(name))
    sizes = first * 2 ** np.arange(8)
    states = problem.process.n_states if problem.is_tabular else None
    learner = lincat.LinearCTD(grid=problem.grid(10), gamma=problem.gamma, n_features=states)
    rows = lincat.sweep(
        learner,
        problem,
        seed=range(SEEDS),
        updates=int(sizes[-1]),
        checkpoints=sizes.tolist(),
        kind=kind,
    )
    errors = np.array([row["cramer"] for row in rows]).reshape(SEEDS, len(sizes))
    assert slope(sizes, errors) == pytest.approx(-0.5, abs=0.05)


# Along a walk a constant step leaves a bias of the order of the step, which averaging does not
# remove. A step that shrinks like T^-1/2 keeps it at the order of the error.
@pytest.mark.parametrize(
    ("kind", "step"), [("generative", lambda T: 0.3), ("markov", lambda T: 4.0 * T**-0.5)]
)
def test_rate_with_a_constant_step_for_each_horizon(kind, step):
    """Thm l2_error_linear_ctd, from where exp(−alpha lambda_min T/2) is small."""
    problem = lincat.catalog.random_process(8, n_features=3, branching=4, gamma=0.7, seed=2)
    sizes = np.logspace(3, 5, 5).astype(int)
    Phi, grid = np.asarray(problem.Phi), problem.grid(10)
    star = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    errors = np.zeros((100, len(sizes)))
    for seed in range(len(errors)):
        drawn = problem.process.sample(sizes[-1], seed=seed, kind=kind)
        t = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
        for i, T in enumerate(sizes):
            model = lincat.LinearCTD(grid=grid, gamma=problem.gamma, step_size=step(T)).fit(t[:T])
            squares = ((Phi @ (model.Theta_mean_ - star)) ** 2).sum(axis=1)
            errors[seed, i] = np.sqrt(grid.spacing * problem.process.stationary @ squares)
    assert slope(sizes, errors) == pytest.approx(-0.5, abs=0.05)
