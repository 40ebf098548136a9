"""Appendix_kronecker: the Kronecker product, as numpy.kron has it."""

import numpy as np
import pytest

from tests.statements.cases import TOLERANCE, assert_loewner, vec


@pytest.fixture(params=range(4))
def rng(request):
    return np.random.default_rng(request.param)


def psd(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T


def test_product_is_bilinear_associative_and_mixes(rng):
    """Lemma basic_of_KP."""
    A, B, C = rng.normal(size=(2, 3)), rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    A2, B2 = rng.normal(size=(2, 3)), rng.normal(size=(4, 2))
    np.testing.assert_allclose(
        np.kron(2 * A + A2, B - 3 * B2),
        2 * np.kron(A, B) + np.kron(A2, B) - 6 * np.kron(A, B2) - 3 * np.kron(A2, B2),
        **TOLERANCE,
    )
    np.testing.assert_allclose(np.kron(np.kron(A, B), C), np.kron(A, np.kron(B, C)), **TOLERANCE)
    A3, B3 = rng.normal(size=(3, 5)), rng.normal(size=(2, 4))
    np.testing.assert_allclose(
        np.kron(A, B) @ np.kron(A3, B3), np.kron(A @ A3, B @ B3), **TOLERANCE
    )


def test_vec_of_a_product(rng):
    """Lemma vec_and_KP."""
    A, X, B = rng.normal(size=(2, 3)), rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(vec(A @ X @ B), np.kron(B.T, A) @ vec(X), **TOLERANCE)


def test_spectral_norm_transpose_and_inverse(rng):
    """Lemma spectral_norm_of_KP."""
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(2, 2))
    both = np.kron(A, B)
    assert np.linalg.norm(both, 2) == pytest.approx(np.linalg.norm(A, 2) * np.linalg.norm(B, 2))
    np.testing.assert_allclose(both.T, np.kron(A.T, B.T), **TOLERANCE)
    np.testing.assert_allclose(
        np.linalg.inv(both), np.kron(np.linalg.inv(A), np.linalg.inv(B)), rtol=1e-8, atol=1e-8
    )


def test_structure_is_inherited(rng):
    """Lemma spectral_norm_of_KP: orthogonal, diagonal, symmetric and normal factors."""
    Q, R = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (3, 2))
    both = np.kron(Q, R)
    np.testing.assert_allclose(both @ both.T, np.eye(6), **TOLERANCE)
    D = np.kron(np.diag(rng.normal(size=3)), np.diag(rng.normal(size=2)))
    assert (D == np.diag(np.diag(D))).all()
    S = np.kron(psd(rng, 3), psd(rng, 2))
    np.testing.assert_allclose(S, S.T, **TOLERANCE)
    skew = rng.normal(size=(3, 3))
    N = np.kron(Q @ (skew - skew.T) @ Q.T, R)  # both factors normal, neither symmetric
    np.testing.assert_allclose(N @ N.T, N.T @ N, **TOLERANCE)


def test_order_of_psd_factors_is_inherited(rng):
    """Lemma spectra_of_PSD_KP."""
    B1, B2 = psd(rng, 3), psd(rng, 2)
    B3, B4 = B1 + psd(rng, 3), B2 + psd(rng, 2)
    assert_loewner(np.zeros((6, 6)), np.kron(B1, B2))
    assert_loewner(np.kron(B1, B2), np.kron(B3, B4))


def test_products_with_one_vector(rng):
    """Lemma vector_outer_KP, its four identities."""
    K, d = 3, 2
    u, v = rng.normal(size=(2, d, 1))
    B1, B2, B3 = rng.normal(size=(K, 4)), rng.normal(size=(5, K)), rng.normal(size=(K, K))
    B4 = rng.normal(size=(4, 2))
    Iu, Iv = np.kron(np.eye(K), u), np.kron(np.eye(K), v)
    np.testing.assert_allclose(Iu @ B1, np.kron(B1, u), **TOLERANCE)
    np.testing.assert_allclose(B2 @ Iv.T, np.kron(B2, v.T), **TOLERANCE)
    np.testing.assert_allclose(Iu @ B3 @ Iv.T, np.kron(B3, u @ v.T), **TOLERANCE)
    np.testing.assert_allclose(np.kron(B1, u) @ B4, np.kron(B1 @ B4, u), **TOLERANCE)
