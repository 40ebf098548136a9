"""Sums of products by group, against one outer product after the other."""

import itertools

import numpy as np
import pytest

from lincat.kernels.sums import add_products, add_rows, count_states, mirror


def drawn(d, width, dtype, n=357, buckets=4):
    """Rows in four buckets, of which bucket 2 is empty and nothing follows those of bucket 3."""
    rng = np.random.default_rng(d)
    phi, phi_next = (rng.normal(size=(n, d)).astype(dtype) for _ in range(2))
    bucket, parts = rng.integers(0, buckets, n), rng.normal(size=(n, width))
    bucket[bucket == 2] = 1
    phi_slots = np.arange(buckets)[:, None] + np.arange(width)
    phi_slots[2] = -1
    slots = np.where(np.arange(buckets)[:, None] == 3, -1, phi_slots)
    order = np.argsort(bucket, kind="stable")
    last = np.cumsum(np.bincount(bucket, minlength=buckets))
    groups = buckets + width - 1
    sums = np.zeros((groups, d, d)), np.zeros((groups, d)), np.zeros((d, d))
    weight = parts.sum(axis=1)
    return sums, (phi, phi_next, order, last, slots, phi_slots, parts, weight), bucket


def each(sums, rows, bucket):
    """The same by rows that are not sorted."""
    phi, phi_next, _, _, *rest = rows
    add_rows(*sums, phi, phi_next, bucket, *rest)


@pytest.mark.parametrize(
    ("way", "d"), [*(("products", d) for d in (1, 5, 17, 48, 65)), ("rows", 3)]
)
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_go_to_their_groups(way, d, width, dtype):
    (cross, phi_sum, Sigma), rows, bucket = drawn(d, width, dtype)
    phi, phi_next, _, _, slots, phi_slots, parts, weight = rows
    if way == "rows":
        each((cross, phi_sum, Sigma), rows, bucket)
    else:
        add_products(cross, phi_sum, Sigma, *rows, np.array([0, d]))
    wanted_cross, wanted_sum, wanted_Sigma = (np.zeros_like(x) for x in (cross, phi_sum, Sigma))
    for t, k in enumerate(bucket):
        here, ahead = phi[t].astype(float), phi_next[t].astype(float)
        wanted_Sigma += weight[t] * np.outer(here, here)
        for m in range(width):
            wanted_sum[phi_slots[k, m]] += parts[t, m] * here
            if k != 3:
                wanted_cross[slots[k, m]] += parts[t, m] * np.outer(here, ahead)
    np.testing.assert_allclose(cross, wanted_cross, atol=1e-11)
    np.testing.assert_allclose(phi_sum, wanted_sum, atol=1e-11)
    mirror(Sigma)
    np.testing.assert_allclose(Sigma, wanted_Sigma, atol=1e-11)


@pytest.mark.parametrize("edges", [(0, 8, 17), (0, 16, 17)])
def test_columns_can_be_shared_out(edges):
    whole, rows, _ = drawn(17, 3, np.float64)
    shared, _, _ = drawn(17, 3, np.float64)
    add_products(*whole, *rows, np.array([0, 17]))
    for share in itertools.pairwise(edges):
        add_products(*shared, *rows, np.array(share))
    for one, other in zip(whole[:2], shared[:2], strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(np.triu(whole[2]), np.triu(shared[2]))


def spoilt(place, value):
    sums, rows, _ = drawn(5, 1, np.float64)
    arguments = [*sums, *rows, np.array([0, 5])]
    arguments[place] = value(arguments[place])
    return arguments


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, lambda cross: cross[:1]),
        (0, lambda cross: cross[:, :4, :4].copy()),
        (1, lambda phi_sum: phi_sum[:2]),
        (2, lambda Sigma: Sigma[:4, :4].copy()),
        (4, lambda phi_next: phi_next[:-1]),
        (5, lambda order: order + 1),
        (5, lambda order: order[:-1]),
        (6, lambda last: last[::-1].copy()),
        (7, lambda slots: slots[:-1]),
        (8, lambda phi_slots: phi_slots + 9),
        (9, lambda parts: parts[:-1]),
        (10, lambda weight: weight[:-1]),
        (11, lambda columns: columns + 1),
        (11, lambda columns: columns - 1),
    ],
)
def test_addresses_outside_are_refused(place, value):
    with pytest.raises(IndexError):
        add_products(*spoilt(place, value))


def counted(width, n=200, d=7):
    """States of four buckets, as above."""
    sums, (*_, slots, phi_slots, parts, weight), bucket = drawn(d, width, np.float64, n=n)
    state, state_next = np.random.default_rng(width).integers(0, d, (2, n))
    return [*sums, state, state_next, bucket, slots, phi_slots, parts, weight]


@pytest.mark.parametrize("width", [1, 3])
def test_states_are_counted_like_their_unit_vectors(width):
    arguments = counted(width)
    count_states(*arguments)
    cross, phi_sum, Sigma, state, state_next, _, slots, phi_slots, parts, weight = arguments
    (wanted_cross, wanted_sum, wanted_Sigma), (_, _, order, last, *_), _ = drawn(
        7, width, np.float64, n=200
    )
    unit, columns = np.eye(7), np.array([0, 7])
    add_products(
        *(wanted_cross, wanted_sum, wanted_Sigma, unit[state], unit[state_next]),
        *(order, last, slots, phi_slots, parts, weight, columns),
    )
    np.testing.assert_allclose(cross, wanted_cross, atol=1e-12)
    np.testing.assert_allclose(phi_sum, wanted_sum, atol=1e-12)
    np.testing.assert_allclose(Sigma, np.diag(np.diagonal(wanted_Sigma)), atol=1e-12)
    assert not np.triu(wanted_Sigma, 1).any()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, lambda cross: cross[:1]),
        (1, lambda phi_sum: phi_sum[:2]),
        (2, lambda Sigma: Sigma[:4, :4].copy()),
        (3, lambda state: state + 1),
        (4, lambda state_next: state_next - 1),
        (4, lambda state_next: state_next[:-1]),
        (5, lambda bucket: bucket + 1),
        (6, lambda slots: slots + 9),
        (7, lambda phi_slots: phi_slots - 1),
        (8, lambda parts: parts[:-1]),
        (9, lambda weight: weight[:-1]),
    ],
)
def test_states_outside_are_refused(place, value):
    arguments = counted(1)
    arguments[place] = value(arguments[place])
    with pytest.raises(IndexError):
        count_states(*arguments)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (2, lambda Sigma: Sigma[:4, :4].copy()),
        (3, lambda phi: phi[:-1]),
        (4, lambda phi_next: phi_next[:, :-1].copy()),
        (5, lambda bucket: bucket + 1),
        (7, lambda phi_slots: phi_slots + 9),
        (8, lambda parts: parts[:-1]),
    ],
)
def test_rows_outside_are_refused(place, value):
    sums, (phi, phi_next, _, _, *rest), bucket = drawn(5, 1, np.float64)
    arguments = [*sums, phi, phi_next, bucket, *rest]
    add_rows(*arguments)
    arguments[place] = value(arguments[place])
    with pytest.raises(IndexError):
        add_rows(*arguments)
