"""Sums of products by group, against one outer product after the other."""

import numpy as np
import pytest

from lincat.kernels.sums import add_products


@pytest.mark.parametrize("d", [1, 5, 17])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_go_to_their_groups(d, width, dtype):
    rng = np.random.default_rng(d)
    n, buckets = 57, 4
    phi, phi_next = (rng.normal(size=(n, d)).astype(dtype) for _ in range(2))
    bucket, parts = rng.integers(0, buckets, n), rng.normal(size=(n, width))
    bucket[bucket == 2] = 1  # one without rows
    slots = np.arange(buckets)[:, None] + np.arange(width)
    cross_slots = slots.copy()
    cross_slots[3] = -1
    groups = buckets + width - 1
    cross, phi_sum = np.zeros((groups, d, d)), np.zeros((groups, d))
    wanted_cross, wanted_sum = np.zeros_like(cross), np.zeros_like(phi_sum)
    for t in range(n):
        for m in range(width):
            g = slots[bucket[t], m]
            wanted_sum[g] += parts[t, m] * phi[t].astype(float)
            if bucket[t] != 3:
                wanted_cross[g] += parts[t, m] * np.outer(phi[t].astype(float), phi_next[t])
    order = np.argsort(bucket, kind="stable")
    last = np.cumsum(np.bincount(bucket, minlength=buckets))
    add_products(cross, phi_sum, phi, phi_next, order, last, cross_slots, slots, parts)
    np.testing.assert_allclose(cross, wanted_cross, atol=1e-12)
    np.testing.assert_allclose(phi_sum, wanted_sum, atol=1e-12)
