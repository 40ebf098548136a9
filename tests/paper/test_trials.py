"""One run: batches as counts, the errors, divergence."""

import numpy as np
import pytest

import lincat
from lincat.paper.trials import Arena, Batches
from tests import naive

PROBLEM = lincat.catalog.paper()


def test_counted_batches_have_the_mean_and_the_noise_of_drawn_ones():
    batches = Batches(PROBLEM, 25, (0, 1))
    outcomes = len(PROBLEM.process.state)
    assert batches.size == outcomes < 25
    taken = batches.take(40_000)
    counts = taken.weight.reshape(-1, outcomes) * 25 / outcomes
    assert counts.sum(axis=1) == pytest.approx(25.0)
    assert counts == pytest.approx(counts.round())
    p = PROBLEM.process.stationary[PROBLEM.process.state] * PROBLEM.process.probability
    assert counts.mean(axis=0) == pytest.approx(25 * p, rel=0.02)
    covariance = 25 * (np.diag(p) - np.outer(p, p))
    assert np.cov(counts.T) == pytest.approx(covariance, abs=0.1)


def test_a_counted_batch_moves_as_its_transitions_one_by_one_do():
    arena = Arena(PROBLEM, 10)
    trial = arena.trial("pmf", 0.01, (3, 1))
    trial.advance(4)
    taken = Batches(PROBLEM, 25, (3, 1)).take(4)
    process, outcomes = PROBLEM.process, len(PROBLEM.process.state)
    counts = (taken.weight.reshape(-1, outcomes) * 25 / outcomes).round().astype(int)
    rows = np.concatenate([np.repeat(np.arange(outcomes), line) for line in counts])
    model = lincat.LinearPMF(grid=arena.grid, gamma=PROBLEM.gamma, step_size=0.01)
    model.partial_fit(
        PROBLEM.Phi[process.state[rows]],
        process.reward[rows],
        PROBLEM.Phi[process.next_state[rows]],
        batch_size=25,
    )
    assert trial.Theta == pytest.approx(model.Theta_, abs=1e-14)


def test_splitting_a_run_changes_nothing():
    arena = Arena(PROBLEM, 10)
    one, two = (arena.trial("ctd", 0.3, (0, 0)) for _ in range(2))
    one.advance(3000)
    for part in (1, 999, 1700, 300):
        two.advance(part)
    assert one.updates == two.updates == 3000
    assert (one.mean == two.mean).all()


def test_many_outcomes_are_drawn():
    problem = lincat.catalog.random_process(20, gamma=0.5)
    batches = Batches(problem, 25, (0,))
    assert batches.size == 25
    taken = batches.take(2000)
    share = np.bincount(taken.phi, minlength=20) / len(taken)
    assert share == pytest.approx(problem.process.stationary, abs=0.01)
    assert Arena(problem, 10).trial("ctd", 0.5, (0,)).advance(50)


def test_errors_are_those_of_the_paper():
    K = 7
    arena = Arena(PROBLEM, K)
    Theta = np.random.default_rng(0).normal(size=(3, K))
    gap = Theta - arena.star
    mu = PROBLEM.process.stationary
    Sigma = PROBLEM.Phi.T @ np.diag(mu) @ PROBLEM.Phi
    assert arena.error(Theta) == pytest.approx(np.trace(gap.T @ Sigma @ gap) / K)
    W1 = arena.grid.spacing * np.abs(PROBLEM.Phi @ gap).sum(axis=1)
    assert arena.loss(Theta) == pytest.approx(np.sqrt(mu @ W1**2))
    A, _ = naive.system(PROBLEM.process, PROBLEM.Phi, arena.grid, PROBLEM.gamma)
    C = naive.C_matrix(K)
    A_pmf = np.kron(C @ C.T, np.eye(3)) @ A
    right = np.linalg.norm(A_pmf @ gap.T.ravel()) / np.sqrt(K)
    assert arena.residual(Theta) == pytest.approx(right)


def test_divergence_is_noticed_and_stays():
    trial = Arena(PROBLEM, 30).trial("pmf", 0.1, (0,))
    assert not trial.advance(2000)
    done = trial.updates
    assert done < 2000
    assert not trial.advance(10)
    assert trial.updates == done
    assert np.isfinite(trial.error())
