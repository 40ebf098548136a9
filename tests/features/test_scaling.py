import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat

numbers = st.floats(-100.0, 100.0, allow_nan=False, width=32)


def naive(sample, rows, intercept, unit_norm):
    """Standardise, append 1, divide by the sample's longest row, shrink what is longer."""
    mean, deviation = sample.mean(axis=0), sample.std(axis=0)

    def raw(x):
        z = np.zeros(len(x))
        for j in range(len(x)):
            if sample[:, j].min() < sample[:, j].max():
                z[j] = (x[j] - mean[j]) / deviation[j]
        return np.append(z, 1.0) if intercept else z

    longest = max(np.linalg.norm(raw(x)) for x in sample) if unit_norm else 1.0
    phi = [raw(x) / longest for x in rows]
    if unit_norm:
        phi = [v / max(1.0, np.linalg.norm(v)) for v in phi]
    return np.array(phi)


@given(
    arrays(np.float64, (7, 3), elements=numbers),
    arrays(np.float64, (4, 3), elements=numbers),
    st.booleans(),
    st.booleans(),
)
def test_against_the_definition(sample, rows, intercept, unit_norm):
    features = lincat.Scaling(intercept=intercept, unit_norm=unit_norm)
    if not intercept and (sample == sample[0]).all():
        with pytest.raises(lincat.InvalidInputError, match="all coordinates are constant"):
            features.fit(sample)
        with pytest.raises(lincat.InvalidInputError, match="unfitted"):
            features.transform(rows)
        return
    phi = features.fit(sample).transform(rows)
    expected = naive(sample, rows, intercept, unit_norm)
    np.testing.assert_allclose(phi, expected, rtol=1e-9, atol=1e-9)


def test_moments_of_the_sample():
    sample = np.random.default_rng(0).normal(3.0, 2.0, size=(1000, 2))
    phi = lincat.Scaling(unit_norm=False).fit(sample).transform(sample)
    np.testing.assert_allclose(phi.mean(axis=0), [0.0, 0.0, 1.0], atol=1e-13)
    np.testing.assert_allclose(phi.std(axis=0), [1.0, 1.0, 0.0], atol=1e-13)
    norms = np.linalg.norm(lincat.Scaling().fit(sample).transform(sample), axis=1)
    assert norms.max() == pytest.approx(1.0, abs=1e-14)


def test_constants_with_rounding_are_constants():
    sample = np.full((10, 2), 0.1)
    sample[:, 1] = np.arange(10)
    phi = lincat.Scaling().fit(sample).transform([[0.1, 3.0], [99.0, 3.0]])
    assert (phi[:, 0] == 0.0).all()


def test_numbers_too_large_to_square_are_named():
    features = lincat.Scaling().fit([[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(lincat.InvalidInputError, match=r"order of size, got 1e\+300 at \(1, 0\)"):
        features.transform([[0.0, 0.0], [1e300, 0.0]])
    with pytest.raises(
        lincat.InvalidInputError, match="a standard deviation of inf for coordinate 0"
    ):
        lincat.Scaling().fit([[1e300], [-1e300]])


@pytest.mark.parametrize("option", ["intercept", "unit_norm"])
def test_flags_are_flags(option):
    with pytest.raises(
        lincat.InvalidInputError, match=f"{option}: expected True or False, got 'no'"
    ):
        lincat.Scaling(**{option: "no"}).fit([[0.0], [1.0]])


# ---------------------------------------------------------------------------------- identity


def test_identity_keeps_what_comes():
    features = lincat.Identity().fit(np.ones((2, 3)))
    rows = np.random.default_rng(0).normal(size=(4, 3))
    assert features.transform(rows).tobytes() == rows.tobytes()
    assert features.transform(rows.astype(np.float32)).dtype == np.float32
    assert features.transform(rows.astype(np.float32)[:, ::-1]).flags.c_contiguous
    sparse = scipy.sparse.csr_array(rows)
    assert (features.transform(sparse) != sparse).nnz == 0
    assert features.fit(sparse).n_features_ == 3
    assert features.feature_names(["a", "b", "c"]) == ["a", "b", "c"]


def test_identity_sorts_sparse_rows():
    shuffled = scipy.sparse.csr_array(([1.0, 2.0], [2, 0], [0, 2]), shape=(1, 3))
    phi = lincat.Identity().fit(shuffled).transform(shuffled)
    np.testing.assert_array_equal(phi.indices, [0, 2])
    np.testing.assert_array_equal(phi.toarray(), [[2.0, 0.0, 1.0]])


def test_identity_refuses_what_is_not_finite_or_does_not_fit():
    features = lincat.Identity().fit(np.ones((2, 3)))
    rows = np.zeros((3, 3), dtype=np.float32)
    rows[2, 1] = np.nan
    for bad in (rows, rows.astype(np.float64), scipy.sparse.csr_array(rows)):
        with pytest.raises(lincat.InvalidInputError, match=r"finite numbers, got nan at \(2, 1\)"):
            features.transform(bad)
    for bad in (np.zeros((2, 2), np.float32), scipy.sparse.csr_array(np.eye(2))):
        with pytest.raises(lincat.InvalidInputError, match=r"shape \(n, 3\)"):
            features.transform(bad)
