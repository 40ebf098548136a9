import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat
from lincat.features.tiles import _mix

unit = st.floats(0.0, 1.0, allow_nan=False)


def tile_of(x, t, tilings, bins):
    """The tile of tiling t that holds the point x of [0, 1]^m, straight from the definition.

    Coordinate j is cut into b T - T + 1 cells; tile c of tiling t covers the cells from
    c T - displacement to (c + 1) T - displacement, less one.
    """
    tile = []
    for j in range(len(x)):
        cells = bins[j] * tilings - tilings + 1
        cell = min(max(math.floor(x[j] * cells), 0), cells - 1)
        displacement = ((2 * j + 1) * t) % tilings
        (c,) = [
            c
            for c in range(bins[j])
            if c * tilings - displacement <= cell < (c + 1) * tilings - displacement
        ]
        tile.append(c)
    return tuple(tile)


def splitmix64(seed):
    """The generator as published (Steele, Lea & Flood 2014; Vigna's splitmix64.c)."""
    mask = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def hashed_feature(tile, t, tilings, size):
    """The feature of a tile that shares it, from the class's Notes."""
    multipliers = splitmix64(0)
    key = sum(c * (next(multipliers) | 1) for c in tile) % 2**64
    h = next(splitmix64((key + t * 0x9E3779B97F4A7C15) % 2**64))
    block = size // tilings
    return t * block + ((h >> 32) * block >> 32)


@st.composite
def tilings_and_points(draw, n=6):
    m = draw(st.integers(1, 4))
    bins = draw(st.lists(st.integers(1, 5), min_size=m, max_size=m))
    return draw(st.integers(1, 9)), bins, draw(arrays(np.float64, (n, m), elements=unit))


@given(tilings_and_points())
def test_each_tile_has_a_feature_of_its_own(case):
    tilings, bins, x = case
    features = lincat.Tiles(tilings=tilings, bins=bins, low=0.0, high=1.0).fit(x)
    assert features.n_features_ == tilings * math.prod(bins)
    assert not features.hashed_
    found = features.transform(x).indices.reshape(len(x), tilings)
    for i in range(len(x)):
        for t in range(tilings):
            tile = np.ravel_multi_index(tile_of(x[i], t, tilings, bins), bins)
            assert found[i, t] == t * math.prod(bins) + tile


@given(tilings_and_points(), st.integers(0, 30))
def test_hashing_is_what_the_notes_say(case, extra):
    tilings, bins, x = case
    size = tilings + extra
    features = lincat.Tiles(tilings=tilings, bins=bins, low=0.0, high=1.0, size=size).fit(x)
    if not features.hashed_:
        assert tilings * math.prod(bins) <= size
        return
    found = features.transform(x).indices.reshape(len(x), tilings)
    assert features.n_features_ == size // tilings * tilings
    for i in range(len(x)):
        for t in range(tilings):
            tile = tile_of(x[i], t, tilings, bins)
            assert found[i, t] == hashed_feature(tile, t, tilings, size)


@given(tilings_and_points(), st.sampled_from([None, 16]))
def test_every_row_has_one_feature_of_each_tiling_and_length_one(case, size):
    tilings, bins, x = case
    features = lincat.Tiles(tilings=tilings, bins=bins, low=0.25, high=0.75, size=size).fit(x)
    phi = features.transform(x)
    assert (np.diff(phi.indptr) == tilings).all()
    assert (np.diff(phi.indices.reshape(len(x), tilings), axis=1) > 0).all()
    np.testing.assert_allclose(phi.multiply(phi).sum(axis=1), 1.0, rtol=1e-14)


@given(st.integers(1, 16), st.integers(2, 8), unit, st.floats(0.0, 1.0))
def test_points_share_tilings_as_they_are_close(tilings, bins, x, share):
    """Two points k cells apart differ in k tilings at most, and in all beyond a tile's width."""
    cells = bins * tilings - tilings + 1
    y = min(x + share * tilings / cells, 1.0)
    phi = lincat.Tiles(tilings=tilings, bins=bins, low=0.0, high=1.0).fit([x]).transform([x, y])
    common = round(float((phi[[0]] @ phi[[1]].T).toarray()[0, 0]) * tilings)
    apart = min(math.floor(y * cells), cells - 1) - min(math.floor(x * cells), cells - 1)
    assert common == max(tilings - apart, 0)


def test_every_tile_can_be_reached():
    tilings, bins = 4, [3, 2]
    axis = np.linspace(0.0, 1.0, 200)
    x = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    features = lincat.Tiles(tilings=tilings, bins=bins, low=0.0, high=1.0).fit(x)
    assert set(features.transform(x).indices) == set(range(features.n_features_))


