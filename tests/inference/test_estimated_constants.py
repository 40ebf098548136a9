import numpy as np
import pytest

import lincat


def fitted(problem, n, seed, grid, kind="markov"):
    seen = problem.process.sample(n, seed=seed, kind=kind)
    model = lincat.CategoricalLSTD(gamma=problem.gamma, grid=grid)
    return model.fit(
        problem.Phi[seen.state],
        seen.reward,
        problem.Phi[seen.next_state],
        terminated=seen.terminated,
    )


@pytest.fixture(scope="module")
def known():
    problem = lincat.catalog.random_process(8, n_features=3, gamma=0.8, seed=2)
    grid = problem.grid(20)
    place = (problem.process, problem.Phi, grid, problem.gamma)
    Theta = lincat.solve_categorical(*place)
    return (
        problem,
        grid,
        lincat.error_constants(*place, Theta),
        lincat.asymptotic_error(*place, Theta),
    )


def test_estimates_are_as_near_as_their_errors_say(known):
    problem, grid, exact, limit = known
    away = {}
    for seed in range(12):
        found = lincat.estimate_constants(fitted(problem, 20_000, seed, grid))
        truth = {
            "lambda_min": exact.lambda_min,
            "lambda_max": exact.lambda_max,
            "norm_theta": exact.norm_theta,
            "norm_theta_Sigma": exact.norm_theta_Sigma,
            "asymptotic": limit.walk,
        }
        for name, true in truth.items():
            estimate = getattr(found, name)
            away.setdefault(name, []).append((estimate.value - true) / estimate.error)
    for name, ratios in away.items():
        assert np.abs(np.mean(ratios)) < 1.0, name
        assert 0.3 < np.sqrt(np.mean(np.square(ratios))) < 2.0, name


def test_noise_of_independent_transitions_has_the_trace_of_Sigma_e(known):
    problem, grid, exact, limit = known
    found = lincat.estimate_constants(fitted(problem, 100_000, 3, grid, kind="generative"))
    assert found.trace_S.value == pytest.approx(exact.trace_Sigma_e, abs=4 * found.trace_S.error)
    assert found.asymptotic.value == pytest.approx(
        limit.independent, abs=4 * found.asymptotic.error
    )
    assert exact.max_norm_A <= found.max_norm_A
    assert exact.C_e <= found.C_e


def test_features_of_a_table_remember_as_long_as_its_states():
    P = np.array([[0.95, 0.05, 0.0], [0.02, 0.95, 0.03], [0.0, 0.1, 0.9]])
    process = lincat.MarkovRewardProcess.from_matrices(P, [0.0, 1.0, 2.0])
    problem = lincat.Problem("slow", process, 0.8, np.eye(3))
    found = lincat.estimate_constants(fitted(problem, 100_000, 0, problem.grid(10)))
    second = np.sort(np.abs(np.linalg.eigvals(P)))[-2]
    assert found.mixing_time == pytest.approx(np.log(4) / -np.log(second), rel=0.1)


def test_few_blocks_are_refused(known):
    problem, grid, *_ = known
    with pytest.raises(lincat.InvalidInputError, match="4 blocks"):
        lincat.estimate_constants(fitted(problem, 3, 0, grid))
