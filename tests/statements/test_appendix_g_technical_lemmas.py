"""Appendix_technical_lemmas: W1 and ℓ2, the spectrum of CᵀC, the norm of B(r), the offset."""

import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.statements.cases import PROPERTY, cases, grids, off_grid_distribution

unit = st.floats(0.0, 1.0)


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_wasserstein_is_bounded_by_cramer(case):
    """Lemma prob_basic_inequalities, for distributions on the grid and off it."""
    first, second = case.distribution(case.random_Theta()), case.distribution(case.random_Theta())
    root = 1 / np.sqrt(1 - case.gamma)
    bound = root * lincat.cramer(first, second)
    assert (lincat.wasserstein(first, second) <= bound * (1 + 1e-12)).all()
    distributions = (
        off_grid_distribution(case.rng, case.grid),
        off_grid_distribution(case.rng, case.grid),
    )
    w1, squared = (
        naive.step_distance(*distributions[0], *distributions[1], power) for power in (1, 2)
    )
    assert w1 <= root * np.sqrt(squared) * (1 + 1e-12)


@pytest.mark.parametrize("K", [1, 2, 3, 10, 57])
def test_spectrum_of_CtC(K):
    """Lemma spectra_of_CTC: the eigenvalues and both norms."""
    C = naive.C_matrix(K)
    k = np.arange(1, K + 1)
    closed = 1 / (4 * np.cos(k * np.pi / (2 * K + 1)) ** 2)
    np.testing.assert_allclose(np.linalg.eigvalsh(C.T @ C), np.sort(closed), rtol=1e-9)
    norm = np.linalg.norm(C.T @ C, 2)
    assert norm == pytest.approx(1 / (4 * np.sin(np.pi / (4 * K + 2)) ** 2))
    assert norm <= K**2 * (1 + 1e-12)
    inverse = np.linalg.norm(np.linalg.inv(C.T @ C), 2)
    assert inverse == pytest.approx(4 * np.cos(np.pi / (2 * K + 1)) ** 2)
    assert inverse <= 4
    # CCᵀ, which SSGD-PMF has in Theta coordinates, has the same spectrum.
    np.testing.assert_allclose(np.linalg.eigvalsh(C @ C.T), np.sort(closed), rtol=1e-9)


@pytest.mark.parametrize(("K", "norm"), [(30, 377.0995), (150, 9179.884), (450, 82252.72)])
def test_norm_of_CtC_in_numbers(K, norm):
    """Lemma spectra_of_CTC, the closed form at the K of the paper's tables."""
    assert 1 / (4 * np.sin(np.pi / (4 * K + 2)) ** 2) == pytest.approx(norm, rel=5e-7)
    C = naive.C_matrix(K)
    assert np.linalg.norm(C, 2) ** 2 == pytest.approx(norm, rel=5e-7)


@pytest.mark.parametrize("K", [2, 3, 8])
def test_CtC_and_its_inverse_entry_by_entry(K):
    """Lemma spectra_of_CTC, its proof; erratum 3: the inverse has diagonal (1, 2, …, 2)."""
    C = naive.C_matrix(K)
    index = np.arange(K)
    assert (C.T @ C == K - np.maximum.outer(index, index)).all()
    sides = -np.eye(K, k=1) - np.eye(K, k=-1)
    corrected = sides + np.diag([1.0] + [2.0] * (K - 1))
    np.testing.assert_allclose(corrected @ C.T @ C, np.eye(K), atol=1e-12)
    printed = sides + np.diag([1.0] + [2.0] * (K - 2) + [1.0])
    assert np.linalg.matrix_rank(printed) == K - 1  # singular: constants are in its kernel
    other = sides + np.diag([2.0] * (K - 1) + [1.0])
    np.testing.assert_allclose(other @ C @ C.T, np.eye(K), atol=1e-12)
    bidiagonal = np.eye(K) - np.eye(K, k=-1)
    np.testing.assert_allclose(np.linalg.inv(C), bidiagonal, atol=1e-12)


@PROPERTY
@given(grid_gamma=grids(), reward=unit)
def test_norm_of_the_bellman_matrix(grid_gamma, reward):
    """Lemma Spectra_of_ccgcc, both norms."""
    grid, gamma = grid_gamma
    B = lincat.bellman_matrix(grid, reward, gamma)
    norm = np.linalg.norm(B, 2)
    assert norm <= np.sqrt(gamma) + 1e-12
    C = naive.C_matrix(grid.intervals)
    root = np.real(scipy.linalg.sqrtm(C.T @ C))
    similar = root @ naive.G_tilde(grid, reward, gamma) @ np.linalg.inv(root)
    assert np.linalg.norm(similar, 2) == pytest.approx(norm, rel=1e-8, abs=1e-10)
    # Riesz-Thorin: what the proof concludes from
    assert norm <= np.sqrt(np.linalg.norm(B, 1) * np.linalg.norm(B, np.inf)) + 1e-12


@PROPERTY
@given(grid_gamma=grids(largest_gamma=0.95, enough_atoms=True), reward=unit)
def test_uniform_distribution_hardly_moves_when_pushed(grid_gamma, reward):
    """Lemma norm_b_bound: ℓ2((b_r)# nu, nu) ≤ 3 √(1 − gamma), the distribution not projected."""
    grid, gamma = grid_gamma
    atoms, masses = grid.atoms, np.full(grid.intervals + 1, 1 / (grid.intervals + 1))
    squared = naive.step_distance(reward + gamma * atoms, masses, atoms, masses, 2)
    assert np.sqrt(squared) <= 3 * np.sqrt(1 - gamma)


@PROPERTY
@given(grid_gamma=grids(largest_gamma=0.95), reward=unit)
def test_continuous_uniform_distribution_in_the_proof(grid_gamma, reward):
    """Lemma norm_b_bound, its proof: the two closed forms, by Simpson's rule between the kinks."""
    grid, gamma = grid_gamma
    K, end = grid.intervals, 1 / (1 - gamma) + grid.spacing

    def integral(difference, kinks):
        total = 0.0
        for a, b in itertools.pairwise(kinks):
            inside = [a + (b - a) * t for t in (1e-12, 0.5, 1 - 1e-12)]
            values = [difference(x) ** 2 for x in inside]
            total += (b - a) / 6 * (values[0] + 4 * values[1] + values[2])
        return total

    def flat(x):
        return min(max(x / end, 0.0), 1.0)

    first = integral(
        lambda x: (np.floor(x / grid.spacing) + 1) / (K + 1) - flat(x),
        grid.spacing * np.arange(K + 2),
    )
    assert first == pytest.approx(1 / (3 * K * (K + 1) * (1 - gamma)), rel=1e-8)
    top = reward + gamma * end
    second = integral(
        lambda x: flat(x) - flat((x - reward) / gamma), sorted([0.0, reward, top, end])
    )
    share = (K / (K + 1)) ** 2 / 3
    rest = (K + 1) / K - reward
    closed = (1 - gamma) ** 2 * share * (reward**3 + rest**3)
    closed += (1 - gamma) * gamma * share * (reward**3 + rest**3)
    assert second == pytest.approx(closed, rel=1e-8, abs=1e-12)
    if K * (1 - gamma) >= 1:
        assert closed <= 1 - gamma
