import contextlib
import functools
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import lincat
from lincat.learners.files import load_bytes, save_bytes
from tests import packed
from tests.learners import cases
from tests.learners.cases import make, parameters, stream


def saved(model, tmp_path, name="model.safetensors"):
    path = tmp_path / name
    model.save(path)
    return path


@pytest.mark.parametrize("rule", cases.LEARNERS)
@pytest.mark.parametrize("averaging", ["none", "full", "tail", "anytime"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("at", [1, 600, 1100])
def test_interrupted_equals_uninterrupted_bit_for_bit(rule, averaging, dtype, at, tmp_path):
    t = stream("dense", 1500)
    options = {"averaging": averaging, "dtype": dtype}
    if averaging == "anytime":
        options["averaging"] = "tail"
    elif averaging == "tail":
        options["horizon"] = 1500
    first = make(rule, **options).partial_fit(t[:at])
    if rule == "unnormalised":
        first.Theta_  # noqa: B018 - saving ends the waiting for a thousand transitions
    path = saved(first, tmp_path)
    second = lincat.load(path)
    assert type(second) is type(first)
    assert second.get_params() == first.get_params()
    assert save_bytes(second) == path.read_bytes()
    first.partial_fit(t[at:])
    second.partial_fit(t[at:])
    assert save_bytes(first) == save_bytes(second)
    for a, b in zip(parameters(first), parameters(second), strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("rule", cases.LEARNERS)
def test_predictions_and_counters_come_back(rule, tmp_path):
    t, Phi = stream("dense", 1200), cases.features("dense")
    model = make(rule, step_size=lincat.PolynomialDecay(0.01, 0.6)).fit(t, batch_size=7)
    other = lincat.load(saved(model, tmp_path))
    assert (other.n_seen_, other.n_updates_) == (model.n_seen_, model.n_updates_)
    assert other.step_size == lincat.PolynomialDecay(0.01, 0.6)
    if rule == "td":
        np.testing.assert_array_equal(other.predict(Phi), model.predict(Phi))
    else:
        np.testing.assert_array_equal(other.predict(Phi).pmf, model.predict(Phi).pmf)
        np.testing.assert_array_equal(other.clipped_mass_, model.clipped_mass_)
        assert other.grid_ == model.grid_


def test_an_automatic_grid_comes_back(tmp_path):
    t = stream("dense", 1200)
    model = make("ctd", grid="auto", intervals=9).partial_fit(t)
    other = lincat.load(saved(model, tmp_path))
    assert other.grid == "auto"
    assert other.grid_ == model.grid_
    assert save_bytes(other.partial_fit(t)) == save_bytes(model.partial_fit(t))


def test_numbers_of_numpy_are_numbers(tmp_path):
    model = lincat.LinearCTD(
        grid=cases.GRID,
        gamma=np.float32(0.5),
        step_size=lincat.PolynomialDecay(np.float32(0.25), np.float64(0.5)),
        horizon=np.int64(10),
        n_features=np.int32(6),
    ).fit(stream("states", 20))
    assert lincat.load(saved(model, tmp_path)).get_params() == model.get_params()


def test_bytes_depend_on_the_learner_alone(tmp_path):
    t = stream("dense", 700)
    one = saved(make("ctd").fit(t), tmp_path, "a").read_bytes()
    other = saved(make("ctd").fit(t), tmp_path, "b").read_bytes()
    assert one == other
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]  # nothing temporary is left


def test_saving_replaces_the_file_whole(tmp_path):
    path = saved(make("ctd").fit(stream("dense", 700)), tmp_path)
    longer = make("ctd").fit(stream("dense", 800))
    longer.save(str(path))
    assert lincat.load(str(path)).n_seen_ == 800


def test_the_file_is_safetensors_and_json(tmp_path):
    content = saved(make("ctd").fit(stream("dense", 700)), tmp_path).read_bytes()
    arrays = load_arrays(content)
    assert set(arrays) == {"Theta", "U", "begin_sum", "first_rows"}
    assert arrays["Theta"].shape == (4, 8)
    assert arrays["first_rows"].shape == (700, 10)
    later = saved(make("ctd").fit(stream("dense", 1100)), tmp_path).read_bytes()
    assert "first_rows" not in load_arrays(later)
    header = header_of(content)
    assert header["format"] == 2
    assert header["class"] == "LinearCTD"
    assert header["lincat"] == lincat.__version__


# ---------------------------------------------------------------------------- other contents


header_of = functools.partial(packed.header_of, key="lincat")
refused = functools.partial(packed.refused, lincat.load)


def rewritten(content, change_header=None, change_arrays=None):
    return packed.rewritten(content, "lincat", change_header, change_arrays)


@pytest.fixture
def content(tmp_path):
    return saved(make("ctd").fit(stream("dense", 700)), tmp_path).read_bytes()


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
        save_arrays({"weight": np.zeros(3)}),
        save_arrays({"Theta": np.zeros((3, 3))}, metadata={"lincat": "not json"}),
        save_arrays({"Theta": np.zeros((3, 3))}, metadata={"lincat": "[]"}),
        save_arrays({"Theta": np.zeros((3, 3))}, metadata={"lincat": "{}"}),
        save_arrays({"Theta": np.zeros((3, 3))}, metadata={"lincat": "[" * 100_000}),
    ],
)
def test_foreign_files_are_refused_in_one_line(foreign, tmp_path):
    refused(tmp_path / "file", foreign)


