import itertools

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.strategies import finite_floats, grids, proper_pmfs, signed_cdfs

LEVELS = finite_floats(1e-3, 1.0)


@st.composite
def proper_distributions(draw):
    grid = draw(grids(10))
    return lincat.ReturnDistribution.from_pmf(draw(proper_pmfs(2, grid.intervals)), grid)


@st.composite
def signed_distributions(draw):
    grid = draw(grids(10))
    return lincat.ReturnDistribution(draw(signed_cdfs(2, grid.intervals)), grid)


def scale(distribution):
    return max(abs(distribution.grid.low), abs(distribution.grid.high), 1.0)


@given(signed_distributions())
def test_mean_and_variance_are_moments_of_the_masses(distribution):
    atoms, pmf = distribution.grid.atoms, distribution.pmf
    mean = pmf @ atoms
    np.testing.assert_allclose(distribution.mean(), mean, atol=1e-11 * scale(distribution))
    expected = [p @ (atoms - m) ** 2 for p, m in zip(pmf, mean, strict=True)]
    np.testing.assert_allclose(
        distribution.variance(), expected, atol=1e-10 * scale(distribution) ** 2
    )


@given(signed_distributions(), LEVELS)
def test_quantile_is_the_first_atom_whose_cdf_reaches_the_level(distribution, q):
    for row, found in zip(distribution.cdf_values, distribution.quantile(q), strict=True):
        reached = [*(row >= q - 1e-12), True]
        assert found == distribution.grid.atoms[reached.index(True)]


@given(proper_distributions(), LEVELS)
def test_cvar_averages_exactly_the_worst_share(distribution, level):
    expected = [naive.cvar(distribution.grid.atoms, pmf, level) for pmf in distribution.pmf]
    np.testing.assert_allclose(distribution.cvar(level), expected, atol=1e-9 * scale(distribution))


@given(proper_distributions(), LEVELS)
def test_upper_shortfall_mirrors_the_lower_one(distribution, level):
    grid = distribution.grid
    mirrored = lincat.ReturnDistribution.from_pmf(
        distribution.pmf[:, ::-1], lincat.Grid(-grid.high, -grid.low, grid.intervals)
    )
    np.testing.assert_allclose(
        distribution.expected_shortfall(level, tail="upper"),
        -mirrored.cvar(level),
        atol=1e-9 * scale(distribution),
    )


@given(proper_distributions())
def test_tail_measures_meet_the_mean_at_level_one(distribution):
    for tail in ("lower", "upper"):
        np.testing.assert_allclose(
            distribution.expected_shortfall(1.0, tail=tail),
            distribution.mean(),
            atol=1e-10 * scale(distribution),
        )
    np.testing.assert_allclose(
        distribution.spectral(lambda u: u), distribution.mean(), atol=1e-10 * scale(distribution)
    )


@given(signed_distributions())
def test_tail_measures_stay_in_order_even_for_signed_distributions(distribution):
    cvar = distribution.cvar([0.01, 0.1, 0.5, 1.0])
    slack = 1e-9 * scale(distribution)
    assert (np.diff(cvar, axis=1) >= -slack).all()
    assert (cvar <= distribution.quantile([0.01, 0.1, 0.5, 1.0]) + slack).all()
    assert (cvar >= distribution.grid.low - slack).all()


@given(proper_distributions(), LEVELS)
def test_cvar_is_a_spectral_measure(distribution, level):
    np.testing.assert_allclose(
        distribution.spectral(lambda u: np.minimum(u / level, 1.0)),
        distribution.cvar(level),
        atol=1e-9 * scale(distribution),
    )


def test_cvar_splits_the_atom_at_the_quantile():
    distribution = lincat.ReturnDistribution.from_pmf([0.1, 0.6, 0.3], lincat.Grid(0.0, 2.0, 2))
    # The worst quarter: all of the 0.1 at 0, and 0.15 of the 0.6 at 1.
    np.testing.assert_allclose(distribution.cvar(0.25), [0.15 / 0.25], atol=1e-15)
    np.testing.assert_allclose(
        distribution.expected_shortfall(0.4, tail="upper"), [0.7 / 0.4], atol=1e-15
    )


