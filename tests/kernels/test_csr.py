"""Sparse features give the bits of the same features written out."""

import numpy as np
import pytest
import scipy.sparse

from lincat.kernels import rules
from lincat.kernels.csr import csr_updates
from lincat.kernels.layout import padded_zeros
from tests.kernels.cases import LIMIT, RULES, run, step, transitions, triple


def sparse_transitions(n, d, K):
    phi, phi_next, rho, delta = transitions(n, d, K)
    rng = np.random.default_rng(0)
    phi[rng.random(phi.shape) < 0.7] = 0.0
    phi_next[rng.random(phi.shape) < 0.7] = 0.0
    return phi, phi_next, rho, delta


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("batch", [1, 5])
def test_sparse_equals_dense(name, batch):
    data, steps = sparse_transitions(500, 20, 51), np.full(500, step(name, 51))
    dense, csr = (run(kind, data, steps, 51, name, batch=batch) for kind in ("dense", "csr"))
    for a, b in zip(dense, csr, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_without_features_are_let_be():
    Theta, U = padded_zeros(4, 30), padded_zeros(4, 30)
    nothing = triple(scipy.sparse.csr_array((6, 4)))
    rho, delta, steps = np.full(6, 1.0), np.full(6, 0.9), np.full(6, 0.5)
    done = csr_updates(
        Theta, U, np.zeros(2), nothing, nothing, rho, delta, steps, LIMIT, 30, rules.CTD, 0, 1
    )
    assert done == 6
    assert not Theta.any()
    assert not U.any()
