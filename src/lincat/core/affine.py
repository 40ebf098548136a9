"""Distributions of factor G + amount, with other numbers for each state, on one grid for all.

A map of masses, (n, K + 1) to (n, K' + 1), is linear: it also serves for differences of
distributions, whose masses sum to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from lincat import kernels
from lincat._typing import FloatArray
from lincat.core.grid import Grid
from lincat.core.projection import project

MassMap: TypeAlias = Callable[[FloatArray], FloatArray]

_MOST_INTERVALS = 20_000  # of a grid that holds all states
_NARROW = 0.1  # share of states that may be narrower than what its spacing suits


def shifting(grid: Grid, amount: FloatArray) -> tuple[Grid, MassMap]:
    """Return the grid and the map of G + amount; the grid keeps its spacing if it can."""
    low, spacing = grid.low, grid.spacing
    ends = Grid(low + float(amount.min()), grid.high + float(amount.max()), 1)  # not too far off
    if (ends.high - ends.low) / spacing > _MOST_INTERVALS:
        coarse = Grid(ends.low, ends.high, _MOST_INTERVALS)
        atoms = grid.atoms + amount[:, None]
        return coarse, lambda masses: project(atoms, masses, coarse)
    first, last = math.floor(amount.min() / spacing), math.ceil(amount.max() / spacing)
    intervals = grid.intervals + last - first
    position = amount / spacing - first
    begin = np.minimum(np.floor(position).astype(np.int64), max(last - first - 1, 0))
    above = position - begin

    def moved(masses: FloatArray) -> FloatArray:
        out = np.zeros((len(masses), intervals + 1))
        kernels.affine.move_rows(out, np.ascontiguousarray(masses), begin, above)
        return out

    return Grid(low + first * spacing, low + (first + intervals) * spacing, intervals), moved


def rescaling(grid: Grid, factor: FloatArray, amount: FloatArray) -> tuple[Grid, MassMap]:
    """Return a grid and the map of factor G + amount, which spreads atoms over their cells."""
    with np.errstate(over="ignore", invalid="ignore"):  # such ends are refused in the next line
        cell = factor * grid.spacing
        first = factor * grid.low + amount - 0.5 * cell
        last = factor * grid.high + amount + 0.5 * cell
    ends = Grid(float(first.min()), float(last.max()), 1)  # not too far off
    low, width = ends.low, ends.high - ends.low
    spacing = max(float(np.quantile(cell, _NARROW)), width / _MOST_INTERVALS)
    intervals = math.ceil(width / spacing)
    common = Grid(low, low + spacing * intervals, intervals)

    def spread(masses: FloatArray) -> FloatArray:
        out = np.empty((len(masses), intervals + 1))
        kernels.affine.spread_rows(out, np.ascontiguousarray(masses), common.atoms, first, cell)
        return out

    return common, spread