@given(signed_distributions(), finite_floats(-0.5, 1.5))
def test_cdf_and_probability_below_count_masses(distribution, share):
    grid = distribution.grid
    x = grid.low + share * (grid.high - grid.low)
    if (np.abs(grid.atoms - x) < 1e-6 * grid.spacing).any():
        return  # ties are tested below
    expected = [pmf[grid.atoms < x].sum() for pmf in distribution.pmf]
    np.testing.assert_allclose(distribution.cdf(x), expected, atol=1e-12)
    np.testing.assert_allclose(distribution.probability_below(x), expected, atol=1e-12)


def test_at_an_atom_cdf_includes_it_and_probability_below_does_not():
    distribution = lincat.ReturnDistribution.from_pmf(
        [0.2, 0.3, 0.4, 0.1], lincat.Grid(0.0, 0.3, 3)
    )
    np.testing.assert_allclose(distribution.cdf([0.0, 0.1, 0.2, 0.3]), [[0.2, 0.5, 0.9, 1.0]])
    np.testing.assert_allclose(
        distribution.probability_below([0.0, 0.1, 0.2, 0.3]), [[0.0, 0.2, 0.5, 0.9]]
    )
    np.testing.assert_allclose(distribution.probability_below([-5.0, 5.0]), [[0.0, 1.0]])


@given(proper_distributions(), st.sampled_from([-2.0, -0.1, 0.1, 2.0]))
def test_entropic_is_the_certainty_equivalent(distribution, beta):
    width = distribution.grid.high - distribution.grid.low
    beta = beta / width
    centred = distribution.grid.atoms - distribution.grid.low
    expected = distribution.grid.low - np.log(distribution.pmf @ np.exp(-beta * centred)) / beta
    np.testing.assert_allclose(
        distribution.entropic(beta), expected, atol=1e-9 * scale(distribution)
    )
    assert (
        (distribution.entropic(beta) - distribution.mean()) * np.sign(beta)
        <= 1e-9 * scale(distribution)
    ).all()


def test_entropic_of_a_coin_in_closed_form_and_at_zero():
    coin = lincat.ReturnDistribution([0.5], lincat.Grid(0.0, 1.0, 1))
    np.testing.assert_allclose(coin.entropic(2.0), -np.log((1 + np.exp(-2.0)) / 2) / 2)
    np.testing.assert_allclose(coin.entropic(0.0), coin.mean())
    # No overflow where exp(-beta x) would.
    np.testing.assert_allclose(
        lincat.ReturnDistribution([0.5], lincat.Grid(-1e3, 1e3, 1)).entropic(10.0),
        [-1e3 + np.log(2.0) / 10.0],
    )


def test_signed_distributions_without_a_certainty_equivalent_or_deviation_say_so():
    distribution = lincat.ReturnDistribution([-0.9, 0.1], lincat.Grid(0.0, 2.0, 2))
    with pytest.raises(lincat.InvalidInputError, match=r"take proper\(\) first"):
        distribution.entropic(5.0)
    bad = lincat.ReturnDistribution([-0.5, 1.5], lincat.Grid(0.0, 2.0, 2))
    with pytest.raises(lincat.InvalidInputError, match=r"take proper\(\) first"):
        bad.std()


@given(st.data())
def test_proper_is_the_nearest_proper_cdf(data):
    values = data.draw(signed_cdfs(1, 4))
    distribution = lincat.ReturnDistribution(values, lincat.Grid(0.0, 4.0, 4))
    mended = distribution.proper().cdf_values[0]
    assert (np.diff(mended) >= 0).all()
    assert mended.min() >= 0.0
    assert mended.max() <= 1.0
    best = naive.nearest_proper_cdf(values[0], step=0.1)
    assert ((mended - values[0]) ** 2).sum() <= ((np.array(best) - values[0]) ** 2).sum() + 1e-12
    np.testing.assert_array_equal(
        distribution.proper().proper().cdf_values, distribution.proper().cdf_values
    )


@given(proper_distributions())
def test_proper_leaves_proper_distributions_alone(distribution):
    np.testing.assert_allclose(
        distribution.proper().cdf_values, distribution.cdf_values, atol=1e-15
    )
    np.testing.assert_allclose(distribution.negative_mass, 0.0, atol=1e-15)


