import json

import msgspec
import numpy as np
import pytest
import scipy.signal
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.inference.test_scores import cases

GRID = lincat.Grid(0.0, 4.0, intervals=8)


@pytest.fixture(scope="module")
def problem():
    return lincat.catalog.random_process(6, branching=2, gamma=0.7, seed=4)


@given(cases(most=4), st.sampled_from([0.05, 0.3]))
def test_every_number_of_a_group_is_its_definition(case, tail):
    grid, pmf, returns = case
    n, R = returns.shape
    dist = lincat.ReturnDistribution.from_pmf(pmf, grid)
    got = lincat.validate(dist, returns, levels=[0.5], bins=3, tail=tail)["all"]
    y, w, pooled = returns.ravel(), np.full(n * R, 1.0 / (n * R)), pmf.mean(axis=0)
    close = {"abs": 1e-9 * max(1.0, abs(grid.low), abs(grid.high))}
    assert (got.n_states, got.n_returns) == (n, n * R)
    assert got.w1 == pytest.approx(naive.step_distance(grid.atoms, pooled, y, w, 1), **close)
    each = [naive.crps(grid.atoms, pmf[i], x) for i in range(n) for x in returns[i]]
    assert got.crps == pytest.approx(np.mean(each), **close)
    hindsight = np.mean([naive.crps(y, w, x) for x in y])
    assert got.crps_climatology == pytest.approx(hindsight, **close)
    assert got.mean_error == pytest.approx(pooled @ grid.atoms - y.mean(), **close)
    assert got.cvar_predicted == pytest.approx(naive.cvar(grid.atoms, pooled, tail), **close)
    assert got.cvar_realised == pytest.approx(naive.cvar(y, w, tail), **close)

    def below(level):
        share = np.full(R, 1.0 / R)
        return np.mean([naive.pit_below(pmf[i], returns[i], share, grid, level) for i in range(n)])

    assert got.below_tail == pytest.approx(below(tail), abs=1e-9)
    quantile = [naive.quantile(grid.atoms, pmf[i], tail) for i in range(n)]
    under = [x < quantile[i] for i in range(n) for x in returns[i]]
    assert got.below_quantile == pytest.approx(np.mean(under), abs=1e-9)
    assert got.coverage[0] == pytest.approx(below(0.75) - below(0.25), abs=1e-9)
    heights = 3 * np.diff([below(u) for u in (0, 1 / 3, 2 / 3, 1)])
    np.testing.assert_allclose(got.pit, heights, atol=1e-9)
    np.testing.assert_allclose(got.predicted_cdf, np.cumsum(pooled), atol=1e-9)
    np.testing.assert_allclose(got.empirical_cdf, np.cumsum(naive.project(y, w, grid)), atol=1e-9)
    residual = (pmf @ grid.atoms)[:, None] - returns
    if n * R > 1:
        se = residual.std(ddof=1) / np.sqrt(n * R)
        assert got.mean_error_se == pytest.approx(se, **close)
    else:
        assert got.mean_error_se is None


def test_the_projection_of_the_truth_is_calibrated_exactly(problem):
    """The truth on a grid ten times finer, the prediction its projection."""
    fine = problem.grid(200)
    truth = lincat.true_returns(problem.process, problem.gamma, fine)
    coarse = lincat.Grid(fine.low, fine.high, 20)
    dist = lincat.ReturnDistribution.from_pmf(lincat.project(fine.atoms, truth.pmf, coarse), coarse)
    mu = problem.process.stationary
    result = lincat.validate(
        dist, fine.atoms, weights=mu[:, None] * truth.pmf, groups=[0, 0, 0, 1, 1, 1]
    )
    assert [g.group for g in result.groups] == ["all", "0", "1"]
    for group in result.groups:
        np.testing.assert_allclose(group.coverage, (0.5, 0.8, 0.95), atol=1e-12)
        np.testing.assert_allclose(group.pit, 1.0, atol=1e-10)
        assert group.below_tail == pytest.approx(0.05, abs=1e-12)
        assert group.mean_error == pytest.approx(0.0, abs=1e-12)
        assert group.w1 <= coarse.spacing / 2
        np.testing.assert_allclose(group.empirical_cdf, group.predicted_cdf, atol=1e-12)
        assert (group.n_returns, group.mean_error_se, group.w1_noise) == (None, 0.0, 0.0)
        assert group.coverage_se == (0.0, 0.0, 0.0)
    all_w1 = result["all"].w1_states
    pieces = [result[g].w1_states for g in ("0", "1")]
    assert all_w1 == pytest.approx(mu[:3].sum() * pieces[0] + mu[3:].sum() * pieces[1])


