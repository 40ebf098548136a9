"""What all learners share: parameters, the loop, errors."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from tests.learners import cases
from tests.learners.cases import make, parameters, stream

ALL = pytest.mark.parametrize("rule", cases.LEARNERS)
KINDS = pytest.mark.parametrize("kind", cases.KINDS)


def for_kind(rule, kind, **params):
    return make(rule, n_features=cases.STATES if kind == "states" else None, **params)


def assert_same_bits(a, b):
    for x, y in zip(parameters(a), parameters(b), strict=True):
        assert x.tobytes() == y.tobytes()
    assert (a.n_seen_, a.n_updates_) == (b.n_seen_, b.n_updates_)


# -------------------------------------------------------------------------- hyper-parameters


@ALL
def test_parameters_are_stored_as_given_and_nothing_is_checked(rule):
    strange = {"gamma": "a lot", "step_size": object(), "averaging": 3, "dtype": None}
    model = make(rule, **strange)
    for name, value in strange.items():
        assert getattr(model, name) is value
        assert model.get_params()[name] is value


@ALL
def test_get_set_clone(rule):
    model = make(rule, step_size=0.25, horizon=7).fit(stream("dense", 20))
    params = model.get_params()
    assert params["step_size"] == 0.25
    assert model.get_params(deep=False) == params
    twin = model.clone()
    assert type(twin) is type(model)
    assert twin.get_params() == params
    assert not twin.begun
    assert (twin.n_seen_, twin.n_updates_) == (0, 0)
    assert twin.set_params(step_size=0.5, horizon=None) is twin
    assert (twin.step_size, twin.horizon) == (0.5, None)
    assert model.step_size == 0.25
    with pytest.raises(lincat.InvalidInputError, match=r"^set_params: expected one of .*gamma"):
        twin.set_params(stepsize=0.5)


@ALL
def test_repr_builds_the_learner_again(rule):
    model = make(rule, step_size=lincat.PolynomialDecay(0.5, 0.6))
    names = {name: getattr(lincat, name) for name in lincat.__all__}
    assert eval(repr(model), names).get_params() == model.get_params()


@ALL
def test_arguments_have_names(rule):
    with pytest.raises(TypeError):
        cases.LEARNERS[rule](0.8)


def test_scikit_learn_is_not_needed():
    code = (
        "import sys, lincat; lincat.LinearTD(gamma=0.5).clone().fit([[1.0]], [1.0], [[1.0]]);"
        "print('sklearn' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


@ALL
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": 1.01}, r"gamma: expected a number in \[0, 1\], got 1.01"),
        ({"gamma": -0.1}, "gamma: expected"),
        ({"gamma": np.nan}, "gamma: expected"),
        ({"gamma": "high"}, "gamma: expected"),
        ({"averaging": "mean"}, "averaging: expected one of 'tail', 'full', 'none', got 'mean'"),
        ({"averaging": None}, "averaging: expected"),
        ({"dtype": "float16"}, "dtype: expected one of 'float64', 'float32'"),
        ({"horizon": 0}, "horizon: expected an integer of at least 1, got 0"),
        ({"horizon": 2.5}, "horizon: expected"),
        ({"n_features": 0}, "n_features: expected an integer of at least 1"),
        ({"n_features": 7}, "phi: expected 7 features, as n_features says, got 4"),
        ({"step_size": -1}, "step_size: expected"),
    ],
)
def test_bad_parameters_are_named_at_first_use(rule, params, message):
    model = make(rule, **params)
    for learn in (model.partial_fit, model.fit):
        with pytest.raises(lincat.InvalidInputError, match=f"^{message}") as error:
            learn(stream("dense", 1000))
        assert "\n" not in str(error.value)


# ------------------------------------------------------------------------------ ways to learn


def learn_one_by_one(model, phi, phi_next, t):
    columns = (phi, t.reward, phi_next, t.terminated, t.discount, t.weight)
    for x, reward, y, terminated, discount, weight in zip(*columns, strict=True):
        model.learn_one(x, reward, y, terminated=terminated, discount=discount, weight=weight)
    return model


@ALL
@pytest.mark.parametrize("kind", ["dense", "states"])
@pytest.mark.parametrize("step_size", ["auto", lincat.PolynomialDecay(0.01, 0.7)])
def test_learn_one_equals_partial_fit_bit_for_bit(rule, kind, step_size):
    t = stream(kind, 1050)
    whole = for_kind(rule, kind, step_size=step_size).partial_fit(t)
    one = learn_one_by_one(for_kind(rule, kind, step_size=step_size), t.phi, t.phi_next, t)
    assert_same_bits(whole, one)


@pytest.mark.parametrize("rule", ["ctd", "pmf", "softmax"])
def test_learn_one_with_dense_features_equals_sparse_ones(rule):
    t = stream("sparse", 600)
    one = learn_one_by_one(make(rule, step_size=0.01), t.phi.toarray(), t.phi_next.toarray(), t)
    assert_same_bits(make(rule, step_size=0.01).partial_fit(t), one)


@settings(max_examples=12)
@given(
    st.sampled_from(sorted(cases.LEARNERS)),
    st.sampled_from(cases.KINDS),
    st.lists(st.integers(0, 600), max_size=5),
    st.sampled_from(["none", "full", "tail"]),
    st.sampled_from(["auto", 0.01, lincat.PolynomialDecay(0.02, 0.7)]),
)
def test_any_chunks_give_the_same_bits(rule, kind, sizes, averaging, step_size):
    t = stream(kind, 1500)
    options = {"averaging": averaging, "step_size": step_size}
    whole = for_kind(rule, kind, **options).partial_fit(t)
    parts, begin = for_kind(rule, kind, **options), 0
    for size in [*sizes, 1500]:
        parts.partial_fit(t[begin : begin + size])
        begin += size
    assert_same_bits(whole, parts)


def test_streams_longer_than_a_chunk():
    t = stream("states", 40_000)
    whole = for_kind("ctd", "states").partial_fit(t)
    parts = for_kind("ctd", "states").partial_fit(t[:5]).partial_fit(t[5:])
    assert_same_bits(whole, parts)


@KINDS
def test_batches_of_long_streams_do_not_straddle_chunks(kind):
    """7 does not divide the internal chunk of 16,384."""
    t = stream(kind, 35_000)
    whole = for_kind("ctd", kind).partial_fit(t, batch_size=7)
    parts = for_kind("ctd", kind)
    for begin in range(0, 35_000, 700):
        parts.partial_fit(t[begin : begin + 700], batch_size=7)
    assert_same_bits(whole, parts)
    assert whole.n_updates_ == 5000


def test_a_batch_larger_than_the_stream_is_one_update():
    t = stream("dense", 30)
    one = make("ctd", step_size=0.3).fit(t, batch_size=30)
    more = make("ctd", step_size=0.3).fit(t, batch_size=10**6)
    assert_same_bits(one, more)
    assert one.n_updates_ == 1


@pytest.mark.parametrize("bad", [0, -1, 2.5, "all", None, True])
def test_bad_batch_sizes_are_named(bad):
    for method in (make("ctd").fit, make("ctd").partial_fit):
        with pytest.raises(lincat.InvalidInputError, match=r"^batch_size: expected an integer"):
            method(stream("dense", 5), batch_size=bad)


@ALL
def test_arrays_and_transitions_are_the_same(rule):
    t = stream("dense", 200)
    arrays = make(rule).fit(
        t.phi,
        t.reward,
        t.phi_next,
        terminated=t.terminated,
        discount=t.discount,
        weight=t.weight,
    )
    assert_same_bits(make(rule).fit(t), arrays)


@ALL
def test_fit_forgets_and_partial_fit_does_not(rule):
    t = stream("dense", 1200)
    fresh = make(rule).fit(t)
    used = make(rule).fit(stream("dense", 300, seed=5)).fit(t)
    assert_same_bits(fresh, used)
    assert used.partial_fit(t).n_seen_ == 2400


def test_new_parameters_count_from_the_next_fit():
    t = stream("dense", 100)
    model = make("ctd", step_size=0.3).fit(t)
    model.set_params(grid=lincat.Grid(-6.0, 6.0, 5), dtype="float32")
    assert model.Theta_.shape == (4, 8)
    assert model.fit(t).Theta_.shape == (4, 5)
    assert model.Theta_.dtype == np.float32


@ALL
def test_weight_zero_is_not_learned_from_but_counted(rule):
    t = stream("dense", 40)
    model = make(rule, step_size=0.01).fit(t)
    before, _ = parameters(model)
    model.partial_fit(t.phi, t.reward, t.phi_next, weight=np.zeros(40))
    np.testing.assert_array_equal(parameters(model)[0], before)
    assert model.n_seen_ == 80


@ALL
def test_inputs_are_left_as_they_were(rule):
    t = stream("dense", 1200)
    before = copy.deepcopy(t)
    make(rule).fit(t, batch_size=3).predict(t.phi)
    for name in ("phi", "reward", "phi_next", "terminated", "discount", "weight"):
        np.testing.assert_array_equal(getattr(t, name), getattr(before, name))


@ALL
def test_slices_with_gaps_and_backwards(rule):
    t = stream("states", 60)
    for part in (slice(None, None, 2), slice(None, None, -1)):
        rest = [getattr(t, name)[part].copy() for name in ("terminated", "discount", "weight")]
        copied = lincat.Transitions(t.phi[part], t.reward[part], t.phi_next[part], *rest)
        assert_same_bits(*(for_kind(rule, "states").fit(x) for x in (t[part], copied)))


def test_kinds_of_features_may_change():
    """A stream in several forms: what counts are the numbers."""
    t = stream("states", 300)
    rest = ("reward", "terminated", "discount", "weight")
    eye = np.eye(cases.STATES)
    model = for_kind("ctd", "states")
    for begin, form in ((0, np.asarray), (100, scipy.sparse.csr_array), (200, None)):
        piece = t[begin : begin + 100]
        options = {name: getattr(piece, name) for name in rest}
        phi, phi_next = piece.phi, piece.phi_next
        if form is not None:
            phi, phi_next = form(eye[phi]), form(eye[phi_next])
        model.partial_fit(phi, phi_next=phi_next, **options)
    assert_same_bits(model, for_kind("ctd", "states").partial_fit(t))


def test_float32_features_are_exact_numbers():
    t = stream("dense", 300, everything=False)
    phi, phi_next = (x.astype(np.float32) for x in (t.phi, t.phi_next))
    narrow = make("ctd").fit(phi, t.reward, phi_next)
    wide = make("ctd").fit(phi.astype(float), t.reward, phi_next.astype(float))
    assert_same_bits(narrow, wide)


# ---------------------------------------------------------------------------------- refusals


@ALL
def test_nothing_learned_nothing_told(rule):
    model = make(rule)
    attributes = ["psi_", "psi_mean_"] if rule == "td" else ["Theta_", "Theta_mean_", "grid_"]
    message = rf"^{type(model).__name__}: expected a call of fit or partial_fit first"
    with pytest.raises(lincat.InvalidInputError, match=message):
        model.predict(np.eye(4))
    with pytest.raises(lincat.InvalidInputError, match=message):
        model.save("never written")
    for name in attributes:
        with pytest.raises(lincat.InvalidInputError, match=message):
            getattr(model, name)


def refused(message):
    return pytest.raises(lincat.InvalidInputError, match=f"^{message}")


@ALL
def test_other_widths_are_refused(rule):
    t = stream("dense", 1000)
    model = make(rule).fit(t)
    before, _ = parameters(model)
    with refused("phi: expected 4 features, as before, got 2"):
        model.partial_fit(t.phi[:, :2], t.reward, t.phi_next[:, :2])
    with refused("phi: expected states below n_features = 4, got 5"):
        model.partial_fit([0, 5], [0.0, 0.0], [1, 1])
    with refused("Phi: expected 4 features, as learned from"):
        model.predict(np.eye(5))
    with refused("Phi: expected states below 4"):
        model.predict([0, 4])
    with refused("Phi: expected finite numbers"):
        model.predict([[np.nan] * 4])
    np.testing.assert_array_equal(parameters(model)[0], before)
    assert model.n_seen_ == 1000


@ALL
def test_states_need_their_number(rule):
    t = stream("states", 1000)
    with refused("n_features: expected the number of states"):
        make(rule).fit(t)
    with refused("phi: expected states below n_features = 3"):
        make(rule, n_features=3).fit(t)


@ALL
def test_a_call_that_fails_leaves_nothing_behind(rule):
    t = stream("states", 1000)
    model = make(rule)
    with pytest.raises(lincat.InvalidInputError, match="n_features"):
        model.partial_fit(t)
    with pytest.raises(lincat.InvalidInputError, match="first"):
        model.predict([0])
    model.set_params(n_features=cases.STATES, averaging="none").partial_fit(t)
    assert model.n_seen_ == 1000
    assert_same_bits(model, for_kind(rule, "states", averaging="none").partial_fit(t))


def test_transitions_come_alone_or_as_arrays():
    t = stream("dense", 10)
    model = make("ctd")
    with pytest.raises(lincat.InvalidInputError, match=r"^phi: expected Transitions alone"):
        model.fit(t, t.reward)
    with pytest.raises(lincat.InvalidInputError, match=r"^reward: expected an array beside phi"):
        model.fit(t.phi)
    with pytest.raises(lincat.InvalidInputError, match=r"^phi_next: expected an array beside phi"):
        model.fit(t.phi, t.reward)


def test_bad_transitions_do_not_make_a_learner_forget():
    t = stream("dense", 10)
    model = make("ctd").fit(t)
    with pytest.raises(lincat.InvalidInputError, match="reward"):
        model.fit(t.phi, [np.nan] * 10, t.phi_next)
    assert model.n_seen_ == 10


# -------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize("rule", ["td", "ctd", "pmf", "unnormalised"])
@KINDS
@pytest.mark.parametrize("batch", [1, 25])
def test_divergence_keeps_the_last_good_parameters(rule, kind, batch):
    t = stream(kind, 30_000, everything=False)
    model = for_kind(rule, kind, step_size=200.0)
    with pytest.raises(lincat.DivergenceError) as caught:
        model.partial_fit(t, batch_size=batch)
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert 0 < error.transition < 4096
    assert model.n_seen_ == model.n_updates_ * batch == 0
    assert error.step_size == pytest.approx(200.0)
    for name in (
        "diverged at transition",
        "step size 200",
        "squared feature norm",
        "try step_size",
    ):
        assert name in str(error)
    for array in parameters(model):
        assert np.abs(array).max() < 10.0
    model.set_params(step_size="auto").fit(t, batch_size=batch)  # and it can begin again
    assert model.n_seen_ == 30_000


def test_divergence_counts_the_transitions_of_earlier_calls():
    t = stream("dense", 2000, everything=False)
    calm = make("ctd", step_size=0.1).partial_fit(t)
    calm.set_params(step_size=200.0)
    with pytest.raises(lincat.DivergenceError) as caught:
        calm.partial_fit(t)
    assert 2000 < caught.value.transition < 4000


def test_a_decaying_step_is_named_as_it_was_then():
    t = stream("dense", 5000, everything=False)
    model = make("ctd", step_size=lincat.PolynomialDecay(500.0, 0.1))
    with pytest.raises(lincat.DivergenceError) as caught:
        model.fit(t)
    n = caught.value.transition
    assert caught.value.step_size == pytest.approx(500.0 * (n + 1) ** -0.1)


def test_saving_where_nothing_can_be_written_is_one_line(tmp_path):
    model = lincat.LinearTD(gamma=0.5).partial_fit([[1.0]], [1.0], [[1.0]])
    with pytest.raises(lincat.InvalidInputError, match="path: expected a place that can be"):
        model.save(tmp_path / "missing" / "model.safetensors")


def test_choices_that_are_no_words_are_one_line():
    model = lincat.LinearTD(gamma=0.5, averaging=np.array(["tail"]))
    with pytest.raises(lincat.InvalidInputError, match="averaging: expected one of"):
        model.partial_fit([[1.0]], [1.0], [[1.0]])


def test_what_it_knows_is_public():
    grid = lincat.Grid(0.0, 1.0, 10)
    model = lincat.LinearCTD(grid=grid, gamma=0.5, averaging="none")
    model.warn = False  # of the mass that leaves this grid
    assert not model.begun
    with pytest.raises(lincat.InvalidInputError, match="a call of fit"):
        model.touched_rows()
    model.partial_fit([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, -1.0], [[0.0, 0.0, 1.0]] * 2)
    assert model.begun
    assert model.touched_rows().tolist() == [True, True, False]
    assert model.reach_ == (-2.0, 2.0)
    assert model.stable_step_ == 0.25  # 1 / max ‖phi‖²
    assert lincat.LinearTD(gamma=0.5).grid is None
    assert [lincat.LinearTD.linear, lincat.SoftmaxCTD.linear] == [True, False]
    assert model.clone().warn
