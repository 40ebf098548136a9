import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from tests import naive
from tests.strategies import finite_floats, grids, signed_cdfs

DISCOUNTS = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.99]), finite_floats(0.0, 1.0))


def random_case(rng):
    """A grid anywhere on the line, a reward in or far out of range, any discount, a signed CDF."""
    width = 10.0 ** rng.uniform(-2, 3)
    low = rng.choice([0.0, rng.normal() * 10.0 ** rng.uniform(-1, 4)])
    grid = lincat.Grid(low, low + width, int(rng.integers(1, 33)))
    discount = rng.choice([0.0, 1.0, rng.random(), rng.random(), 1.0 - 10.0 ** rng.uniform(-4, 0)])
    inside = rng.uniform(grid.low, grid.high) * (1.0 - discount)
    reward = rng.choice([inside, inside, inside + width * rng.normal(), grid.low, 0.0])
    return grid, float(reward), float(discount), rng.normal(size=grid.intervals)


def test_equals_the_matrix_form_in_ten_thousand_random_cases():
    """The bar: at most 1e-12 from pushing, splitting and summing every atom exactly."""
    rng = np.random.default_rng(20250)
    worst = 0.0
    for _ in range(10_000):
        grid, reward, discount, cdf = random_case(rng)
        fast = lincat.bellman_target(cdf[None], reward, discount, grid)[0]
        worst = max(
            worst, float(np.abs(fast - naive.bellman_target(cdf, reward, discount, grid)).max())
        )
    assert worst <= 1e-12


@given(grids(12), finite_floats(-2.0, 2.0), DISCOUNTS)
def test_matrix_and_offset_equal_the_papers(grid, share, discount):
    reward = (1.0 - discount) * grid.low + share * (grid.high - grid.low)
    np.testing.assert_allclose(
        lincat.bellman_matrix(grid, reward, discount),
        naive.bellman_matrix(grid, reward, discount),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        lincat.bellman_offset(grid, reward, discount),
        naive.bellman_offset(grid, reward, discount),
        atol=1e-12,
    )


@given(grids(12), st.data(), finite_floats(-1.0, 1.0), DISCOUNTS)
def test_target_is_the_affine_map_of_matrix_and_offset(grid, data, share, discount):
    reward = (1.0 - discount) * grid.low + share * (grid.high - grid.low)
    cdf = data.draw(signed_cdfs(3, grid.intervals))
    uniform = np.arange(1, grid.intervals + 1) / (grid.intervals + 1)
    B, b = (
        lincat.bellman_matrix(grid, reward, discount),
        lincat.bellman_offset(grid, reward, discount),
    )
    expected = (cdf - uniform) @ B.T + b + uniform
    np.testing.assert_allclose(
        lincat.bellman_target(cdf, reward, discount, grid), expected, atol=1e-12
    )


@given(grids(), st.data(), finite_floats(0.0, 1.0), DISCOUNTS)
def test_mass_and_mean_are_kept_where_nothing_clips(grid, data, share, discount):
    reward = (1.0 - discount) * (grid.low + share * (grid.high - grid.low))
    distribution = lincat.ReturnDistribution(data.draw(signed_cdfs(2, grid.intervals)), grid)
    target = lincat.bellman_target(distribution.cdf_values, reward, discount, grid)
    pushed = lincat.ReturnDistribution(target, grid)
    scale = max(abs(grid.low), abs(grid.high), 1.0)
    np.testing.assert_allclose(
        pushed.mean(), reward + discount * distribution.mean(), atol=1e-12 * scale * grid.intervals
    )
    np.testing.assert_allclose(pushed.pmf.sum(axis=1), 1.0, atol=1e-12)


def test_terminal_step_keeps_its_own_reward():
    grid = lincat.Grid(-1.0, 3.0, 4)
    target = lincat.bellman_target([[0.3, 0.2, 0.9, 0.1]], 1.5, 0.0, grid)
    np.testing.assert_allclose(target, [[0.0, 0.0, 0.5, 1.0]], atol=1e-15)


