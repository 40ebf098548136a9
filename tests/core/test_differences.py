from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import lincat
from lincat.core import risk
from lincat.core.differences import Differences
from lincat.core.uncertainty import Uncertainty
from tests import naive

GRID = lincat.Grid(-1.0, 3.0, 32)


def side(shift=0.0, *, n=2, size=0.004, nu=16, seed=0, grid=GRID, confidence=0.95, sd=0.5):
    """Bell-shaped distributions with errors of a size."""
    rng = np.random.default_rng(seed)
    centre = np.linspace(0.8, 1.2, n)[:, None] + shift
    cdf = stats.norm.cdf(grid.atoms[:-1] + grid.spacing / 2, centre, sd)
    shape = cdf * (1.0 - cdf)
    directions = 4 * size * rng.normal(size=(nu, n, 3)) @ rng.normal(size=(3, grid.intervals))
    known = Uncertainty(directions * shape / 2, confidence, np.zeros(n, bool))
    return lincat.ReturnDistribution(cdf, grid, known)


def errors(dist, i=0):
    return dist.uncertainty.directions[:, i]


@pytest.mark.parametrize("paired", [True, False])
def test_means_by_student(paired):
    a, b = side(seed=1), side(0.1, seed=2, nu=8)
    both = Differences(a, b, paired)
    low, high = both.interval("mean")
    np.testing.assert_allclose((low + high) / 2, a.mean() - b.mean())
    for i in range(2):
        margin = naive.difference_of_means(GRID.spacing, errors(a, i), errors(b, i), 0.95, paired)
        assert (high - low)[i] / 2 == pytest.approx(margin)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", ["quantile", "cvar"])
def test_tails_by_draws(paired, name):
    a, b = side(seed=1), side(0.3, seed=2, nu=8, sd=0.4)
    low, high = Differences(a, b, paired).interval(name, 0.1)
    moved = []
    for dist, drawn in zip(
        (a, b), naive.error_draws(errors(a), errors(b), paired, 20_000), strict=True
    ):
        cdf, levels = dist.cdf_values[:1], np.array([0.1])
        used = errors(dist)[:8] if paired else errors(dist)
        variants = naive.turned(cdf[0], np.sqrt(np.mean(used**2, axis=0)), drawn)
        if name == "cvar":
            moved.append(risk.expected_shortfall(variants, GRID, levels)[:, 0])
        else:
            share = risk.spread_share(cdf)
            moved.append(risk.interpolated_quantile(variants, GRID, levels, share=share)[:, 0])
    centre = (low + high)[0] / 2
    margin = np.quantile(np.abs(moved[0] - moved[1] - centre), 0.95)
    assert (high - low)[0] / 2 == pytest.approx(margin, rel=0.1)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("threshold", [-0.4, 0.9])
def test_chances_from_the_intervals_of_both(paired, threshold):
    a, b = side(seed=1), side(0.2, seed=2, nu=8)
    low, high = Differences(a, b, paired).interval("probability_below", threshold)
    values, wrong = [], []
    for dist in (a, b):
        values.append(float(dist.probability_below(threshold, interpolate=True)[0]))
        k, weight = risk.place_in_cells(
            risk.spread_share(dist.cdf_values), GRID, np.array([threshold]), strict=True
        )
        padded = np.pad(errors(dist), ((0, 0), (1, 1)))
        w = weight[0, 0]
        wrong.append(((1 - w) * padded[:, k[0]] + w * padded[:, k[0] + 1]).tolist())
    expected = naive.mover(*values, *wrong, 0.95, paired)
    assert (low[0], high[0]) == pytest.approx(expected)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("shift", "sd"), [(0.5, 0.5), (-0.5, 0.5), (0.0, 0.5), (0.0, 0.8)])
def test_dominance_by_bands_over_all_points(paired, shift, sd):
    a, b = side(shift, seed=1), side(seed=2, sd=sd)
    both = Differences(a, b, paired)
    of_a, of_b = naive.error_draws(errors(a), errors(b), paired, 4000)
    F, H = a.cdf_values[0], b.cdf_values[0]
    inner = (np.maximum(F, H) > 0.01) & (np.minimum(F, H) < 0.99)
    draws = of_a - of_b
    if paired:
        se = np.sqrt(np.mean((errors(a) - errors(b)) ** 2, axis=0))
    else:
        se = np.sqrt(np.mean(errors(a) ** 2, axis=0) + np.mean(errors(b) ** 2, axis=0))
    found = both.dominance(1)
    expected = naive.dominance(F[inner], H[inner], draws[:, inner], se[inner], 0.01, 0.95)
    assert found.winner[0] == expected == np.sign(shift)
    assert found.tolerance.tolist() == [0.01, 0.01]
    reach = (found.a_behind[0] - max(F - H)) / max(se)
    assert found.a_behind[0] >= max(F - H) - 1e-12
    assert reach < 6.0


