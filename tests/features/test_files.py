import functools
import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as save_arrays

import lincat
from lincat import kernels
from lincat.features.files import save_bytes
from tests import packed
from tests.features.cases import ALL, dense, points


def saved(features, tmp_path, name="features.safetensors"):
    path = tmp_path / name
    features.save(path)
    return path


@pytest.mark.parametrize("kind", ALL)
def test_features_come_back_bit_for_bit(kind, tmp_path):
    make, observations = ALL[kind]
    features = make().fit(observations(60))
    path = saved(features, tmp_path)
    other = lincat.load_features(path, trust_code=True)
    assert type(other) is type(features)
    assert repr(other) == repr(features)
    assert other.describe() == features.describe()
    assert other.feature_names() == features.feature_names()
    assert save_bytes(other) == path.read_bytes()
    rows = observations(200, seed=1)
    assert dense(other.transform(rows)).tobytes() == dense(features.transform(rows)).tobytes()


def test_no_kernel_is_compiled_twice(tmp_path):
    """Arrays from files, and observations that cannot be written to, are of another type."""
    rows = points(20)
    rows.flags.writeable = False
    for kind, kernel in (
        ("tiles", "tile_rows"),
        ("scaling", "scaled_rows"),
        ("rbf", "radial_rows"),
    ):
        features = ALL[kind][0]().fit(points(60))
        (tmp_path / kind).write_bytes(save_bytes(features))
        lincat.load_features(tmp_path / kind).transform(rows)
        assert len(getattr(kernels.features, kernel).signatures) == 1


def test_options_of_numpy_come_back_as_numbers(tmp_path):
    low, high = np.array([0.0, -np.inf]), np.array([1.0, np.inf])
    features = lincat.Tiles(tilings=np.int64(4), bins=(3, 2), low=low, high=high)
    other = lincat.load_features(saved(features.fit(points(20, 2)), tmp_path))
    assert other.get_params() == {
        "tilings": 4,
        "bins": [3, 2],
        "low": [0.0, -np.inf],
        "high": [1.0, np.inf],
        "size": None,
    }
    again = other.clone().fit(points(20, 2))
    np.testing.assert_array_equal(again.low_, features.low_)


plain_ids = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=4),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(plain_ids, min_size=1, max_size=12))
def test_ids_come_back_with_their_types(tmp_path, ids):
    table = lincat.Tabular().fit(ids)
    (tmp_path / "file").write_bytes(save_bytes(table))
    other = lincat.load_features(tmp_path / "file")
    assert repr(other.ids_) == repr(table.ids_)
    assert other.transform([*ids, "new id"]).tolist() == table.transform([*ids, "new id"]).tolist()


def test_numpy_ids_are_python_ids_in_files(tmp_path):
    ids = np.empty(3, dtype=object)
    ids[:] = [np.int64(1), np.str_("a"), np.bool_(False)]
    table = lincat.load_features(saved(lincat.Tabular().fit(ids), tmp_path))
    assert [type(x) for x in table.ids_] == [int, str, bool]


@pytest.mark.parametrize("bad", [b"bytes", frozenset([1]), 1j, (1, b"x")])
def test_other_ids_cannot_be_saved(bad, tmp_path):
    table = lincat.Tabular().fit(["a", bad])
    with pytest.raises(lincat.InvalidInputError, match="ids: expected strings, numbers") as error:
        table.save(tmp_path / "file")
    assert "turn the ids into one of these first" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_bytes_depend_on_the_features_alone(tmp_path):
    one = saved(lincat.RadialBasis(centers=4).fit(points(50)), tmp_path, "a").read_bytes()
    other = saved(lincat.RadialBasis(centers=4).fit(points(50)), tmp_path, "b").read_bytes()
    assert one == other
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]  # nothing temporary is left


# ---------------------------------------------------------------------------- other contents


header_of = functools.partial(packed.header_of, key="lincat features")
refused = functools.partial(packed.refused, lincat.load_features)


def rewritten(content, change_header=None, change_arrays=None):
    return packed.rewritten(content, "lincat features", change_header, change_arrays)


def content_of(kind):
    make, observations = ALL[kind]
    return save_bytes(make().fit(observations(60)))


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"\x00",
        b"hello",
        b"state,reward\n0,1.0\n" * 50,
        b"\x80\x04\x95" + bytes(200),
        b"PK\x03\x04" + bytes(200),
        bytes(1000),
        (2**40).to_bytes(8, "little") + bytes(100),
        save_arrays({"weight": np.zeros(3)}),
        save_arrays({"low": np.zeros(3)}, metadata={"lincat features": "not json"}),
        save_arrays({"low": np.zeros(3)}, metadata={"lincat features": "[]"}),
        save_arrays({"low": np.zeros(3)}, metadata={"lincat features": "{}"}),
        save_arrays({"low": np.zeros(3)}, metadata={"lincat features": "[" * 100_000}),
    ],
)
def test_foreign_files_are_refused_in_one_line(foreign, tmp_path):
    refused(tmp_path / "file", foreign)


def test_learners_are_not_features(tmp_path):
    model = lincat.LinearTD(gamma=0.5, step_size=0.1).partial_fit([[1.0]], [1.0], [[1.0]])
    model.save(tmp_path / "model")
    refused(
        tmp_path / "file",
        (tmp_path / "model").read_bytes(),
        "expected a file of features of lincat",
    )


