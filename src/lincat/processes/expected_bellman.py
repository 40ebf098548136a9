"""The expected categorical Bellman operator of a known process, on CDF values of all states.

(T F)(s) = E[target of F(s') | s]      (Prop. Pi_K_T, in CDF coordinates)
"""

from __future__ import annotations

import warnings

import numpy as np

from lincat import kernels
from lincat._arguments import check_gamma
from lincat._room import check_room
from lincat._typing import FloatArray
from lincat.core.bellman import GridMisfitWarning, reward_shifts
from lincat.core.grid import Grid
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.undiscounted import check_ends

_HELD = 6  # arrays of the CDF values of all states, and as many again while they are solved for


class ExpectedBellman:
    """Pi_K T of the paper, applied in O(outcomes * K) without a matrix."""

    def __init__(self, process: MarkovRewardProcess, grid: Grid, gamma: float) -> None:
        if check_gamma(gamma, one=True) == 1.0:
            check_ends(process)
        numbers = _HELD * process.n_states * grid.intervals
        check_room(numbers, "intervals", grid.intervals, "use fewer")
        self._process, self._grid, self._gamma = process, grid, gamma
        self._discount = process.discounts(gamma)
        self._shift = reward_shifts(process.reward, self._discount, grid)

    def __call__(self, cdf: FloatArray) -> FloatArray:
        """Return the projected Bellman targets of CDF values (S, K)."""
        return self._apply(cdf, 1.0)

    def linear(self, values: FloatArray) -> FloatArray:
        """Return the linear part, E[B(r) values(s') | s]."""
        return self._apply(values, 0.0)

    def _apply(self, values: FloatArray, top: float) -> FloatArray:
        process = self._process
        out = np.zeros((process.n_states, self._grid.intervals))
        kernels.bellman.add_expected_targets(
            out,
            np.ascontiguousarray(values),
            process.offsets,
            process.next_state,
            self._shift,
            self._discount,
            process.probability,
            top,
        )
        return out

    def warn_if_clipped(self, cdf: FloatArray) -> None:
        """Warn if the Bellman targets of these distributions leave the grid."""
        process, grid = self._process, self._grid
        outside = np.empty((len(process.state), 2))
        kernels.bellman.clipped_masses(
            outside,
            np.ascontiguousarray(cdf),
            process.next_state,
            self._shift,
            self._discount,
        )
        worst = float(np.abs(outside).max())
        if worst > 1e-9:
            fits = "pass a wider one"
            if self._gamma < 1.0:
                low, high = process.invariant_range(self._gamma)
                fits = f"nothing falls outside [{low:.6g}, {high:.6g}]"
            warnings.warn(
                f"up to {worst:.3g} of a distribution's mass falls outside the grid "
                f"[{grid.low:g}, {grid.high:g}] and was moved to its ends, so means are biased; "
                f"{fits}",
                GridMisfitWarning,
                stacklevel=3,
            )