def test_certain_return_of_a_finite_episode():
    """Twelve times -1, then 10, then the end, gamma .99: the return is -2.4977 with certainty."""
    grid = lincat.Grid(-20.0, 20.0, 400)
    cdf = lincat.bellman_target(np.zeros((1, 400)), 10.0, 0.0, grid)
    for _ in range(12):
        cdf = lincat.bellman_target(cdf, -1.0, 0.99, grid)
    distribution = lincat.ReturnDistribution(cdf, grid)
    assert distribution.mean()[0] == pytest.approx(-2.4977, abs=5e-5)


def test_discount_one_and_reward_of_whole_spacings_only_shifts():
    grid = lincat.Grid(0.0, 8.0, 8)
    cdf = np.linspace(0.1, 0.8, 8)[None]
    np.testing.assert_allclose(
        lincat.bellman_target(cdf, 2.0, 1.0, grid)[0], [0, 0, *cdf[0, :6]], atol=1e-15
    )


def test_one_number_serves_for_all_rows_and_rows_may_differ():
    grid = lincat.Grid(0.0, 4.0, 5)
    cdf = np.random.default_rng(0).random((3, 5))
    same = lincat.bellman_target(cdf, 0.5, 0.75, grid)
    np.testing.assert_array_equal(same, lincat.bellman_target(cdf, [0.5] * 3, [0.75] * 3, grid))
    mixed = lincat.bellman_target(cdf, [0.5, 1.0, 0.0], [0.75, 0.0, 1.0], grid)
    np.testing.assert_array_equal(mixed[0], same[0])
    np.testing.assert_allclose(mixed[2], cdf[2], atol=1e-15)


def test_inputs_are_left_as_they_were():
    grid = lincat.Grid(0.0, 4.0, 5)
    cdf = np.random.default_rng(0).random((3, 5))
    before = cdf.copy()
    lincat.bellman_target(cdf, 0.5, 0.75, grid)
    np.testing.assert_array_equal(cdf, before)


@given(grids(10), st.data(), finite_floats(-2.0, 2.0), DISCOUNTS)
def test_clipped_mass_is_the_mass_of_atoms_pushed_off_the_grid(grid, data, share, discount):
    reward = (1.0 - discount) * grid.low + share * (grid.high - grid.low)
    cdf = data.draw(signed_cdfs(1, grid.intervals))
    position = (reward + discount * grid.atoms - grid.low) / grid.spacing
    near_an_end = np.minimum(np.abs(position), np.abs(position - grid.intervals)) < 1e-6
    if near_an_end.any():
        return  # on the edge, rounding decides
    pmf = lincat.pmf_from_cdf(cdf)[0]
    expected = [pmf[position < 0].sum(), pmf[position > grid.intervals].sum()]
    np.testing.assert_allclose(
        lincat.clipped_mass(cdf, reward, discount, grid)[0], expected, atol=1e-12
    )


@pytest.mark.parametrize(
    ("cdf", "reward", "discount", "message"),
    [
        (
            [[0.0, np.nan]],
            0.0,
            0.5,
            r"cdf_next: expected finite numbers, got nan at index \(0, 1\)",
        ),
        ([[0.0, 1.0, 1.0]], 0.0, 0.5, r"cdf_next: expected an array of shape \(any, 2\)"),
        ([[0.0, 1.0]], np.inf, 0.5, "reward: expected finite numbers, got inf"),
        ([[0.0, 1.0]], [0.0, 1.0], 0.5, "reward: expected one reward for each of 1 rows"),
        ([[0.0, 1.0]], 0.0, -0.1, "discount: expected discounts of at least 0, got -0.1"),
        ([[0.0, 1.0]], 0.0, [0.5, 0.5], r"discount: expected an array of shape \(1\)"),
    ],
)
def test_bad_input_is_named(cdf, reward, discount, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.bellman_target(cdf, reward, discount, lincat.Grid(0.0, 1.0, 2))
