"""Features and learner together: unbroken records, groups of states, and two threads at once."""

import dataclasses
import threading

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat
from lincat._files import write_atomically
from lincat.data.n_step import n_step
from lincat.data.steps import Steps, joined
from lincat.runs.candidates import Lengths, Pilot, candidates_for
from lincat.runs.model import Model, averaged
from lincat.runs.potential import Potential
from lincat.runs.scale import Scale
from lincat.runs.shown import ShownStates
from tests.strategies import finite_floats


def dense(phi):
    return phi.toarray() if scipy.sparse.issparse(phi) else phi


def steps_of(observation, following):
    n = len(observation)
    no = np.zeros(n, bool)
    return Steps(observation, np.arange(n) * 0.1, following, no, no)


FEATURES = [
    lincat.Scaling(),
    lincat.Tiles(tilings=4, bins=3),
    lincat.Fourier(order=2),
    lincat.Identity(),
]


@pytest.mark.parametrize("features", FEATURES, ids=lambda f: f.kind)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_an_unbroken_record_is_transformed_once_and_to_the_same(features, dtype, n):
    record = np.random.default_rng(0).normal(size=(n + 1, 3)).astype(dtype)
    fitted = features.clone().fit(np.random.default_rng(1).normal(size=(100, 3)))
    model = Model(fitted, lincat.LinearCTD(grid="auto", gamma=0.9))
    apart = steps_of(record[:-1], record[1:])
    got = model.transitions(dataclasses.replace(apart, record=record))
    expected = model.transitions(apart)
    np.testing.assert_array_equal(dense(got.phi), dense(expected.phi))
    np.testing.assert_array_equal(dense(got.phi_next), dense(expected.phi_next))


@pytest.mark.parametrize("beside", ["dense", "sparse"])
def test_levels_of_the_potential_are_made_of_its_values(beside):
    """Its values are at hand; the features are those that the observations make."""
    rng = np.random.default_rng(2)
    sample = rng.normal(size=(5000, 2))
    about = lincat.Fourier(order=3).fit(sample)
    weights = rng.normal(size=about.n_features_)
    other = lincat.Scaling() if beside == "dense" else lincat.Tiles(tilings=4, bins=3)
    features = lincat.Levels(other.fit(sample), about, weights, 0.5).fit(sample)
    learner = lincat.CategoricalLSTD(gamma=0.9)
    steps = steps_of(sample[:-1], sample[1:])
    got = Model(features, learner, Potential(about, weights, 0.5)).transitions(steps)
    for phi, observations in ((got.phi, sample[:-1]), (got.phi_next, sample[1:])):
        expected = features.transform(observations)
        np.testing.assert_allclose(dense(phi), dense(expected), atol=1e-9)
    moved = Model(features, learner, Potential(about, weights, 0.25)).transitions(steps)
    np.testing.assert_allclose(dense(moved.phi), dense(got.phi), atol=1e-9)


@given(
    arrays(np.float64, (6, 3), elements=finite_floats(-1, 1)),
    st.lists(st.integers(0, 2), min_size=3, max_size=3),
)
def test_averaged_is_the_mean_of_each_group(rows, more):
    group = np.array([0, 1, 2, *more])
    expected = [rows[group == g].mean(axis=0) for g in range(3)]
    np.testing.assert_allclose(averaged(rows, group), expected, atol=1e-15)


def a_model(features, observations, reward=1.0):
    learner = lincat.LinearCTD(
        grid=lincat.Grid(0.0, 2.0, 5), gamma=0.5, n_features=features.n_features_
    )
    model = Model(features, learner)
    n = len(observations) - 1
    no = np.zeros(n, bool)
    steps = Steps(observations[:-1], np.full(n, reward), observations[1:], no, no)
    learner.partial_fit(model.transitions(steps))
    return model


