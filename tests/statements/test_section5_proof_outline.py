"""Section proof_outline: the vectorised update, stability, and the two key bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.statements.cases import PROPERTY, TOLERANCE, assert_loewner, cases, grids, seeds, vec

unit = st.floats(0.0, 1.0)


@PROPERTY
@given(case=cases())
def test_vectorised_update_is_linear_ctd(case):
    """Eq. (bt) and the display above it: θ − α(A_t θ − b_t)."""
    Theta = case.random_Theta()
    for _, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        A, b = naive.transition_system(phi, r, phi_next, discount, case.grid)
        np.testing.assert_allclose(
            b, np.kron(lincat.bellman_offset(case.grid, r, discount), phi), atol=1e-12
        )
        np.testing.assert_allclose(
            A,
            np.kron(np.eye(case.K), np.outer(phi, phi))
            - np.kron(lincat.bellman_matrix(case.grid, r, discount), np.outer(phi, phi_next)),
            atol=1e-12,
        )
        updated = naive.linear_ctd_update(Theta, phi, r, phi_next, discount, case.grid, 0.3)
        step = A @ vec(Theta) - b
        np.testing.assert_allclose(vec(updated), vec(Theta) - 0.3 * step, **TOLERANCE)
        # the form that lincat.error_constants uses: (F − target) ⊗ phi
        cdf = lincat.cdf_from_theta(np.stack([phi, phi_next]), Theta)
        delta = cdf[0] - lincat.bellman_target(cdf[1:], r, discount, case.grid)[0]
        np.testing.assert_allclose(step, np.kron(delta, phi), **TOLERANCE)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_loss_is_bounded_by_the_residual(case):
    """Lemma translate_error_to_loss, constants and all."""
    A, _ = case.system
    factor = 2 / (np.sqrt(case.K * case.lambda_min) * (1 - case.gamma) ** 2)
    for _ in range(3):
        Theta = case.Theta_star + case.random_Theta()
        loss = lincat.wasserstein(
            case.distribution(Theta), case.distribution(case.Theta_star), weights=case.mu
        )
        residual = A @ vec(Theta - case.Theta_star)
        assert loss <= factor * np.linalg.norm(residual) * (1 + 1e-9)


@PROPERTY
@given(case=cases(unit_rewards=True, enough_atoms=True))
def test_error_constants_agree_with_dense_matrices_and_the_bounds(case):
    """Lemma upper_bound_error_quantities, for K ≥ 1/(1 − gamma) and ‖phi‖ ≤ 1."""
    theta, gamma = vec(case.Theta_star), case.gamma
    constants = lincat.error_constants(case.process, case.Phi, case.grid, gamma, case.Theta_star)
    mean_A, _ = case.system
    norms, centred, errors, trace = [], [], [], 0.0
    for p, _, _, A, b in case.transition_systems():
        norms.append(np.linalg.norm(A, 2))
        centred.append(np.linalg.norm(A - mean_A, 2))
        errors.append(np.linalg.norm(A @ theta - b))
        trace += p * errors[-1] ** 2
    norm, weighted = np.linalg.norm(theta), np.sqrt(theta @ case.I_Sigma @ theta)

    # the library against the dense matrices
    assert constants.lambda_min == pytest.approx(case.lambda_min)
    assert constants.max_squared_norm == pytest.approx((case.Phi**2).sum(axis=1).max())
    assert constants.max_norm_A == pytest.approx(max(norms), rel=1e-7)
    assert constants.C_e == pytest.approx(max(errors), rel=1e-7)
    assert constants.trace_Sigma_e == pytest.approx(trace, rel=1e-7)
    assert constants.norm_theta == pytest.approx(norm, rel=1e-9)
    assert constants.norm_theta_Sigma == pytest.approx(weighted, rel=1e-9)

    # the lemma, and the sharper bounds that its proof gives
    floor = np.sqrt(case.K) * (1 - gamma)
    assert max(*norms, *centred) <= constants.C_A + 1e-9
    assert constants.max_norm_A <= 1 + np.sqrt(gamma) + 1e-9
    assert constants.C_A <= 4
    assert constants.C_e <= np.sqrt(2 * (1 + gamma)) * norm + 3 * floor
    assert constants.C_e <= 4 * (norm + floor)
    assert constants.trace_Sigma_e <= 4 * (1 + gamma) * weighted**2 + 18 * floor**2
    assert constants.trace_Sigma_e <= 18 * (weighted**2 + floor**2)


@PROPERTY
@given(case=cases(unit_rewards=True, most_atoms=4))
def test_products_of_random_matrices_shrink_exponentially(case):
    """Lemma exponential_stable at p = 2: E‖Γ_t u‖² as an exact quadratic form, t = 1, 2, 3."""
    a = (1 - np.sqrt(case.gamma)) * case.lambda_min / 2
    alpha = (1 - np.sqrt(case.gamma)) / (38 * 2)
    assert alpha * 2 <= 0.5
    identity = np.eye(case.d * case.K)
    steps = [(p, identity - alpha * A) for p, _, _, A, _ in case.transition_systems()]
    moment = identity  # uᵀ moment u = E‖Γ_t u‖²
    for t in (1, 2, 3):
        moment = sum(p * step.T @ moment @ step for p, step in steps)
        assert_loewner(moment, (1 - alpha * a) ** (2 * t) * identity)


@PROPERTY
@given(case=cases())
def test_expected_kronecker_product_has_norm_at_most_root_gamma(case):
    """Eq. (biscuit_matrix_in_paper), and that the factors alone are bounded as the text says."""
    root = case.Sigma_inverse_root
    whole, second, norms = 0.0, 0.0, 0.0
    for p, s, r, s_next, discount in case.outcomes():
        outer = root @ np.outer(case.Phi[s], case.Phi[s_next]) @ root
        whole = whole + p * np.kron(lincat.bellman_matrix(case.grid, r, discount), outer)
        second = second + p * outer
        norms += p * np.linalg.norm(outer, 2)
    assert np.linalg.norm(whole, 2) <= np.sqrt(case.gamma) + 1e-10
    assert np.linalg.norm(second, 2) <= 1 + 1e-10
    assert norms <= case.d + 1e-10  # the loose bound that moving E outside would give


@PROPERTY
@given(seed=seeds, shape=st.tuples(*[st.integers(1, 4)] * 5))
def test_norm_of_expected_kronecker_product_with_rank_one(seed, shape):
    """The unlabelled lemma: ‖E[Y ⊗ x zᵀ]‖ ≤ C_Y √(C_x C_z), Y, x and z dependent."""
    n, k, m, d1, d2 = shape
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet(np.ones(n))
    Y, x, z = rng.normal(size=(n, k, m)), rng.normal(size=(n, d1)), rng.normal(size=(n, d2))
    Y[0] *= 3  # and let the largest Y go with the largest x
    x[0] *= 3
    C_Y = max(np.linalg.norm(y, 2) for y in Y)
    C_x, C_z = (np.linalg.norm(v.T @ (chance[:, None] * v), 2) for v in (x, z))
    expected = sum(
        p * np.kron(y, np.outer(a, b)) for p, y, a, b in zip(chance, Y, x, z, strict=True)
    )
    assert np.linalg.norm(expected, 2) <= C_Y * np.sqrt(C_x * C_z) * (1 + 1e-10)


@PROPERTY
@given(grid_gamma=grids(), reward=unit, seed=seeds)
def test_bellman_matrix_represents_the_operator_of_one_state(grid_gamma, reward, seed):
    """Remark cgc: B(r) maps differences of CDFs as Pi_K T does, and contracts by √gamma."""
    (grid, gamma), rng = grid_gamma, np.random.default_rng(seed)
    cdf = rng.normal(size=(2, grid.intervals))
    target = lincat.bellman_target(cdf, reward, gamma, grid)
    B = lincat.bellman_matrix(grid, reward, gamma)
    np.testing.assert_allclose(target[0] - target[1], B @ (cdf[0] - cdf[1]), atol=1e-10)
    before, after = (
        lincat.cramer(*(lincat.ReturnDistribution(row, grid) for row in pair))[0]
        for pair in (cdf, target)
    )
    assert after <= np.sqrt(gamma) * before * (1 + 1e-10)


@PROPERTY
@given(grid_gamma=grids(largest_gamma=0.95, enough_atoms=True), reward=unit)
def test_norm_of_the_offset(grid_gamma, reward):
    """Term (bound_bt_in_paper): a distance from the uniform CDF, at most 3 √K (1 − gamma)."""
    grid, gamma = grid_gamma
    K = grid.intervals
    C, g = naive.C_matrix(K), naive.g(grid, reward, gamma)
    term = np.linalg.norm(C @ (g[:, :K].sum(axis=0) - 1)) / (K + 1)
    uniform = lincat.ReturnDistribution(np.arange(1, K + 1) / (K + 1), grid)
    pushed = lincat.project(reward + gamma * grid.atoms, uniform.pmf[0], grid)
    distance = lincat.cramer(lincat.ReturnDistribution.from_pmf(pushed, grid), uniform)[0]
    exact = naive.step_distance(
        reward + gamma * grid.atoms, uniform.pmf[0], grid.atoms, uniform.pmf[0], 2
    )
    assert np.linalg.norm(lincat.bellman_offset(grid, reward, gamma)) == pytest.approx(
        term, abs=1e-12
    )
    assert term == pytest.approx(distance / np.sqrt(grid.spacing), abs=1e-12)
    assert term <= np.sqrt(exact / grid.spacing) + 1e-12
    assert np.sqrt(exact / grid.spacing) <= 3 * np.sqrt(K) * (1 - gamma)


def largest_stable_step(A):
    """The largest α with spectral radius of I − αA below one."""
    eigenvalues = np.linalg.eigvals(A)
    return (2 * eigenvalues.real / np.abs(eigenvalues) ** 2).min()


def test_step_of_ssgd_on_masses_falls_as_one_over_K_squared():
    """Remark compare_ssgd_pmf: alpha·K² levels off for SSGD-PMF, alpha itself for Linear-CTD."""
    p = lincat.catalog.paper()
    plain, stretched = [], []
    for K in (15, 30, 60):
        A, _ = naive.system(p.process, p.Phi, p.grid(K), p.gamma)
        C = naive.C_matrix(K)
        plain.append(largest_stable_step(A))
        stretched.append(largest_stable_step(np.kron(C @ C.T, np.eye(3)) @ A) * K**2)
    assert max(plain) / min(plain) < 1.1
    assert max(stretched) / min(stretched) < 1.1
