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
from lincat.data.steps import Steps
from lincat.runs.model import Model, averaged
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