def test_samples_follow_the_distribution_and_the_seed():
    distribution = lincat.ReturnDistribution.from_pmf(
        [[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], lincat.Grid(0.0, 2.0, 2)
    )
    draws = distribution.sample(20_000, seed=3)
    assert draws.shape == (2, 20_000)
    np.testing.assert_array_equal(draws, distribution.sample(20_000, seed=3))
    assert (draws != distribution.sample(20_000, seed=4)).any()
    for row, pmf in zip(draws, distribution.pmf, strict=True):
        share = [(row == x).mean() for x in distribution.grid.atoms]
        np.testing.assert_allclose(share, pmf, atol=4 * 0.5 / np.sqrt(20_000))
    assert distribution.sample(0).shape == (2, 0)


def test_quantiles_agree_with_the_crps_of_another_library():
    """∫ quantile scores = CRPS: ties our quantiles to scoringrules' CRPS."""
    rng = np.random.default_rng(0)
    distribution = lincat.ReturnDistribution.from_pmf(
        rng.dirichlet(np.ones(8)), lincat.Grid(-1.0, 3.0, 7)
    )
    y = 0.37
    levels = (np.arange(20_000) + 0.5) / 20_000
    quantiles = distribution.quantile(levels)[0]
    score = 2 * ((y < quantiles) - levels) * (quantiles - y)
    sample = distribution.sample(200_000, seed=1)[0]
    assert score.mean() == pytest.approx(scoringrules.crps_ensemble(y, sample), abs=5e-3)


def test_shapes_of_answers():
    distribution = lincat.ReturnDistribution(np.full((3, 4), 0.5), lincat.Grid(0.0, 1.0, 4))
    assert len(distribution) == 3
    assert distribution.quantile(0.5).shape == (3,)
    assert distribution.quantile([0.1, 0.5]).shape == (3, 2)
    assert distribution.cvar([0.1]).shape == (3, 1)
    assert distribution.pmf.shape == (3, 5)
    assert len(distribution[1:]) == 2
    assert len(distribution[0]) == 1
    assert "3 states" in repr(distribution)


def test_the_distribution_keeps_its_own_copy():
    values = np.full((1, 2), 0.5)
    distribution = lincat.ReturnDistribution(values, lincat.Grid(0.0, 1.0, 2))
    values[:] = 0.0
    np.testing.assert_array_equal(distribution.cdf_values, 0.5)
    with pytest.raises(ValueError, match="read-only"):
        distribution.cdf_values[0, 0] = 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda distribution: distribution.quantile(0.0), r"q: expected levels in \(0, 1\], got 0"),
        (
            lambda distribution: distribution.quantile(1.5),
            r"q: expected levels in \(0, 1\], got 1.5",
        ),
        (lambda distribution: distribution.cvar(np.nan), "level: expected finite numbers"),
        (lambda distribution: distribution.cvar([[0.1]]), "a number or a list of numbers"),
        (
            lambda distribution: distribution.expected_shortfall(0.1, tail="left"),
            "tail: expected 'lower' or 'upper'",
        ),
        (lambda distribution: distribution.sample(-1), "n: expected an integer of at least 0"),
        (lambda distribution: distribution.entropic(np.inf), "aversion: expected a finite number"),
        (
            lambda distribution: distribution.spectral(lambda u: 2 * u),
            "cumulative_spectrum: expected an increasing",
        ),
        (
            lambda distribution: distribution.spectral(lambda u: 1.0),
            "cumulative_spectrum: expected an increasing",
        ),
        (
            lambda distribution: lincat.ReturnDistribution([[0.1]], distribution.grid),
            r"cdf: expected an array of",
        ),
        (
            lambda distribution: lincat.ReturnDistribution([[0.1, np.nan]], distribution.grid),
            "cdf: expected finite",
        ),
        (
            lambda distribution: lincat.ReturnDistribution([[0.1]], (0, 1)),
            "grid: expected a lincat.Grid",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        call(lincat.ReturnDistribution([[0.2, 0.6]], lincat.Grid(0.0, 1.0, 2)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.01, 30.0))
def test_shifted_distributions_against_moving_each_atom(seed, K, scale):
    """Means exactly, variances by at most spacing²/4 more, signed masses as they are."""
    rng = np.random.default_rng(seed)
    low = float(rng.normal())
    grid = lincat.Grid(low, low + float(rng.uniform(0.5, 5.0)), K)
    pmf = rng.normal(size=(3, K + 1))
    pmf += (1.0 - pmf.sum(axis=1, keepdims=True)) / (K + 1)
    distribution = lincat.ReturnDistribution.from_pmf(pmf, grid)
    amount = scale * rng.normal(size=3)
    moved = distribution.shifted(amount)
    assert moved.grid.spacing == pytest.approx(grid.spacing)
    for one, p, a in zip(moved.pmf, pmf, amount, strict=True):
        expected = naive.project(grid.atoms + a, p, moved.grid)
        np.testing.assert_allclose(one, expected, atol=1e-8)
    np.testing.assert_allclose(moved.mean(), distribution.mean() + amount, atol=1e-9 * (1 + scale))
    assert moved.grid.low <= grid.low + amount.min() + 1e-9
    assert moved.grid.high >= grid.high + amount.max() - 1e-9
    added = moved.variance() - distribution.variance()
    assert (added >= -1e-8).all()
    assert (added <= grid.spacing**2 / 4.0 + 1e-8).all()


def test_shifts_by_multiples_of_the_spacing_are_exact():
    distribution = lincat.ReturnDistribution([[0.2, 0.7]], lincat.Grid(0.0, 1.0, 2))
    for amount, low in ((0.0, 0.0), (1.5, 1.5), (-2.0, -2.0)):
        moved = distribution.shifted([amount])
        assert moved.grid == lincat.Grid(low, low + 1.0, 2)
        np.testing.assert_allclose(moved.pmf, distribution.pmf)


def test_states_far_apart_get_a_coarser_grid():
    distribution = lincat.ReturnDistribution([[0.5], [0.5]], lincat.Grid(0.0, 1.0, 1))
    moved = distribution.shifted([0.0, 1e6])
    assert moved.grid.intervals == 20_000
    np.testing.assert_allclose(moved.mean(), [0.5, 1e6 + 0.5])


def test_grids_whose_variance_would_be_no_number_are_refused():
    with pytest.raises(lincat.InvalidInputError, match="grid: expected ends within ±1e"):
        lincat.Grid(0.0, 1e200, 2)
    near = lincat.ReturnDistribution([[0.5]], lincat.Grid(0.0, 1e-200, 1))
    assert near[[0, 0]].shifted([0.0, 1e140]).grid.intervals == 20_000
    for amount in (1e200, -1.7e308):
        with pytest.raises(lincat.InvalidInputError, match=r"grid: expected ends|finite number"):
            near.shifted([amount])
        with pytest.raises(lincat.InvalidInputError, match=r"grid: expected ends|finite number"):
            near.rescaled([1.0], [amount])
    with pytest.raises(lincat.InvalidInputError, match=r"grid: expected ends|finite number"):
        lincat.ReturnDistribution([[0.5]], lincat.Grid(0.0, 1e150, 1)).rescaled([1e300], [0.0])


def spread_cdf(pmf, grid, factor, amount, x):
    """P(factor X + amount + U <= x), U uniform over a cell of factor times the spacing."""
    size = factor * grid.spacing
    begin = factor * grid.atoms + amount - 0.5 * size
    return float(pmf @ np.clip((x - begin) / size, 0.0, 1.0))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(0.1, 20.0))
