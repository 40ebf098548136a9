import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.strategies import finite_floats, grids, proper_pmfs, signed_cdfs

LEVELS = finite_floats(1e-3, 1.0)


@st.composite
def proper_laws(draw):
    grid = draw(grids(10))
    return lincat.ReturnDistribution.from_pmf(draw(proper_pmfs(2, grid.intervals)), grid)


@st.composite
def signed_laws(draw):
    grid = draw(grids(10))
    return lincat.ReturnDistribution(draw(signed_cdfs(2, grid.intervals)), grid)


def scale(law):
    return max(abs(law.grid.low), abs(law.grid.high), 1.0)


@given(signed_laws())
def test_mean_and_variance_are_moments_of_the_masses(law):
    atoms, pmf = law.grid.atoms, law.pmf
    mean = pmf @ atoms
    np.testing.assert_allclose(law.mean(), mean, atol=1e-11 * scale(law))
    expected = [p @ (atoms - m) ** 2 for p, m in zip(pmf, mean, strict=True)]
    np.testing.assert_allclose(law.variance(), expected, atol=1e-10 * scale(law) ** 2)


@given(signed_laws(), LEVELS)
def test_quantile_is_the_first_atom_whose_cdf_reaches_the_level(law, q):
    for row, found in zip(law.cdf_values, law.quantile(q), strict=True):
        reached = [*(row >= q - 1e-12), True]
        assert found == law.grid.atoms[reached.index(True)]


@given(proper_laws(), LEVELS)
def test_cvar_averages_exactly_the_worst_share(law, level):
    expected = [naive.cvar(law.grid.atoms, pmf, level) for pmf in law.pmf]
    np.testing.assert_allclose(law.cvar(level), expected, atol=1e-9 * scale(law))


@given(proper_laws(), LEVELS)
def test_upper_shortfall_mirrors_the_lower_one(law, level):
    grid = law.grid
    mirrored = lincat.ReturnDistribution.from_pmf(
        law.pmf[:, ::-1], lincat.Grid(-grid.high, -grid.low, grid.intervals)
    )
    np.testing.assert_allclose(
        law.expected_shortfall(level, tail="upper"), -mirrored.cvar(level), atol=1e-9 * scale(law)
    )


@given(proper_laws())
def test_tail_measures_meet_the_mean_at_level_one(law):
    for tail in ("lower", "upper"):
        np.testing.assert_allclose(
            law.expected_shortfall(1.0, tail=tail), law.mean(), atol=1e-10 * scale(law)
        )
    np.testing.assert_allclose(law.spectral(lambda u: u), law.mean(), atol=1e-10 * scale(law))


@given(signed_laws())
def test_tail_measures_stay_in_order_even_for_signed_laws(law):
    cvar = law.cvar([0.01, 0.1, 0.5, 1.0])
    slack = 1e-9 * scale(law)
    assert (np.diff(cvar, axis=1) >= -slack).all()
    assert (cvar <= law.quantile([0.01, 0.1, 0.5, 1.0]) + slack).all()
    assert (cvar >= law.grid.low - slack).all()


@given(proper_laws(), LEVELS)
def test_cvar_is_a_spectral_measure(law, level):
    np.testing.assert_allclose(
        law.spectral(lambda u: np.minimum(u / level, 1.0)), law.cvar(level), atol=1e-9 * scale(law)
    )


def test_cvar_splits_the_atom_at_the_quantile():
    law = lincat.ReturnDistribution.from_pmf([0.1, 0.6, 0.3], lincat.Grid(0.0, 2.0, 2))
    # The worst quarter: all of the 0.1 at 0, and 0.15 of the 0.6 at 1.
    np.testing.assert_allclose(law.cvar(0.25), [0.15 / 0.25], atol=1e-15)
    np.testing.assert_allclose(law.expected_shortfall(0.4, tail="upper"), [0.7 / 0.4], atol=1e-15)


