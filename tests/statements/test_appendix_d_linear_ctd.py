"""Appendix omit_proof_linear_ctd: isometry, gradients, PMF coordinates, SSGD, mean preservation."""

import numpy as np
import pytest
from hypothesis import assume, given

import lincat
from tests import naive
from tests.statements.cases import PROPERTY, TOLERANCE, cases, off_grid_distribution, vec

STEP = 1e-4  # of central differences; exact on quadratics, up to rounding


def slope(function, at):
    """The gradient of a quadratic by central differences, entry by entry."""
    out = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        change = np.zeros_like(at)
        change[index] = STEP
        out[index] = (function(at + change) - function(at - change)) / (2 * STEP)
    return out


# Isometries and projections --------------------------------------------------------------------


@PROPERTY
@given(case=cases())
def test_parametrisation_by_theta_is_an_isometry(case):
    """Prop. linear_cate_isometric: ℓ2,mu² = iota ‖θ1 − θ2‖² in the norm of I ⊗ Sigma."""
    first, second = case.random_Theta(), case.random_Theta()
    gap = vec(first - second)
    distance = lincat.cramer(case.distribution(first), case.distribution(second), weights=case.mu)
    assert distance**2 == pytest.approx(case.grid.spacing * gap @ case.I_Sigma @ gap)
    root = np.linalg.inv(case.Sigma_inverse_root) @ (first - second)
    assert distance**2 == pytest.approx(case.grid.spacing * np.trace(root @ root.T))


@PROPERTY
@given(case=cases())
def test_parametrisation_by_masses_is_an_isometry(case):
    """Eq. (CDF_target_function): the same distance as a norm of W, with CᵀC ⊗ Sigma."""
    first, second = case.random_Theta(), case.random_Theta()
    C = naive.C_matrix(case.K)
    gap = vec(lincat.weights_from_theta(first) - lincat.weights_from_theta(second))
    distance = lincat.cramer(case.distribution(first), case.distribution(second), weights=case.mu)
    expected = case.grid.spacing * gap @ np.kron(C.T @ C, case.Sigma) @ gap
    assert distance**2 == pytest.approx(expected)


@PROPERTY
@given(case=cases())
def test_linear_categorical_projection_is_orthogonal(case):
    """Prop. orthogonal_decomposition_linear_approximation, for distributions off the grid."""
    distributions = case.distributions_off_grid()
    on_grid = case.project(distributions)
    nearest = case.distribution(lincat.linear_projection(on_grid, case.process, case.Phi))
    other = case.distribution(case.random_Theta())
    parts = (
        case.distance(distributions, on_grid)
        + lincat.cramer(on_grid, nearest, weights=case.mu) ** 2
        + lincat.cramer(nearest, other, weights=case.mu) ** 2
    )
    assert case.distance(distributions, other) == pytest.approx(parts, rel=1e-9)


# Gradients -------------------------------------------------------------------------------------


@PROPERTY
@given(case=cases(most_atoms=4))
def test_gradient_of_the_cramer_distance_in_theta(case):
    """Lemma gradient_cramer_distance, Eq. (gradient_cdf_representation), off the grid."""
    Theta, phi = case.random_Theta(), case.Phi[0]
    atoms, masses = off_grid_distribution(case.rng, case.grid)

    def distance(Theta):
        pmf = lincat.pmf_from_cdf(lincat.cdf_from_theta(phi[None], Theta))[0]
        return naive.step_distance(atoms, masses, case.grid.atoms, pmf, 2)

    K, C = case.K, naive.C_matrix(case.K)
    p = lincat.project(atoms, masses, case.grid)
    F = lincat.cdf_from_theta(phi[None], Theta)[0]
    first = 2 * case.grid.spacing * np.outer(phi, F - lincat.cdf_from_pmf(p))
    second = 2 * case.grid.spacing * np.outer(phi, phi @ Theta + (1 / (K + 1) - p[:K]) @ C.T)
    np.testing.assert_allclose(first, second, **TOLERANCE)
    np.testing.assert_allclose(first, slope(distance, Theta), rtol=1e-6, atol=1e-6)