def test_rescaled_distributions_against_spreading_each_atom(seed, K, scale):
    """Means exactly, variances by a cell's twelfth and at most spacing²/4, signed as they are."""
    rng = np.random.default_rng(seed)
    grid = lincat.Grid(-1.0, float(rng.uniform(0.5, 5.0)), K)
    pmf = rng.normal(size=(3, K + 1))
    pmf += (1.0 - pmf.sum(axis=1, keepdims=True)) / (K + 1)
    distribution = lincat.ReturnDistribution.from_pmf(pmf, grid)
    factor, amount = rng.uniform(0.2, 1.0, 3) * scale, scale * rng.normal(size=3)
    made = distribution.rescaled(factor, amount)
    size = np.abs(pmf).sum(axis=1)
    np.testing.assert_allclose(
        made.mean(), factor * distribution.mean() + amount, atol=1e-9 * scale * size.max()
    )
    added = made.variance() - factor**2 * distribution.variance()
    cell = (factor * grid.spacing) ** 2
    assert (added - cell / 12.0 >= -1e-8 * scale**2 * size).all()
    assert (added - cell / 12.0 <= made.grid.spacing**2 / 4.0 * size + 1e-8 * scale**2).all()
    # The projection's CDF values are averages over the cells of the grid.
    for i, k in itertools.product(range(3), rng.integers(0, made.grid.intervals, 4)):
        x = made.grid.atoms[k] + made.grid.spacing * (np.arange(400) + 0.5) / 400
        wanted = np.mean([spread_cdf(pmf[i], grid, factor[i], amount[i], y) for y in x])
        assert made.cdf_values[i, k] == pytest.approx(wanted, abs=0.01 * size[i])


