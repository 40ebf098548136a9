"""The fixed point of the rewards themselves, where sums have split them over nodes.

The score of all rows, by a pass over them, is what the equation of the data leaves at Theta,

    S(Theta) = Σ w phi (target − F)ᵀ = b − A Theta,

and the equation of the nodes is near to it, so that its factors make good directions: p = A⁻¹ S, of
which the next pass tells the image A p. The best combination of all directions so far is taken (the
generalised conjugate residuals of Eisenstat, Elman and Schultz 1983).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import scipy.sparse

from lincat._arguments import fail
from lincat._typing import FeatureMatrix, FloatArray
from lincat.core.bellman import bellman_target
from lincat.core.grid import Grid
from lincat.core.representation import uniform_cdf
from lincat.data.transitions import Transitions
from lincat.solvers.batch import BatchSolution
from lincat.statistics.totals import Totals

_ROWS = 4096  # at a time: their targets take K numbers each
_TOLERANCE = 1e-5  # of a step: what it leaves is left to the next


def refined(
    solution: BatchSolution,
    totals: Totals,
    read: Callable[[], Iterable[Transitions]],
    grid: Grid,
    gamma: float,
    *,
    tolerance: float,
    passes: int,
) -> tuple[FloatArray, float]:
    """Return Theta (d, K) that solves the equation of the data, and its relative residual.

    ``read`` gives all transitions that ``totals`` sums up, once for each pass.
    """
    Theta, added = solution.Theta, solution.added
    # What a ridge pulls is no score; where there is none, the score is zero in the end.
    pull = next(iter(solution.scores([totals]))) if added > 0.0 else 0.0

    def left(at: FloatArray) -> FloatArray:
        score = score_of_rows(at, read(), grid, gamma, totals.count)
        return np.asarray(score - pull - added * (at - solution.Theta))

    score = left(Theta)
    directions: list[FloatArray] = []
    images: list[FloatArray] = []
    for _ in range(passes - 2):  # one was made, and the last tells what is left
        if solution.relative_size(score) <= 0.5 * tolerance:
            break
        directions.append(solution.back_solve(score, tolerance=_TOLERANCE))
        images.append(score - left(Theta + directions[-1]))
        seen = np.stack([solution.whitened(image).ravel() for image in images], axis=1)
        share = np.linalg.lstsq(seen, solution.whitened(score).ravel())[0]
        Theta = Theta + np.tensordot(share, np.stack(directions), 1)
        score = score - np.tensordot(share, np.stack(images), 1)
    return Theta, solution.relative_size(left(Theta) if directions else score)


def score_of_rows(
    Theta: FloatArray, batches: Iterable[Transitions], grid: Grid, gamma: float, count: int
) -> FloatArray:
    """Return Σ w phi (target − F)ᵀ over so many rows, shape (d, K)."""
    score, seen = np.zeros_like(Theta), 0
    uniform = uniform_cdf(grid.intervals)
    for batch in batches:
        seen += len(batch)
        for first in range(0, len(batch), _ROWS):
            part = batch[first : first + _ROWS]
            phi, ahead = (_rows(x, len(Theta)) for x in (part.phi, part.phi_next))
            following = ahead @ Theta + uniform
            target = bellman_target(following, part.reward, part.discounts(gamma), grid)
            error = target - phi @ Theta - uniform
            weight = np.ones(len(part)) if part.weight is None else part.weight
            score += phi.T @ (weight[:, None] * error)
    if seen != count:
        remedy = "pass all of them, in any order"
        raise fail("transitions", f"the {count} that were learned from", seen, remedy)
    return score


def _rows(features: FeatureMatrix, d: int) -> FeatureMatrix:
    """Features of each row; numbers of states become rows of the identity."""
    if features.ndim == 2:
        return features
    one = (np.ones(len(features)), features, np.arange(len(features) + 1))
    return scipy.sparse.csr_array(one, shape=(len(features), d))
