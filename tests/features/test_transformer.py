import numpy as np
import pytest
import scipy.sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import lincat
from lincat.data.mixed import mixed_of
from tests.features.cases import frames, points


def squares():
    """A transformer with nothing of scikit-learn, made by name."""

    class Squares:
        def transform(self, rows):
            return rows**2

    return Squares()


class Noisy:
    """Fits something else each time: no use in a file."""

    fits = 0

    def fit(self, rows):
        Noisy.fits += 1
        self.shift_ = float(Noisy.fits)

    def transform(self, rows):
        return rows + self.shift_


def by_name():
    """A ColumnTransformer that finds its columns by name."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer

    text = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("text", text, ["site"]), ("number", SimpleImputer(), ["load"])])


def test_frames_come_with_their_names(tmp_path):
    pytest.importorskip("pandas")
    sample, rows = frames(80), frames(20, seed=1)
    features = lincat.FromTransformer("tests.features.test_transformer:by_name").fit(sample)
    phi = features.transform(rows)
    filled = np.where(np.isnan(rows["load"]), np.nanmean(sample["load"]), rows["load"])
    np.testing.assert_allclose(phi[:, -1], filled)
    north = features.feature_names().index("text__site_north")
    np.testing.assert_array_equal(phi[:, north], rows["site"] == "north")
    features.save(tmp_path / "features")
    again = lincat.load_features(tmp_path / "features", trust_code=True)
    np.testing.assert_array_equal(again.transform(rows), phi)


def test_frames_of_numbers_are_arrays_where_names_are_not_asked_for():
    sample = mixed_of({"a": np.arange(4.0), "b": np.ones(4)})
    features = lincat.FromTransformer(squares()).fit(sample)
    np.testing.assert_array_equal(features.transform(sample)[:, 0], [0.0, 1.0, 4.0, 9.0])
    np.testing.assert_array_equal(features.transform([[3.0, 1.0]]), [[9.0, 1.0]])


def test_unfitted_objects_are_copied_and_fitted():
    scaler = StandardScaler()
    features = lincat.FromTransformer(scaler).fit(points(50))
    expected = StandardScaler().fit(points(50)).transform(points(20, seed=1))
    np.testing.assert_array_equal(features.transform(points(20, seed=1)), expected)
    assert not hasattr(scaler, "mean_")
    assert features.describe() == "The 3 features that StandardScaler makes."


def test_fitted_objects_are_used_as_they_are():
    scaler = StandardScaler().fit(points(50))
    features = lincat.FromTransformer(scaler).fit(points(9, seed=7))
    np.testing.assert_array_equal(
        features.transform(points(20, seed=1)), scaler.transform(points(20, seed=1))
    )


def test_pipelines_and_functions():
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(2))
    features = lincat.FromTransformer(pipeline).fit(points(50))
    assert features.n_features_ == 10
    assert features.feature_names(["a", "b", "c"])[:3] == ["1", "a", "b"]
    logs = lincat.FromTransformer(FunctionTransformer(np.log1p)).fit(np.ones((2, 2)))
    np.testing.assert_array_equal(logs.transform(np.ones((1, 2))), np.log([[2.0, 2.0]]))


def test_sparse_output_of_strings():
    words = np.array([["a", "x"], ["b", "y"], ["a", "y"]], dtype=object)
    features = lincat.FromTransformer(OneHotEncoder()).fit(words)
    phi = features.transform(words)
    assert isinstance(phi, scipy.sparse.csr_array)
    assert phi.dtype == np.float64
    np.testing.assert_array_equal(phi.toarray()[1], [0.0, 1.0, 0.0, 1.0])
    assert features.transform(words[:0]).shape == (0, 4)


def test_a_name_is_imported_and_called():
    by_name = lincat.FromTransformer(f"{__name__}:squares").fit([[1.0, 2.0]])
    np.testing.assert_array_equal(by_name.transform([[3.0, 4.0]]), [[9.0, 16.0]])
    assert by_name.feature_names() == ["feature 0", "feature 1"]
    assert by_name.describe() == f"The 2 features that {__name__}:squares makes."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("no colon", "'module:name' of something that can be imported, got 'no colon'"),
        ("no_such_module:x", "ModuleNotFoundError"),
        ("sklearn.preprocessing:NoSuch", "AttributeError"),
        ("builtins:len", "TypeError"),
        ("math:pi", "an object with a method transform"),
        (42, "an object with a method transform, got 42"),
    ],
)
def test_what_is_no_transformer_is_refused(given, message):
    with pytest.raises(lincat.InvalidInputError, match=message) as error:
        lincat.FromTransformer(given).fit([[1.0]])
    assert "\n" not in str(error.value)


class Returns:
    def __init__(self, value):
        self.value = value

    def transform(self, rows):
        return self.value(rows)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda rows: rows[:1], r"output: expected an array of shape \(2, any\)"),
        (lambda rows: rows[:, 0], "output: expected an array of shape"),
        (lambda rows: rows * np.nan, "output: expected finite numbers"),
        (
            lambda rows: scipy.sparse.csr_array(rows * np.inf),
            r"finite numbers, got inf at \(0, 0\)",
        ),
        (lambda rows: scipy.sparse.csr_array(rows[:1]), r"output: expected shape \(2, d\)"),
        (lambda rows: rows[:, :0], "output: expected shape"),
        (lambda rows: 1 / 0, "transform takes, got ZeroDivisionError: division by zero"),
    ],
)
def test_bad_output_is_refused(value, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.FromTransformer(Returns(value)).fit([[1.0, 2.0], [3.0, 4.0]])


def test_the_width_is_settled_by_fit():
    widths = iter([3, 2])
    features = lincat.FromTransformer(Returns(lambda rows: np.ones((len(rows), next(widths)))))
    features.fit([[1.0]])
    with pytest.raises(
        lincat.InvalidInputError, match=r"expected shape \(1, 3\), got shape \(1, 2\)"
    ):
        features.transform([[1.0]])


# ------------------------------------------------------------------------------------- files


def test_files_need_trust(tmp_path):
    features = lincat.FromTransformer(f"{__name__}:squares").fit([[1.0, 2.0]])
    features.save(tmp_path / "file")
    with pytest.raises(
        lincat.InvalidInputError, match=r"trust_code: expected True.*:squares' imported"
    ):
        lincat.load_features(tmp_path / "file")
    other = lincat.load_features(tmp_path / "file", trust_code=True)
    np.testing.assert_array_equal(other.transform([[3.0, 4.0]]), [[9.0, 16.0]])


def test_text_samples_come_back(tmp_path):
    words = np.array([["a", 1], ["b", 2]], dtype=object)
    features = lincat.FromTransformer("sklearn.preprocessing:OneHotEncoder").fit(words)
    features.save(tmp_path / "file")
    other = lincat.load_features(tmp_path / "file", trust_code=True)
    np.testing.assert_array_equal(
        other.transform(words).toarray(), features.transform(words).toarray()
    )


def test_objects_are_given_again_when_a_file_is_read(tmp_path):
    file, sample = tmp_path / "features.safetensors", [[0.0], [1.0], [5.0]]
    features = lincat.FromTransformer(StandardScaler()).fit(sample)
    features.save(file)
    with pytest.raises(lincat.InvalidInputError, match="<StandardScaler>, got none; give it"):
        lincat.load_features(file)
    again = lincat.load_features(file, transformer=StandardScaler())
    np.testing.assert_array_equal(again.transform(sample), features.transform(sample))
    with pytest.raises(lincat.InvalidInputError, match="makes the features that it made"):
        lincat.load_features(file, transformer=StandardScaler(with_std=False))


def test_large_samples_cannot_be_saved(tmp_path):
    features = lincat.FromTransformer("sklearn.preprocessing:StandardScaler")
    features.fit(np.zeros((2**13, 2**10 + 1)))
    with pytest.raises(lincat.InvalidInputError, match="fit on fewer observations"):
        features.save(tmp_path / "file")


def test_what_does_not_fit_alike_is_refused(tmp_path):
    lincat.FromTransformer(f"{__name__}:Noisy").fit([[1.0]]).save(tmp_path / "file")
    with pytest.raises(lincat.InvalidInputError, match="fix its random seed"):
        lincat.load_features(tmp_path / "file", trust_code=True)
