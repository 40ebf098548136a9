"""What all features promise."""

import inspect

import numpy as np
import pytest
import scipy.sparse

import lincat
from tests.features.cases import ALL, POINTS, dense


@pytest.fixture(params=ALL)
def case(request):
    make, observations = ALL[request.param]
    return make(), observations


def test_parameters_are_stored_as_given_and_cloned(case):
    features, observations = case
    before = features.get_params()
    features.fit(observations(50))
    assert features.get_params() == before
    copy = features.clone()
    assert type(copy) is type(features)
    assert copy.get_params() == before
    assert not hasattr(copy, "n_features_")
    assert repr(copy) == repr(features)
    assert repr(copy).startswith(type(copy).__name__ + "(")


def test_hyper_parameters_are_keywords():
    for cls in (lincat.Tabular, lincat.Tiles, lincat.Fourier, lincat.RadialBasis, lincat.Scaling):
        for parameter in list(inspect.signature(cls).parameters.values()):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("method", ["transform", "lookup", "save"])
def test_use_before_fit_is_refused(case, method, tmp_path):
    features, observations = case
    argument = tmp_path / "file" if method == "save" else observations(3)
    with pytest.raises(lincat.InvalidInputError, match="unfitted ones; call fit"):
        getattr(features, method)(argument)
    with pytest.raises(lincat.InvalidInputError, match="unfitted"):
        features.describe()


def test_forms_are_those_that_learners_take(case):
    features, observations = case
    features.fit(observations(60))
    phi = features.transform(observations(40, seed=1))
    if phi.ndim == 1:
        assert phi.dtype == np.int64
        assert 0 <= phi.min() <= phi.max() < features.n_features_
    else:
        assert phi.shape == (40, features.n_features_)
        assert phi.dtype == np.float64
        if scipy.sparse.issparse(phi):
            assert isinstance(phi, scipy.sparse.csr_array)
            rebuilt = scipy.sparse.csr_array((phi.data, phi.indices, phi.indptr), shape=phi.shape)
            assert rebuilt.has_canonical_format  # looked at, not believed
            phi.check_format(full_check=True)
        else:
            assert phi.flags.c_contiguous
    assert len(lincat.Transitions(phi, np.zeros(40), phi)) == 40
    model = lincat.LinearTD(gamma=0.5, step_size=1e-3, n_features=features.n_features_)
    assert model.partial_fit(phi, np.ones(40), phi).predict(phi).shape == (40,)


def test_rows_do_not_depend_on_their_company(case):
    features, observations = case
    sample, rows = observations(60), observations(37, seed=1)
    whole = dense(features.fit(sample).transform(rows))
    pieces = [dense(features.transform(rows[i : i + 5])) for i in range(0, 37, 5)]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()
    assert dense(features.lookup(rows)).tobytes() == whole.tobytes()


def test_a_second_fit_forgets_the_first(case):
    features, observations = case
    again = dense(
        features.fit(observations(60))
        .fit(observations(30, seed=5))
        .transform(observations(10, seed=5))
    )
    fresh = dense(
        features.clone().fit(observations(30, seed=5)).transform(observations(10, seed=5))
    )
    assert again.tobytes() == fresh.tobytes()


def test_empty_batches_pass_and_empty_samples_do_not(case):
    features, observations = case
    features.fit(observations(60))
    assert features.transform(observations(60)[:0]).shape[0] == 0
    if features.kind != "lookup" and features.get_params().get("n_states") is None:
        with pytest.raises(lincat.InvalidInputError, match="at least one observation"):
            features.clone().fit(observations(60)[:0])


def test_descriptions_and_names(case):
    features, observations = case
    features.fit(observations(60))
    sentence = features.describe()
    assert sentence.endswith(".")
    assert "\n" not in sentence
    names = features.feature_names()
    assert len(names) == features.n_features_
    assert len(set(names)) == len(names)
    assert all(isinstance(name, str) for name in names)


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_named(kind, bad):
    make, observations = ALL[kind]
    features = make().fit(observations(60))
    rows = observations(9)
    rows[6, 2] = bad
    place = (
        "finite|NaN|infinity"
        if kind == "transformer"
        else rf"finite numbers, got {bad} at \(6, 2\)"
    )
    for call in (features.transform, features.clone().fit):
        if kind == "transformer" and np.isnan(bad) and call == features.clone().fit:
            continue
        with pytest.raises(lincat.InvalidInputError, match=place) as error:
            call(rows)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [kind for kind in POINTS if kind != "transformer"])
def test_shapes_that_do_not_fit_are_refused(kind):
    make, observations = ALL[kind]
    features = make().fit(observations(60))
    for rows in (np.zeros((2, 4)), np.zeros((2, 2)), np.zeros((2, 3, 1)), np.zeros((2, 0))):
        with pytest.raises(lincat.InvalidInputError, match=r"shape \(n, 3\), got shape \(2, "):
            features.transform(rows)
    with pytest.raises(lincat.InvalidInputError, match="put a single observation into a list"):
        features.transform([1.0, 2.0, 3.0])
    with pytest.raises(
        lincat.InvalidInputError, match=r"array of numbers.* got \['a', 'b', 'c'\] at row 1"
    ):
        features.transform([[1.0, 2.0, 3.0], ["a", "b", "c"]])
    with pytest.raises(lincat.InvalidInputError, match="rows of different lengths"):
        features.transform([[1.0, 2.0, 3.0], [1.0, 2.0]])
    with pytest.raises(lincat.InvalidInputError, match=r"shape \(n, 3\), got shape \(\)"):
        features.transform(None)


