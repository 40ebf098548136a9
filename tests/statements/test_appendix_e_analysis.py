"""Appendix to Section analysis_linear_ctd: the inequalities behind stability, and SSGD-PMF."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.statements.cases import PROPERTY, TOLERANCE, Case, assert_loewner, cases, grids, vec


def outer(phi):
    return np.outer(phi, phi)


def largest_step(case):
    """The step that App. proof_exponential_stable allows, (1 − √gamma)/(2(1 + gamma))."""
    return (1 - np.sqrt(case.gamma)) / (2 * (1 + case.gamma))


def second_moments(case, alpha):
    """Yield (probability, A_t, B_t), B_t = A + Aᵀ − α AᵀA of the proof."""
    for p, _, _, A, _ in case.transition_systems():
        yield p, A, A + A.T - alpha * A.T @ A


# Lemma translate_error_to_loss -----------------------------------------------------------------


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_mean_matrix_is_bounded_below(case):
    """Eq. (bar_A_lower_bound), both inequalities and the equivalent form."""
    A, _ = case.system
    inverse = np.kron(np.eye(case.K), np.linalg.inv(case.Sigma))
    weighted = A.T @ inverse @ A / (1 - np.sqrt(case.gamma)) ** 2
    assert_loewner(case.I_Sigma, weighted)
    assert_loewner(weighted, 4 / ((1 - case.gamma) ** 2 * case.lambda_min) * A.T @ A)
    root = np.kron(np.eye(case.K), case.Sigma_inverse_root)
    whitened = root @ A @ root
    floor = (1 - np.sqrt(case.gamma)) ** 2 * np.eye(case.d * case.K)
    assert_loewner(floor, whitened.T @ whitened)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_loss_is_bounded_by_the_parameter_error(case):
    """First display of App. proof_translate_error_to_loss, with its middle terms."""
    gap = case.random_Theta()
    distributions = case.distribution(case.Theta_star + gap), case.distribution(case.Theta_star)
    loss = lincat.wasserstein(*distributions, weights=case.mu)
    cramer = lincat.cramer(*distributions, weights=case.mu)
    weighted = vec(gap) @ case.I_Sigma @ vec(gap)
    assert loss**2 <= cramer**2 / (1 - case.gamma) * (1 + 1e-10)
    assert cramer**2 == pytest.approx(case.grid.spacing * np.trace(gap.T @ case.Sigma @ gap))
    assert cramer**2 / (1 - case.gamma) == pytest.approx(
        weighted / (case.K * (1 - case.gamma) ** 2)
    )


@PROPERTY
@given(case=cases())
def test_whitened_mean_of_kronecker_products(case):
    """Eq. (biscuit_matrix_bound): the norm is the distance of the whitened mean matrix from I."""
    A, _ = case.system
    root = np.kron(np.eye(case.K), case.Sigma_inverse_root)
    norm = np.linalg.norm(np.eye(case.d * case.K) - root @ A @ root, 2)
    assert norm <= np.sqrt(case.gamma) + 1e-10


# Lemma upper_bound_error_quantities ------------------------------------------------------------


@PROPERTY
@given(case=cases(unit_rewards=True, enough_atoms=True))
def test_norm_of_b(case):
    """Eq. (bt_upper_bound) and the summary after it: ‖b_t‖ ≤ 3 √K (1 − gamma)."""
    for _, s, r, s_next, discount in case.outcomes():
        phi = case.Phi[s]
        _, b = naive.transition_system(phi, r, case.Phi[s_next], discount, case.grid)
        offset = np.linalg.norm(lincat.bellman_offset(case.grid, r, discount))
        assert np.linalg.norm(b) == pytest.approx(offset * np.linalg.norm(phi), abs=1e-12)
        assert np.linalg.norm(b) <= offset + 1e-12
        assert offset <= 3 * np.sqrt(case.K) * (1 - case.gamma)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_norm_of_one_matrix(case):
    """App. proof_upper_bound_error_quantities: ‖A_t‖ ≤ 1 + √gamma and ‖A_t θ‖² ≤ 2(1+gamma)‖θ‖²."""
    theta = vec(case.random_Theta())
    for _, _, _, A, _ in case.transition_systems():
        assert np.linalg.norm(A, 2) <= 1 + np.sqrt(case.gamma) + 1e-12
        assert np.sum((A @ theta) ** 2) <= 2 * (1 + case.gamma) * theta @ theta + 1e-10


# Lemma exponential_stable ----------------------------------------------------------------------


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_squares_of_one_transition(case):
    """Eqs. (ctc_phiphi_2_bound), (AAt_bound), (norm_AAt_bound), and the same for A Aᵀ."""
    identity, gamma = np.eye(case.K), case.gamma
    for _, s, s_next, A, _ in case.transition_systems():
        now, then = (
            np.kron(identity, outer(case.Phi[s])),
            np.kron(identity, outer(case.Phi[s_next])),
        )
        squared = case.Phi[s] @ case.Phi[s]
        np.testing.assert_allclose(now @ now, squared * now, atol=1e-12)
        assert_loewner(now @ now, now)
        assert_loewner(A.T @ A, 2 * (now + gamma * then))
        assert_loewner(A @ A.T, 2 * (1 + gamma) * now)
        assert np.linalg.norm(A.T @ A, 2) <= 2 * (1 + gamma) + 1e-12


@PROPERTY
@given(case=cases(unit_rewards=True), share=st.floats(0.01, 1.0))
def test_mean_squares(case, share):
    """Eqs. (EAAt_bound), (upper_bound_B_part_1), (upper_bound_B_part_2), (upper_bound_B_part_3)."""
    alpha, gamma = share * largest_step(case), case.gamma
    inner = outer_ = fourth = 0.0
    for p, _, _, A, _ in case.transition_systems():
        inner = inner + p * A.T @ A
        outer_ = outer_ + p * A @ A.T
        fourth = fourth + p * (A.T @ A) @ (A.T @ A)
    assert_loewner(inner, 2 * (1 + gamma) * case.I_Sigma)
    assert_loewner(outer_, 2 * (1 + gamma) * case.I_Sigma)
    assert_loewner(alpha**2 * fourth, 4 * alpha**2 * (1 + gamma) ** 2 * case.I_Sigma)
    assert_loewner(alpha**2 * fourth, (1 - np.sqrt(gamma)) ** 2 * case.I_Sigma)


@PROPERTY
@given(case=cases(unit_rewards=True), share=st.floats(0.01, 1.0))
def test_moments_of_B(case, share):
    """Eq. (norm_B_bound), and the two claims E[B] ≽ (1 − √gamma) I ⊗ Sigma, E[B^p] ≼ 17/16·4^p."""
    alpha, gamma = share * largest_step(case), case.gamma
    moments = dict.fromkeys((1, 2, 3, 4), 0.0)
    symmetric = 0.0
    for p, A, B in second_moments(case, alpha):
        identity = np.eye(len(A))
        step = identity - alpha * A
        np.testing.assert_allclose(step.T @ step, identity - alpha * B, atol=1e-12)
        bound = 2 * (1 + np.sqrt(gamma)) + 2 * alpha * (1 + gamma)
        assert np.linalg.norm(B, 2) <= bound + 1e-12
        assert bound <= 4
        symmetric = symmetric + p * (A + A.T)
        for power in moments:
            moments[power] = moments[power] + p * np.linalg.matrix_power(B, power)
    root = 1 - np.sqrt(gamma)
    assert_loewner(2 * root * case.I_Sigma, symmetric)
    assert_loewner(2 * (root - alpha * (1 + gamma)) * case.I_Sigma, moments[1])
    assert_loewner(root * case.I_Sigma, moments[1])
    assert_loewner(moments[2], (17 + 9 * gamma - 10 * np.sqrt(gamma)) * case.I_Sigma)
    for power in (2, 3, 4):
        assert_loewner(moments[power], 17 / 16 * 4.0**power * case.I_Sigma)


def test_bound_on_B_squared_needs_its_expectation():
    """A slip in the last displays of App. proof_exponential_stable: B² ≼ 17 I ⊗ Sigma lacks E.

    For a single transition out of a state that is hardly ever visited it is false.
    """
    process = lincat.MarkovRewardProcess.from_matrices([[0.0, 1.0], [0.01, 0.99]], [0.0, 1.0])
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=0.5, intervals=2)
    case = Case(process, np.eye(2), 0.5, grid, np.random.default_rng(0))
    bound, mean, largest = 17 * case.I_Sigma, 0.0, []
    for p, _, B in second_moments(case, largest_step(case)):
        mean = mean + p * B @ B
        largest.append(np.linalg.eigvalsh(B @ B - bound)[-1])
    assert_loewner(mean, bound)
    assert max(largest) > 1


def test_constant_seventeen():
    """The last step of the bound on E[B²], with beta as printed, for all gamma."""
    gamma = np.linspace(0.0, 1.0, 1001)[:-1]
    root = 1 - np.sqrt(gamma)
    beta = root / np.sqrt(8 * (1 + gamma))
    total = 8 * (1 + gamma) * (1 + beta) + (1 + 1 / beta) * root**2
    assert (total <= 17 + 9 * gamma - 10 * np.sqrt(gamma) + 1e-12).all()
    assert (17 + 9 * gamma - 10 * np.sqrt(gamma) <= 17).all()


@PROPERTY
@given(case=cases(unit_rewards=True, most_atoms=4), share=st.floats(0.01, 0.999))
def test_powers_of_one_step_contract(case, share):
    """Lemma exponential_stable, the matrix inequality of its proof, p = 1, 2, 3; erratum 8.

    The first display prints (1 − gamma) where the argument arrives at (1 − √gamma), the weaker
    claim once halved: (1 − gamma)/2 lies between (1 − √gamma)/2 and (1 − √gamma). The printed
    form holds too, because the argument has that much to spare.
    """
    for power in (1, 2, 3):
        alpha = share * (1 - np.sqrt(case.gamma)) / (38 * power)
        mean = 0.0
        for p, A, B in second_moments(case, alpha):
            mean = mean + p * np.linalg.matrix_power(np.eye(len(A)) - alpha * B, power)
        identity = np.eye(len(mean))
        argued, printed = 1 - np.sqrt(case.gamma), 1 - case.gamma
        assert argued <= printed <= 2 * argued
        for rate in (argued, printed):
            assert_loewner(mean, identity - alpha * power * rate / 2 * case.I_Sigma)
        ceiling = 1 - alpha * power * argued * case.lambda_min / 2
        assert_loewner(mean, ceiling * identity)


@given(gamma=st.floats(0.0, 0.999), p=st.integers(1, 50), share=st.floats(0.001, 0.999))
@PROPERTY
def test_the_series_of_the_argument_leaves_half_the_rate(gamma, p, share):
    """Last lines of the first part of App. proof_exponential_stable."""
    rate = 1 - np.sqrt(gamma)
    alpha = share * rate / (38 * p)
    series = 17 / 16 * sum((4 * alpha * p) ** n for n in range(2, 60))
    closed = 17 * alpha**2 * p**2 / (1 - 4 * alpha * p)
    assert series == pytest.approx(closed, rel=1e-9)
    assert alpha * p * rate - closed >= alpha * p * rate / 2 - 1e-15


# App. convergece_ssgd_pmf (the label is the paper's) -------------------------------------------


def pmf_system(case):
    """Ā_PMF and b̄_PMF as printed, and the stretching matrix C Cᵀ."""
    C = naive.C_matrix(case.K)
    stretch = C @ C.T
    A, b = np.kron(stretch, case.Sigma), 0.0
    for p, s, r, s_next, discount in case.outcomes():
        B = lincat.bellman_matrix(case.grid, r, discount)
        A = A - p * np.kron(stretch @ B, np.outer(case.Phi[s], case.Phi[s_next]))
        b = b + p * np.kron(stretch @ lincat.bellman_offset(case.grid, r, discount), case.Phi[s])
    return A, b, stretch


@PROPERTY
@given(case=cases())
def test_ssgd_on_masses_has_the_same_fixed_point(case):
    """Eq. (linear_CTD_PMF_THETA): Ā_PMF θ* = b̄_PMF, and it is what the update does in the mean."""
    A, b, stretch = pmf_system(case)
    plain_A, plain_b = case.system
    lift = np.kron(stretch, np.eye(case.d))
    np.testing.assert_allclose(A, lift @ plain_A, atol=1e-9)
    np.testing.assert_allclose(b, lift @ plain_b, atol=1e-9)
    np.testing.assert_allclose(A @ vec(case.Theta_star), b, atol=1e-8)
    Theta, mean = case.random_Theta(), 0.0
    for p, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        arguments = (Theta, phi, r, phi_next, discount, case.grid, 1.0)
        mean = mean + p * (naive.ssgd_pmf_update_theta(*arguments) - Theta)
    np.testing.assert_allclose(vec(mean), b - A @ vec(Theta), **TOLERANCE)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_loss_is_bounded_by_the_residual_of_ssgd_on_masses(case):
    """Lemma loss_bound_PMF, Eq. (eq_in_lem_loss_bound_PMF): 8 will do for the hidden constant.

    ‖Ā x‖ ≤ ‖(CCᵀ)⁻¹‖ ‖Ā_PMF x‖ ≤ 4 ‖Ā_PMF x‖, and Lemma translate_error_to_loss has the 2.
    """
    A, _, stretch = pmf_system(case)
    assert np.linalg.eigvalsh(stretch)[0] >= 0.25 - 1e-12
    factor = 8 / (np.sqrt(case.K * case.lambda_min) * (1 - case.gamma) ** 2)
    for _ in range(3):
        gap = case.random_Theta()
        distributions = case.distribution(case.Theta_star + gap), case.distribution(case.Theta_star)
        loss = lincat.wasserstein(*distributions, weights=case.mu)
        assert loss <= factor * np.linalg.norm(A @ vec(gap)) * (1 + 1e-9)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_error_constants_of_ssgd_on_masses_grow_by_K_squared(case):
    """Lemma PMF_quantity_bound, with 1 for the hidden constants."""
    constants = lincat.error_constants(
        case.process, case.Phi, case.grid, case.gamma, case.Theta_star
    )
    C, theta, K = naive.C_matrix(case.K), vec(case.Theta_star), case.K
    lift = np.kron(C @ C.T, np.eye(case.d))
    mean_A, _ = case.system
    trace = 0.0
    for p, _, _, A, b in case.transition_systems():
        error = lift @ (A @ theta - b)
        trace += p * error @ error
        assert np.linalg.norm(lift @ A, 2) <= K**2 * constants.max_norm_A * (1 + 1e-9)
        assert np.linalg.norm(lift @ (A - mean_A), 2) <= K**2 * constants.C_A * (1 + 1e-9)
        assert np.linalg.norm(error) <= K**2 * constants.C_e * (1 + 1e-7) + 1e-12
    assert trace <= K**4 * constants.trace_Sigma_e * (1 + 1e-7) + 1e-12


def one_state(K, gamma=0.75, reward=1.0):
    """Ā_PMF of one state with feature 1 and a fixed reward, in Theta and in W coordinates."""
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=K)
    A = np.eye(K) - lincat.bellman_matrix(grid, reward, gamma)
    C = naive.C_matrix(K)
    return C @ C.T @ A, C.T @ A @ C


def smallest_of_symmetric_part(A):
    return np.linalg.eigvalsh((A + A.T) / 2)[0]


@pytest.mark.parametrize(("K", "expected"), [(10, -0.41), (150, -266)])
def test_ssgd_on_masses_is_no_contraction_in_theta(K, expected):
    """Erratum 12: Lemma pmf_convergence is false as stated, in the coordinates Theta."""
    in_theta, in_W = one_state(K)
    smallest = smallest_of_symmetric_part(in_theta)
    assert smallest == pytest.approx(expected, rel=0.02)
    vectors = np.linalg.eigh((in_theta + in_theta.T) / 2)[1]
    u = vectors[:, 0]
    for alpha in (1e-3 / K**2, 0.1 / K**2, 1.0 / K**2):  # no step, however small, shrinks this u
        assert np.linalg.norm(u - alpha * in_theta @ u) > 1
    # With W = Theta C⁻ᵀ it does not happen: at least (1 − √gamma)/4, and K does not matter.
    assert smallest_of_symmetric_part(in_W) >= (1 - np.sqrt(0.75)) / 4
    assert 0.1 < smallest_of_symmetric_part(in_W) < 0.2


@PROPERTY
@given(case=cases(unit_rewards=True), share=st.floats(0.01, 1.0))
def test_ssgd_on_masses_contracts_in_the_coordinates_of_the_masses(case, share):
    """Lemma pmf_convergence, corrected: in W, with steps of order (1 − √gamma)/K².

    With y = (C ⊗ I) w the argument of Lemma exponential_stable gives, for one step in the mean
    square, I − α(1 − √gamma) CᵀC ⊗ Sigma, and CᵀC ≽ 1/4.
    """
    C, K, rate = naive.C_matrix(case.K), case.K, 1 - np.sqrt(case.gamma)
    lift = np.kron(C, np.eye(case.d))
    alpha = share * rate / (2 * (1 + case.gamma) * K**2)
    mean, mean_A = 0.0, 0.0
    for p, _, _, A, _ in case.transition_systems():
        in_W = lift.T @ A @ lift
        step = np.eye(len(A)) - alpha * in_W
        mean, mean_A = mean + p * step.T @ step, mean_A + p * in_W
    stretched = np.kron(C.T @ C, case.Sigma)
    assert_loewner(2 * rate * stretched, mean_A + mean_A.T)
    identity = np.eye(len(mean))
    assert_loewner(mean, identity - alpha * rate * stretched)
    assert_loewner(mean, (1 - alpha * rate * case.lambda_min / 4) * identity)


@pytest.mark.parametrize("K", [1, 2, 10, 100, 400])
def test_stretching_of_a_random_direction(K):
    """Erratum 11: ‖CCᵀX‖ on the sphere has root mean square √((K+1)(K²+K+1)/6), not order K².

    The text's reason is off as well: the k-th largest eigenvalue is of order K²/k², not k².
    """
    C = naive.C_matrix(K)
    mean_square = np.sum((C @ C.T) ** 2) / K  # tr((CCᵀ)²)/K
    assert mean_square == pytest.approx((K + 1) * (K**2 + K + 1) / 6)
    eigenvalues, k = np.linalg.eigvalsh(C @ C.T)[::-1], np.arange(1, K + 1)
    ratio = eigenvalues * k**2 / K**2
    assert (ratio >= 1 / np.pi**2).all()  # from sin x ≤ x in 1/(4 sin²((2k − 1)π/(4K + 2)))
    assert (ratio <= 1 + 1e-9).all()
    if K >= 100:  # of order K^(3/2): the ratio to K² has gone down to 1/√(6K)
        assert np.sqrt(mean_square) / K**2 == pytest.approx(1 / np.sqrt(6 * K), rel=0.02)


@PROPERTY
@given(grid_gamma=grids(), reward=st.floats(0.0, 1.0))
def test_condition_of_the_removed_matrix_is_of_order_K_squared(grid_gamma, reward):
    """Remark:comparison: what the preconditioner (CᵀC)⁻¹ removes, whatever the reward is."""
    (grid, gamma), C = grid_gamma, naive.C_matrix(grid_gamma[0].intervals)
    eigenvalues = np.linalg.eigvalsh(C.T @ C)
    K = grid.intervals
    assert eigenvalues[-1] / eigenvalues[0] <= 4 * K**2 * (1 + 1e-12)
    assert eigenvalues[-1] / eigenvalues[0] >= K**2 / 4
    B = lincat.bellman_matrix(grid, reward, gamma)
    plain = np.linalg.cond(np.eye(K) - B)  # bounded, for every K
    assert plain <= (1 + np.sqrt(gamma)) / (1 - np.sqrt(gamma)) + 1e-9
