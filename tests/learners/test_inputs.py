"""What users pass to learners, and the lines that work where it is not that."""

import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat import InvalidInputError

P = np.array([[0.2, 0.8], [0.5, 0.5]])
PROCESS = lincat.MarkovRewardProcess.from_matrices(P, [0.0, 1.0])


def test_what_a_process_samples_is_learned_from():
    sample = PROCESS.sample(2000, seed=0)
    model = lincat.CategoricalLSTD(gamma=0.5, n_features=2).fit(sample)
    arrays = (sample.state, sample.reward, sample.next_state)
    by_hand = lincat.CategoricalLSTD(gamma=0.5, n_features=2).fit(*arrays)
    np.testing.assert_array_equal(model.Theta_, by_hand.Theta_)
    values = np.linalg.solve(np.eye(2) - 0.5 * P, [0.0, 1.0])
    assert model.predict([0, 1]).mean() == pytest.approx(values, abs=0.05)


def test_ends_of_episodes_that_a_process_samples_are_kept():
    ends = lincat.MarkovRewardProcess([0], [1.0], [0], [1.0], terminated=[True], initial=[1.0])
    model = lincat.LSTD(gamma=0.9, n_features=1).fit(ends.sample(10, seed=0))
    assert model.predict([0]) == pytest.approx([1.0])


@pytest.mark.parametrize(
    "rows",
    [
        lambda x: x,
        lambda x: x[None],
        lambda x: scipy.sparse.csr_array(x[None]),
        lambda x: scipy.sparse.csr_matrix(x[None]),
        lambda x: scipy.sparse.coo_array(x),
    ],
    ids=["array", "row", "csr", "matrix", "one axis"],
)
def test_one_transition_in_every_form(rows):
    phi = np.array([[0.0, 1.0, 0.5], [0.25, 0.0, 0.0]])
    grid = lincat.Grid(0.0, 2.0, 8)
    one, many = (lincat.LinearCTD(grid=grid, gamma=0.5, step_size=0.1) for _ in range(2))
    one.learn_one(rows(phi[0]), 1.0, rows(phi[1]))
    many.partial_fit(phi[:1], [1.0], phi[1:])
    np.testing.assert_allclose(one.Theta_, many.Theta_, rtol=1e-12)


@pytest.mark.parametrize(
    "features", [lincat.Tiles(bins=4), lincat.Tabular(n_states=4), lincat.Fourier(order=3)]
)
def test_one_transition_from_our_own_features(features):
    ids = isinstance(features, lincat.Tabular)
    sample = np.arange(4) if ids else np.linspace(0.0, 1.0, 4)[:, None]
    features.fit(sample)
    model = lincat.LinearTD(gamma=0.5, step_size=0.25, n_features=features.n_features_)
    model.learn_one(features.transform(sample[:1]), 1.0, features.transform(sample[1:2]))
    many = lincat.LinearTD(gamma=0.5, step_size=0.25, n_features=features.n_features_)
    many.partial_fit(features.transform(sample[:1]), [1.0], features.transform(sample[1:2]))
    np.testing.assert_allclose(model.psi_, many.psi_, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lincat.MarkovRewardProcess(P, [0.0, 1.0]), r"from_matrices\(P, R\)"),
        (lambda: lincat.LSTD(gamma=0.5).fit(PROCESS), r"fit\(process\.sample\(10_000\)\)"),
        (lambda: lincat.LSTD(gamma=0.5).learn_one(np.eye(2), 1.0, np.eye(2)), "a single state"),
        (lambda: lincat.LSTD(gamma=0.5).fit(PROCESS.sample(9)), "pass n_features="),
    ],
)
def test_mistakes_get_the_line_that_works(call, said):
    with pytest.raises(InvalidInputError, match=said):
        call()


def test_a_learner_of_another_kind_than_asked_for(tmp_path):
    file = tmp_path / "model.safetensors"
    lincat.LinearTD(gamma=0.5, step_size=0.1).partial_fit([[1.0]], [1.0], [[1.0]]).save(file)
    assert isinstance(lincat.load(file, lincat.LinearTD), lincat.LinearTD)
    assert isinstance(lincat.load(file), lincat.LinearTD)
    with pytest.raises(InvalidInputError, match="expected a LinearCTD, got a LinearTD"):
        lincat.load(file, lincat.LinearCTD)


def test_two_rows_are_no_single_state_in_any_form():
    for rows in (np.eye(2), scipy.sparse.csr_array(np.eye(2))):
        with pytest.raises(InvalidInputError, match=r"a single state, got shape \(2, 2\)"):
            lincat.LinearTD(gamma=0.5).learn_one(rows, 1.0, rows)


@pytest.mark.parametrize("make", [lincat.LSTD, lincat.CategoricalLSTD])
def test_numbers_of_features_that_are_none(make):
    for n in (0, -3, 2.5):
        with pytest.raises(InvalidInputError, match="n_features: expected an integer of at least"):
            make(gamma=0.5, n_features=n).fit([0], [1.0], [0])


def test_a_single_state_is_number_zero():
    model = lincat.LinearTD(gamma=0.5, step_size=0.5, n_features=1).partial_fit([0], [1.0], [0])
    assert model.predict([0]) == pytest.approx([0.5])
    assert model.predict(np.zeros(0, int)).shape == (0,)
    with pytest.raises(InvalidInputError, match="states below 1, as learned from, got 1"):
        model.predict([1])
