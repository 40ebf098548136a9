import numpy as np
import pytest
import scipy.sparse

import lincat
from tests import naive


@pytest.mark.parametrize("seed", range(4))
def test_constants_equal_dense_matrices(seed):
    problem = lincat.catalog.random_process(4, n_features=2, gamma=0.7, seed=seed)
    process, Phi, grid = problem.process, problem.Phi, problem.grid(5)
    Theta = lincat.solve_categorical(process, Phi, grid, problem.gamma)
    found = lincat.error_constants(process, Phi, grid, problem.gamma, Theta)
    theta, K = Theta.T.ravel(), grid.intervals
    A_bar = naive.system(process, Phi, grid, problem.gamma)[0]
    norms, deviations, errors, trace = [], [], [], 0.0
    for p, s, r, s_next, discount in naive.expectation(process, problem.gamma):
        A = np.kron(np.eye(K), np.outer(Phi[s], Phi[s]))
        A -= np.kron(naive.bellman_matrix(grid, r, discount), np.outer(Phi[s], Phi[s_next]))
        error = A @ theta - np.kron(naive.bellman_offset(grid, r, discount), Phi[s])
        norms.append(np.linalg.norm(A, 2))
        deviations.append(np.linalg.norm(A - A_bar, 2))
        errors.append(np.linalg.norm(error))
        trace += p * error @ error
    assert found.max_norm_A == pytest.approx(max(norms), rel=1e-10)
    assert found.C_A >= max(deviations)
    assert found.C_e == pytest.approx(max(errors), rel=1e-9)
    assert found.trace_Sigma_e == pytest.approx(trace, rel=1e-9)
    Sigma = Phi.T @ np.diag(process.stationary) @ Phi
    assert found.lambda_min == pytest.approx(np.linalg.eigvalsh(Sigma)[0], rel=1e-9)
    weighted = theta @ np.kron(np.eye(K), Sigma) @ theta
    assert found.norm_theta_Sigma == pytest.approx(np.sqrt(weighted), rel=1e-9)
    assert found.norm_theta == pytest.approx(np.linalg.norm(theta))


def test_sparse_features_give_the_same_constants():
    problem = lincat.catalog.random_process(4, n_features=2, gamma=0.7)
    grid = problem.grid(5)
    Theta = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
    dense, sparse = (
        lincat.error_constants(problem.process, Phi, grid, problem.gamma, Theta)
        for Phi in (problem.Phi, scipy.sparse.csr_array(problem.Phi))
    )
    assert vars(sparse) == pytest.approx(vars(dense))
