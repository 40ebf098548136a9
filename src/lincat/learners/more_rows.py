"""A table that gets more rows while it is learned from, as if they had always been there."""

from __future__ import annotations

import numpy as np

from lincat._arguments import check_integer, fail
from lincat._typing import FloatArray
from lincat.learners._categorical import CategoricalLearner


def add_rows(learner: CategoricalLearner, n_features: int) -> None:
    """Make room for so many states in all.

    New rows are copies of the last one, which no transition may have touched yet: they then begin
    where all began, and the averages of all rows are over the same iterates. Sums beside the stream
    are dropped, and intervals with them.

    Examples
    --------
    >>> import lincat
    >>> from lincat.learners.more_rows import add_rows
    >>> model = lincat.LinearCTD(grid=lincat.Grid(0.0, 2.0, 4), gamma=0.5, n_features=3)
    >>> model = model.partial_fit([0, 1], [1.0, 0.0], [1, 0])
    >>> add_rows(model, 6)
    >>> model.partial_fit([5], [1.0], [0]).predict([2, 4]).mean()
    array([1., 1.])
    """
    rows = check_integer(n_features, "n_features", low=1)
    learner.n_features, learner.statistics, learner.statistics_ = rows, False, None
    if not hasattr(learner, "_Theta_"):  # nothing was learned yet
        if learner._start is not None:
            grid, Theta, after = learner._start
            learner._start = (grid, _longer(Theta, rows), after)
        return
    theta, sums = learner._theta_and_sums()
    if rows < len(theta):
        raise fail("n_features", f"at least the {len(theta)} that there are", rows)
    learner._average_.reexpress(lambda total, _: _longer(total, rows))
    learner._lay_out(rows, theta.dtype, "states")
    for new, old in zip(learner._theta_and_sums(), (theta, sums), strict=True):
        if len(old):
            new[:] = _longer(old, rows)


def _longer(table: FloatArray, rows: int) -> FloatArray:
    return np.concatenate([table, np.repeat(table[-1:], rows - len(table), axis=0)])