@pytest.mark.parametrize("kind", [kind for kind in POINTS if kind != "identity"])
def test_single_numbers_may_come_in_one_dimension(kind):
    make, observations = ALL[kind]
    features = make().fit(observations(60)[:, 0])
    rows = observations(8, seed=1)[:, 0]
    one, other = features.transform(rows), features.transform(rows[:, None])
    assert dense(one).tobytes() == dense(other).tobytes()


# Smooth features are for batch solutions, which do not mind their length; points are a table.
ANY_LENGTH = ("identity", "bare scaling", "transformer", "smooth", "nearby", "points")


@pytest.mark.parametrize("kind", [k for k in POINTS if k not in ANY_LENGTH])
def test_no_feature_vector_is_longer_than_one(kind):
    make, observations = ALL[kind]
    features = make().fit(observations(60))
    rows = np.concatenate([observations(500, seed=1), 1e6 * observations(500, seed=2)])
    norms = np.linalg.norm(dense(features.transform(rows)), axis=1)
    assert norms.max() <= 1.0 + 1e-12
    assert norms.min() > 0.0


def test_integers_and_other_orders_are_taken():
    rows = np.asfortranarray(np.arange(12).reshape(4, 3))
    expected = lincat.Scaling().fit(rows.astype(float)).transform(rows.astype(float))
    np.testing.assert_array_equal(lincat.Scaling().fit(rows).transform(rows), expected)
    np.testing.assert_array_equal(
        lincat.Scaling().fit(rows.tolist()).transform(rows.astype(np.float32)), expected
    )


def test_unwritable_places_are_refused(tmp_path):
    features = lincat.Scaling().fit([[0.0], [1.0]])
    with pytest.raises(lincat.InvalidInputError, match="a place that can be written"):
        features.save(tmp_path / "none" / "file")


def test_tables_know_what_they_have_and_others_know_everything():
    named = lincat.Tabular(capacity=9).fit(["a", "b"])
    assert named.knows(["b", "c", ("a", 1)]).tolist() == [True, False, False]
    assert named.n_known_ == 2
    pairs = lincat.Tabular().fit(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert pairs.knows(np.array([[3.0, 4.0], [4.0, 3.0]])).tolist() == [True, False]
    for table in (lincat.Tabular(n_states=3), lincat.Lookup(np.eye(3))):
        table.fit([0])
        assert table.knows(np.array([-1, 0, 2, 3])).tolist() == [False, True, True, False]
        assert table.knows(np.array([[0.5], [2.0]])).tolist() == [False, True]
        assert table.knows(np.array(["0"])).tolist() == [False]
        assert table.n_known_ == 3
    assert lincat.Scaling().fit([[0.0], [1.0]]).knows([[99.0], [0.0]]).all()
    with pytest.raises(lincat.InvalidInputError, match="hashable ids"):
        named.knows([{}])
    assert lincat.Tabular.table
    assert not lincat.Tiles.all_used


def test_names_of_features_and_frames_are_those_that_were_fitted():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]}, index=[5, 6, 7])
    features = lincat.Fourier(order=1).fit(frame)
    names = features.get_feature_names_out().tolist()
    assert names == features.get_feature_names_out(["a", "b"]).tolist()
    with pytest.raises(lincat.InvalidInputError, match="input_features: expected what was fitted"):
        features.get_feature_names_out(["b", "a"])
    with pytest.raises(lincat.InvalidInputError, match=r"input_features: expected 2 names"):
        lincat.Fourier(order=1).fit(frame.to_numpy()).get_feature_names_out(["a"])
    assert features.set_output() is features
    made = features.set_output(transform="polars").transform(frame)
    assert isinstance(made, polars.DataFrame)
    assert made.columns == names
    assert features.set_output(transform="pandas").transform(frame).index.tolist() == [5, 6, 7]


@pytest.mark.parametrize("method", ["fit", "transform", "lookup"])
def test_what_lies_under_a_mask_is_no_observation(case, method):
    """NumPy would take the number, or the name, that happens to be there."""
    features, observations = case
    rows = observations(60)
    if rows.dtype.names:
        pytest.skip("columns say by themselves which of their cells are missing")
    features.fit(rows)
    hidden = np.zeros(rows.shape, dtype=bool)
    hidden[3] = True
    with pytest.raises(lincat.InvalidInputError, match=r"observations: expected .* masked array"):
        getattr(features, method)(np.ma.masked_array(rows, hidden))
    getattr(features, method)(np.ma.masked_array(rows))  # nothing is hidden


@pytest.mark.parametrize("kind", sorted(POINTS.keys() - {"transformer"}))
def test_times_are_no_points(kind):
    """Days at first and hours afterwards would be other numbers for the same time."""
    times = np.array(["2026-01-01", "2026-01-02", "2026-01-05"], "datetime64[D]")
    with pytest.raises(lincat.InvalidInputError, match=r"numbers, got times \(datetime64\[D\]\)"):
        POINTS[kind]().fit(times)