def test_draws_from_the_prediction_are_what_it_expects():
    """Errors over standard errors are standard normal; W1 is what noise alone explains."""
    n, R, K, runs = 12, 40, 8, 200
    rng = np.random.default_rng(1)
    dist = lincat.ReturnDistribution.from_pmf(rng.dirichlet(np.ones(K + 1), n), GRID)
    rows = []
    for seed in range(runs):
        g = lincat.validate(dist, dist.sample(R, seed=seed))["all"]
        rows.append(
            (
                g.mean_error / g.mean_error_se,
                (g.coverage[1] - 0.8) / g.coverage_se[1],
                g.w1,
                g.w1_noise,
                g.w1_states,
                g.w1_states_noise,
                g.below_tail,
            )
        )
    z_mean, z_coverage, w1, noise, states, states_noise, below = np.array(rows).T
    # Deviations from the mean of all states hold their differences too: never too small.
    assert abs(z_mean.mean()) < 0.2
    assert 0.8 < z_mean.std() < 1.1
    assert abs(z_coverage.mean()) < 0.2
    assert 0.8 < z_coverage.std() < 1.1
    assert w1.mean() == pytest.approx(noise.mean(), rel=0.05)
    assert states.mean() == pytest.approx(states_noise.mean(), rel=0.02)
    assert below.mean() == pytest.approx(0.05, abs=0.005)


def test_a_walk_agrees_with_the_exact_distribution():
    """Episodes of a random walk, their returns, and the distribution of each state passed."""
    problem = lincat.catalog.random_walk()
    grid = lincat.Grid(*problem.process.invariant_range(problem.gamma), 40)
    drawn = problem.process.sample(20_000, seed=5)
    nowhere = np.zeros(len(drawn.reward), bool)
    returns, usable = lincat.returns_to_go(drawn.reward, drawn.terminated, nowhere, problem.gamma)
    episode = np.cumsum(drawn.terminated) - drawn.terminated
    dist = lincat.true_returns(problem.process, problem.gamma, grid)[drawn.state]
    result = lincat.validate(
        dist[usable], returns[usable], groups=drawn.state[usable], blocks=episode[usable]
    )
    assert len(result.groups) == 6
    for g in result.groups:
        assert abs(g.mean_error) < 4 * g.mean_error_se
        assert g.mean_error_se < 0.03
        for level, share, se in zip(result.levels, g.coverage, g.coverage_se, strict=True):
            assert (
                abs(share - level) < 4 * se + 0.01
            )  # nearly the projection of the true distribution
        assert abs(g.below_tail - 0.05) < 4 * g.below_tail_se + 0.01
        predicted = np.array(g.predicted_cdf)
        assert (predicted > np.array(g.empirical_low) - 0.01).all()
        assert (predicted < np.array(g.empirical_high) + 0.01).all()