def with_moved(dist, size):
    """The same, with CDF values that may be off by a bump for another reason than sampling."""
    bump = size * dist.cdf_values * (1.0 - dist.cdf_values)
    known = replace(dist.uncertainty, moved=bump)
    return lincat.ReturnDistribution(dist.cdf_values, dist.grid, known)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("name", "argument"),
    [("mean", None), ("quantile", 0.1), ("cvar", 0.1), ("probability_below", 0.9)],
)
def test_what_moves_either_side_is_one_more_error(paired, name, argument):
    plain = side(seed=1), side(0.2, seed=2, nu=8)

    def figure(row, grid=GRID):
        dist = lincat.ReturnDistribution(row[None], grid)
        if name == "mean":
            return dist.mean()[0]
        options = {} if name == "cvar" else {"interpolate": True}
        return getattr(dist, name)(argument, **options)[0]

    before = Differences(*plain, paired).interval(name, argument)
    for sizes in ((0.05, 0.1), (0.05, None), (None, 0.1), (0.0, 0.0)):
        sides = [
            dist if size is None else with_moved(dist, size)
            for dist, size in zip(plain, sizes, strict=True)
        ]
        low, high = Differences(*sides, paired).interval(name, argument)
        for i in range(2):
            value = figure(plain[0].cdf_values[i]) - figure(plain[1].cdf_values[i])
            moving = [
                (figure, dist.cdf_values[i], dist.uncertainty.moved[i])
                for dist in sides
                if dist.uncertainty.moved is not None
            ]
            below, above = value - before[0][i], before[1][i] - value
            assert value - low[i] == pytest.approx(naive.moved_margin(below, moving))
            assert high[i] - value == pytest.approx(naive.moved_margin(above, moving))


@pytest.mark.parametrize("order", [1, 2])
def test_dominance_is_not_shown_where_what_moves_them_could_undo_it(order):
    a, b = side(0.3, seed=1, size=1e-4), side(seed=2, size=1e-4)
    before = Differences(a, b, paired=False).dominance(order)
    assert before.winner.tolist() == [1, 1]
    nothing = Differences(with_moved(a, 0.0), b, paired=False).dominance(order)
    np.testing.assert_allclose(nothing.a_behind, before.a_behind)
    moved = with_moved(a, 0.1), with_moved(b, 0.2)
    found = Differences(*moved, paired=False).dominance(order)
    D, far = a.cdf_values - b.cdf_values, [dist.uncertainty.moved for dist in moved]
    if order == 2:
        D, far = np.cumsum(D, axis=1) * GRID.spacing, np.cumsum(far, axis=2) * GRID.spacing
    inner = np.maximum(a.cdf_values, b.cdf_values) > 0.01
    if order == 1:
        inner &= np.minimum(a.cdf_values, b.cdf_values) < 0.99
    # Sampling errors are a hundredth of it.
    ahead = np.where(inner, 1.5 * np.hypot(*far) - D, 0.0).max(axis=1)
    np.testing.assert_allclose(found.b_behind, ahead, rtol=0.02)
    far_apart = Differences(with_moved(a, 3.0), b, paired=False).dominance(order)
    assert far_apart.winner.tolist() == [0, 0]


def test_second_order_prefers_the_safer_of_equal_means():
    safe, risky = side(seed=1, sd=0.3, size=1e-4), side(seed=2, sd=0.6, size=1e-4)
    both = Differences(safe, risky, paired=False)
    assert both.dominance(1).winner.tolist() == [0, 0]
    found = both.dominance(2)
    assert found.winner.tolist() == [1, 1]
    spread = np.sqrt((safe.proper().variance() + risky.proper().variance()) / 2)
    np.testing.assert_allclose(found.tolerance, 0.05 * spread)
    # Nowhere further behind than by its mean, as the whole integral is a difference of means.
    assert (found.b_behind >= np.abs(safe.mean() - risky.mean()) - 1e-9).all()
    assert Differences(risky, safe, paired=False).dominance(2).winner.tolist() == [-1, -1]


def test_crossing_distributions_are_not_ranked_however_little_is_known():
    better, worse_tail = side(0.3, sd=0.7, seed=1), side(sd=0.4, seed=2)
    assert (better.mean() > worse_tail.mean()).all()
    for size in (0.02, 0.004, 1e-4):
        a, b = side(0.3, sd=0.7, size=size, seed=1), side(sd=0.4, size=size, seed=2)
        assert not Differences(a, b, paired=False).dominance(1).winner.any()


def test_what_is_shared_cancels():
    a = side(seed=1)
    moved = lincat.ReturnDistribution(a.cdf_values - 0.02, GRID, a.uncertainty)
    low, high = Differences(a, moved, paired=True).interval("mean")
    np.testing.assert_allclose(low, high)
    low, high = Differences(a, moved, paired=False).interval("mean")
    one = np.diff(a.interval("mean"), axis=0)[0]
    np.testing.assert_allclose(high - low, one * np.sqrt(2) * stats.t.ppf(0.975, 32)
                               / stats.t.ppf(0.975, 16))  # fmt: skip
    same = Differences(a, a, paired=True)
    assert not same.dominance(1).winner.any()
    assert not same.dominance(2).winner.any()
    assert same.interval("cvar", 0.05)[1].tolist() == [0.0, 0.0]


