"""Section linear_ctd: the linear-categorical parametrisation, its fixed point, and Linear-CTD."""

import numpy as np
import pytest
from hypothesis import given

import lincat
from tests import naive
from tests.statements.cases import (
    PROPERTY,
    TOLERANCE,
    assert_loewner,
    cases,
    dyadic_case,
    exact_distributions,
    vec,
)


@PROPERTY
@given(case=cases())
def test_cdf_is_linear_in_theta_around_the_uniform_distribution(case):
    """Eq. (def_linear_parametrize); the masses are differences and sum to one."""
    Theta = case.random_Theta()
    cdf = lincat.cdf_from_theta(case.Phi, Theta)
    for s in range(case.S):
        for k in range(case.K):
            expected = case.Phi[s] @ Theta[:, k] + (k + 1) / (case.K + 1)
            assert cdf[s, k] == pytest.approx(expected, abs=1e-12)
    pmf = case.distribution(Theta).pmf
    np.testing.assert_allclose(pmf[:, 1:-1], np.diff(cdf, axis=1), **TOLERANCE)
    np.testing.assert_allclose(pmf.sum(axis=1), 1.0, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_with_an_intercept_any_distribution_may_stand_for_the_uniform_one(case):
    """Footnote of Eq. (def_linear_parametrize): distributions do not depend on it."""
    other = case.rng.normal(size=case.K)
    A, _ = case.system
    b = np.zeros(case.d * case.K)
    for p, s, r, _, discount in case.outcomes():
        target = lincat.bellman_target(other[None], r, discount, case.grid)[0]
        b += p * np.kron(target - other, case.Phi[s])
    Theta = np.linalg.solve(A, b).reshape(case.K, case.d).T
    np.testing.assert_allclose(
        case.Phi @ Theta + other, lincat.cdf_from_theta(case.Phi, case.Theta_star), **TOLERANCE
    )


@PROPERTY
@given(case=cases())
def test_C_turns_masses_into_cdf_values(case):
    """Eq. (def_C)."""
    pmf = case.distribution(case.random_Theta()).pmf
    C = naive.C_matrix(case.K)
    np.testing.assert_allclose(lincat.cdf_from_pmf(pmf), pmf[:, :-1] @ C.T, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_linear_projection_is_the_nearest_linear_categorical_distribution(case):
    """Prop. linear_projection, for distributions off the grid, against least squares."""
    distributions = case.distributions_off_grid()
    Theta = lincat.linear_projection(case.project(distributions), case.process, case.Phi)
    brute = naive.nearest_theta(distributions, case.Phi, case.mu, case.grid)
    np.testing.assert_allclose(Theta, brute, rtol=1e-8, atol=1e-9 / case.lambda_min)


@PROPERTY
@given(case=cases())
def test_linear_projection_has_the_paper_s_formula(case):
    """Prop. linear_projection, Eq. (def_C), as printed."""
    distributions = case.distributions_off_grid()
    C, K = naive.C_matrix(case.K), case.K
    total = np.zeros((case.d, K))
    for s, (x, m) in enumerate(distributions):
        p = naive.project(x, m, case.grid)[:K]
        total += case.mu[s] * np.outer(case.Phi[s], (p - 1 / (K + 1)) @ C.T)
    Theta = lincat.linear_projection(case.project(distributions), case.process, case.Phi)
    np.testing.assert_allclose(case.Sigma @ Theta, total, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_fixed_point_returns_to_itself_under_bellman_then_projection(case):
    """Thm linear_cate_TD_equation: eta = Pi_phi,K T eta."""
    cdf = lincat.cdf_from_theta(case.Phi, case.Theta_star)
    pushed = lincat.ReturnDistribution(case.bellman(cdf), case.grid)
    again = lincat.linear_projection(pushed, case.process, case.Phi)
    np.testing.assert_allclose(case.Phi @ again, case.Phi @ case.Theta_star, atol=1e-9)


@PROPERTY
@given(case=cases())
def test_fixed_point_solves_the_linear_system_and_no_other_does(case):
    """Thm linear_cate_TD_equation: the dense system is regular, and the solutions agree."""
    A, b = case.system
    assert np.linalg.svd(A, compute_uv=False)[-1] >= (1 - case.gamma**0.5) * case.lambda_min * (
        1 - 1e-9
    )  # from Eq. (bar_A_lower_bound)
    np.testing.assert_allclose(vec(case.Theta_star), np.linalg.solve(A, b), rtol=1e-7, atol=1e-8)


@PROPERTY
@given(case=cases())
def test_fixed_point_equation_holds_with_the_library_s_matrices(case):
    """Eq. (fixed_point_equation), with lincat.bellman_matrix and lincat.bellman_offset."""
    Theta = case.Theta_star
    left, right = case.Sigma @ Theta, np.zeros_like(Theta)
    for p, s, r, s_next, discount in case.outcomes():
        B = lincat.bellman_matrix(case.grid, r, discount)
        left = left - p * np.outer(case.Phi[s], case.Phi[s_next] @ Theta @ B.T)
        right += p * np.outer(case.Phi[s], lincat.bellman_offset(case.grid, r, discount))
    np.testing.assert_allclose(left, right, atol=1e-10)


@PROPERTY
@given(case=cases())
def test_bellman_matrix_and_offset_are_made_of_the_shares_g(case):
    """Thm linear_cate_TD_equation: g_jk(r), G(r), G̃(r), each from its definition."""
    r, K = case.process.reward[0], case.K
    pushed = r + case.gamma * case.grid.atoms
    shares = lincat.project(pushed[:, None], np.ones((K + 1, 1)), case.grid)
    np.testing.assert_allclose(shares, naive.g(case.grid, r, case.gamma), **TOLERANCE)
    G = shares[:K, :K].T
    G_tilde = G - np.kron(np.ones((1, K)), shares[K, :K][:, None])
    np.testing.assert_allclose(G_tilde, naive.G_tilde(case.grid, r, case.gamma), **TOLERANCE)
    C = naive.C_matrix(K)
    np.testing.assert_allclose(
        lincat.bellman_matrix(case.grid, r, case.gamma), C @ G_tilde @ np.linalg.inv(C), atol=1e-12
    )
    np.testing.assert_allclose(
        lincat.bellman_offset(case.grid, r, case.gamma),
        C @ (shares[:, :K].sum(axis=0) - 1) / (K + 1),
        atol=1e-12,
    )


@PROPERTY
@given(case=cases())
def test_projected_operator_is_a_root_gamma_contraction(case):
    """Pi_phi,K T in ℓ2,mu, the exact norm; in Theta this is the norm of I ⊗ Sigma."""
    A, _ = case.system
    step = np.eye(case.d * case.K) - np.linalg.solve(case.I_Sigma, A)
    assert_loewner(step.T @ case.I_Sigma @ step, case.gamma * case.I_Sigma)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_approximation_error_is_within_the_bound(case):
    """Prop. approx_error, and its two terms as printed."""
    error = lincat.approximation_error(case.process, case.Phi, case.grid, case.gamma, refinement=4)
    assert error.wasserstein <= error.bound + 1e-9
    horizon = 1 / (1 - case.gamma)
    assert error.grid_term == pytest.approx(horizon**3 / case.K)
    fine = lincat.Grid(case.grid.low, case.grid.high, 4 * case.K)
    truth = lincat.true_returns(case.process, case.gamma, fine)
    on_grid = case.project([(fine.atoms, pmf) for pmf in truth.pmf])
    nearest = case.distribution(lincat.linear_projection(on_grid, case.process, case.Phi))
    gap = lincat.cramer(on_grid, nearest, weights=case.mu)
    assert error.feature_term == pytest.approx(horizon**2 * gap**2, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [1, 2, 3])
def test_approximation_bound_holds_for_the_exact_distribution(seed, d):
    """Prop. approx_error with eta known exactly, and rewards in [0, 1]."""
    case = dyadic_case(seed, intervals=5, d=d)
    distributions, horizon = exact_distributions(case), 1 / (1 - case.gamma)
    on_grid = case.project(distributions)
    nearest = case.distribution(lincat.linear_projection(on_grid, case.process, case.Phi))
    fixed = case.distribution(case.Theta_star)
    w1 = [
        naive.step_distance(x, m, case.grid.atoms, pmf, 1)
        for (x, m), pmf in zip(distributions, fixed.pmf, strict=True)
    ]
    feature_gap = lincat.cramer(on_grid, nearest, weights=case.mu) ** 2
    assert case.mu @ np.square(w1) <= horizon**3 / case.K + horizon**2 * feature_gap
    # the inequality behind it (App. proof_approx_error), in ℓ2 and without the bound on Pi_K
    assert (
        case.distance(distributions, fixed)
        <= horizon * case.distance(distributions, nearest) + 1e-12
    )
    assert case.distance(distributions, on_grid) <= case.grid.spacing


@PROPERTY
@given(case=cases())
def test_linear_ctd_step_is_cdf_minus_target(case):
    """Eq. (linear_CTD): matrices as printed against the library's O(K) target."""
    Theta = case.random_Theta()
    for _, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        cdf = lincat.cdf_from_theta(np.stack([phi, phi_next]), Theta)
        target = lincat.bellman_target(cdf[1:], r, discount, case.grid)[0]
        np.testing.assert_allclose(
            Theta - 0.2 * np.outer(phi, cdf[0] - target),
            naive.linear_ctd_update(Theta, phi, r, phi_next, discount, case.grid, 0.2),
            **TOLERANCE,
        )


@PROPERTY
@given(case=cases())
def test_linear_ctd_stands_still_in_the_mean_at_its_fixed_point(case):
    """Eq. (linear_CTD) is stochastic approximation of Eq. (fixed_point_equation)."""
    Theta, mean_step = case.Theta_star, np.zeros((case.d, case.K))
    for p, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        mean_step += p * (
            naive.linear_ctd_update(Theta, phi, r, phi_next, discount, case.grid, 1.0) - Theta
        )
    np.testing.assert_allclose(mean_step, 0.0, atol=1e-10)
