import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lincat
from lincat.core import risk
from lincat.core.draws import figures_of_draws, turned
from lincat.core.uncertainty import Uncertainty, probability_interval
from tests import naive, strategies

GRID = lincat.Grid(-1.0, 3.0, 16)
MEASURES = [
    ("mean", None),
    ("variance", None),
    ("std", None),
    ("quantile", 0.05),
    ("cvar", 0.2),
    ("probability_below", 0.3),
    ("entropic", 0.5),
    ("entropic", -0.5),
]


def smooth(n=3, size=0.01, nu=16, seed=0, unknown=None):
    """Bell-shaped distributions with errors of a size."""
    rng = np.random.default_rng(seed)
    centre = np.linspace(0.5, 1.5, n)[:, None]
    cdf = stats.norm.cdf(GRID.atoms[:-1] + GRID.spacing / 2, centre, 0.5)
    directions = size * rng.normal(size=(nu, n, 3)) @ rng.normal(size=(3, GRID.intervals))
    unknown = np.zeros(n, bool) if unknown is None else np.asarray(unknown)
    return lincat.ReturnDistribution(cdf, GRID, Uncertainty(directions, 0.95, unknown))


def figure(dist, measure, argument):
    options = {"interpolate": True} if measure in ("quantile", "probability_below") else {}
    arguments = () if argument is None else (argument,)
    return getattr(dist, measure)(*arguments, **options)


@pytest.mark.parametrize(("measure", "argument"), MEASURES)
def test_intervals_are_those_of_the_definition(measure, argument):
    dist = smooth(size=1e-4)
    low, high = dist.interval(measure, argument)
    by_draws = measure in ("quantile", "cvar")  # whose own noise is a few per cent
    margin = naive.interval_margin(
        dist.cdf_values, dist.uncertainty.directions, 0.95,
        lambda cdf: figure(lincat.ReturnDistribution(cdf, GRID), measure, argument),
        turn=by_draws,
    )  # fmt: skip
    centre = figure(dist, measure, argument)
    np.testing.assert_allclose((low + high) / 2, centre, atol=2e-2 * margin.min())
    np.testing.assert_allclose((high - low) / 2, margin, rtol=0.12 if by_draws else 0.01)


def test_bands_are_those_of_the_definition():
    dist = smooth(size=1e-3)
    se = np.sqrt(np.mean(dist.uncertainty.directions**2, axis=0))
    t = stats.t.ppf(0.975, 16)
    low, high = dist.band()
    for k, value in np.ndenumerate(dist.cdf_values):
        expected = naive.probability_interval(value, se[k], t)
        np.testing.assert_allclose((low[k], high[k]), expected, atol=1e-12)
    clear = (dist.cdf_values > 0.2) & (dist.cdf_values < 0.8)  # where log-odds are nearly linear
    np.testing.assert_allclose((high - dist.cdf_values)[clear], t * se[clear], rtol=0.1)
    wide = dist.band(simultaneous=True)
    assert (wide[0] <= low).all()
    assert (wide[1] >= high).all()
    # With errors in three directions, less than sixteen independent maxima and more than one.
    middle = np.argmin(np.abs(dist.cdf_values - 0.5), axis=1)
    rows = np.arange(3)
    reach = (wide[1] - dist.cdf_values)[rows, middle] / se[rows, middle]
    assert (reach > t).all()
    assert (reach < stats.t.ppf(1 - 0.025 / 16, 16)).all()