def test_known_answers_of_the_hash():
    # The first outputs of splitmix64 seeded with 0, as published in many places.
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [_mix((j + 1) * 0x9E3779B97F4A7C15) for j in range(3)] == first
    x = [[0.0, 0.0, 0.0], [0.5, 0.25, 0.75], [1.0, 1.0, 1.0]]
    features = lincat.Tiles(tilings=4, bins=8, low=0.0, high=1.0, size=1000).fit(x)
    found = features.transform(x).indices.reshape(3, 4)
    # Tile (0, 0, 0) of tiling 0 has the hash 0xE220A839..., so 0xE220A839 * 250 >> 32 = 220.
    assert found[0, 0] == 220
    np.testing.assert_array_equal(found, KNOWN)  # files of other machines rely on these


KNOWN = [[220, 357, 506, 992], [148, 326, 617, 829], [73, 328, 657, 925]]


def test_hashing_spreads_tiles_evenly():
    x = np.random.default_rng(0).random((20_000, 5))
    features = lincat.Tiles(tilings=2, bins=8, low=0.0, high=1.0, size=256).fit(x)
    counts = np.bincount(features.transform(x).indices, minlength=256)
    # 8^5 tiles over 128 features: each gets 256 tiles, give or take 16, and their observations.
    assert counts.min() > 0.6 * counts.mean()
    assert counts.max() < 1.5 * counts.mean()


def test_hashing_sees_every_coordinate_however_many():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.random((1, 40)), 41, axis=0)
    for j in range(40):
        x[j, j] = 1.0 - x[j, j]
    features = lincat.Tiles(tilings=1, bins=8, low=0.0, high=1.0, size=2**20).fit(x)
    assert features.hashed_
    assert len(set(features.transform(x).indices)) > 38


def test_points_beyond_the_bounds_count_as_on_the_edge():
    features = lincat.Tiles(low=[0.0, -1.0], high=[2.0, 1.0]).fit([[1.0, 0.0]])
    inside = features.transform([[0.0, 1.0], [2.0, -1.0]])
    outside = features.transform([[-7.0, 1e300], [1e9, -1e300]])
    np.testing.assert_array_equal(inside.indices, outside.indices)


def test_bounds_from_the_sample_have_a_margin():
    features = lincat.Tiles().fit([[0.0, 3.0], [10.0, 3.0]])
    np.testing.assert_allclose(features.low_, [-0.5, 1.5])
    np.testing.assert_allclose(features.high_, [10.5, 4.5])
    features = lincat.Tiles(low=[-np.inf, 0.0], high=3.4e38).fit([[0.0, 3.0], [10.0, 4.0]])
    np.testing.assert_allclose(features.low_, [-0.5, 0.0])
    np.testing.assert_allclose(features.high_, [10.5, 4.05])
    features = lincat.Tiles(low=20.0).fit([[0.0], [10.0]])
    assert (features.low_, features.high_) == (20.0, 21.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tilings": 0}, "tilings: expected an integer of at least 1, got 0"),
        ({"tilings": 2.5}, "tilings: expected an integer"),
        ({"bins": 0}, "bins: expected an integer of at least 1, got 0"),
        ({"bins": [8]}, "bins: expected an integer, or 2 of them"),
        ({"bins": [8, 2.5]}, "bins: expected an integer"),
        ({"bins": "many"}, "bins: expected an integer"),
        ({"bins": 2**50}, "bins: expected fewer tiles"),
        ({"tilings": 10**6, "size": 10**7}, "bins: expected fewer tiles"),
        ({"size": 7}, "size: expected an integer of at least 8, got 7"),
        ({"size": 2**32}, "bins: expected fewer tiles"),
        ({"low": 1.0, "high": 0.0}, r"low < high, got \[1, 0\] for coordinate 0"),
        ({"low": 1.0, "high": 1.0}, r"low < high, got \[1, 1\] for coordinate 0"),
        ({"low": 0.0, "high": 1e-300}, "low: expected finite bounds with low < high"),
        ({"low": [0.0, 1.0, 2.0]}, "low: expected a number, or 2 of them"),
        ({"low": "left"}, "low: expected a number"),
        ({"high": [1.0, np.nan]}, "high: expected numbers or infinities, got nan at index 1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.Tiles(**options).fit([[0.0, 0.0], [1.0, 1.0]])


def test_samples_too_wide_for_floats_are_refused():
    with pytest.raises(lincat.InvalidInputError, match="finite bounds"):
        lincat.Tiles().fit([[-1.7e308], [1.7e308]])


def test_names_tell_tiling_and_tile():
    features = lincat.Tiles(tilings=2, bins=[2, 1]).fit([[0.0, 0.0]])
    assert features.feature_names() == [
        "tiling 0, tile 0, 0",
        "tiling 0, tile 1, 0",
        "tiling 1, tile 0, 0",
        "tiling 1, tile 1, 0",
    ]