@PROPERTY
@given(case=cases(most_atoms=4))
def test_gradient_of_the_mean_cramer_distance_in_theta(case):
    """Lemma gradient_cramer_distance, the second display; zero at the projection."""
    Theta, distributions = case.random_Theta(), case.distributions_off_grid(n_atoms=3)
    K, C = case.K, naive.C_matrix(case.K)
    p = case.project(distributions).pmf[:, :K]
    drift = case.Phi.T @ (case.mu[:, None] * (1 / (K + 1) - p)) @ C.T
    gradient = 2 * case.grid.spacing * (case.Sigma @ Theta + drift)
    numeric = slope(lambda Theta: case.distance(distributions, case.distribution(Theta)), Theta)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    best = lincat.linear_projection(case.project(distributions), case.process, case.Phi)
    np.testing.assert_allclose(case.Sigma @ best + drift, 0.0, atol=1e-10)


@PROPERTY
@given(case=cases(most_atoms=4))
def test_gradient_of_the_cramer_distance_in_the_masses(case):
    """Eq. (gradient_pmf_representation), for a distribution off the grid."""
    W, phi = case.random_Theta(), case.Phi[0]
    atoms, masses = off_grid_distribution(case.rng, case.grid)
    K, C = case.K, naive.C_matrix(case.K)

    def distance(W):
        cdf = lincat.cdf_from_theta(phi[None], lincat.theta_from_weights(W))
        return naive.step_distance(atoms, masses, case.grid.atoms, lincat.pmf_from_cdf(cdf)[0], 2)

    p = lincat.project(atoms, masses, case.grid)[:K]
    row = (phi @ W + 1 / (K + 1) - p) @ C.T @ C
    gradient = 2 * case.grid.spacing * np.outer(phi, row)
    np.testing.assert_allclose(gradient, slope(distance, W), rtol=1e-6, atol=1e-6)
    # the vectorised display before it
    vectorised = np.kron(C.T @ C, np.outer(phi, phi)) @ vec(W)
    vectorised += np.kron(C.T @ C @ (1 / (K + 1) - p), phi)
    np.testing.assert_allclose(2 * case.grid.spacing * vectorised, vec(gradient), **TOLERANCE)


# The projected Bellman equation ----------------------------------------------------------------


@PROPERTY
@given(case=cases())
def test_projected_bellman_operator_on_linear_categorical_distributions(case):
    """Prop. Pi_K_T and the line Eq. (eq_in_proof_Pi_K_T) that its proof starts from."""
    Theta = case.random_Theta()
    distribution, K, C = case.distribution(Theta), case.K, naive.C_matrix(case.K)
    W = lincat.weights_from_theta(Theta)
    by_proposition, by_line = np.zeros((case.S, K)), np.zeros((case.S, K))
    process = case.process
    for j, s in enumerate(process.state):
        r, s_next, p = process.reward[j], process.next_state[j], process.probability[j]
        g, G_tilde = naive.g(case.grid, r, case.gamma), naive.G_tilde(case.grid, r, case.gamma)
        by_proposition[s] += p * (
            G_tilde @ np.linalg.inv(C) @ Theta.T @ case.Phi[s_next] + g[:, :K].sum(axis=0) / (K + 1)
        )
        by_line[s] += p * (distribution.pmf[s_next] @ g[:, :K])
        np.testing.assert_allclose(np.linalg.inv(C) @ Theta.T, W.T, **TOLERANCE)
    np.testing.assert_allclose(by_proposition, by_line, **TOLERANCE)
    np.testing.assert_allclose(
        case.bellman(distribution.cdf_values), by_proposition @ C.T, **TOLERANCE
    )


