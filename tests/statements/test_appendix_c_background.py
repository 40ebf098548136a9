"""Appendix to Section background: Linear-TD's equation, the isometry, Pi_K and Pi_K T."""

import numpy as np
import pytest
from hypothesis import assume, given

import lincat
from tests import naive
from tests.statements.cases import PROPERTY, TOLERANCE, cases, off_grid_distribution


@PROPERTY
@given(case=cases())
def test_linear_projected_bellman_equation_needs_its_factor_gamma(case):
    """App. linear_projected_bellman_equation; erratum 6: a line lacks gamma before E[phi phi'ᵀ]."""
    psi = lincat.solve_value(case.process, case.Phi, case.gamma)
    cross, right = np.zeros((case.d, case.d)), np.zeros(case.d)
    for p, s, r, s_next, _ in case.outcomes():
        cross += p * np.outer(case.Phi[s], case.Phi[s_next])
        right += p * r * case.Phi[s]
    corrected = np.linalg.solve(case.Sigma, case.gamma * cross @ psi + right)
    printed = np.linalg.solve(case.Sigma, cross @ psi + right)
    np.testing.assert_allclose(psi, corrected, **TOLERANCE)
    assume(np.abs(cross @ psi).max() > 1e-3)
    assert np.abs(psi - printed).max() > 1e-6


@PROPERTY
@given(case=cases())
def test_value_error_is_the_parameter_error_in_the_norm_of_sigma(case):
    """App. convergence_linear_TD: ‖V_psi − V_psi*‖_mu = ‖psi − psi*‖_Sigma."""
    psi_star = lincat.solve_value(case.process, case.Phi, case.gamma)
    error = case.rng.normal(size=case.d)
    V, V_star = case.Phi @ (psi_star + error), case.Phi @ psi_star
    assert case.mu @ (V - V_star) ** 2 == pytest.approx(error @ case.Sigma @ error)


@PROPERTY
@given(case=cases())
def test_linear_td_is_stochastic_semi_gradient_descent(case):
    """App. convergence_linear_TD: the step is minus the slope of (V(s) − target)²/2."""
    psi, h = case.rng.normal(size=case.d), 1e-4
    for _, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        target = r + discount * phi_next @ psi  # held fixed: that is what "semi" means
        slope = [
            ((phi @ (psi + h * e) - target) ** 2 - (phi @ (psi - h * e) - target) ** 2) / (4 * h)
            for e in np.eye(case.d)
        ]
        step = psi - naive.linear_td_update(psi, phi, r, phi_next, discount, 1.0)
        np.testing.assert_allclose(step, slope, rtol=1e-6, atol=1e-8)


@PROPERTY
@given(case=cases())
def test_cramer_distance_is_a_euclidean_norm_of_masses(case):
    """Prop. PK_isometric: ℓ2² = iota ‖p1 − p2‖² in the norm of CᵀC."""
    first, second = case.distribution(case.random_Theta()), case.distribution(case.random_Theta())
    C = naive.C_matrix(case.K)
    gap = (first.pmf - second.pmf)[:, : case.K]
    expected = case.grid.spacing * np.einsum("sj,jk,sk->s", gap, C.T @ C, gap)
    np.testing.assert_allclose(lincat.cramer(first, second) ** 2, expected, rtol=1e-9)
    for s in range(case.S):  # and the integral itself
        integral = naive.step_distance(
            case.grid.atoms, first.pmf[s], case.grid.atoms, second.pmf[s], 2
        )
        assert integral == pytest.approx(expected[s])


@PROPERTY
@given(case=cases())
def test_categorical_projection_is_orthogonal(case):
    """Prop. orthogonal_decomposition, for a signed distribution off the grid."""
    atoms, masses = off_grid_distribution(case.rng, case.grid)
    other = case.distribution(case.random_Theta())[:1]
    nearest = lincat.ReturnDistribution.from_pmf(
        lincat.project(atoms, masses, case.grid)[None], case.grid
    )
    whole = naive.step_distance(atoms, masses, case.grid.atoms, other.pmf[0], 2)
    outside = naive.step_distance(atoms, masses, case.grid.atoms, nearest.pmf[0], 2)
    inside = lincat.cramer(nearest, other)[0] ** 2
    assert whole == pytest.approx(outside + inside, rel=1e-9)


@PROPERTY
@given(case=cases())
def test_projected_push_forward_in_masses_on_the_grid(case):
    """Prop. categorical_projection_operator, its three forms, for distributions on the grid."""
    distribution = case.distribution(case.random_Theta())
    K, C = case.K, naive.C_matrix(case.K)
    expected = np.zeros((case.S, K))
    second_form = np.zeros((case.S, K))
    process = case.process
    for j, s in enumerate(process.state):
        r, s_next, p = process.reward[j], process.next_state[j], process.probability[j]
        g, G_tilde = naive.g(case.grid, r, case.gamma), naive.G_tilde(case.grid, r, case.gamma)
        masses = distribution.pmf[s_next, :K]
        one = g[K, :K] + G_tilde @ masses
        two = G_tilde @ (masses - 1 / (K + 1)) + g[:, :K].sum(axis=0) / (K + 1)
        # a single transition, by the projection and by the O(K) target
        pushed = r + case.gamma * case.grid.atoms
        direct = lincat.project(pushed, distribution.pmf[s_next], case.grid)
        np.testing.assert_allclose(direct[:K], two, **TOLERANCE)
        target = lincat.bellman_target(distribution.cdf_values[[s_next]], r, case.gamma, case.grid)
        np.testing.assert_allclose(target[0], C @ two, **TOLERANCE)
        expected[s] += p * one
        second_form[s] += p * two
    np.testing.assert_allclose(expected, second_form, **TOLERANCE)
    np.testing.assert_allclose(case.bellman(distribution.cdf_values), expected @ C.T, **TOLERANCE)


def test_projected_push_forward_fails_off_the_grid():
    """Erratum 9: Prop. categorical_projection_operator is printed for every signed measure."""
    gamma, r, x, K = 0.75, 0.3, 2.2, 4
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=K)
    left = lincat.project([r + gamma * x], [1.0], grid)[:K]
    masses = lincat.project([x], [1.0], grid)[:K]
    right = naive.G_tilde(grid, r, gamma) @ (masses - 1 / (K + 1))
    right += naive.g(grid, r, gamma)[:, :K].sum(axis=0) / (K + 1)
    np.testing.assert_allclose(left, [0, 0.05, 0.95, 0], atol=1e-12)
    np.testing.assert_allclose(right, [0, 0.16, 0.73, 0.11], atol=1e-12)
    # The right-hand side is the push-forward of the projection: projecting first is not harmless.
    first = lincat.cdf_from_pmf(lincat.project([x], [1.0], grid))
    target = lincat.bellman_target(first[None], r, gamma, grid)
    np.testing.assert_allclose(lincat.pmf_from_cdf(target)[0, :K], right, atol=1e-12)
