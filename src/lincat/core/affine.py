"""Distributions of factor G + amount, with other numbers for each state, on one grid for all.

A map of masses, (n, K + 1) to (n, K' + 1), is linear: it also serves for differences of
distributions, whose masses sum to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

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
    above = (position - begin)[:, None]

    def moved(masses: FloatArray) -> FloatArray:
        out = np.zeros((len(masses), intervals + 1))
        for row, at, mass, share in zip(out, begin, masses, above, strict=True):
            row[at : at + len(mass)] = (1.0 - share) * mass
            if share > 0.0:
                row[at + 1 : at + 1 + len(mass)] += share * mass
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
        for row, mass, begin, size in zip(out, masses, first, cell, strict=True):
            row[:] = _averages(np.cumsum(mass), (common.atoms - begin) / size)
        return np.diff(out, axis=1, prepend=0.0)

    return common, spread


def _averages(cdf: FloatArray, position: FloatArray) -> FloatArray:
    """Averages, between ascending positions, of a CDF that rises evenly over each cell.

    It is 0 up to position 0, ``cdf[k]`` at k + 1, and its last value from there on; so is the last
    of the averages, of which there is one for each position: its Cramér projection.
    """
    knots = np.concatenate([[0.0], cdf])
    area = np.concatenate([[0.0], np.cumsum(0.5 * (knots[1:] + knots[:-1]))])
    inside = np.clip(position, 0.0, len(cdf))
    k = np.minimum(inside.astype(np.int64), len(cdf) - 1)
    share = inside - k
    below = area[k] + share * (knots[k] + 0.5 * share * (knots[k + 1] - knots[k]))
    below += np.maximum(position - len(cdf), 0.0) * cdf[-1]
    return np.append(np.diff(below) / np.diff(position), cdf[-1])