def test_the_distribution_of_a_group_is_the_average_of_its_members():
    ids = np.tile(np.array([3, 7, 9]), 30)
    model = a_model(lincat.Tabular().fit(ids), ids)
    shown = ShownStates(["start", "9"], [np.array([3, 7, 7]), np.array([9])])
    distribution = model.predict_shown(shown)
    single = model.predict(np.array([3, 7, 9])).cdf_values
    expected = [(single[0] + 2 * single[1]) / 3, single[2]]
    np.testing.assert_allclose(distribution.cdf_values, expected, atol=1e-15)


def test_files_there_and_back(tmp_path):
    ids = np.tile(np.array([3, 7, 9]), 30)
    model = a_model(lincat.Tabular().fit(ids), ids)
    model.features.save(tmp_path / "features.safetensors")
    model.learner.save(tmp_path / "model.safetensors")
    back = Model.read(tmp_path)
    np.testing.assert_array_equal(back.predict(ids).cdf_values, model.predict(ids).cdf_values)
    with pytest.raises(lincat.InvalidInputError, match="ids that were seen before, got 4 at row 1"):
        back.predict(np.array([3, 4]))
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(lincat.InvalidInputError, match=r"model\.safetensors"):
        Model.read(tmp_path)


def test_a_table_may_grow_on_one_thread_while_another_asks():
    known = np.arange(1000, 1010)
    features = lincat.Tabular(capacity=6000).fit(known)
    model = a_model(features, known)
    rows, distribution = features.lookup(known), model.predict(known).cdf_values
    wrong, over = [], threading.Event()

    def ask():
        while not over.is_set():
            got = model.predict(known).cdf_values
            if not np.array_equal(got, distribution):
                wrong.append(got)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        # Ids below those known: the table of integers is laid out anew for each of them.
        for one in range(999, -2000, -1):
            pair = np.array([one, one + 1])
            model.transitions(steps_of(pair[:1], pair[1:]))
    finally:
        over.set()
        asking.join()
    assert not wrong
    assert len(features.ids_) == 10 + 2999
    np.testing.assert_array_equal(features.lookup(known), rows)


def test_a_model_says_what_it_is_and_what_it_knows():
    observations = np.linspace(0.0, 1.0, 50)[:, None]
    features = lincat.Smooth(bumps=4).fit(observations)
    model = a_model(features, observations)
    assert repr(model).endswith("Returns on [0, 2], 5 intervals")
    unknown = Model(features, lincat.CategoricalLSTD(gamma=0.5))
    assert "Returns" not in repr(unknown)  # nothing is solved for a text
    assert model._repr_html_().count("<p>") == len(repr(model).splitlines())


def bets(n, seed=0, lost=-20.0):
    """A number that says how likely 100 is after some steps, else so much is lost."""
    rng = np.random.default_rng(seed)
    x, ends = rng.random((n, 1)), rng.random(n) < 0.3
    following = np.where(ends[:, None], x, np.clip(x + rng.normal(0.0, 0.1, (n, 1)), 0.0, 1.0))
    won = rng.random(n) < x[:, 0]
    reward = np.where(ends, np.where(won, 100.0, lost), 0.0)
    return Steps(x, reward, following, ends, ~ends)