def test_rescaled_errors_follow():
    """What is known of the error is of the same figures: intervals are rescaled like these."""
    drawn = lincat.catalog.paper().process.sample(4000, seed=0)
    t = lincat.Transitions(drawn.state, drawn.reward, drawn.next_state)
    model = lincat.CategoricalLSTD(gamma=0.75, n_features=3).fit(t)
    found = model.predict([0, 1, 2], confidence=0.95)
    low, high = found.interval("mean")
    factor, amount = np.array([0.5, 2.0, 3.0]), np.array([1.0, 0.0, -2.0])
    made = found.rescaled(factor, amount).interval("mean")
    np.testing.assert_allclose(made, (factor * low + amount, factor * high + amount), rtol=1e-8)


def test_rescaling_wants_positive_factors():
    coin = lincat.ReturnDistribution([[0.5]], lincat.Grid(0.0, 1.0, 1))
    with pytest.raises(lincat.InvalidInputError, match="factor: expected numbers above 0, got 0"):
        coin.rescaled([0.0], [1.0])
    assert len(coin[:0].rescaled([], [])) == 0


def test_shifting_nothing_gives_nothing():
    empty = lincat.ReturnDistribution(np.zeros((0, 2)), lincat.Grid(0.0, 1.0, 2))
    assert len(empty.shifted([])) == 0
    with pytest.raises(lincat.InvalidInputError, match=r"amount: expected an array of shape \(0\)"):
        empty.shifted([1.0])


def test_a_generator_is_used_as_it_is():
    dist = lincat.ReturnDistribution([[0.5], [0.25]], lincat.Grid(0.0, 1.0, 1))
    one, other = (np.random.Generator(np.random.Philox(3)) for _ in range(2))
    first = dist.sample(5, seed=one)
    np.testing.assert_array_equal(first, dist.sample(5, seed=3))
    assert (dist.sample(50, seed=one) != dist.sample(50, seed=other)).any()  # it went on


@given(cdf=signed_cdfs(1, 8), ends=st.tuples(*[finite_floats(-4.0, 4.0)] * 2).map(sorted))
def test_within_its_ends_a_distribution_is_nearer_to_any_other_there(cdf, ends):
    """The nearest of a convex set: against any that has all of its mass between the ends."""
    grid = lincat.Grid(-3.0, 3.0, 8)
    wide = lincat.ReturnDistribution(cdf, grid)
    cut = wide.within(*ends)
    atoms, mass = grid.atoms, cut.pmf[0]
    inside = [int(np.clip(np.floor(grid.position(end) + 0.5), 0, grid.intervals)) for end in ends]
    assert np.abs(mass[: inside[0]]).sum() == 0.0
    assert np.abs(mass[inside[1] + 1 :]).sum() < 1e-12
    for k in range(inside[0], inside[1] + 1):
        certain = lincat.ReturnDistribution((atoms[:-1] >= atoms[k])[None].astype(float), grid)
        assert lincat.cramer(cut, certain)[0] <= lincat.cramer(wide, certain)[0] + 1e-12
    np.testing.assert_array_equal(cut.within(*ends).cdf_values, cut.cdf_values)


def test_without_ends_nothing_changes():
    wide = lincat.ReturnDistribution([[0.2, 0.4]], lincat.Grid(0.0, 2.0, 2))
    assert wide.within(-np.inf, np.inf) is wide
    assert wide.within(-1.0, 2.0) is wide