def test_whole_cdfs_hold_tails_that_nobody_saw():
    """Shares of 100 draws, two atoms of a chance of 1 % each at either end: none came up."""
    grid, n, nu = lincat.Grid(0.0, 5.0, 5), 100, 16
    true = np.array([[0.01, 0.02, 0.5, 0.98, 0.99]])
    F = np.array([[0.0, 0.0, 0.5, 1.0, 1.0]])
    se = np.sqrt(F * (1.0 - F) / n)
    directions = se * np.sign(np.random.default_rng(0).normal(size=(nu, 1, 1)))
    dist = lincat.ReturnDistribution(F, grid, Uncertainty(directions, 0.95, np.zeros(1, bool)))
    low, high = dist.band(simultaneous=True)
    assert ((low <= true) & (true <= high)).all()
    np.testing.assert_array_equal(high[0, :2], high[0, 2])
    np.testing.assert_array_equal(low[0, 3:], low[0, 2])
    low, high = dist.band()  # each for itself is what was seen
    assert (low[0, 3], high[0, 1]) == pytest.approx((1.0, 0.0), abs=1e-9)


@given(st.floats(-0.1, 1.1), st.floats(0.0, 0.6), st.floats(1.0, 4.0))
def test_bands_hold_their_estimate_and_do_not_jump(value, se, reach):
    low, high = probability_interval(np.array([value]), np.array([se]), reach)
    assert 0.0 <= low[0] <= np.clip(value, 0.0, 1.0) + 1e-11
    assert np.clip(value, 0.0, 1.0) - 1e-11 <= high[0] <= 1.0
    near = probability_interval(np.array([value + 1e-9]), np.array([se]), reach)
    np.testing.assert_allclose(near, (low, high), atol=1e-6)


@given(st.floats(0.0, 1.0), st.floats(1e-9, 0.6), st.floats(-2.0, 2.0))
def test_draws_stay_chances_and_move_by_their_errors(value, se, error):
    p, size = np.array([value]), np.array([se])
    drawn = turned(p, size, np.array([error]))[0]
    least = min(2 * se, 0.5)
    # Of a chance that is clear of 0 and 1 no draw leaves [0, 1]; of others by what they lack.
    assert -max(least - value, 0.0) - 1e-12 <= drawn <= 1.0 + max(value + least - 1.0, 0.0) + 1e-12
    assert turned(p, size, np.zeros(1))[0] == pytest.approx(value, abs=1e-12)
    assert (drawn - value) * error >= -1e-12
    moved = turned(p, size, np.array([1e-5 * se]))[0] - value
    assert moved == pytest.approx(1e-5 * se, rel=1e-3, abs=1e-15)


@given(st.integers(0, 99), st.floats(1e-4, 0.05), st.lists(st.floats(0.01, 1.0), min_size=1))
def test_what_lies_above_the_level_does_not_count(seed, size, levels):
    dist = smooth(n=1, size=size, seed=seed)
    known, row, levels = dist.uncertainty, dist.cdf_values[0], np.array(levels)
    draws, directions = known.coefficients()[:50], known.directions[:, 0]
    errors = draws @ directions
    whole, share = turned(row, known.sizes()[0], errors), risk.spread_share(dist.cdf_values)
    for measure, expected in (
        ("cvar", risk.expected_shortfall(whole, GRID, levels)),
        ("quantile", risk.interpolated_quantile(whole, GRID, levels, share=share)),
    ):
        given = (measure, row, known.sizes()[0], draws, directions)
        np.testing.assert_allclose(figures_of_draws(*given, GRID, levels), expected, atol=1e-12)


