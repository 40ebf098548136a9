import numpy as np
import pytest
import scipy.sparse

from lincat.solvers import spectrum
from lincat.solvers.spectrum import mean_spectrum


def chain(n, gamma):
    """A walk on a ring that prefers one side."""
    step = scipy.sparse.eye_array(n, format="lil")
    for i in range(n):
        step[i, i], step[i, (i + 1) % n], step[i, i - 1] = 0.2, 0.5, 0.3
    return gamma * scipy.sparse.csr_array(step)


def test_large_sparse_matrices_give_what_dense_ones_do(monkeypatch):
    matrix = chain(60, 0.97)
    expected = mean_spectrum(matrix)
    assert expected == mean_spectrum(matrix.toarray())
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    found = mean_spectrum(matrix)
    assert found.radius == pytest.approx(0.97, rel=1e-5)
    assert found.smallest_singular_value == pytest.approx(0.03, rel=1e-2)
    assert expected.radius == pytest.approx(0.97)


def test_words_for_what_the_numbers_mean():
    assert mean_spectrum(np.diag([0.9, 0.2])).is_contraction
    beyond = mean_spectrum(np.diag([-1.5, 0.2]))
    assert not beyond.is_contraction
    assert not beyond.is_singular
    assert mean_spectrum(np.diag([1.0, 0.2])).is_singular


def test_a_singular_sparse_matrix_is_found(monkeypatch):
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    assert mean_spectrum(chain(60, 1.0)).is_singular