def test_shifted_spread_and_narrow_predictions_show():
    rng = np.random.default_rng(0)
    grid = lincat.Grid(-6.0, 6.0, intervals=120)
    y = rng.standard_normal(4000)

    def normal(mean, scale):
        pmf = np.exp(-0.5 * ((grid.atoms - mean) / scale) ** 2)
        return lincat.ReturnDistribution.from_pmf(np.tile(pmf / pmf.sum(), (len(y), 1)), grid)

    fair, high, wide, narrow = (
        lincat.validate(normal(*distribution), y)["all"]
        for distribution in ((0, 1), (0.5, 1), (0, 2), (0, 0.5))
    )
    assert np.allclose(fair.coverage, (0.5, 0.8, 0.95), atol=0.02)
    assert fair.crps < min(high.crps, wide.crps, narrow.crps)
    assert high.mean_error == pytest.approx(0.5, abs=4 * high.mean_error_se)
    assert high.w1 == pytest.approx(0.5, abs=0.05)
    assert wide.pit[10] > 1.5 > 0.2 > wide.pit[0]
    assert narrow.pit[0] > 2.0 > 0.7 > narrow.pit[10]
    assert wide.coverage[0] > 0.7
    assert narrow.coverage[0] < 0.3
    assert narrow.cvar_predicted > fair.cvar_predicted > wide.cvar_predicted
    assert min(narrow.below_tail, narrow.below_quantile) > 0.15
    assert max(wide.below_tail, wide.below_quantile) < 0.01
    low, high_end = np.array(fair.empirical_low), np.array(fair.empirical_high)
    inside = (low <= fair.predicted_cdf) & (np.array(fair.predicted_cdf) <= high_end)
    assert inside.all()
    assert fair.skill == pytest.approx(0.0, abs=0.01)
    assert fair.w1_states is None  # one return per state says nothing of its distribution


def test_states_that_matter_have_skill():
    grid = lincat.Grid(0.0, 1.0, intervals=1)
    dist = lincat.ReturnDistribution([[1.0], [0.0]], grid)
    result = lincat.validate(dist, [0.0, 1.0])["all"]
    assert (result.crps, result.crps_climatology, result.skill) == (0.0, 0.25, 1.0)
    assert lincat.validate(dist[:1], [0.0])["all"].skill is None


def test_returns_of_one_trajectory_count_as_one_draw():
    rng = np.random.default_rng(0)
    offset = rng.standard_normal(50)
    y = np.repeat(offset, 20) + 2.0
    dist = lincat.ReturnDistribution(np.tile(np.arange(1, 9) / 9.0, (1000, 1)), GRID)
    alone = lincat.validate(dist, y)["all"]
    together = lincat.validate(dist, y, blocks=np.repeat(np.arange(50), 20))["all"]
    assert alone.mean_error == together.mean_error
    assert together.mean_error_se == pytest.approx(offset.std(ddof=1) / np.sqrt(50))
    assert together.mean_error_se > 4 * alone.mean_error_se
    assert together.coverage_se[0] > 4 * alone.coverage_se[0]
    assert together.empirical_high[2] - together.empirical_cdf[2] == pytest.approx(
        lincat.inference.scores.dkw_band(50)
    )
    one = lincat.validate(dist, y, blocks=np.zeros(1000, int))["all"]
    assert one.mean_error_se is None


def test_typical_distance_of_states_is_told_without_its_noise():
    """Normal returns, predicted half a standard deviation too high, or not: 60 for each of 50."""
    rng, grid = np.random.default_rng(0), lincat.Grid(-5.0, 5.0, 400)
    y = rng.standard_normal((50, 60))
    cdf = scipy.stats.norm.cdf(grid.atoms[:-1] + grid.spacing / 2.0)
    right = lincat.ReturnDistribution(np.tile(cdf, (50, 1)), grid)
    assert lincat.validate(right, y)["all"].w1_typical < 0.06
    off = lincat.validate(right.shifted(np.full(50, 0.5)), y)["all"]
    assert off.w1_typical == pytest.approx(0.5, abs=0.05)
    assert lincat.validate(right, y[:, :1])["all"].w1_typical is None  # too few for each


def test_what_hardly_ever_happens_is_no_error_of_states_by_chance():
    """One return in a hundred is 1, as predicted: 30 for each of 100 states, 100 times."""
    grid, typical = lincat.Grid(0.0, 1.0, 1), []
    for seed in range(100):
        y = (np.random.default_rng(seed).random((100, 30)) < 0.01).astype(float)
        right = lincat.ReturnDistribution(np.full((100, 1), 0.99), grid)
        typical.append(lincat.validate(right, y)["all"].w1_typical)
    assert np.mean(np.array(typical) > 0.125) < 0.1
    wrong = lincat.ReturnDistribution(np.full((100, 1), 0.9), grid)
    assert lincat.validate(wrong, y)["all"].w1_typical > 0.5


