"""State numbers give the bits of one-hot features, dense or sparse."""

import numpy as np
import pytest

from tests.kernels.cases import KINDS, RULES, run, step, transitions


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [1, 5])
def test_kinds_agree_on_one_hot_features(name, dtype, batch):
    data, steps = transitions(500, 6, 51, one_hot=True), np.full(500, step(name, 51))
    first, *others = (run(k, data, steps, 51, name, batch=batch, dtype=dtype) for k in KINDS)
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_states_never_seen_keep_their_parameters():
    phi, phi_next, rho, delta = transitions(200, 6, 30, one_hot=True)
    unseen = phi[:, 2] == 1.0
    data = (phi[~unseen], phi_next[~unseen], rho[~unseen], delta[~unseen])
    Theta, _, _ = run("states", data, np.full(len(data[2]), 0.3), 30, "ctd")
    assert not Theta[2].any()
    assert Theta[[0, 1, 3, 4, 5]].any(axis=1).all()
