"""Whether what is learned step by step still moves: means of the iterates over batches of updates.

Averages over parts of a run differ by noise once learning has settled; before, they drift. They are
no error moves: the step size leaves a bias that iterates do not show, and bands made of them held
the fixed point in two of three cases along the paper's walk, where 95 % were promised.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np

from lincat._arguments import check_array, check_indices, check_integer, fail
from lincat._typing import FloatArray, IntArray
from lincat.core.distribution import ReturnDistribution
from lincat.data.transitions import check_state_features
from lincat.learners._base import Learner

_MOST = 64  # batches; then neighbours are merged, and as many again can come
FEWEST_BATCHES = 8


class Settling:
    """How the learned CDFs of a few states move in the course of a run.

    Parameters
    ----------
    probe : array (n, d), CSR matrix (n, d), or state numbers (n,)
        Features of the states to watch. Memory is 64 matrices of n times K numbers.

    Notes
    -----
    Call ``update`` often, 100 times in a run or more; most calls cost nothing.

    Examples
    --------
    >>> import lincat
    >>> from lincat.inference.settling import Settling
    >>> problem = lincat.catalog.paper()
    >>> model = lincat.LinearCTD(grid=problem.grid(30), gamma=problem.gamma)
    >>> moves = Settling(problem.Phi)
    >>> drawn = problem.process.sample(50_000, kind="generative")
    >>> data = lincat.Transitions(problem.Phi[drawn.state], drawn.reward,
    ...                           problem.Phi[drawn.next_state])
    >>> for begin in range(0, 50_000, 250):
    ...     _ = moves.update(model.partial_fit(data[begin : begin + 250]))
    >>> moves.n_batches > 16, moves.autocorrelation() < 0.5, moves.ahead().shape
    (True, True, (3, 30))
    """

    def __init__(self, probe: Any) -> None:
        self._probe = check_state_features(probe, "probe")
        #: Updates at the ends of batches, and the sums of all CDFs until then.
        self._counts: IntArray = np.zeros(1, np.int64)
        self._sums: FloatArray = np.zeros((1, self._probe.shape[0], 0))
        self._length = 1  # updates that the next batch has to have
        self._begin = 0  # updates before the learner's window

    # ------------------------------------------------------------------------------- watching

    def update(self, learner: Learner[Any]) -> Self:
        """Take note of where the learner is; always the same one, as it continues."""
        if not isinstance(learner, Learner) or not learner.linear:
            raise fail(
                "learner", "one whose CDFs are linear in its parameters", type(learner).__name__
            )
        done, last = learner.n_updates_, int(self._counts[-1])
        if done < last:
            raise fail(
                "learner", f"at least {last} updates, as before", done, "start a new Settling"
            )
        if done - last < self._length:
            return self
        distribution, self._begin = learner.predict_overall(self._probe)
        if not isinstance(distribution, ReturnDistribution):
            raise fail("learner", "a learner of distributions", type(learner).__name__)
        total = done * distribution.cdf_values
        if self._sums.shape[2] == 0:
            self._sums = np.zeros((1, *total.shape))
        self._counts = np.append(self._counts, done)
        self._sums = np.concatenate([self._sums, total[None]])
        if len(self._counts) > _MOST:
            self._counts, self._sums = self._counts[::2].copy(), self._sums[::2].copy()
            self._length = max(2 * done // _MOST, 1)
        return self

    def state(self) -> dict[str, Any]:
        """Return arrays and integers from which :meth:`from_state` continues."""
        return {
            "counts": self._counts.copy(),
            "sums": self._sums.copy(),
            "length": self._length,
            "begin": self._begin,
        }

    @classmethod
    def from_state(cls, probe: Any, state: dict[str, Any]) -> Settling:
        """Continue from what :meth:`state` gave, with the same probe.

        Examples
        --------
        >>> from lincat.inference.settling import Settling
        >>> Settling.from_state([0, 1], Settling([0, 1]).state()).n_batches
        0
        """
        moves = cls(probe)
        missing = {"counts", "sums", "length", "begin"} - set(state)
        if missing:
            raise fail("state", "what Settling.state() gave", f"no {min(missing)}")
        moves._counts = check_indices(state["counts"], "counts")
        if len(moves._counts) == 0 or moves._counts[0] != 0 or (np.diff(moves._counts) <= 0).any():
            raise fail("counts", "numbers that increase from 0", moves._counts.tolist())
        shape = (len(moves._counts), moves._probe.shape[0], None)
        moves._sums = check_array(state["sums"], "sums", shape=shape).copy()
        moves._length = check_integer(state["length"], "length", low=1)
        moves._begin = check_integer(state["begin"], "begin", low=0)
        return moves

    # -------------------------------------------------------------------------------- answers

    @property
    def n_batches(self) -> int:
        """Batches within the window; 8 are needed."""
        return len(self._counts) - 1 - self._first

    def mean(self) -> FloatArray:
        """Return the mean CDF over the batches, shape (n, K): nearly what ``predict`` says."""
        counts, sums = self._window()
        return np.asarray((sums[-1] - sums[0]) / (counts[-1] - counts[0]))

    def autocorrelation(self) -> float:
        """Return the correlation of successive batch means; above 0.5 learning had not settled."""
        counts, sums = self._window()
        means = np.diff(sums, axis=0) / np.diff(counts)[:, None, None]
        deviation = means - means.mean(axis=0)
        total = float((deviation**2).sum())
        if total <= 1e-24 * deviation.size:  # nothing moved but the last digits
            return 0.0
        return float((deviation[1:] * deviation[:-1]).sum()) / total

    def ahead(self) -> FloatArray:
        """Return how far the mean CDFs are still going to move, by how they moved, shape (n, K).

        With means x_1, x_2, x_3 over thirds of the window and r = ‖x_3 − x_2‖/‖x_2 − x_1‖, a drift
        that fades like a power of r ends at x_3 + (x_3 − x_2) r/(1 − r). It is of the size of noise
        where nothing drifts, and r counts as at most 0.9: then it is the least that is ahead.
        """
        counts, sums = self._window()
        cuts = np.searchsorted(counts, counts[0] + (counts[-1] - counts[0]) * np.array([1, 2]) / 3)
        parts = [0, *cuts.tolist(), len(counts) - 1]
        first, second, third = (
            (sums[b] - sums[a]) / (counts[b] - counts[a]) for a, b in pairwise(parts)
        )
        before = float(np.linalg.norm(second - first))
        step = third - second
        fading = min(float(np.linalg.norm(step)) / before, 0.9) if before > 0.0 else 0.0
        return np.asarray(third + step * fading / (1.0 - fading) - self.mean())

    # ----------------------------------------------------------------------------- arithmetic

    @property
    def _first(self) -> int:
        """The first boundary inside the learner's window."""
        return int(np.searchsorted(self._counts[:-1], self._begin))

    def _window(self) -> tuple[IntArray, FloatArray]:
        if self.n_batches < FEWEST_BATCHES:
            raise fail(
                "Settling",
                f"at least {FEWEST_BATCHES} batches in the window",
                self.n_batches,
                "learn longer, or call update more often",
            )
        return self._counts[self._first :], self._sums[self._first :]