def test_every_truncation_is_refused(content, tmp_path):
    for length in {*range(0, len(content), 37), len(content) - 1}:
        refused(tmp_path / "file", content[:length])
    refused(tmp_path / "file", content + b"\x00")


@pytest.mark.parametrize("size", [10**6 + 1, 2**40, 2**63, 2**64 - 1])
def test_huge_headers_are_not_believed(size, content, tmp_path):
    refused(tmp_path / "file", size.to_bytes(8, "little") + content[8:], "header: expected at most")


def test_a_long_header_is_refused_even_if_it_is_there(tmp_path):
    content = save_arrays({"Theta": np.zeros((1, 1))}, metadata={"lincat": " " * (2 * 10**6 + 1)})
    refused(tmp_path / "file", content, "header: expected at most 2000000 bytes")


def test_missing_files_and_folders(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(lincat.InvalidInputError, match=re.escape(str(path))) as error:
            lincat.load(path)
        assert "\n" not in str(error.value)


def assign(*keys, value):
    def change(header):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (assign("format", value=3), "format: expected version 2, got 3; read it with a newer"),
        (assign("class", value="Popen"), "class: expected one of CategoricalLSTD, LSTD, LinearCTD"),
        (assign("params", "colour", value="red"), "something else"),
        (assign("params", value=[]), "something else"),
        (assign("params", "grid", "intervals", value=-3), "intervals: expected"),
        (assign("state", "extra", "grid", value=[-5.0, 5.0, 9]), "Theta: expected"),
        (assign("state", "extra", "grid", value=[-5.0, 5.0, 800_000]), "Theta: expected"),
        (assign("state", "extra", "grid", value=[5.0, -5.0, 8]), "high: expected"),
        (assign("state", "extra", "clipped", value=[0.0]), "clipped: expected"),
        (assign("state", "extra", "reach", value=[0.0]), "something else"),
        (assign("state", "n_seen", value=-1), "counters: expected"),
        (assign("state", "n_seen", value="many"), "something else|counters: expected"),
        (assign("state", "n_updates", value=10**9), "counters: expected"),
        (assign("state", "n_updates", value=3.5), "counters: expected"),
        (assign("state", "largest_norm", value=-1.0), "largest_norm: expected"),
        (assign("state", "largest_norm", value=float("nan")), "largest_norm: expected"),
        (assign("state", "average", "kind", value="median"), "averaging: expected"),
        (assign("state", "average", "kind", value="none"), "arrays: expected"),
        (assign("state", "windows", value=[0, 7, 0]), "arrays: expected Theta, U, "),
        (assign("state", "average", "horizon", value="[/bold]"), "horizon: expected"),
        (assign("state", "average", "fold_every", value=0), "fold_every: expected"),
        (assign("state", "average", "growth", value="0"), "growth: expected"),
        (assign("state", "average", "growth", value=1e308), "growth: expected"),
        (assign("state", "average", "least", value=0.5), "least: expected"),
        (assign("state", "n_seen", value=10**400), "counters: expected"),
        (assign("state", "windows", value=[0]), "something else"),
        (assign("state", value=None), "something else"),
    ],
)
def test_headers_that_do_not_fit_are_refused(change, reason, content, tmp_path):
    refused(tmp_path / "file", rewritten(content, change), reason)


