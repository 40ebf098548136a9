import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat.solvers.rank_report import touched

GRID = lincat.Grid(-4.0, 12.0, 9)


def test_directions_and_the_states_that_touch_them_are_named():
    rng = np.random.default_rng(0)
    phi = rng.random((40, 4))
    phi[:, 3] = phi[:, 0] - phi[:, 1]
    t = lincat.Transitions(phi, rng.normal(size=40), np.roll(phi, 1, axis=0))
    model = lincat.CategoricalLSTD(gamma=0.9, grid=GRID).fit(t)
    asked = np.array([phi[0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], phi[7]])
    report = model.rank_report(asked)
    assert (report.rank, report.asked) == (3, 4)
    assert report.states.tolist() == [1]
    assert sorted(report.features.tolist()) == [0, 1, 3]
    part = asked @ report.directions
    assert (np.abs(part[[0, 2, 3]]) < 1e-12).all()
    assert np.abs(part[1]) > 0.1
    assert str(report).startswith("The data reach 3 of 4 directions of the features; nothing is ")
    assert str(report).endswith("Of 4 states asked about, 1 has a part there: state 1.")
    low, high = model.predict(asked, confidence=0.9).interval("mean")
    assert (high - low)[1] > 2.0 * (high - low)[[0, 2, 3]].max()


def test_all_directions_reached_is_said_in_a_sentence():
    model = lincat.CategoricalLSTD(gamma=0.9, grid=GRID).fit(np.eye(2), [0.0, 1.0], np.eye(2))
    assert str(model.rank_report(np.eye(2))) == "The data reach 2 of 2 directions of the features."


def test_states_never_left_are_named():
    model = lincat.CategoricalLSTD(gamma=0.9, grid=GRID, n_features=9)
    model.fit([0, 1, 0], [0.0, 1.0, 1.0], [1, 0, 8])
    report = model.rank_report(np.arange(9))
    assert report.rank == 2
    assert report.states.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert "states 2, 3, 4, 5, 6 and 2 more" in str(report)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_rounding_touches_nothing(make):
    directions = make([[0.0], [1.0]])
    Phi = make([[1.0, 1e-9], [1.0, 1e-3], [0.0, 0.0]])
    assert touched(Phi, directions).tolist() == [False, True, False]
    assert not touched(Phi, directions[:, :0]).any()
