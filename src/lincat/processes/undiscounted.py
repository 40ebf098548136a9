"""Processes without discounting: what it takes that returns are finite, and how far they reach.

At gamma = 1 the return is a sum of rewards until the episode ends. It is finite, and the Bellman
equations have one solution, if an end can be reached from every state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order

from lincat._arguments import fail
from lincat._typing import FloatArray, IntArray
from lincat.core.grid import Grid

if TYPE_CHECKING:
    from lincat.processes.finite import MarkovRewardProcess


_SWEEPS = 10_000


def check_ends(process: MarkovRewardProcess) -> None:
    """Raise unless an episode can end from every state, so that gamma = 1 makes sense."""
    S, goes_on = process.n_states, ~process.terminated
    # Backwards from a node S that stands for the end.
    origin = np.where(goes_on, process.next_state, S)
    edges = scipy.sparse.csr_array(
        (np.ones(len(origin)), (origin, process.state)), shape=(S + 1, S + 1)
    )
    ending = breadth_first_order(edges, S, return_predecessors=False)
    stuck = np.setdiff1d(np.arange(S), ending)
    if len(stuck):
        named = ", ".join(map(str, stuck[:5])) + (", ..." if len(stuck) > 5 else "")
        raise fail(
            "gamma",
            "below 1, or a process whose episodes end from every state",
            f"1 with {len(stuck)} of {S} states from which none ends ({named})",
        )


def return_bounds(process: MarkovRewardProcess) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest possible sum of rewards from each state, (S,) each.

    Raises where there is none: a reward other than 0 that may be earned again and again.

    Examples
    --------
    >>> from lincat import catalog
    >>> from lincat.processes.undiscounted import return_bounds
    >>> low, high = return_bounds(catalog.boyan_chain(5).process)
    >>> low, high
    (array([ 0., -2., -5., -8., -11.]), array([ 0., -2., -3., -5., -6.]))
    """
    check_ends(process)
    low, high = (_extreme(process, choose, process.reward) for choose in (np.minimum, np.maximum))
    return low, high


def _extreme(process: MarkovRewardProcess, choose: np.ufunc, reward: FloatArray) -> FloatArray:
    """Bellman and Ford: the extreme sum over paths, after at most S sweeps or never."""
    worst = np.inf if choose is np.minimum else -np.inf
    best = np.full(process.n_states, worst)
    for _ in range(min(process.n_states, _SWEEPS) + 1):
        follows = np.where(process.terminated, 0.0, best[process.next_state])
        found = choose.reduceat(reward + follows, process.offsets[:-1])
        if np.array_equal(found, best):
            return best
        best = found
    raise fail(
        "grid",
        "a lincat.Grid, as the sum of rewards until the end has no bound at gamma 1",
        "none",
    )


def undiscounted_grid(process: MarkovRewardProcess, intervals: int) -> Grid:
    """Return a grid that holds every sum of rewards and, if it can, all that projection adds.

    A projected point lies on both atoms beside it, so that rounding may reach past the extreme
    sums by an atom a step: the grid is wider by the fewest atoms that hold this.
    """
    lows, highs = return_bounds(process)
    low, high = float(lows.min()), float(highs.max())
    if low == high:
        margin = max(1.0, abs(low)) / 2.0
        low, high = low - margin, high + margin
    below = above = 0
    while below + above <= intervals // 2:
        spacing = (high - low) / (intervals - below - above)
        grid = Grid(low - below * spacing, high + above * spacing, intervals)
        short = int(_atoms(process, grid, np.minimum).min()) < 0
        far = int(_atoms(process, grid, np.maximum).max()) > intervals
        if not short and not far:
            return grid
        below, above = below + short, above + far
    return Grid(low, high, intervals)


def _atoms(process: MarkovRewardProcess, grid: Grid, choose: np.ufunc) -> IntArray:
    """The lowest or highest atom with any mass, for each state."""
    down = choose is np.minimum
    atom = np.full(process.n_states, grid.intervals + 1 if down else -1)
    for _ in range(min(process.n_states, _SWEEPS) + 1):
        follows = grid.low + atom[process.next_state] * grid.spacing
        place = grid.position(process.reward + np.where(process.terminated, 0.0, follows))
        rounded = np.floor(place + 1e-9) if down else np.ceil(place - 1e-9)
        found = choose.reduceat(rounded.astype(np.int64), process.offsets[:-1])
        if np.array_equal(found, atom):
            break
        atom = found
    return atom
