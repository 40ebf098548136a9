"""Error bars from a single run, by means of the iterates over batches of updates.

A run gives one estimate, the average of the iterates in a window. How far it would be from that of
another run shows in how averages over parts of the window differ (Glynn and Whitt 1991; for
stochastic approximation Chen, Lee, Tong and Zhang 2020). Iterates that lie about
1/(step size * smallest eigenvalue) updates apart still depend on each other, often for a good part
of the window: with many short batches the bars come out far too narrow. So the batch means x_1 ..
x_m are not compared one by one, but through the few sums that vary slowest,

    L_j = sum_b w_jb x_b,   w_jb ~ the integral of cos(pi j s) over batch b,   j = 1, ..., 4,

(s from 0 to 1 through the window, scaled so that Var L_j is the long-run variance for independent
batches). This is the equal-weighted cosine estimator, and the error over its standard error has
Student's distribution with 4 degrees of freedom (Lazarus, Lewis, Stock and Watson 2018).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import stdtrit

from lincat._arguments import check_array, check_indices, check_integer, check_number, fail
from lincat._typing import FloatArray, IntArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.data.transitions import check_state_features
from lincat.learners._base import Learner

__all__ = ["FEWEST_BATCHES", "BatchMeans"]

_MOST = 64  # batches; then neighbours are merged, and as many again can come
_TERMS = 4  # cosine sums: more are narrower for a long run, but cover less in a short one
FEWEST_BATCHES = 2 * _TERMS
_DRAWS = 4000


class BatchMeans:
    """Standard errors and confidence bands for the learned CDFs of a few states.

    Parameters
    ----------
    probe : array (n, d), CSR matrix (n, d), or state numbers (n,)
        Features of the states to watch. Memory is 64 matrices of n times K numbers.

    Notes
    -----
    What the bands hold, with the confidence asked for, is the *fixed point* of the learner: what
    it would say after infinitely many transitions. How far that is from the true distribution is a
    matter of features and grid, and no band shows it; :func:`lincat.validate` does.

    What bands of 95 % really hold (100 runs each, ``python -m tests.inference.coverage``): of
    independent transitions of the paper's process 94 to 95 % of the CDF values; of a process whose
    features are learned slowly 88 to 92 % after 100,000 updates, 78 to 89 % after 20,000.
    ``autocorrelation()`` above 0.5 tells such runs: too short for their bars. Whole CDFs
    (simultaneous) are held about as often. Along a *walk* the step size leaves a bias, which is no
    sampling error and no band holds: on the paper's process after 100,000 updates a mean of 0.0025
    with step size "auto" (70 % held), of 0.013 with a constant 0.1 (20 %).

    Call ``update`` often, 100 times in a run or more; most calls cost nothing.

    Examples
    --------
    >>> import lincat
    >>> problem = lincat.catalog.paper()
    >>> model = lincat.LinearCTD(grid=problem.grid(30), gamma=problem.gamma)
    >>> bars = lincat.BatchMeans(problem.Phi)
    >>> drawn = problem.process.sample(50_000, kind="generative")
    >>> data = lincat.Transitions(problem.Phi[drawn.state], drawn.reward,
    ...                           problem.Phi[drawn.next_state])
    >>> for begin in range(0, 50_000, 250):
    ...     _ = bars.update(model.partial_fit(data[begin : begin + 250]))
    >>> low, high = bars.bands(model.predict(problem.Phi))
    >>> low.shape, bool((low <= high).all()), float(bars.standard_error().max().round(3))
    ((3, 30), True, 0.007)
    """

    def __init__(self, probe: Any) -> None:
        self._probe = check_state_features(probe, "probe")
        #: Updates at the ends of batches, and the sums of all CDFs until then.
        self._counts: IntArray = np.zeros(1, np.int64)
        self._sums: FloatArray = np.zeros((1, self._probe.shape[0], 0))
        self._length = 1  # updates that the next batch has to have
        self._begin = 0  # updates before the learner's window

    # ------------------------------------------------------------------------------- watching

    def update(self, learner: Learner) -> Self:
        """Take note of where the learner is; always the same one, as it continues."""
        if not isinstance(learner, Learner) or not learner.linear:
            raise fail(
                "learner", "one whose CDFs are linear in its parameters", type(learner).__name__
            )
        done, last = learner.n_updates_, int(self._counts[-1])
        if done < last:
            raise fail(
                "learner", f"at least {last} updates, as before", done, "start a new BatchMeans"
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
    def from_state(cls, probe: Any, state: dict[str, Any]) -> BatchMeans:
        """Continue from what :meth:`state` gave, with the same probe.

        Examples
        --------
        >>> import lincat
        >>> bars = lincat.BatchMeans([0, 1])
        >>> lincat.BatchMeans.from_state([0, 1], bars.state()).n_batches
        0
        """
        bars = cls(probe)
        missing = {"counts", "sums", "length", "begin"} - set(state)
        if missing:
            raise fail("state", "what BatchMeans.state() gave", f"no {min(missing)}")
        bars._counts = check_indices(state["counts"], "counts")
        if len(bars._counts) == 0 or bars._counts[0] != 0 or (np.diff(bars._counts) <= 0).any():
            raise fail("counts", "numbers that increase from 0", bars._counts.tolist())
        shape = (len(bars._counts), bars._probe.shape[0], None)
        bars._sums = check_array(state["sums"], "sums", shape=shape).copy()
        bars._length = check_integer(state["length"], "length", low=1)
        bars._begin = check_integer(state["begin"], "begin", low=0)
        return bars

    # -------------------------------------------------------------------------------- answers

    @property
    def n_batches(self) -> int:
        """Batches within the window; 8 are needed."""
        return len(self._counts) - 1 - self._first

    def mean(self) -> FloatArray:
        """Return the mean CDF over the batches, shape (n, K): nearly what ``predict`` says."""
        counts, sums = self._window()
        return np.asarray((sums[-1] - sums[0]) / (counts[-1] - counts[0]))

    def standard_error(self) -> FloatArray:
        """Return the standard error of each CDF value, shape (n, K)."""
        return self._spread(self._slow_sums())

    def mean_standard_error(self, grid: Grid) -> FloatArray:
        """Return the standard error of each state's mean, shape (n,), on the learner's grid."""
        slow = self._slow_sums()
        if slow.shape[2] != grid.intervals:
            raise fail("grid", f"{slow.shape[2]} intervals, as learned on", grid.intervals)
        return self._spread(grid.spacing * slow.sum(axis=2))

    def autocorrelation(self) -> float:
        """Return the correlation of successive batch means; above 0.5 the bars are too narrow."""
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

    def bands(
        self,
        estimate: Any = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of a confidence band, each of shape (n, K).

        Both are made proper CDFs, as ``ReturnDistribution.proper`` does. That keeps order, so what
        the estimate says, and the fixed point if it was inside, made proper too, stay inside.

        Parameters
        ----------
        estimate : ReturnDistribution or array of shape (n, K), optional
            The middle of the band: ``learner.predict(probe)``; by default :meth:`mean`.
        confidence : float
        simultaneous : bool
            Whether the confidence is for all atoms of a state at once, instead of for each. The
            factor is then a quantile of the largest of K correlated Student variables (max-t;
            Hothorn, Bretz and Westfall 2008), from 4,000 draws with a fixed seed.
        """
        level = check_number(
            confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True
        )
        slow = self._slow_sums()
        centre = self.mean() if estimate is None else estimate
        if isinstance(centre, ReturnDistribution):
            centre = centre.cdf_values
        centre = check_array(centre, "estimate", shape=slow.shape[1:])
        if simultaneous:
            factor = np.array([_largest_quantile(slow[:, i], level) for i in range(len(centre))])
        else:
            factor = np.full(len(centre), stdtrit(_TERMS, (1.0 + level) / 2.0))
        reach = factor[:, None] * self._spread(slow)
        unit = Grid(0.0, 1.0, centre.shape[1])  # what is proper does not depend on the grid
        low, high = (ReturnDistribution(end, unit) for end in (centre - reach, centre + reach))
        return low.proper().cdf_values, high.proper().cdf_values

    # ----------------------------------------------------------------------------- arithmetic

    @property
    def _first(self) -> int:
        """The first boundary inside the learner's window."""
        return int(np.searchsorted(self._counts[:-1], self._begin))

    def _window(self) -> tuple[IntArray, FloatArray]:
        if self.n_batches < FEWEST_BATCHES:
            raise fail(
                "BatchMeans",
                f"at least {FEWEST_BATCHES} batches in the window",
                self.n_batches,
                "learn longer, or call update more often",
            )
        return self._counts[self._first :], self._sums[self._first :]

    def _slow_sums(self) -> FloatArray:
        """L_j of every CDF value, shape (4, n, K)."""
        counts, sums = self._window()
        size = np.diff(counts)
        means = np.diff(sums, axis=0) / size[:, None, None]
        place = (counts - counts[0]) / (counts[-1] - counts[0])
        j = np.arange(1.0, _TERMS + 1.0)[:, None]
        weight = np.diff(np.sin(np.pi * j * place), axis=1)
        weight /= np.sqrt((weight**2 / size).sum(axis=1, keepdims=True))
        # The weights of a row sum to 0: the mean is taken away only for the sake of rounding.
        return np.asarray(np.tensordot(weight, means - means.mean(axis=0), axes=(1, 0)))

    def _spread(self, slow: FloatArray) -> FloatArray:
        """The standard error of an average over the window, from its L_j along the first axis."""
        counts, _ = self._window()
        return np.asarray(np.sqrt((slow**2).mean(axis=0) / (counts[-1] - counts[0])))


def _largest_quantile(slow: FloatArray, level: float) -> float:
    """A quantile of max_k |T_k|, T multivariate Student with the correlations of slow (4, K)."""
    norm = np.sqrt((slow**2).sum(axis=0))
    direction = np.divide(slow, norm, out=np.zeros_like(slow), where=norm > 0.0)
    rng = np.random.Generator(np.random.Philox(0))
    normal = rng.standard_normal((_DRAWS, len(slow)))
    scale = np.sqrt(rng.chisquare(len(slow), _DRAWS) / len(slow))
    largest = np.abs(normal @ direction).max(axis=1) / scale
    pointwise = float(stdtrit(len(slow), (1.0 + level) / 2.0))
    return max(float(np.quantile(largest, level)), pointwise)
