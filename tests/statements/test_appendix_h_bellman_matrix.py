"""Appendix analysis_cate_bellman_matrix: the structure of g_j(r) and of B(r) = C G̃(r) C⁻¹."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.statements.cases import PROPERTY, grids

rewards = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.25, 0.5, 1.0])


def shares(grid, reward, gamma):
    """g_{j,k}(r), row j, by the library's projection of the pushed atoms."""
    pushed = reward + gamma * grid.atoms
    return lincat.project(pushed[:, None], np.ones((len(pushed), 1)), grid)


def first_atom(grid, reward, gamma):
    """k_j(r) and a_j(r) by their definitions, j = 0..K; exact if position is."""
    position = reward / grid.spacing + gamma * np.arange(grid.intervals + 1)
    # A position that is a whole number but for rounding counts as one.
    position = np.where(np.abs(position - np.round(position)) < 1e-9, np.round(position), position)
    k = np.floor(position).astype(int)
    return k, position - k


@PROPERTY
@given(grid_gamma=grids(), reward=rewards)
def test_a_pushed_atom_touches_at_most_two_neighbours(grid_gamma, reward):
    """The unlabelled lemma: one non-zero entry in g_j, or two adjacent ones, 1 − a_j and a_j."""
    grid, gamma = grid_gamma
    g = shares(grid, reward, gamma)
    np.testing.assert_allclose(g, naive.g(grid, reward, gamma), atol=1e-12)
    k, a = first_atom(grid, reward, gamma)
    assert ((a >= 0) & (a < 1)).all()
    for j in range(grid.intervals + 1):
        touched = np.flatnonzero(g[j] > 1e-8)
        assert len(touched) in (1, 2)
        assert touched[-1] - touched[0] == len(touched) - 1
        assert g[j, k[j]] == pytest.approx(1 - a[j], abs=1e-8)
        if k[j] < grid.intervals:
            assert g[j, k[j] + 1] == pytest.approx(a[j], abs=1e-8)


@PROPERTY
@given(grid_gamma=grids(), reward=rewards)
def test_partial_sums_of_the_shares(grid_gamma, reward):
    """Corollary sum_column_g."""
    grid, gamma = grid_gamma
    sums = np.cumsum(shares(grid, reward, gamma), axis=1)
    k, a = first_atom(grid, reward, gamma)
    for j in range(grid.intervals + 1):
        for i in range(grid.intervals + 1):
            expected = 0.0 if i < k[j] else (1 - a[j] if i == k[j] else 1.0)
            assert sums[j, i] == pytest.approx(expected, abs=1e-8)


@PROPERTY
@given(grid_gamma=grids(), reward=rewards)
def test_the_next_atom_follows_from_the_one_before(grid_gamma, reward):
    """The unlabelled corollary on k_{j+1} and a_{j+1}, corrected: strictly below 1 − gamma."""
    grid, gamma = grid_gamma
    k, a = first_atom(grid, reward, gamma)
    for j in range(grid.intervals):
        if abs(a[j] - (1 - gamma)) < 1e-8:
            continue  # the boundary is the next test's, in exact numbers
        stays = a[j] < 1 - gamma
        assert k[j + 1] == k[j] + (not stays)
        assert a[j + 1] == pytest.approx(a[j] + gamma - (not stays), abs=1e-8)


def test_the_next_atom_at_the_boundary():
    """Erratum 2: at a_j = 1 − gamma the printed rule gives a_{j+1} = 1, outside [0, 1)."""
    gamma, reward, j = 0.75, 0.0, 3
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=4)
    k, a = first_atom(grid, reward, gamma)
    assert a[j] == 1 - gamma
    printed = (k[j], a[j] + gamma) if a[j] <= 1 - gamma else (k[j] + 1, a[j] + gamma - 1)
    corrected = (k[j], a[j] + gamma) if a[j] < 1 - gamma else (k[j] + 1, a[j] + gamma - 1)
    assert printed == (2, 1.0)
    assert corrected == (k[j + 1], a[j + 1]) == (3, 0.0)
    # B is unaffected: both say that all the mass is at atom 3.
    np.testing.assert_array_equal(shares(grid, reward, gamma)[j + 1], [0, 0, 0, 1, 0])


@PROPERTY
@given(grid_gamma=grids(), reward=rewards)
def test_bellman_matrix_entry_by_entry(grid_gamma, reward):
    """Lemma spectra_CGC_: B[i, j] = Σ_{k≤i} g_{j,k} − Σ_{k≤i} g_{j+1,k}, row i and column j."""
    grid, gamma = grid_gamma
    K = grid.intervals
    B = lincat.bellman_matrix(grid, reward, gamma)
    sums = np.cumsum(shares(grid, reward, gamma), axis=1)
    np.testing.assert_allclose(B, (sums[:-1, :K] - sums[1:, :K]).T, atol=1e-12)
    np.testing.assert_allclose(B, naive.bellman_matrix(grid, reward, gamma), atol=1e-12)
    k, a = first_atom(grid, reward, gamma)
    for j in range(K):
        column = np.zeros(K + 1)
        if k[j + 1] == k[j]:
            column[k[j]] = a[j + 1] - a[j]
        else:
            column[k[j]] = 1 - a[j]
            column[k[j + 1]] = a[j + 1]
        np.testing.assert_allclose(B[:, j], column[:K], atol=1e-8)


@PROPERTY
@given(grid_gamma=grids(), reward=rewards)
def test_bellman_matrix_sums(grid_gamma, reward):
    """Lemma spectra_CGC_: entries ≥ 0, columns sum to gamma, rows to at most one."""
    grid, gamma = grid_gamma
    B = lincat.bellman_matrix(grid, reward, gamma)
    assert (B >= 0).all()
    assert ((B > 1e-12).sum(axis=0) <= 2).all()
    np.testing.assert_allclose(B.sum(axis=0), gamma, atol=1e-12)
    assert (B.sum(axis=1) <= 1 + 1e-12).all()
    sums = np.cumsum(shares(grid, reward, gamma), axis=1)
    np.testing.assert_allclose(B.sum(axis=1), (sums[0] - sums[-1])[:-1], atol=1e-12)
    assert np.linalg.norm(B, 1) == pytest.approx(gamma)  # erratum 1: the norms are swapped
    assert np.linalg.norm(B, np.inf) <= 1 + 1e-12


@pytest.mark.parametrize("reward", [0.0, 0.3, 0.5, 1.0])
def test_printed_indices_and_norms_of_the_bellman_matrix_are_swapped(reward):
    """Erratum 1: as printed, row and column, and ‖·‖_1 and ‖·‖_∞, change places."""
    gamma = 0.75
    grid = lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=8)
    B = lincat.bellman_matrix(grid, reward, gamma)
    sums = np.cumsum(naive.g(grid, reward, gamma), axis=1)
    printed = (sums[:-1] - sums[1:])[:, : grid.intervals]  # entry (j, i)
    assert np.abs(printed - B).max() > 0.1
    np.testing.assert_allclose(printed.T, B, atol=1e-12)
    assert np.linalg.norm(B, np.inf) > gamma + 0.2  # printed: equal to gamma