def test_few_stretches_tell_little_of_a_share():
    """Ten stretches of which none goes below: the error is that of ten returns, not nothing."""
    dist = lincat.ReturnDistribution(np.tile([0.05, 0.5], (200, 1)), lincat.Grid(0.0, 2.0, 2))
    y = np.full(200, 2.0)
    few = lincat.validate(dist, y, blocks=np.repeat(np.arange(10), 20))["all"]
    assert few.below_tail == 0.0
    assert few.below_tail_se == pytest.approx(np.sqrt(0.05 * 0.95 / 10))
    many = lincat.validate(dist, y, blocks=np.repeat(np.arange(40), 5))["all"]
    assert many.below_tail_se == pytest.approx(np.sqrt(0.44 * 0.05 * 0.95 / 40))


def test_share_below_a_quantile_scatters_as_returns_that_overlap():
    """G − V correlates by gamma^t: the error of the share, against that of 3,000 walks."""
    gamma, stretch, stretches, walks = 0.95, 40, 25, 3000
    rng = np.random.default_rng(0)
    noise = np.sqrt(1.0 - gamma**2) * rng.standard_normal((walks, stretches * stretch))
    before = gamma * rng.standard_normal((walks, 1))
    z, _ = scipy.signal.lfilter([1.0], [1.0, -gamma], noise, zi=before)
    y = np.where(z < scipy.stats.norm.ppf(0.05), 0.0, 2.0)
    true = (y == 0.0).mean(axis=1).std()
    shape = (y.shape[1], 1)
    dist = lincat.ReturnDistribution(np.tile([0.05, 0.5], shape), lincat.Grid(0.0, 2.0, 2))
    blocks = np.repeat(np.arange(stretches), stretch)
    found = [lincat.validate(dist, row, blocks=blocks)["all"].below_tail_se for row in y[:100]]
    assert min(found) == pytest.approx(true, rel=0.1)  # at the least, however few go below
    assert np.median(found) == pytest.approx(true, rel=0.35)


def test_a_share_that_is_too_large_is_no_excuse_for_itself():
    """A fifth of 1,000 returns below the 5 % quantile: the error is that of a twentieth."""
    dist = lincat.ReturnDistribution(np.tile([0.05, 0.5], (1000, 1)), lincat.Grid(0.0, 2.0, 2))
    y = np.where(np.arange(1000) % 5 == 0, 0.0, 2.0)
    found = lincat.validate(dist, y)["all"]
    assert found.below_tail == pytest.approx(0.2)
    assert found.below_tail_se == pytest.approx(np.sqrt(0.05 * 0.95 / 1000), rel=1e-3)


def test_groups_are_validated_as_if_alone():
    rng = np.random.default_rng(3)
    dist = lincat.ReturnDistribution.from_pmf(rng.dirichlet(np.ones(9), 30), GRID)
    y = 5.0 * rng.random((30, 33)) - 0.5
    label = np.array(["b", "a", "c"])[np.arange(30) % 3]
    result = lincat.validate(dist, y, groups=label)
    assert [g.group for g in result.groups] == ["all", "a", "b", "c"]
    for row in result.rows()[1:]:
        mine = label == row["group"]
        alone = lincat.validate(dist[mine], y[mine])
        expected = alone.rows()[0]
        assert set(row) == set(expected)
        numbers = [key for key in row if key != "group"]
        assert [row[k] for k in numbers] == pytest.approx([expected[k] for k in numbers])
        np.testing.assert_allclose(result[row["group"]].pit, alone["all"].pit, atol=1e-12)


def test_signed_distributions_are_mended():
    signed = lincat.ReturnDistribution([[-0.2, 0.5, 0.3, 1.1]], lincat.Grid(0.0, 4.0, intervals=4))
    got = lincat.validate(signed, [[1.0, 3.0]])["all"]
    assert got.mean_error == pytest.approx(2.2 - 2.0)  # 1 + 0.6 + 0.6 + 0, of 0, 0.4, 0.4 and 1
    assert got == lincat.validate(signed.proper(), [[1.0, 3.0]])["all"]
    assert min(got.pit) >= 0.0


