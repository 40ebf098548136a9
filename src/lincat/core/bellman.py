"""The categorical projected Bellman operator: fast form, and matrix form for teaching.

For a transition with reward r and discount δ, and a next distribution with CDF values F' on the
grid, the Cramér projection of the distribution of ``r + δX`` has the CDF values

    target = B(r) F' + tail(r),      B(r) = C G̃(r) C⁻¹   (Thm linear_cate_TD_equation),

where tail(r) is what the last atom, whose CDF value is always 1, contributes.
"""

from __future__ import annotations

import numpy as np

from lincat import kernels
from lincat._arguments import check_array, check_discounts, check_number, fail
from lincat._room import check_room
from lincat._typing import ArrayLike, FloatArray
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf


class GridMisfitWarning(UserWarning):
    """Returns fall outside the grid, so that mass was moved to its ends and means are biased."""


def bellman_target(
    cdf_next: ArrayLike, reward: ArrayLike, discount: ArrayLike, grid: Grid
) -> FloatArray:
    """Return the projected Bellman targets of n transitions, in O(nK).

    Parameters
    ----------
    cdf_next : array of shape (n, K)
        CDF values of the next states' distributions at the first K atoms; signed distributions are
        fine.
    reward : array of shape (n,), or a number
    discount : array of shape (n,), or a number
        At least 0: gamma; 0 where the episode terminated; gamma**n for n steps.
    grid : Grid

    Returns
    -------
    array of shape (n, K)
        ``target[i, k]`` is the average over [x_k, x_{k+1}] of the CDF of reward + discount * X.
        Mass that leaves the grid is moved to its ends: see :func:`clipped_mass`.

    Examples
    --------
    >>> from lincat import Grid, bellman_target
    >>> grid = Grid(0.0, 2.0, intervals=4)
    >>> bellman_target([[0.0, 0.0, 1.0, 1.0]], reward=0.5, discount=0.5, grid=grid)  # X = 1
    array([[0., 0., 1., 1.]])
    >>> bellman_target([[0.0, 0.0, 1.0, 1.0]], reward=0.25, discount=0.0, grid=grid)  # the end
    array([[0.5, 1. , 1. , 1. ]])
    """
    cdf, shifts, discounts = _check_rows(cdf_next, reward, discount, grid)
    out = np.empty_like(cdf)
    kernels.bellman.target_rows(out, cdf, shifts, discounts)
    return out


def clipped_mass(
    cdf_next: ArrayLike, reward: ArrayLike, discount: ArrayLike, grid: Grid
) -> FloatArray:
    """Return the mass of each pushed distribution that falls (below, above) the grid, shape (n, 2).

    Where this is not zero, the projection no longer preserves the mean.

    Examples
    --------
    >>> from lincat import Grid, clipped_mass
    >>> grid = Grid(0.0, 2.0, intervals=2)
    >>> clipped_mass([[0.25, 0.5]], reward=-1.0, discount=0.75, grid=grid)  # 0, 1, 2 move down
    array([[0.5, 0. ]])
    """
    cdf, shifts, discounts = _check_rows(cdf_next, reward, discount, grid)
    out = np.empty((len(cdf), 2))
    kernels.bellman.clipped_masses(out, cdf, np.arange(len(cdf)), shifts, discounts)
    return out


def bellman_matrix(grid: Grid, reward: float, discount: float) -> FloatArray:
    """Return B(r) = C G̃(r) C⁻¹ as a dense (K, K) matrix, for tests and teaching.

    Entry (k, m) is the length of output cell [k, k + 1] covered by the pushed source cell
    [rho + δm, rho + δ(m + 1)]: non-negative, at most two in a column, columns summing to δ where
    nothing is clipped, and ‖B‖ ≤ √δ (Lemmas ``spectra_CGC_``, ``Spectra_of_ccgcc``).

    Examples
    --------
    >>> from lincat import Grid, bellman_matrix
    >>> bellman_matrix(Grid(0.0, 2.0, intervals=4), reward=0.5, discount=0.5)
    array([[0. , 0. , 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0. , 0. , 0. , 0. ]])
    """
    check_room(2 * grid.intervals**2, "intervals", grid.intervals, "use fewer")
    edges, cells = _pushed_edges(grid, reward, discount), np.arange(grid.intervals)[:, None]
    overlap = np.minimum(edges[1:], cells + 1) - np.maximum(edges[:-1], cells)
    return np.asarray(np.maximum(overlap, 0.0))


def bellman_offset(grid: Grid, reward: float, discount: float) -> FloatArray:
    """Return b(r) = C(Σ_j g_j(r) − 1)/(K + 1), shape (K,): Eq. (bt) without the feature.

    With it, target = B(r)(F' − u) + b(r) + u, where u_k = (k + 1)/(K + 1).

    Examples
    --------
    >>> from lincat import Grid, bellman_offset
    >>> bellman_offset(Grid(0.0, 2.0, intervals=4), reward=0.5, discount=0.5)
    array([-0.2, -0.1,  0.1,  0.2])
    """
    top_edge = _pushed_edges(grid, reward, discount)[-1]
    tail = np.clip(np.arange(1, grid.intervals + 1) - top_edge, 0.0, 1.0)
    uniform = uniform_cdf(grid.intervals)
    return np.asarray(bellman_matrix(grid, reward, discount) @ uniform + tail - uniform)


def _pushed_edges(grid: Grid, reward: float, discount: float) -> FloatArray:
    """Where the K + 1 atoms land, in grid units."""
    reward = check_number(reward, "reward")
    discount = check_number(discount, "discount", low=0.0, high=1.0)
    rho = reward_shifts(np.array([reward]), np.array([discount]), grid)
    return rho + discount * np.arange(grid.intervals + 1.0)


def reward_shifts(reward: FloatArray, discount: FloatArray, grid: Grid) -> FloatArray:
    """Return rho = (r − (1 − δ) low)/spacing, where the next state's lowest atom lands."""
    out = np.empty(len(reward))
    kernels.bellman.reward_shifts(out, reward, discount, grid.low, grid.spacing, grid.intervals)
    return out


def _check_rows(
    cdf_next: ArrayLike, reward: ArrayLike, discount: ArrayLike, grid: Grid
) -> tuple[FloatArray, FloatArray, FloatArray]:
    cdf = check_array(cdf_next, "cdf_next", shape=(None, grid.intervals))
    n = len(cdf)
    rewards = check_array(reward, "reward")
    if rewards.ndim == 0:
        rewards = np.full(n, rewards)
    elif rewards.shape != (n,):
        raise fail("reward", f"one reward for each of {n} rows", f"shape {rewards.shape}")
    discounts = check_discounts(discount, "discount", n, highest=np.inf)
    return cdf, reward_shifts(rewards, discounts, grid), discounts
