"""Section background: policy evaluation and its distributional form, in the tabular setting."""

import numpy as np
import pytest
from hypothesis import given

import lincat
from tests import naive
from tests.statements.cases import (
    HORIZON,
    PROPERTY,
    TOLERANCE,
    assert_loewner,
    cases,
    dyadic_case,
    exact_distributions,
    off_grid_distribution,
)


def transition_and_reward(process):
    P, R = np.zeros((process.n_states, process.n_states)), np.zeros(process.n_states)
    for j, s in enumerate(process.state):
        P[s, process.next_state[j]] += process.probability[j]
        R[s] += process.probability[j] * process.reward[j]
    return P, R


def random_mdp(rng, S=4, A=2, branching=3):
    """Every state-action pair leads on to the next state, stays, or goes anywhere."""
    state, action = (x.ravel() for x in np.meshgrid(np.arange(S), np.arange(A), indexing="ij"))
    following = np.stack([(state + 1) % S, state, rng.integers(0, S, S * A)], axis=1)
    return lincat.FiniteMDP(
        np.repeat(state, branching),
        np.repeat(action, branching),
        rng.random(S * A * branching),
        following.ravel(),
        rng.dirichlet(np.ones(branching), size=S * A).ravel(),
    )


# Section Subsection:policy_eval_and_TD ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_value_of_a_policy_satisfies_the_bellman_equation(seed):
    """Eq. (Bellman_equation), with the expectation over actions and outcomes written out."""
    rng = np.random.default_rng(seed)
    mdp, gamma = random_mdp(rng), 0.9
    policy = rng.dirichlet(np.ones(mdp.n_actions), size=mdp.n_states)
    V = lincat.solve_value(mdp.under(policy), np.eye(mdp.n_states), gamma)
    right = np.zeros(mdp.n_states)
    for j in range(len(mdp.state)):
        chance = policy[mdp.state[j], mdp.action[j]] * mdp.probability[j]
        right[mdp.state[j]] += chance * (mdp.reward[j] + gamma * V[mdp.next_state[j]])
    np.testing.assert_allclose(V, right, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_stationary_distribution_is_stationary(case):
    P, _ = transition_and_reward(case.process)
    np.testing.assert_allclose(case.mu @ P, case.mu, **TOLERANCE)
    assert case.mu.sum() == pytest.approx(1.0)


@PROPERTY
@given(case=cases())
def test_linear_td_on_one_hot_features_is_tabular_td(case):
    """Eq. (td_learning) from Eq. (linear_TD)."""
    V = case.rng.normal(size=case.S)
    linear = V.copy()
    data = case.process.sample(20, seed=1)
    one_hot = np.eye(case.S)
    for s, r, s_next in zip(data.state, data.reward, data.next_state, strict=True):
        V[s] -= 0.1 * (V[s] - r - case.gamma * V[s_next])
        linear = naive.linear_td_update(linear, one_hot[s], r, one_hot[s_next], case.gamma, 0.1)
    np.testing.assert_allclose(linear, V, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_linear_projection_of_values_is_the_nearest_in_mu_norm(case):
    """The space of Eq. (linear_func_approx): no other psi comes nearer, and it is orthogonal."""
    V = case.rng.normal(size=case.S)
    psi = np.linalg.solve(case.Sigma, case.Phi.T @ (case.mu * V))
    residual = V - case.Phi @ psi
    np.testing.assert_allclose(case.Phi.T @ (case.mu * residual), 0.0, atol=1e-12)
    root = np.sqrt(case.mu)[:, None]
    brute, *_ = np.linalg.lstsq(root * case.Phi, root[:, 0] * V, rcond=None)
    np.testing.assert_allclose(psi, brute, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_projected_bellman_operator_is_a_gamma_contraction_in_mu_norm(case):
    P, _ = transition_and_reward(case.process)
    root = np.diag(np.sqrt(case.mu))
    projection = case.Phi @ np.linalg.solve(case.Sigma, case.Phi.T @ np.diag(case.mu))
    inverse_root = np.diag(case.mu**-0.5)
    norm = np.linalg.norm(root @ projection @ (case.gamma * P) @ inverse_root, 2)
    assert norm <= case.gamma + 1e-12


@PROPERTY
@given(case=cases())
def test_fixed_point_of_linear_td_solves_its_equation(case):
    """Eq. (linear_TD_equation): the library against the dense expectation."""
    psi = lincat.solve_value(case.process, case.Phi, case.gamma)
    np.testing.assert_allclose(
        psi, naive.solve_value(case.process, case.Phi, case.gamma), **TOLERANCE
    )
    mean_update = np.zeros(case.d)
    for p, s, r, s_next, discount in case.outcomes():
        phi, phi_next = case.Phi[s], case.Phi[s_next]
        mean_update += p * (
            naive.linear_td_update(psi, phi, r, phi_next, discount, 1.0) - psi
        )  # Eq. (linear_TD) stands still in the mean
    np.testing.assert_allclose(mean_update, 0.0, atol=1e-9)


@PROPERTY
@given(case=cases())
def test_value_error_is_within_the_approximation_bound(case):
    """‖V − V_psi*‖ ≤ (1 − gamma²)^(−1/2) ‖V − Pi V‖, in mu norm."""
    V = lincat.solve_value(case.process, np.eye(case.S), case.gamma)
    psi = lincat.solve_value(case.process, case.Phi, case.gamma)
    nearest = case.Phi @ np.linalg.solve(case.Sigma, case.Phi.T @ (case.mu * V))
    error, gap = (np.sqrt(case.mu @ (V - x) ** 2) for x in (case.Phi @ psi, nearest))
    assert error <= gap / np.sqrt(1.0 - case.gamma**2) + 1e-9


# Distributional policy evaluation --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_return_distribution_satisfies_the_distributional_bellman_equation(seed):
    """Eq. (distributional_Bellman_equation), where every return is an atom of the grid."""
    case = dyadic_case(seed, intervals=16, d=1)
    truth = lincat.true_returns(case.process, case.gamma, case.grid)
    on_grid = case.project(exact_distributions(case))
    np.testing.assert_allclose(truth.cdf_values, on_grid.cdf_values, atol=1e-11)
    np.testing.assert_allclose(case.bellman(on_grid.cdf_values), on_grid.cdf_values, atol=1e-12)
    for s, (x, m) in enumerate(
        exact_distributions(case)
    ):  # nothing was rounded: the distributions are the same
        assert naive.step_distance(x, m, case.grid.atoms, on_grid.pmf[s], 1) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_mean_of_the_return_distribution_is_the_value_function(seed):
    case = dyadic_case(seed, intervals=5, d=1)
    truth = lincat.true_returns(case.process, case.gamma, case.grid)
    value = lincat.solve_value(case.process, np.eye(HORIZON), case.gamma)
    np.testing.assert_allclose(truth.mean(), value, **TOLERANCE)
    np.testing.assert_allclose([x @ m for x, m in exact_distributions(case)], value, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_distributional_bellman_operator_is_a_root_gamma_contraction(case):
    """T without projection, on signed distributions off the grid, in ℓ2,mu."""
    first, second = case.distributions_off_grid(), case.distributions_off_grid()
    before = case.distance_off_grid(first, second)
    after = case.distance_off_grid(case.bellman_exact(first), case.bellman_exact(second))
    assert after <= case.gamma * before * (1 + 1e-10)


@PROPERTY
@given(case=cases())
def test_categorical_distributions_have_mass_one_on_equally_spaced_atoms(case):
    """Eq. (cate_param)."""
    np.testing.assert_allclose(np.diff(case.grid.atoms), case.grid.spacing, rtol=1e-9)
    p = case.rng.normal(size=(case.S, case.K))
    pmf = np.column_stack([p, 1.0 - p.sum(axis=1)])
    dist = lincat.ReturnDistribution.from_pmf(pmf, case.grid)
    np.testing.assert_allclose(dist.pmf, pmf, **TOLERANCE)
    np.testing.assert_allclose(lincat.cdf_from_pmf(pmf), np.cumsum(p, axis=1), **TOLERANCE)
    np.testing.assert_allclose(lincat.pmf_from_cdf(dist.cdf_values), pmf, **TOLERANCE)


@PROPERTY
@given(case=cases())
def test_projection_splits_mass_between_neighbouring_atoms(case):
    """Eq. (categorical_prob)."""
    atoms, masses = off_grid_distribution(case.rng, case.grid)
    atoms[0] = case.grid.atoms[case.rng.integers(case.K + 1)]  # exactly on an atom
    np.testing.assert_allclose(
        lincat.project(atoms, masses, case.grid),
        naive.project(atoms, masses, case.grid),
        **TOLERANCE,
    )


@PROPERTY
@given(case=cases())
def test_projection_is_the_nearest_categorical_distribution(case):
    """The argmin that defines Pi_K: the distance has no slope, and grows in every direction."""
    atoms, masses = off_grid_distribution(case.rng, case.grid)
    nearest = lincat.project(atoms, masses, case.grid)
    best = naive.step_distance(atoms, masses, case.grid.atoms, nearest, 2)
    for _ in range(5):
        direction = case.rng.normal(size=case.K + 1)
        direction -= direction.mean()
        ahead, behind = (
            naive.step_distance(atoms, masses, case.grid.atoms, nearest + t * direction, 2)
            for t in (0.1, -0.1)
        )
        assert ahead >= best
        assert behind >= best
        assert ahead == pytest.approx(behind)  # no linear term: a minimum of a quadratic


@PROPERTY
@given(case=cases())
def test_categorical_bellman_operator_is_a_root_gamma_contraction(case):
    """Pi_K T in ℓ2,mu: the exact norm of its linear part, from the library's targets."""
    size = case.S * case.K
    zero = case.bellman(np.zeros((case.S, case.K)))
    columns = [case.bellman(e.reshape(case.S, case.K)) - zero for e in np.eye(size)]
    linear = np.array(columns).reshape(size, size).T
    weight = np.kron(np.diag(case.mu), np.eye(case.K))
    assert_loewner(linear.T @ weight @ linear, case.gamma * weight)


@PROPERTY
@given(case=cases())
def test_categorical_bellman_equation_has_the_solution_true_returns(case):
    truth = lincat.true_returns(case.process, case.gamma, case.grid)
    np.testing.assert_allclose(case.bellman(truth.cdf_values), truth.cdf_values, atol=1e-9)
    assert truth.negative_mass.max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("intervals", [1, 3, 7])
def test_categorical_fixed_point_is_within_the_approximation_bound(seed, intervals):
    """W1,mu(eta, eta^K) ≤ ℓ2,mu(eta, Pi_K eta)/(1 − gamma), with the exact distribution."""
    case = dyadic_case(seed, intervals, d=1)
    distributions = exact_distributions(case)
    fixed = lincat.true_returns(case.process, case.gamma, case.grid)
    gap = case.distance(distributions, case.project(distributions))
    w1 = [
        naive.step_distance(x, m, case.grid.atoms, pmf, 1)
        for (x, m), pmf in zip(distributions, fixed.pmf, strict=True)
    ]
    assert np.sqrt(case.mu @ np.square(w1)) <= np.sqrt(gap) / (1 - case.gamma) + 1e-12
    # and in ℓ2, as the docstring of true_returns says
    assert case.distance(distributions, fixed) <= gap / (1 - case.gamma) + 1e-12


@pytest.mark.parametrize("K", [1, 2, 5, 30])
def test_fair_coin_has_its_closed_form(K):
    """The return is uniform on [0, 2]; p_0 = p_K = 1/(2K), all others 1/K."""
    coin = lincat.catalog.uniform_coin()
    dist = lincat.true_returns(coin.process, coin.gamma, coin.grid(K))
    expected = np.full(K + 1, 1.0 / K)
    expected[[0, -1]] /= 2
    np.testing.assert_allclose(dist.pmf[0], expected, **TOLERANCE)
    assert dist.mean()[0] == pytest.approx(1.0)
    assert dist.variance()[0] == pytest.approx(1 / 3 + 2 / (3 * K**2))
    # A much finer fixed point is as far from the uniform distribution as the formulas say, so the
    # triangle inequality bounds what it may differ by.
    finer = lincat.true_returns(coin.process, coin.gamma, coin.grid(64 * K))
    assert abs(lincat.wasserstein(finer, dist)[0] - 1 / (2 * K)) <= 1 / (128 * K)
    assert abs(lincat.cramer(finer, dist)[0] - 1 / (np.sqrt(6) * K)) <= 1 / (64 * np.sqrt(6) * K)


@PROPERTY
@given(case=cases())
def test_linear_ctd_on_one_hot_features_is_categorical_td(case):
    """Eq. (ctd_update_rule) from Eq. (linear_CTD): the table of distributions, step by step."""
    Theta = case.rng.normal(size=(case.S, case.K))
    one_hot = np.eye(case.S)
    pmf = lincat.pmf_from_cdf(lincat.cdf_from_theta(one_hot, Theta))
    data = case.process.sample(15, seed=2)
    for s, r, s_next in zip(data.state, data.reward, data.next_state, strict=True):
        cdf = lincat.cdf_from_theta(one_hot, Theta)
        target = lincat.bellman_target(cdf[[s_next]], r, case.gamma, case.grid)[0]
        Theta = Theta - 0.3 * np.outer(one_hot[s], cdf[s] - target)
        pmf = naive.categorical_td_update(pmf, s, r, s_next, case.gamma, case.grid, 0.3)
    table = lincat.pmf_from_cdf(lincat.cdf_from_theta(one_hot, Theta))
    np.testing.assert_allclose(table, pmf, **TOLERANCE)