def test_entries_of_the_projected_push_forward_start_at_atom_zero():
    """Erratum 10: the proof of Prop. Pi_K_T lists g_{·,1}, …, g_{·,K−1}: one entry too few."""
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=0.75, intervals=4)
    printed = naive.g(grid, 0.0, 0.75)[:, 1 : grid.intervals]
    corrected = naive.g(grid, 0.0, 0.75)[:, : grid.intervals]
    assert corrected.shape[1] == grid.intervals == printed.shape[1] + 1
    cdf = np.array([0.5, 0.75, 1.0, 1.0])
    target = lincat.bellman_target(cdf[None], 0.0, 0.75, grid)[0]
    np.testing.assert_allclose(np.cumsum(lincat.pmf_from_cdf(cdf) @ corrected), target, atol=1e-15)
    assert (lincat.pmf_from_cdf(cdf) @ corrected)[0] > 0.5  # what the printed list leaves out


@PROPERTY
@given(case=cases())
def test_derivation_of_the_fixed_point_has_a_sign_flipped(case):
    """Erratum 5, App. proof_linear_cate_TD_equation: the second display yields −Theta*."""
    Theta, K, C = case.Theta_star, case.K, naive.C_matrix(case.K)
    distribution = case.distribution(Theta)
    p = lincat.pmf_from_cdf(case.bellman(distribution.cdf_values))[:, :K]

    def display(bracket):
        return np.linalg.solve(case.Sigma, case.Phi.T @ (case.mu[:, None] * bracket) @ C.T)

    np.testing.assert_allclose(display(p - 1 / (K + 1)), Theta, atol=1e-9)
    np.testing.assert_allclose(display(1 / (K + 1) - p), -Theta, atol=1e-9)
    assume(np.abs(Theta).max() > 1e-3)
    assert np.abs(display(1 / (K + 1) - p) - Theta).max() > 1e-3


# PMF coordinates and SSGD ----------------------------------------------------------------------


@PROPERTY
@given(case=cases())
def test_masses_are_linear_in_W(case):
    """Eq. (PMF_linear_parametrization), with W = Theta C⁻ᵀ and w = (C⁻¹ ⊗ I) θ."""
    Theta, K, C = case.random_Theta(), case.K, naive.C_matrix(case.K)
    W = lincat.weights_from_theta(Theta)
    np.testing.assert_allclose(W, Theta @ np.linalg.inv(C).T, **TOLERANCE)
    np.testing.assert_allclose(lincat.theta_from_weights(W), W @ C.T, **TOLERANCE)
    np.testing.assert_allclose(lincat.theta_from_weights(W), Theta, **TOLERANCE)
    w = np.kron(np.linalg.inv(C), np.eye(case.d)) @ vec(Theta)
    np.testing.assert_allclose(vec(W), w, **TOLERANCE)
    np.testing.assert_allclose(
        case.distribution(Theta).pmf[:, :K], case.Phi @ W + 1 / (K + 1), **TOLERANCE
    )


@PROPERTY
@given(case=cases())
def test_empirical_operator_pushes_one_distribution(case):
    """Eqs. (empirical_op) and (project_bellman_w): the masses of Pi_K of r + gamma G(s')."""
    Theta, K = case.random_Theta(), case.K
    distribution, W = case.distribution(Theta), lincat.weights_from_theta(Theta)
    for _, _, r, s_next, _ in case.outcomes():
        pushed = lincat.project(
            r + case.gamma * case.grid.atoms, distribution.pmf[s_next], case.grid
        )  # Eq. (empirical_op), projected
        target = lincat.bellman_target(distribution.cdf_values[[s_next]], r, case.gamma, case.grid)
        np.testing.assert_allclose(lincat.pmf_from_cdf(target)[0], pushed, **TOLERANCE)
        by_W = naive.G_tilde(case.grid, r, case.gamma) @ W.T @ case.Phi[s_next]
        by_W += naive.g(case.grid, r, case.gamma)[:, :K].sum(axis=0) / (K + 1)
        np.testing.assert_allclose(pushed[:K], by_W, **TOLERANCE)


