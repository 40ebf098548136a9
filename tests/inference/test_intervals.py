import numpy as np
import pytest
from scipy import stats

import lincat
from lincat.core.uncertainty import Uncertainty
from lincat.inference.answer import Answer, Bands
from lincat.inference.intervals import Intervals, StateIntervals, intervals_of, shown_interval

GRID = lincat.Grid(-1.0, 3.0, 16)
MEASURES = [
    ("mean", None),
    ("std", None),
    ("quantile", 0.05),
    ("quantile", 0.95),
    ("cvar", 0.05),
    ("probability_below", 0.3),
    ("probability_below", -1.0),
    ("probability_below", 9.0),
]


def distribution(unknown=(False, False, False), size=0.01):
    rng = np.random.default_rng(0)
    cdf = stats.norm.cdf(GRID.atoms[:-1] + GRID.spacing / 2, np.array([[0.5], [1.0], [1.5]]), 0.5)
    directions = size * rng.normal(size=(16, 3, 3)) @ rng.normal(size=(3, 16))
    return lincat.ReturnDistribution(cdf, GRID, Uncertainty(directions, 0.9, np.array(unknown)))


def answer_of(dist, **more):
    low, high = (tuple(map(tuple, end.tolist())) for end in dist.band())
    return Answer(
        source="bells",
        gamma=0.9,
        grid=dist.grid,
        state_names=("a", "b", "c"),
        cdf=tuple(map(tuple, dist.cdf_values.tolist())),
        bands=Bands(confidence=0.9, low=low, high=high),
        intervals=intervals_of(dist, [0.05]),
        **more,
    )


def figure(dist, measure, argument):
    proper = dist.proper()
    if measure == "mean":
        return dist.mean()
    return getattr(proper, measure)(*(() if argument is None else (argument,)))


@pytest.mark.parametrize(("measure", "argument"), MEASURES)
def test_answers_keep_the_intervals_that_distributions_have(measure, argument):
    dist = distribution()
    answer = Answer.from_json(answer_of(dist).to_json())
    found, expected = answer.interval(measure, argument), shown_interval(dist, measure, argument)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    value = figure(dist, measure, argument)
    assert (found[0] <= value).all()
    assert (value <= found[1]).all()


def test_intervals_are_those_of_the_distribution_unless_its_figure_is_outside():
    dist = distribution(size=0.005)
    for measure, argument in (("mean", None), ("std", None), ("cvar", 0.05)):
        found = shown_interval(dist, measure, argument)
        np.testing.assert_array_equal(found, dist.interval(measure, argument))
    found, own = shown_interval(dist, "quantile", 0.05), dist.interval("quantile", 0.05)
    atom = dist.quantile(0.05)
    outside = (atom < own[0]) | (atom > own[1])
    assert outside.any()
    np.testing.assert_array_equal(found[0], np.minimum(own[0], atom))
    np.testing.assert_array_equal(found[1], np.maximum(own[1], atom))


def test_the_chance_below_a_return_has_the_band_of_the_last_atom_before_it():
    dist = distribution()
    low, high = shown_interval(dist, "probability_below", 0.3)
    k = int(np.flatnonzero(GRID.atoms < 0.3)[-1])
    np.testing.assert_array_equal(low, dist.band()[0][:, k])
    np.testing.assert_array_equal(high, dist.band()[1][:, k])


def test_between_levels_the_width_of_cvar_is_interpolated():
    dist = distribution()
    answer = answer_of(dist)
    (low, high), own = answer.interval("cvar", 0.07), dist.interval("cvar", 0.07)
    np.testing.assert_allclose((low + high) / 2, dist.cvar(0.07), rtol=1e-12)
    np.testing.assert_allclose(high - low, own[1] - own[0], rtol=0.1)
    assert np.isnan(answer.interval("cvar", 0.001)).all()
    assert np.isnan(answer.interval("quantile", 0.07)).all()


def test_states_without_data_have_none():
    answer = answer_of(distribution(unknown=(False, True, False)))
    assert answer.intervals.states[1] is None
    for measure, argument in MEASURES:
        low, high = answer.interval(measure, argument)
        assert np.isnan(low).tolist() == np.isnan(high).tolist() == [False, True, False]
    assert answer.bands.low[1] == (0.0,) * 16


def test_without_intervals_nothing_is_known():
    dist = distribution()
    plain = lincat.ReturnDistribution(dist.cdf_values, GRID)
    assert intervals_of(plain) is None
    answer = Answer(
        source="x", gamma=0.9, grid=GRID, state_names=("a",), cdf=(tuple(dist.cdf_values[0]),)
    )
    assert np.isnan(answer.interval("mean")).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("size",), "measure: expected .*mean"),
        (("mean", 0.5), "argument: expected none for 'mean'"),
        (("cvar",), "argument: expected a number for 'cvar'"),
    ],
)
def test_bad_questions_are_named(arguments, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        answer_of(distribution()).interval(*arguments)


def test_intervals_of_other_states_are_refused():
    dist = distribution()
    with pytest.raises(lincat.InvalidInputError, match=r"intervals\.states: expected 2"):
        Answer(
            source="x",
            gamma=0.9,
            grid=GRID,
            state_names=("a", "b"),
            cdf=tuple(map(tuple, dist.cdf_values[:2].tolist())),
            intervals=intervals_of(dist),
        )


def test_intervals_that_do_not_fit_their_levels_are_refused():
    one = StateIntervals(mean=(0.9, 1.1), std=(0.1, 0.2), quantile=((0, 1),), cvar=((0, 1),))
    assert Intervals(confidence=0.9, levels=(0.1,), states=(one, None)).states == (one, None)
    for levels in ((), (0.1, 0.2), (0.2, 0.1)):
        with pytest.raises(lincat.InvalidInputError, match="intervals"):
            Intervals(confidence=0.9, levels=levels, states=(one,))


def test_levels_come_with_one_minus_each_and_increase():
    levels = intervals_of(distribution(), [0.2, 1.0]).levels
    assert {0.2, 0.8, 1.0} <= set(levels)
    assert 0.0 not in levels
    assert list(levels) == sorted(set(levels))
