"""Appendix numerical_experiment: what its tables say without running a learner.

The step-size thresholds are those of the mean update, the largest alpha for which the spectral
radius of I − alpha·Ā is below one. The 3-state process is lincat's, see lincat.catalog.paper.
"""

import numpy as np
import pytest

import lincat
from tests import naive

PMF_BRACKETS = {
    30: (2.1e-2, 2.2e-2),
    45: (9e-3, 9.5e-3),
    75: (3.4e-3, 3.5e-3),
    105: (1.75e-3, 1.8e-3),
    150: (8.6e-4, 8.7e-4),
    225: (3.8e-4, 3.9e-4),
    300: (2.1e-4, 2.2e-4),
    375: (1.35e-4, 1.4e-4),
    450: (9.5e-5, 9.8e-5),
}
CDF_BRACKETS = {30: (1.65, 1.7), 45: (1.65, 1.7), 75: (1.65, 1.7)}


def mean_matrix(problem, K):
    """Ā, with the library's matrices."""
    grid, process, Phi = problem.grid(K), problem.process, problem.Phi
    A = 0.0
    for p, s, r, s_next, discount in naive.expectation(process, problem.gamma):
        A = A + p * np.kron(np.eye(K), np.outer(Phi[s], Phi[s]))
        A = A - p * np.kron(lincat.bellman_matrix(grid, r, discount), np.outer(Phi[s], Phi[s_next]))
    return A


def threshold(A):
    eigenvalues = np.linalg.eigvals(A)
    return (2 * eigenvalues.real / np.abs(eigenvalues) ** 2).min()


@pytest.mark.parametrize("K", CDF_BRACKETS)
def test_thresholds_lie_in_the_published_brackets(K):
    """Tables cdf_K_alpha and pmf_K_alpha, the rows that are quick."""
    A, C = mean_matrix(lincat.catalog.paper(), K), naive.C_matrix(K)
    low, high = CDF_BRACKETS[K]
    assert low <= threshold(A) <= high
    low, high = PMF_BRACKETS[K]
    assert low <= threshold(np.kron(C @ C.T, np.eye(3)) @ A) <= high


def test_ssgd_on_masses_diverges_at_one_hundredth_from_44_on():
    """Figs. loss_cdf and loss_pmf: alpha = 0.01 is below one threshold and above the other."""
    problem = lincat.catalog.paper()
    for K, converges in ((43, True), (44, False), (45, False)):
        A, C = mean_matrix(problem, K), naive.C_matrix(K)
        assert threshold(A) > 0.01
        assert (threshold(np.kron(C @ C.T, np.eye(3)) @ A) > 0.01) == converges


def test_published_thresholds_of_ssgd_on_masses_fall_as_one_over_K_squared():
    """Tab. pmf_K_alpha, Fig. dependence: alpha·K² stays between 18.7 and 19.6."""
    scaled = [(low + high) / 2 * K**2 for K, (low, high) in PMF_BRACKETS.items()]
    assert 18.6 < min(scaled)
    assert max(scaled) < 19.7


def test_quadratic_fit_of_the_published_thresholds():
    """Erratum 13: the caption's 425.85 averages the reciprocals, not the bounds."""
    K = np.array(list(PMF_BRACKETS), dtype=float)
    low, high = np.array(list(PMF_BRACKETS.values())).T

    def fit(y):
        residual = y - np.polyval(np.polyfit(K, y, 2), K)
        return np.mean(residual**2), 1 - np.sum(residual**2) / np.sum((y - y.mean()) ** 2)

    reciprocals, bounds = fit((1 / low + 1 / high) / 2), fit(2 / (low + high))
    assert reciprocals[0] == pytest.approx(425.85, abs=0.01)
    assert bounds[0] == pytest.approx(413.57, abs=0.01)
    assert round(reciprocals[1], 5) == 0.99996  # the caption's
    assert round(bounds[1], 5) == 0.99997


@pytest.mark.parametrize("K", [10, 30])
def test_plotted_loss_is_a_cramer_distance(K):
    """Text of App. numerical_experiment: ‖θ − θ*‖²/K = (1 − gamma) ℓ2,mu², norm of I ⊗ Sigma."""
    problem = lincat.catalog.paper()
    grid, mu = problem.grid(K), problem.process.stationary
    star = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
    Theta = np.random.default_rng(0).normal(size=star.shape)
    distributions = (
        lincat.ReturnDistribution(lincat.cdf_from_theta(problem.Phi, x), grid)
        for x in (Theta, star)
    )
    distance = lincat.cramer(*distributions, weights=mu)
    Sigma = problem.Phi.T @ np.diag(mu) @ problem.Phi
    gap = Theta - star
    assert np.trace(gap.T @ Sigma @ gap) / K == pytest.approx((1 - problem.gamma) * distance**2)