def climbing(n, ends, seed=0):
    """A walk whose records end or break off."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 1, 1))
    return Steps(x[:-1], rng.normal(size=n), x[1:], ends == 1, ends == 2)


@pytest.mark.parametrize("n", [2, 3])
def test_sums_that_break_off_have_no_weight(n):
    steps = climbing(10, np.array([0, 0, 0, 0, 1, 0, 0, 2, 0, 0]))
    made = joined(list(n_step([steps], n, 0.9)))
    model = Model(lincat.Scaling().fit(steps.observation), lincat.CategoricalLSTD(gamma=0.9))
    whole = joined(list(model.sums_of([steps], n)))
    assert len(whole) == len(made)
    for i in range(len(made)):
        reaches_end = made.terminated[i]
        full = made.discounts(0.9)[i] == pytest.approx(0.9**n)
        assert whole.weight[i] == (1.0 if reaches_end or full else 0.0)
    alive = (whole.weight > 0.0) & ~whole.terminated
    np.testing.assert_allclose(whole.discount[alive], 0.9**n)
    np.testing.assert_array_equal(whole.reward, made.reward)
    # Step by step there are no sums for each discount, and single steps are as they are.
    stepwise = Model(model.features, lincat.LinearCTD(grid="auto", gamma=0.9))
    assert all(x.weight is None for x in stepwise.sums_of([steps], n))
    assert list(model.sums_of([steps], 1)) == [steps]


@given(
    n=st.integers(1, 12),
    ends=arrays(np.int64, 30, elements=st.sampled_from([0, 0, 0, 0, 1, 2])),
    weights=arrays(np.float64, 2, elements=finite_floats(-5, 5)),
    gamma=st.sampled_from([0.5, 0.9, 1.0]),
)
def test_about_a_potential_sums_are_those_of_td_errors(n, ends, weights, gamma):
    """For any V at all: G − V(s) is the discounted sum of TD errors, however many at a time."""
    steps = climbing(30, ends)
    pilot = Pilot(climbing(200, np.zeros(200)), 0.9, 200)
    features = lincat.Identity().fit(steps.observation)
    potential = Potential(features, weights[:1], weights[1])
    scale = Scale(Potential(features, np.zeros(1), 1.0), 1.0, np.array([0.1, 1.0]))
    learner = lincat.CategoricalLSTD(gamma=gamma)
    model = Model(pilot.smooth(3), learner, potential, scale)
    made = joined(list(model.sums_of([steps], n)))
    found = model.transitions(made).reward
    errors = potential.errors(steps, gamma)
    for i in range(30):
        total, factor = 0.0, 1.0
        for j in range(i, min(i + n, 30)):
            total += factor * errors[j]
            factor *= gamma
            if ends[j]:
                break
        assert found[i] == pytest.approx(total, abs=1e-9)
    assert made.weight is None  # what breaks off is kept: discounts are rounded anyway


def about_a_potential(*parts):
    """A model that learned from them, with distributions about V in units of a scale."""
    pilot = Pilot(parts[0], 0.9, len(parts[0]))
    plan = candidates_for(20_000, Lengths(1, 2, 2))[0].plan(pilot)
    model = plan.model(lincat.CategoricalLSTD(gamma=0.9, intervals=100))
    for steps in parts:
        model.learner.partial_fit(model.transitions(steps))
    return model


def test_about_a_potential_nothing_lies_beyond_what_can_be_earned(tmp_path):
    model = about_a_potential(bets(20_000))
    x = np.linspace(0.01, 0.99, 9)[:, None]
    assert model.scale is not None
    found = model.predict(x, confidence=0.9).proper()
    spacing = found.grid.spacing
    # It would reach further: the grid is one for all states, about their own means.
    assert found.grid.low < -40.0
    assert found.grid.high > 120.0
    outside = (found.grid.atoms < -20.0 - spacing / 2) | (found.grid.atoms > 100.0 + spacing / 2)
    assert found.pmf[:, outside].sum() < 1e-12
    low, high = found.interval("cvar", 0.05)
    assert (low >= -20.0 - spacing).all()
    assert (high <= 100.0 + spacing).all()
    apart = model.predict_apart(x)
    assert (apart.figures((0.001,), 0.05, None)[:, 2] >= -20.0 - apart.spacing / 2).all()
    # And so it does when it is read again, also with averages alone.
    for kind, files in (("whole", model.files()), ("small", model.small_files())):
        folder = tmp_path / kind
        folder.mkdir()
        for name, content in files.items():
            write_atomically(folder / name, content)
        again = Model.read(folder).predict(x).proper()
        np.testing.assert_allclose(again.cvar(0.05), found.cvar(0.05), atol=1e-3)


def test_a_larger_loss_that_comes_later_is_not_cut_off():
    """What the first rows do not show: the ends are those of all rows."""
    late = bets(4_000, seed=1, lost=-300.0)
    model = about_a_potential(bets(20_000), late)
    assert model.learner.attainable_ == (-300.0, 100.0)
    assert model.predict([[0.05]]).proper().cvar(0.05)[0] < -150.0
