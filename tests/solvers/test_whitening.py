import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat.solvers import whitening
from lincat.solvers.whitening import whiten


@pytest.mark.parametrize("sparse", [False, True])
def test_whitened_sigma_is_the_identity_and_the_rest_is_null(sparse):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 5))
    Sigma = Phi.T @ Phi
    found = whiten(scipy.sparse.csr_array(Sigma) if sparse else Sigma)
    assert found.rank == 3
    np.testing.assert_allclose(found.inner(Sigma), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(Phi @ found.null, 0.0, atol=1e-6)
    np.testing.assert_allclose(found.null.T @ found.null, np.eye(2), atol=1e-12)


def test_states_that_are_never_left_are_null_directions():
    Sigma = scipy.sparse.csr_array(np.diag([4.0, 0.0, 1e-9]))
    found = whiten(Sigma)
    np.testing.assert_array_equal(found.null.toarray(), [[0.0], [1.0], [0.0]])
    np.testing.assert_allclose(found.matrix, [0.5, 0.0, 1e-9**-0.5])
    assert found.rank == 2


def test_a_ridge_is_relative_to_the_diagonal():
    found = whiten(np.diag([1.0, 3.0]), ridge=0.5)
    assert found.added == 1.0
    np.testing.assert_allclose(found.inner(np.diag([2.0, 4.0])), np.eye(2), atol=1e-12)


def test_too_many_features_that_overlap_are_refused(monkeypatch):
    monkeypatch.setattr(whitening, "_LARGEST", 3)
    whiten(scipy.sparse.eye_array(9, format="csr"))
    with pytest.raises(lincat.InvalidInputError, match="totals: expected at most 3 features where"):
        whiten(np.ones((4, 4)))


def test_nothing_to_whiten_is_an_error():
    with pytest.raises(lincat.InvalidInputError, match="totals: expected at least one row"):
        whiten(np.zeros((2, 2)))