@PROPERTY
@given(case=cases(most_atoms=4))
def test_ssgd_on_masses_is_the_semi_gradient_step(case):
    """Eq. (ssgd_pmf): by finite differences with the target held fixed, factor 2·iota included."""
    W = case.random_Theta()
    distribution = case.distribution(lincat.theta_from_weights(W))
    for _, s, r, s_next, discount in list(case.outcomes())[:3]:
        phi = case.Phi[s]
        pushed = r + discount * case.grid.atoms

        def distance(W, phi=phi, pushed=pushed, s_next=s_next):
            cdf = lincat.cdf_from_theta(phi[None], lincat.theta_from_weights(W))
            pmf = lincat.pmf_from_cdf(cdf)[0]
            return naive.step_distance(pushed, distribution.pmf[s_next], case.grid.atoms, pmf, 2)

        alpha = 0.3
        arguments = (W, phi, r, case.Phi[s_next], discount, case.grid)
        printed = naive.ssgd_pmf_update(*arguments, 2 * case.grid.spacing * alpha)
        np.testing.assert_allclose(printed, W - alpha * slope(distance, W), rtol=1e-6, atol=1e-6)


@PROPERTY
@given(case=cases())
def test_ssgd_on_masses_in_theta_coordinates(case):
    """Eq. (linear_CTD_PMF_THETA) is Eq. (ssgd_pmf) under Theta = W Cᵀ: (F − target) C Cᵀ."""
    Theta, C = case.random_Theta(), naive.C_matrix(case.K)
    W = lincat.weights_from_theta(Theta)
    for _, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        new_W = naive.ssgd_pmf_update(W, phi, r, phi_next, discount, case.grid, 0.1)
        new_Theta = naive.ssgd_pmf_update_theta(Theta, phi, r, phi_next, discount, case.grid, 0.1)
        np.testing.assert_allclose(lincat.theta_from_weights(new_W), new_Theta, **TOLERANCE)
        cdf = lincat.cdf_from_theta(np.stack([phi, phi_next]), Theta)
        delta = cdf[0] - lincat.bellman_target(cdf[1:], r, discount, case.grid)[0]
        # C Cᵀ without a matrix: cumulative sums from above, then from below
        stretched = np.cumsum(np.cumsum(delta[::-1])[::-1])
        np.testing.assert_allclose(stretched, delta @ C @ C.T, **TOLERANCE)
        np.testing.assert_allclose(Theta - 0.1 * np.outer(phi, stretched), new_Theta, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_linear_ctd_in_the_coordinates_of_the_masses(case):
    """Eq. (linear_CTD_PMF_represent): SSGD on masses without CᵀC."""
    Theta = case.random_Theta()
    W = lincat.weights_from_theta(Theta)
    for _, s, r, s_next, discount in case.outcomes():
        arguments = (case.Phi[s], r, case.Phi[s_next], discount, case.grid, 0.4)
        new_W = naive.linear_ctd_update_pmf(W, *arguments)
        new_Theta = naive.linear_ctd_update(Theta, *arguments)
        np.testing.assert_allclose(lincat.theta_from_weights(new_W), new_Theta, **TOLERANCE)


@PROPERTY
@given(case=cases(most_atoms=4))
def test_ssgd_on_cdf_values_is_linear_ctd_with_another_step(case):
    """App. equiv_ssgd_lctd, Remark:comparison: step 2·alpha·iota, by finite differences."""
    Theta, alpha = case.random_Theta(), 0.3
    distribution = case.distribution(Theta)
    for _, s, r, s_next, discount in list(case.outcomes())[:3]:
        phi, pushed = case.Phi[s], r + discount * case.grid.atoms

        def distance(Theta, phi=phi, pushed=pushed, s_next=s_next):
            pmf = lincat.pmf_from_cdf(lincat.cdf_from_theta(phi[None], Theta))[0]
            return naive.step_distance(pushed, distribution.pmf[s_next], case.grid.atoms, pmf, 2)

        step = 2 * alpha * case.grid.spacing
        np.testing.assert_allclose(
            naive.linear_ctd_update(Theta, phi, r, case.Phi[s_next], discount, case.grid, step),
            Theta - alpha * slope(distance, Theta),
            rtol=1e-6,
            atol=1e-6,
        )


@PROPERTY
@given(case=cases(most_atoms=4))
def test_semi_gradients_are_unbiased(case):
    """App. equiv_ssgd_lctd: the mean one-transition gradient is that of ℓ2,mu² to T eta."""
    Theta = case.random_Theta()
    distribution = case.distribution(Theta)
    mean = np.zeros_like(Theta)
    for p, s, r, s_next, discount in case.outcomes():
        target = lincat.bellman_target(distribution.cdf_values[[s_next]], r, discount, case.grid)[0]
        mean += (
            p * 2 * case.grid.spacing * np.outer(case.Phi[s], distribution.cdf_values[s] - target)
        )
    pushed = case.bellman_exact([(case.grid.atoms, pmf) for pmf in distribution.pmf])
    numeric = slope(lambda Theta: case.distance(pushed, case.distribution(Theta)), Theta)
    np.testing.assert_allclose(mean, numeric, rtol=1e-6, atol=1e-6)


# Mean preservation -----------------------------------------------------------------------------


def value_parameter(case, Theta):
    """The psi with V_psi = V_theta: the proof of Prop. mean_preserve_property, phi_1 = 1/√d."""
    psi = -case.grid.spacing * Theta.sum(axis=1)
    psi[0] += np.sqrt(case.d) * (case.grid.low + case.grid.high) / 2
    return psi


def run_both(case, update, Theta, n, step_size):
    """Linear-TD and a distributional learner on one stream; lists of iterates."""
    psis, Thetas = [value_parameter(case, Theta)], [Theta]
    data = case.process.sample(n, seed=3)
    for s, r, s_next in zip(data.state, data.reward, data.next_state, strict=True):
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        psis.append(naive.linear_td_update(psis[-1], phi, r, phi_next, case.gamma, step_size))
        Thetas.append(update(Thetas[-1], phi, r, phi_next, case.gamma, case.grid, step_size))
    return psis, Thetas


@PROPERTY
@given(case=cases())
def test_every_value_parameter_has_a_distributional_one(case):
    """Prop. mean_preserve_property: for any psi_0 there is a Theta_0 with the same means."""
    psi = case.rng.normal(size=case.d)
    Theta = case.random_Theta()
    wanted = -psi
    wanted[0] += np.sqrt(case.d) * (case.grid.low + case.grid.high) / 2
    Theta[:, -1] += wanted / case.grid.spacing - Theta.sum(axis=1)
    np.testing.assert_allclose(case.distribution(Theta).mean(), case.Phi @ psi, **TOLERANCE)
    flat = case.distribution(np.zeros((case.d, case.K)))  # Theta = 0: the middle of the grid
    np.testing.assert_allclose(flat.mean(), (case.grid.low + case.grid.high) / 2, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_linear_ctd_preserves_the_mean(case):
    """Prop. mean_preserve_property: V_θt = V_psi_t for every t, and for tail averages."""
    T = 20
    psis, Thetas = run_both(case, naive.linear_ctd_update, case.random_Theta(), T, 0.5)
    for psi, Theta in zip(psis, Thetas, strict=True):
        np.testing.assert_allclose(case.distribution(Theta).mean(), case.Phi @ psi, **TOLERANCE)
    for t in range(2, T + 1, 2):
        psi_bar = np.mean(psis[t // 2 : t + 1], axis=0)
        Theta_bar = np.mean(Thetas[t // 2 : t + 1], axis=0)
        np.testing.assert_allclose(
            case.distribution(Theta_bar).mean(), case.Phi @ psi_bar, **TOLERANCE
        )


@PROPERTY
@given(case=cases())
def test_fixed_points_have_the_same_mean(case):
    """What Prop. mean_preserve_property implies for theta* and psi*."""
    psi = lincat.solve_value(case.process, case.Phi, case.gamma)
    np.testing.assert_allclose(
        case.distribution(case.Theta_star).mean(), case.Phi @ psi, **TOLERANCE
    )


def test_ssgd_on_masses_does_not_preserve_the_mean():
    """The remark on mean preservation in Section linear_ctd."""
    problem = lincat.catalog.random_process(4, n_features=3, gamma=0.75, seed=5)
    Phi = problem.Phi.copy()
    Phi[:, 0] = 1 / np.sqrt(3)
    grid = problem.grid(intervals=6)
    Theta, s, s_next, r = np.zeros((3, 6)), 0, 1, 1.0
    phi, phi_next = Phi[s], Phi[s_next]
    psi = np.array([np.sqrt(3) * (grid.low + grid.high) / 2, 0.0, 0.0])
    psi = naive.linear_td_update(psi, phi, r, phi_next, 0.75, 0.01)
    Theta = naive.ssgd_pmf_update_theta(Theta, phi, r, phi_next, 0.75, grid, 0.01)
    mean = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi, Theta), grid).mean()
    assert np.abs(mean - Phi @ psi).max() > 0.01


@PROPERTY
@given(case=cases())
def test_last_display_of_mean_preservation_needs_the_earlier_value(case):
    """Erratum 7: V_psi_{t−1}(s_t), not V_psi_t(s_t), minus the target's mean."""
    Theta = case.random_Theta()
    psis, Thetas = run_both(case, naive.linear_ctd_update, Theta, 1, 0.5)
    s, r, s_next, _ = (field[0] for field in case.process.sample(1, seed=3))
    cdf = lincat.cdf_from_theta(case.Phi, Theta)
    target = lincat.bellman_target(cdf[[s_next]], r, case.gamma, case.grid)[0]
    left = case.grid.spacing * (target - cdf[s]).sum()
    target_mean = r + case.gamma * case.Phi[s_next] @ psis[0]
    assert left == pytest.approx(case.Phi[s] @ psis[0] - target_mean, rel=1e-9, abs=1e-9)
    assert len(Thetas) == 2
    assume(abs(left) > 1e-2)  # where the step is zero the two values agree
    assert left != pytest.approx(case.Phi[s] @ psis[1] - target_mean, rel=1e-3)


@PROPERTY
@given(case=cases())
def test_projection_preserves_the_mean(case):
    """Lemma cramer_proj_preserve_mean, for signed distributions anywhere on the grid's range."""
    atoms, masses = off_grid_distribution(case.rng, case.grid)
    projected = lincat.project(atoms, masses, case.grid)
    assert projected @ case.grid.atoms == pytest.approx(atoms @ masses, rel=1e-9, abs=1e-9)
    distribution = lincat.ReturnDistribution.from_pmf(projected, case.grid)
    assert distribution.mean()[0] == pytest.approx(atoms @ masses, rel=1e-9, abs=1e-9)


def test_x_lb_is_the_largest_atom_not_above():
    """Erratum 4: printed {y: x ≤ y}, whose largest atom is always the last one."""
    grid, x = lincat.Grid(0.0, 4.0, intervals=4), 1.3

    def mean(lower):
        share = (x - lower) / grid.spacing
        return lower * (1 - share) + (lower + grid.spacing) * share, share

    printed = max(y for y in grid.atoms if x <= y)
    corrected = max(y for y in grid.atoms if y <= x)
    assert printed == grid.atoms[-1]
    assert not 0 <= mean(printed)[1] <= 1  # shares outside [0, 1], on an atom beyond the grid
    assert corrected == grid.atoms[grid.index_at_or_below(x)]
    value, share = mean(corrected)
    assert value == pytest.approx(x)
    expected = np.zeros(5)
    expected[1], expected[2] = 1 - share, share
    np.testing.assert_allclose(lincat.project([x], [1.0], grid), expected, atol=1e-15)