def test_grids_may_differ():
    fine = lincat.Grid(-2.0, 4.0, 96)
    a, b = side(0.5, seed=1), side(seed=2, grid=fine)
    both = Differences(a, b, paired=False)
    low, high = both.interval("mean")
    assert ((low < 0.5) & (0.5 < high)).all()
    assert both.dominance(1).winner.tolist() == [1, 1]


@settings(max_examples=20, deadline=None)
@given(
    shift=st.floats(-0.5, 0.5),
    paired=st.booleans(),
    seed=st.integers(0, 9),
    name=st.sampled_from(["mean", "probability_below"]),
)
def test_the_other_way_round_signs_change(shift, paired, seed, name):
    a, b = side(shift, seed=seed), side(seed=seed + 1)
    argument = None if name == "mean" else 0.7
    low, high = Differences(a, b, paired).interval(name, argument)
    other = Differences(b, a, paired).interval(name, argument)
    np.testing.assert_allclose((-high, -low), other, atol=1e-12)
    assert (low <= high).all()


def test_nothing_is_shown_of_states_without_data():
    a, b = side(0.5, seed=1), side(seed=2)
    unknown = np.array([False, True])
    known = Uncertainty(b.uncertainty.directions, 0.95, unknown)
    b = lincat.ReturnDistribution(b.cdf_values, GRID, known)
    both = Differences(a, b, paired=False)
    assert both.dominance(1).winner.tolist() == [1, 0]
    assert both.interval("mean")[1][1] == np.inf
    assert both.interval("probability_below", 1.0)[0][1] == -1.0


def test_errors_are_one_line():
    a, b = side(), side(seed=1)
    without = lincat.ReturnDistribution(b.cdf_values, GRID)
    with pytest.raises(lincat.InvalidInputError, match="with their uncertainty, got one without"):
        Differences(a, without, paired=False).interval("mean")
    with pytest.raises(lincat.InvalidInputError, match=r"the confidence of a, 0\.95"):
        Differences(a, side(confidence=0.9), paired=True).interval("mean")
    with pytest.raises(lincat.InvalidInputError, match="the 2 states of a"):
        Differences(a, side(n=3), paired=True).interval("mean")
    with pytest.raises(lincat.InvalidInputError, match="figure: expected one of"):
        Differences(a, b, paired=True).interval("median")


def test_differences_are_about_what_errors_are_about():
    a, b = side(seed=1), side(0.3, seed=2)
    biased = lincat.ReturnDistribution(
        0.9 * a.cdf_values, GRID, replace(a.uncertainty, centre=a.cdf_values)
    )
    found, expected = (Differences(one, b, False) for one in (biased, a))
    np.testing.assert_array_equal(found.interval("mean"), expected.interval("mean"))
    np.testing.assert_array_equal(found.figures("cvar", 0.1), expected.figures("cvar", 0.1))


@pytest.mark.parametrize("order", [1, 2])
def test_dominance_does_not_depend_on_the_unit_of_returns(order):
    def scaled(dist, unit):
        grid = lincat.Grid(unit * GRID.low, unit * GRID.high, GRID.intervals)
        return lincat.ReturnDistribution(dist.cdf_values, grid, dist.uncertainty)

    sides = side(seed=1, sd=0.3), side(-0.05, seed=2, sd=0.6)
    one, ten = (
        Differences(*(scaled(x, unit) for x in sides), paired=False).dominance(order)
        for unit in (1.0, 10.0)
    )
    assert one.winner.tolist() == ten.winner.tolist()
    factor = 10.0 if order == 2 else 1.0
    for name in ("a_behind", "b_behind", "tolerance"):
        np.testing.assert_allclose(getattr(ten, name), factor * getattr(one, name), rtol=1e-9)


def test_what_is_known_exactly_needs_no_band():
    sure = side(size=0.0)
    found = Differences(sure, side(0.2, size=0.0), paired=False).dominance(1)
    np.testing.assert_allclose(found.b_behind, 0.0, atol=1e-12)  # it is nowhere behind
    assert found.winner.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("name", "argument", "options"),
    [
        ("mean", None, {}),
        ("quantile", 0.1, {"interpolate": True}),
        ("cvar", 0.1, {}),
        ("probability_below", 0.9, {"interpolate": True}),
    ],
)
def test_figures_are_those_of_either_side(name, argument, options):
    sides = side(seed=1), side(0.2, seed=2)
    found = Differences(*sides, paired=False).figures(name, argument)
    arguments = () if argument is None else (argument,)
    for dist, value in zip(sides, found, strict=True):
        np.testing.assert_array_equal(value, getattr(dist, name)(*arguments, **options))