@given(signed_laws(), finite_floats(-0.5, 1.5))
def test_cdf_and_probability_below_count_masses(law, share):
    grid = law.grid
    x = grid.low + share * (grid.high - grid.low)
    if (np.abs(grid.atoms - x) < 1e-6 * grid.spacing).any():
        return  # ties are tested below
    expected = [pmf[grid.atoms < x].sum() for pmf in law.pmf]
    np.testing.assert_allclose(law.cdf(x), expected, atol=1e-12)
    np.testing.assert_allclose(law.probability_below(x), expected, atol=1e-12)


def test_at_an_atom_cdf_includes_it_and_probability_below_does_not():
    law = lincat.ReturnDistribution.from_pmf([0.2, 0.3, 0.4, 0.1], lincat.Grid(0.0, 0.3, 3))
    np.testing.assert_allclose(law.cdf([0.0, 0.1, 0.2, 0.3]), [[0.2, 0.5, 0.9, 1.0]])
    np.testing.assert_allclose(law.probability_below([0.0, 0.1, 0.2, 0.3]), [[0.0, 0.2, 0.5, 0.9]])
    np.testing.assert_allclose(law.probability_below([-5.0, 5.0]), [[0.0, 1.0]])


@given(proper_laws(), st.sampled_from([-2.0, -0.1, 0.1, 2.0]))
def test_entropic_is_the_certainty_equivalent(law, beta):
    width = law.grid.high - law.grid.low
    beta = beta / width
    centred = law.grid.atoms - law.grid.low
    expected = law.grid.low - np.log(law.pmf @ np.exp(-beta * centred)) / beta
    np.testing.assert_allclose(law.entropic(beta), expected, atol=1e-9 * scale(law))
    assert ((law.entropic(beta) - law.mean()) * np.sign(beta) <= 1e-9 * scale(law)).all()


def test_entropic_of_a_coin_in_closed_form_and_at_zero():
    coin = lincat.ReturnDistribution([0.5], lincat.Grid(0.0, 1.0, 1))
    np.testing.assert_allclose(coin.entropic(2.0), -np.log((1 + np.exp(-2.0)) / 2) / 2)
    np.testing.assert_allclose(coin.entropic(0.0), coin.mean())
    # No overflow where exp(-beta x) would.
    np.testing.assert_allclose(
        lincat.ReturnDistribution([0.5], lincat.Grid(-1e3, 1e3, 1)).entropic(10.0),
        [-1e3 + np.log(2.0) / 10.0],
    )


def test_signed_laws_without_a_certainty_equivalent_or_deviation_say_so():
    law = lincat.ReturnDistribution([-0.9, 0.1], lincat.Grid(0.0, 2.0, 2))
    with pytest.raises(lincat.InvalidInputError, match=r"take proper\(\) first"):
        law.entropic(5.0)
    bad = lincat.ReturnDistribution([-0.5, 1.5], lincat.Grid(0.0, 2.0, 2))
    with pytest.raises(lincat.InvalidInputError, match=r"take proper\(\) first"):
        bad.std()


@given(st.data())
def test_proper_is_the_nearest_proper_cdf(data):
    values = data.draw(signed_cdfs(1, 4))
    law = lincat.ReturnDistribution(values, lincat.Grid(0.0, 4.0, 4))
    mended = law.proper().cdf_values[0]
    assert (np.diff(mended) >= 0).all()
    assert mended.min() >= 0.0
    assert mended.max() <= 1.0
    best = naive.nearest_proper_cdf(values[0], step=0.1)
    assert ((mended - values[0]) ** 2).sum() <= ((np.array(best) - values[0]) ** 2).sum() + 1e-12
    np.testing.assert_array_equal(law.proper().proper().cdf_values, law.proper().cdf_values)