def pop(name):
    return lambda arrays: arrays.pop(name)


def put(name, array):
    return lambda arrays: arrays.update({name: array})


@pytest.mark.parametrize(
    "change",
    [
        pop("Theta"),
        pop("U"),
        pop("begin_sum"),
        put("extra", np.zeros(3)),
        put("Theta", np.zeros((4, 7))),
        put("Theta", np.zeros(32)),
        put("Theta", np.zeros((4, 8), np.int64)),
        put("Theta", np.full((4, 8), np.nan)),
        put("U", np.zeros((3, 8))),
        put("U", np.zeros((4, 8), np.float32)),
        put("begin_sum", np.full((4, 8), np.inf)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, content, tmp_path):
    refused(tmp_path / "file", rewritten(content, None, change))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_are_refused_or_harmless(content, tmp_path, data):
    """Whatever bytes change, loading raises the one error or gives a learner that works."""
    size = int.from_bytes(content[:8], "little")
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, size + 7))] = data.draw(st.integers(0, 255))
    path = tmp_path / "file"
    path.write_bytes(bytes(damaged))
    try:
        model = lincat.load(path)
    except lincat.InvalidInputError as error:
        refusal = str(error)
    else:
        refusal = ""
        model.predict(cases.features("dense"))
        with contextlib.suppress(
            lincat.InvalidInputError, lincat.DivergenceError, lincat.GridMisfitWarning
        ):
            model.partial_fit(stream("dense", 50))
    assert "\n" not in refusal


def test_values_are_kept_with_the_names_of_their_classes(tmp_path):
    model = make("ctd", step_size=lincat.PolynomialDecay(0.1, 0.5)).fit(stream("dense", 20))
    content, path = save_bytes(model), tmp_path / "model.safetensors"
    params = header_of(content)["params"]
    assert params["grid"]["class"] == "Grid"
    assert params["step_size"]["class"] == "PolynomialDecay"

    def with_value(place, value):
        return rewritten(content, lambda header: header["params"].update({place: value}))

    # A dictionary of another class, or in a place that takes none, is nothing that we wrote.
    refused(path, with_value("step_size", {"class": "Path"}), "step_size: expected a value of Grid")
    refused(path, with_value("gamma", {"initial": 1.0, "power": 0.5}), "gamma: expected a value of")
    # Files of 0.1.0 did not name them.
    path.write_bytes(with_value("step_size", {"initial": 0.1, "power": 0.5}))
    assert lincat.load(path).step_size == model.step_size


def test_bytes_there_and_back_and_what_they_are_called():
    model = lincat.LinearTD(gamma=0.5, step_size=0.1).partial_fit([[1.0]], [1.0], [[1.0]])
    again = load_bytes(save_bytes(model), "part 7")
    np.testing.assert_array_equal(again.psi_, model.psi_)
    with pytest.raises(lincat.InvalidInputError, match=r"^part 7: header: expected"):
        load_bytes(b"nothing", "part 7")


@pytest.mark.parametrize("averaging", ["tail", "full", "none"])
def test_files_of_the_very_first_updates(tmp_path, averaging):
    """Windows of averages begin after one, two, four updates."""
    t = stream("dense", 12)
    model = make("ctd", averaging=averaging, step_size=0.1)
    for n in range(len(t)):
        model.partial_fit(t[n : n + 1])
        again = lincat.load(saved(model, tmp_path))
        np.testing.assert_array_equal(again.Theta_mean_, model.Theta_mean_)
        assert again.n_seen_ == n + 1