def test_intervals_of_states_far_apart_take_little_memory():
    """On a common grid of 20,000 intervals, a thousand draws at once would be 160 MB."""
    near = smooth(seed=4)
    far = near.shifted([0.0, 2000.0, 4990.0])
    assert far.grid.intervals > 19_000
    tracemalloc.start()
    found = [far.interval(*asked) for asked in (("quantile", 0.1), ("cvar", 0.2))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80e6
    expected = [near.interval(*asked) for asked in (("quantile", 0.1), ("cvar", 0.2))]
    np.testing.assert_allclose(np.array(found) - [0.0, 2000.0, 4990.0], expected, atol=1e-9)


@pytest.mark.parametrize(("measure", "argument"), MEASURES)
def test_rows_proper_and_shifts_keep_intervals(measure, argument):
    dist = smooth()
    low, high = dist.interval(measure, argument)
    for chosen in (dist[1], dist[[1]], dist[1:2], dist[np.array([False, True, False])]):
        np.testing.assert_allclose(chosen.interval(measure, argument), ([low[1]], [high[1]]))
    np.testing.assert_allclose(dist.proper().interval(measure, argument), (low, high))
    amount = np.array([0.0, 4.0, -2.0]) * GRID.spacing
    moves = amount if measure in ("mean", "quantile", "cvar", "entropic") else 0.0 * amount
    for i, c in enumerate(amount):
        moved = argument + c if measure == "probability_below" else argument
        ends = dist.shifted(amount).interval(measure, moved)
        np.testing.assert_allclose(
            [end[i] for end in ends], [low[i] + moves[i], high[i] + moves[i]]
        )


def test_a_shift_between_atoms_moves_the_interval_of_the_mean():
    dist = smooth()
    moved = dist.shifted([0.1, 0.017, -0.33])
    expected = np.add(dist.interval("mean"), [0.1, 0.017, -0.33])
    np.testing.assert_allclose(moved.interval("mean"), expected, atol=1e-12)
    assert lincat.ReturnDistribution(dist.cdf_values, GRID).shifted([0.1] * 3).uncertainty is None


def test_what_is_moved_otherwise_widens_and_travels():
    plain = smooth()
    moved = np.full_like(plain.cdf_values, 0.02)
    dist = lincat.ReturnDistribution(
        plain.cdf_values, GRID, replace(plain.uncertainty, moved=moved)
    )
    for measure, argument in MEASURES:
        (low, high), (before, after) = (x.interval(measure, argument) for x in (dist, plain))
        assert (low <= before).all()
        assert (after <= high).all()
        assert (high - low > after - before).any()
    far = 1.5 * GRID.spacing * moved.sum(axis=1)  # of the mean
    widths = [np.diff(x.interval("mean"), axis=0)[0] / 2 for x in (dist, plain)]
    np.testing.assert_allclose(widths[0], np.hypot(widths[1], far))
    for one, other in ((dist[1:], plain[1:]), (dist.shifted([0.1] * 3), plain.shifted([0.1] * 3))):
        (low, high), (before, after) = (x.band() for x in (one, other))
        assert (low <= before).all()
        assert (low < before - 1e-3).any()
        assert (after <= high).all()


def test_of_states_without_data_anything_may_be_true():
    dist = smooth(unknown=[False, True, False])
    low, high = dist.interval("mean")
    assert (low[1], high[1]) == (-np.inf, np.inf)
    assert np.isfinite(low[[0, 2]]).all()
    low, high = dist.interval("probability_below", 0.0)
    assert (low[1], high[1]) == (0.0, 1.0)
    low, high = dist.band(simultaneous=True)
    assert (low[1] == 0.0).all()
    assert (high[1] == 1.0).all()


def test_intervals_stay_where_figures_can_be():
    dist = smooth(size=0.5)
    for measure in ("variance", "std"):
        assert (dist.interval(measure)[0] >= 0.0).all()
    low, high = dist.interval("probability_below", 0.0)
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    assert dist.interval("entropic", 5.0)[1].max() == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.interval("median"), "measure: expected"),
        (lambda d: d.interval("mean", 0.5), "argument: expected none for 'mean', got 0.5"),
        (lambda d: d.interval("cvar"), "argument: expected a number for 'cvar', got none"),
        (lambda d: d.interval("quantile", 0.0), "level: expected"),
        (
            lambda d: lincat.ReturnDistribution(d.cdf_values, GRID).interval("mean"),
            r"interval: expected .* predict\(Phi, confidence=0.95\)",
        ),
        (
            lambda d: lincat.ReturnDistribution(d.cdf_values, GRID).band(),
            r"band: expected .* predict\(Phi, confidence=0.95\)",
        ),
        (
            lambda d: lincat.ReturnDistribution(d.cdf_values[:2], GRID, d.uncertainty),
            "uncertainty.directions: expected an array of shape",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        call(smooth())


@given(st.data())
def test_interpolated_figures_are_those_of_the_definition(data):
    grid = data.draw(strategies.grids(max_intervals=8))
    pmf = data.draw(strategies.proper_pmfs(1, grid.intervals))
    spike = data.draw(st.integers(0, grid.intervals))
    pmf[0, spike] += data.draw(st.sampled_from([0.0, 0.5, 5.0]))
    pmf /= pmf.sum()
    dist = lincat.ReturnDistribution.from_pmf(pmf, grid)
    x = grid.low + (grid.high - grid.low) * data.draw(st.floats(-0.1, 1.1))
    pieces = naive.interpolated_pieces(grid.atoms, pmf[0])
    for strict, value in ((False, dist.cdf(x, interpolate=True)),
                          (True, dist.probability_below(x, interpolate=True))):  # fmt: skip
        assert value[0] == pytest.approx(naive.mass_below(pieces, x, strict), abs=1e-9)
    level = data.draw(st.floats(0.001, 1.0))
    q = dist.quantile(level, interpolate=True)[0]
    slack = 1e-7 * grid.spacing
    assert grid.low - slack <= q <= grid.high + slack
    assert dist.cdf(q + slack, interpolate=True)[0] >= level - 1e-9
    assert dist.probability_below(q - slack, interpolate=True)[0] <= level + 1e-9


def test_interpolation_is_exact_for_uniform_returns():
    K = 7
    uniform = [1 / (2 * K), *[1 / K] * (K - 1), 1 / (2 * K)]
    dist = lincat.ReturnDistribution.from_pmf([uniform], lincat.Grid(0.0, 2.0, K))
    x = np.linspace(0.0, 2.0, 41)
    np.testing.assert_allclose(dist.cdf(x, interpolate=True)[0], x / 2.0, atol=1e-12)
    np.testing.assert_allclose(dist.quantile(x[1:] / 2.0, interpolate=True)[0], x[1:], atol=1e-9)


def test_isolated_atoms_stay_where_they_are():
    grid = lincat.Grid(-4.0, 4.0, 8)
    dist = lincat.ReturnDistribution.from_pmf([[0.02, 0, 0.03, 0, 0.9, 0, 0.05, 0, 0]], grid)
    for x in (-4.0, -2.0, -1.9, -0.01, 0.0, 0.3, 2.0, 3.9, 4.0):
        for method in (dist.cdf, dist.probability_below):
            np.testing.assert_allclose(method(x, interpolate=True), method(x), atol=1e-12)
    for level in (0.01, 0.02, 0.021, 0.05, 0.5, 0.95, 0.96, 1.0):
        np.testing.assert_allclose(dist.quantile(level, interpolate=True), dist.quantile(level))
    # Among a smooth rest, only as much of the atom is spread as its neighbours have.
    rest = lincat.ReturnDistribution.from_pmf([[*[0.02] * 4, 0.84, *[0.02] * 4]], grid)
    np.testing.assert_allclose(rest.probability_below(0.0, interpolate=True), [0.09])
    np.testing.assert_allclose(rest.cdf(0.0, interpolate=True), [0.91])


def test_no_interpolated_figure_jumps_as_an_atom_grows():
    grid = lincat.Grid(0.0, 4.0, 8)
    masses = np.linspace(0.02, 1.0, 4001)
    pmf = np.full((len(masses), 9), 0.1)
    pmf[:, 4] = masses
    dist = lincat.ReturnDistribution.from_pmf(pmf / pmf.sum(axis=1, keepdims=True), grid)
    for values in (
        dist.quantile([0.3, 0.45, 0.5, 0.55], interpolate=True),
        dist.probability_below([1.9, 2.0, 2.1], interpolate=True),
    ):
        assert np.abs(np.diff(values, axis=0)).max() < 3e-3


@pytest.mark.parametrize(("measure", "argument"), [*MEASURES, ("cvar", [0.1, 0.5])])
def test_errors_about_another_centre_reach_from_the_figure_to_beyond_it(measure, argument):
    about, other = smooth(), smooth(seed=3)
    centre = 0.9 * about.cdf_values + 0.1 * np.linspace(0.1, 1.0, GRID.intervals)
    known = replace(about.uncertainty, centre=centre)
    shown = lincat.ReturnDistribution(about.cdf_values, GRID, known)
    low, high = shown.interval(measure, argument)
    plain = lincat.ReturnDistribution(centre, GRID, about.uncertainty).interval(measure, argument)
    value = figure(about, measure, argument)
    assert (low <= np.minimum(plain[0], value) + 1e-12).all()
    assert (high >= np.maximum(plain[1], value) - 1e-12).all()
    reach = np.maximum(value - plain[0], plain[1] - value)
    np.testing.assert_allclose(
        high, np.minimum(value + reach, 1.0 if "below" in measure else np.inf)
    )
    assert shown[1:].uncertainty.centre.shape == (2, GRID.intervals)
    np.testing.assert_allclose(shown[1:].interval(measure, argument)[0], low[1:])
    np.testing.assert_allclose(shown.proper().interval(measure, argument)[1], high)
    assert other.uncertainty.centre is None


def test_bands_about_another_centre_hold_both():
    about = smooth()
    centre = 0.9 * about.cdf_values + 0.1 * np.linspace(0.1, 1.0, GRID.intervals)
    known = replace(about.uncertainty, centre=centre)
    low, high = lincat.ReturnDistribution(about.cdf_values, GRID, known).band()
    plain = lincat.ReturnDistribution(centre, GRID, about.uncertainty).band()
    np.testing.assert_array_equal(low, np.minimum(plain[0], about.cdf_values))
    np.testing.assert_array_equal(high, np.maximum(plain[1], about.cdf_values))
    amount = np.array([0.0, 2.0, -1.0]) * GRID.spacing
    moved = lincat.ReturnDistribution(about.cdf_values, GRID, known).shifted(amount)
    expected = lincat.ReturnDistribution(centre, GRID).shifted(amount).cdf_values
    np.testing.assert_allclose(moved.uncertainty.centre, expected, atol=1e-12)


def test_confident_intervals_have_draws_beyond_them():
    assert len(smooth().uncertainty.coefficients()) == 1000
    sure = replace(smooth().uncertainty, confidence=0.999)
    assert len(sure.coefficients()) == 50_000


def test_without_aversion_the_interval_is_that_of_the_mean():
    dist = smooth()
    for end, expected in zip(dist.interval("entropic", 0.0), dist.interval("mean"), strict=True):
        np.testing.assert_allclose(end[:, 0] if end.ndim > 1 else end, expected)
    with pytest.raises(lincat.InvalidInputError, match=r"a number or a list of numbers"):
        dist.interval("quantile", [[0.1]])


def test_a_band_of_what_is_certain_is_as_wide_as_intervals():
    certain = lincat.ReturnDistribution(np.ones((1, 16)), GRID, smooth(1).uncertainty)
    (low, high), one = certain.band(), certain.band(simultaneous=False)
    np.testing.assert_array_equal(low, one[0])
    np.testing.assert_array_equal(high, one[1])


@pytest.mark.parametrize("nu", [3, 30])
def test_draws_in_one_direction_are_students(nu):
    """A draw in all directions alike is t with nu degrees of freedom: quantiles within 4 errors."""
    drawn = Uncertainty(np.ones((nu, 1, 1)), 0.999, np.zeros(1, bool)).coefficients().sum(axis=1)
    n = len(drawn)
    for level in (0.5, 0.9, 0.99):
        at = stats.t.ppf(level, nu)
        error = np.sqrt(level * (1.0 - level) / n)
        assert abs(np.mean(drawn <= at) - level) <= 4.0 * error