@given(proper_laws())
def test_proper_leaves_proper_laws_alone(law):
    np.testing.assert_allclose(law.proper().cdf_values, law.cdf_values, atol=1e-15)
    np.testing.assert_allclose(law.negative_mass, 0.0, atol=1e-15)


def test_samples_follow_the_law_and_the_seed():
    law = lincat.ReturnDistribution.from_pmf(
        [[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], lincat.Grid(0.0, 2.0, 2)
    )
    draws = law.sample(20_000, seed=3)
    assert draws.shape == (2, 20_000)
    np.testing.assert_array_equal(draws, law.sample(20_000, seed=3))
    assert (draws != law.sample(20_000, seed=4)).any()
    for row, pmf in zip(draws, law.pmf, strict=True):
        share = [(row == x).mean() for x in law.grid.atoms]
        np.testing.assert_allclose(share, pmf, atol=4 * 0.5 / np.sqrt(20_000))
    assert law.sample(0).shape == (2, 0)


def test_quantiles_agree_with_the_crps_of_another_library():
    """∫ quantile scores = CRPS: ties our quantiles to scoringrules' CRPS of the same law."""
    rng = np.random.default_rng(0)
    law = lincat.ReturnDistribution.from_pmf(rng.dirichlet(np.ones(8)), lincat.Grid(-1.0, 3.0, 7))
    y = 0.37
    levels = (np.arange(20_000) + 0.5) / 20_000
    quantiles = law.quantile(levels)[0]
    score = 2 * ((y < quantiles) - levels) * (quantiles - y)
    sample = law.sample(200_000, seed=1)[0]
    assert score.mean() == pytest.approx(scoringrules.crps_ensemble(y, sample), abs=5e-3)


def test_shapes_of_answers():
    law = lincat.ReturnDistribution(np.full((3, 4), 0.5), lincat.Grid(0.0, 1.0, 4))
    assert len(law) == 3
    assert law.quantile(0.5).shape == (3,)
    assert law.quantile([0.1, 0.5]).shape == (3, 2)
    assert law.cvar([0.1]).shape == (3, 1)
    assert law.pmf.shape == (3, 5)
    assert len(law[1:]) == 2
    assert len(law[0]) == 1
    assert "3 states" in repr(law)


def test_the_law_keeps_its_own_copy():
    values = np.full((1, 2), 0.5)
    law = lincat.ReturnDistribution(values, lincat.Grid(0.0, 1.0, 2))
    values[:] = 0.0
    np.testing.assert_array_equal(law.cdf_values, 0.5)
    with pytest.raises(ValueError, match="read-only"):
        law.cdf_values[0, 0] = 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda law: law.quantile(0.0), r"q: expected levels in \(0, 1\], got 0"),
        (lambda law: law.quantile(1.5), r"q: expected levels in \(0, 1\], got 1.5"),
        (lambda law: law.cvar(np.nan), "level: expected finite numbers"),
        (lambda law: law.cvar([[0.1]]), "a number or a list of numbers"),
        (lambda law: law.expected_shortfall(0.1, tail="left"), "tail: expected 'lower' or 'upper'"),
        (lambda law: law.sample(-1), "n: expected an integer of at least 0"),
        (lambda law: law.entropic(np.inf), "aversion: expected a finite number"),
        (lambda law: law.spectral(lambda u: 2 * u), "cumulative_spectrum: expected an increasing"),
        (lambda law: law.spectral(lambda u: 1.0), "cumulative_spectrum: expected an increasing"),
        (lambda law: lincat.ReturnDistribution([[0.1]], law.grid), r"cdf: expected an array of"),
        (lambda law: lincat.ReturnDistribution([[0.1, np.nan]], law.grid), "cdf: expected finite"),
        (lambda law: lincat.ReturnDistribution([[0.1]], (0, 1)), "grid: expected a lincat.Grid"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        call(lincat.ReturnDistribution([[0.2, 0.6]], lincat.Grid(0.0, 1.0, 2)))