def test_json_gives_back_the_same():
    dist = lincat.ReturnDistribution(np.tile(np.arange(1, 9) / 9.0, (6, 1)), GRID)
    result = lincat.validate(dist, np.linspace(0, 4, 6), groups=list("aabbcc"))
    again = lincat.Validation.from_json(result.to_json())
    assert again == result
    assert json.loads(json.dumps(again.rows(), allow_nan=False)) == result.rows()
    assert {"coverage_50", "coverage_80", "coverage_95_se"} <= set(result.rows()[0])
    with pytest.raises(lincat.InvalidInputError, match="validation: "):
        lincat.Validation.from_json("{}")
    with pytest.raises(lincat.InvalidInputError, match="group: expected one of all, a, b, c"):
        result["d"]


def test_records_whose_lists_do_not_fit_are_refused():
    dist = lincat.ReturnDistribution(np.tile(np.arange(1, 9) / 9.0, (6, 1)), GRID)
    good = lincat.validate(dist, np.linspace(0, 4, 6))
    for changes in ({"levels": (0.5,)}, {"atoms": (0.0,)}, {"groups": ()}):
        with pytest.raises(lincat.InvalidInputError, match="expected"):
            msgspec.structs.replace(good, **changes)


def test_a_hundred_thousand_states_are_quick():
    n = 100_000
    dist = lincat.ReturnDistribution(np.tile(np.arange(1, 9) / 9.0, (n, 1)), GRID)
    result = lincat.validate(dist, np.random.default_rng(0).random(n) * 4, groups=np.arange(n) % 4)
    assert len(result.groups) == 5
    assert result["all"].n_returns == n


DIST = lincat.ReturnDistribution([[0.5], [0.5]], lincat.Grid(0.0, 1.0, intervals=1))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((DIST, [1.0]), {}, "returns: expected returns of 2 states"),
        ((DIST, [1.0, np.nan]), {}, "returns: expected finite numbers"),
        ((DIST, np.zeros((2, 0))), {}, "returns: expected returns of 2 states"),
        ((DIST, [0.0, 1.0, 2.0]), {"weights": np.ones((2, 2))}, "returns: expected"),
        ((DIST, [0.0, 1.0]), {"weights": [[1.0, -0.5], [1, 1]]}, "weights: expected numbers of"),
        ((DIST, [0.0, 1.0]), {"weights": np.zeros((2, 2))}, "weights: expected some mass"),
        ((DIST, [0.0, 1.0]), {"groups": ["a"]}, "groups: expected 2 labels"),
        ((DIST, [0.0, 1.0]), {"groups": ["all", "b"]}, "groups: expected labels other than 'all'"),
        ((DIST, [0.0, 1.0]), {"blocks": [[1, 2]]}, "blocks: expected 2 labels"),
        ((DIST, [0.0, 1.0]), {"levels": [1.0]}, "levels: expected a list of numbers"),
        ((DIST, [0.0, 1.0]), {"levels": [1.5]}, "levels: expected levels in"),
        ((DIST, [0.0, 1.0]), {"bins": 0}, "bins: expected an integer"),
        ((DIST, [0.0, 1.0]), {"tail": 0.0}, "tail: expected a number in"),
        ((DIST, [0.0, 1.0]), {"confidence": 1.0}, "confidence: expected a number in"),
        (("x", [0.0, 1.0]), {}, "dist: expected a lincat.ReturnDistribution"),
        ((DIST[:0], np.zeros(0)), {}, "dist: expected a lincat.ReturnDistribution"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.validate(*arguments, **options)


def test_one_weight_is_enough_and_all_mass_lies_below_the_last_atom():
    grid = lincat.Grid(0.0, 4.0, 4)
    dist = lincat.ReturnDistribution([[0.0, 0.5, 1.0, 1.0]], grid)
    found = lincat.validate(dist, [2.0], weights=[[1.0]])["all"]
    assert found.mean_error == pytest.approx(dist.mean()[0] - 2.0)
    assert found.empirical_low[-1] == found.empirical_high[-1] == 1.0
    assert max(found.empirical_high) <= 1.0
    with pytest.raises(lincat.InvalidInputError, match="weights: expected numbers of at least 0"):
        lincat.validate(dist, [2.0, 3.0], weights=[[1.5, -0.5]])
    with pytest.raises(lincat.InvalidInputError, match="method: expected 'exact'"):
        lincat.validate(dist, [2.0], weights=[[1.0]], method="rollouts")