def test_missing_files_and_folders(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(lincat.InvalidInputError, match=re.escape(str(path))) as error:
            lincat.load_features(path)
        assert "\n" not in str(error.value)


def test_large_files_are_not_read(tmp_path):
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(2**34 + 1)  # takes no space
    with pytest.raises(lincat.InvalidInputError, match="at most 17179869184 bytes"):
        lincat.load_features(path)


@pytest.mark.parametrize("kind", ["tiles", "tabular", "scaling"])
def test_every_truncation_is_refused(kind, tmp_path):
    content = content_of(kind)
    for length in {*range(0, len(content), 29), len(content) - 1}:
        refused(tmp_path / "file", content[:length])
    refused(tmp_path / "file", content + b"\x00")


def assign(*keys, value):
    def change(header):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("tiles", assign("format", value=3), "format: expected version 2, got 3; read it with"),
        ("tiles", assign("class", value="Popen"), "class: expected one of Fourier, FromTr"),
        ("tiles", assign("class", value="Scaling"), "something else"),
        ("tiles", assign("params", "colour", value="red"), "something else"),
        ("tiles", assign("params", value=[]), "something else"),
        ("tiles", assign("state", value=None), "something else"),
        ("tiles", assign("state", "more", value=1), "content: expected"),
        ("tiles", assign("state", "tilings", value=0), "tilings: expected"),
        ("tiles", assign("state", "tilings", value=10**9), "size: expected|bins: expected"),
        ("tiles", assign("state", "size", value=10**6), "size: expected"),
        ("tiles", assign("state", "size", value=40), "size: expected"),
        ("tiles", assign("state", "hashed", value=True), "size: expected"),
        ("hashed", assign("state", "size", value=99), "size: expected"),
        ("fourier", assign("state", "order", value=0), "order: expected"),
        ("fourier", assign("state", "order", value=10**9), "coupling: expected"),
        ("fourier", assign("state", "coupling", value=4), "coupling: expected"),
        ("rbf", assign("state", "width", value=0.0), "width: expected"),
        ("rbf", assign("state", "last", value=-1.0), "last: expected"),
        ("scaling", assign("state", "longest", value=0.0), "longest: expected"),
        ("scaling", assign("state", "longest", value=float("nan")), "longest: expected"),
        ("scaling", assign("state", "intercept", value=2), "intercept: expected"),
        ("identity", assign("state", "n_features", value=0), "n_features: expected"),
        ("tabular", assign("state", "rows", value=3), "ids: expected different ones, 1 to 3"),
        ("tabular", assign("state", "numbers", value=True), "content: expected"),
        ("numbers", assign("state", "numbers", value=False), "something else"),
        ("transformer", assign("params", "transformer", value=7), "transformer: expected"),
    ],
)
def test_headers_that_do_not_fit_are_refused(kind, change, reason, tmp_path):
    refused(tmp_path / "file", rewritten(content_of(kind), change), reason)


def pop(name):
    return lambda arrays: arrays.pop(name)


def put(name, array):
    return lambda arrays: arrays.update({name: array})


def text(value):
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("tiles", pop("low")),
        ("tiles", put("extra", np.zeros(3))),
        ("tiles", put("low", np.zeros(2))),
        ("tiles", put("low", np.full(3, np.nan))),
        ("tiles", put("low", np.full(3, 1e9))),
        ("tiles", put("bins", np.zeros(3, np.int64))),
        ("tiles", put("bins", np.full(3, 2**40))),
        ("tiles", put("bins", np.full(2, 3))),
        ("fourier", put("high", np.zeros((3, 1)))),
        ("rbf", put("centers", np.zeros((7, 2)))),
        ("rbf", put("centers", np.zeros((0, 3)))),
        ("rbf", put("centers", np.full((7, 3), np.inf))),
        ("rbf", put("factor", -np.ones(3))),
        ("scaling", put("mean", np.zeros(0))),
        ("scaling", put("scale", np.full(3, np.nan))),
        ("tabular", pop("ids")),
        ("tabular", put("ids", text(["a", "a"]))),
        ("tabular", put("ids", text([1, True]))),
        ("tabular", put("ids", text([]))),
        ("tabular", put("ids", text({"a": 1}))),
        ("tabular", put("ids", text([{"a": 1}]))),
        ("tabular", put("ids", np.zeros(3))),
        ("tabular", put("ids", np.frombuffer(b"[" * 100_000, dtype=np.uint8))),
        ("tabular", put("ids", np.frombuffer(b'["a"', dtype=np.uint8))),
    ],
)
def test_arrays_that_do_not_fit_are_refused(kind, change, tmp_path):
    refused(tmp_path / "file", rewritten(content_of(kind), None, change))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_are_refused_or_harmless(tmp_path, data):
    """Whatever bytes change, loading raises the one error or gives features that work."""
    kind = data.draw(st.sampled_from(["tiles", "hashed", "fourier", "rbf", "scaling", "tabular"]))
    damaged = bytearray(content_of(kind))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "file"
    path.write_bytes(bytes(damaged))
    try:
        phi = dense(lincat.load_features(path).transform(ALL[kind][1](5)))
    except lincat.InvalidInputError as error:
        refusal, phi = str(error), np.zeros(0)
    else:
        refusal = ""
    assert "\n" not in refusal
    assert np.isfinite(phi).all()
