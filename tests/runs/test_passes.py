"""How far an estimate is from where it heads."""

import numpy as np
import pytest

import lincat
from lincat.runs.model import Model
from lincat.runs.passes import in_deviations, moved
from lincat.runs.shown import choose_states

GRID = lincat.Grid(0.0, 2.0, 20)


def a_model(make=lincat.LinearCTD, **options):
    coin = lincat.catalog.uniform_coin()
    features = lincat.Tabular(n_states=1).fit(np.zeros(1, dtype=np.int64))
    model = Model(features, make(grid=GRID, gamma=0.5, n_features=1, **options))
    drawn = coin.process.sample(4000, seed=1)
    model.learner.partial_fit(drawn.state, 0.5 * drawn.reward, drawn.next_state)
    return model, choose_states(drawn.state, np.zeros(1, np.int64), n_states=1, seed=0)


def test_distances_are_in_standard_deviations_of_at_least_a_tenth_of_the_pooled_one():
    def at(*places):
        masses = np.zeros((len(places), 21))
        masses[np.arange(len(places)), places] = 1.0
        return lincat.ReturnDistribution(np.cumsum(masses, axis=1)[:, :-1], GRID)

    one, other = at(0, 20), at(1, 20)  # nothing is chance: the pooled deviation is (2 - 0.1)/2
    assert in_deviations(one, other) == pytest.approx(0.1 / (0.1 * 0.95))
    assert in_deviations(other, other) == 0.0
    same = at(5)
    assert np.isfinite(in_deviations(same, at(6)))


def test_what_was_learned_late_has_moved_from_what_was_learned_early():
    slow, shown = a_model(step_size=1e-3)
    settled, _ = a_model(step_size=0.2)
    tail, overall = (slow.learner.predict([0]), slow.learner.predict_overall([0])[0])
    assert moved(slow, shown) == pytest.approx(in_deviations(overall, tail))
    assert moved(slow, shown) > 0.05 > moved(settled, shown)


@pytest.mark.parametrize(
    ("make", "options"), [(lincat.SoftmaxCTD, {}), (lincat.LinearCTD, {"averaging": "none"})]
)
def test_nothing_is_said_of_what_does_not_average(make, options):
    assert moved(*a_model(make, **options)) is None
