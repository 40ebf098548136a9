"""A potential: a function V of the observations about which returns are learned.

For any V at all, the return is V(s) plus the discounted sum of TD errors, so V need not be right:
the nearer it is to the mean return, the more alike are the distributions that are left to learn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from lincat._arguments import check_array, check_number, fail
from lincat._tensors import pack, read_packed, unpack
from lincat._typing import FeatureMatrix, FloatArray, IntArray
from lincat.data.steps import Steps
from lincat.features._base import Features
from lincat.features.functions import dots, function_values
from lincat.solvers.influence import cosines
from lincat.solvers.moments import solve_square

_KEY = "lincat potential"
_CHUNK = 8192
_COMPARED, _FEWEST = 4_000, 100  # points of which the nearest other one is looked up
_FEW_NUMBERS = 8  # of a point, to which others are near
_BLOCKS, _COSINES = 32, 8  # of time, and slow sums over them, that tell errors


class Potential:
    """V(s) = offset + features(s)·weights.

    Parameters
    ----------
    features : Features
        Fitted: dense ones, or a table.
    weights : array of shape (d,)
        Of a table, of the rows that were known; V of others is the offset.
    offset : float
    directions : array of shape (nu, d), optional
        Errors that the weights may have, each as large as the true one; V of few rows is far off.
    spread : float
        The standard deviation of V over the states seen; 0 where it was not looked at.
    alike : float
        The rank correlation of the TD errors of states that are nearest to each other: 0 if they
        are chance, 1 if they are what the features miss; 0 where it was not looked at.
    """

    def __init__(
        self,
        features: Features,
        weights: FloatArray,
        offset: float = 0.0,
        directions: FloatArray | None = None,
        spread: float = 0.0,
        alike: float = 0.0,
    ) -> None:
        self.features = features
        self.weights = weights
        self.offset = offset
        self.directions = directions
        self.spread = spread
        self.alike = alike
        self._last: tuple[ReferenceType[Steps], FloatArray, FloatArray] | None = None

    @classmethod
    def fit(
        cls, features: Features, steps: Iterable[Steps], gamma: float, *, ridge: float
    ) -> Potential:
        """Return the V that solves the steps' own equation of means (Eq. (linear_TD_equation)).

        ``ridge``, relative to the mean of the diagonal of Σ phi phiᵀ, draws V towards the mean
        return of all states together, which is the offset.
        """
        return cls._fit(features, _transformed(features, steps), gamma, ridge)[0]

    @classmethod
    def fit_with_errors(
        cls, features: Features, steps: Steps, gamma: float, *, ridge: float
    ) -> Potential:
        """Return the same V as :meth:`fit`, which knows its errors: see :meth:`with_errors`.

        Features are made once, and kept until that is done: for sparse ones, which take longest to
        make and are small.
        """
        parts = list(_transformed(features, [steps]))
        fitted, sums = cls._fit(features, parts, gamma, ridge)
        both = [
            np.concatenate([dots(part[i], fitted.weights) for part in parts]) + fitted.offset
            for i in (1, 2)
        ]
        fitted._last = (ref(steps), both[0], both[1])
        return fitted._told(parts, steps, gamma, ridge, sums)

    @classmethod
    def _fit(
        cls, features: Features, parts: Iterable[_Part], gamma: float, ridge: float
    ) -> tuple[Potential, _Sums]:
        sums = _Sums(features.n_features_)
        gained, lost = np.zeros((2, features.n_features_))  # Σ phi r and Σ phi (1 − δ)
        reward, ended = 0.0, 0.0
        for some, phi, phi_next in parts:
            discount = some.discounts(gamma)
            weight = np.ones(len(some)) if some.weight is None else some.weight
            weighted = _weighted(phi, some)
            sums.add(weighted, phi, phi_next, discount)
            gained += weighted.T @ some.reward
            lost += weighted.T @ (1.0 - discount)
            reward += float(weight @ some.reward)
            ended += float(weight @ (1.0 - discount))
        # V = offset + phi·w has rewards r − (1 − δ) offset.
        offset = reward / ended if ended > 0.0 else 0.0
        return cls(features, sums.solve(gained - offset * lost, ridge), offset), sums

    def with_errors(self, steps: Steps, gamma: float, *, ridge: float) -> Potential:
        """Return the same V, which knows its spread and sampling error: from what it was fitted to.

        An error of the weights is A⁻¹ times the sum of scores phi (r + δ V(s') − V(s)), whose
        long-run variance comes from slow sums over blocks of time, as that of a batch solution.
        """
        return self._told(_transformed(self.features, [steps]), steps, gamma, ridge)

    def _told(
        self,
        parts: Iterable[_Part],
        steps: Steps,
        gamma: float,
        ridge: float,
        sums: _Sums | None = None,
    ) -> Potential:
        """The same V with its errors; the sums of its equation are taken where there are none."""
        solver = _Sums(self.features.n_features_) if sums is None else sums
        scores, number = np.zeros((_BLOCKS, self.features.n_features_)), 0
        errors = self.errors(steps, gamma)
        block = np.arange(len(steps)) * _BLOCKS // len(steps)
        for some, phi, phi_next in parts:
            weighted = _weighted(phi, some)
            if sums is None:
                solver.add(weighted, phi, phi_next, some.discounts(gamma))
            rows = slice(number, number + len(some))
            for b in np.unique(block[rows]):
                inside = block[rows] == b
                scores[b] += weighted[inside].T @ errors[rows][inside]
            number += len(some)
        slow = cosines(np.ones(_BLOCKS), _COSINES) @ scores
        spread = float(np.std(self.both_values(steps)[0]))
        # Of rewards near the largest number none is known.
        if not (np.isfinite(slow).all() and np.isfinite(spread)):
            return self
        directions = solver.solve(slow.T, ridge).T
        alike = nearest_alike(steps.observation, errors)
        told = Potential(self.features, self.weights, self.offset, directions, spread, alike)
        told._last = self._last
        return told

    def mean_square(self, observations: Any) -> float:
        """Return the mean square of its errors over observations."""
        return float(np.mean(self.standard_errors(observations) ** 2))

    def standard_errors(self, observations: Any) -> FloatArray:
        """Return the standard errors of V of n observations, shape (n,); 0 where none is known."""
        if self.directions is None:
            return np.zeros(len(observations))
        moved = np.asarray(self.features.lookup(observations) @ self.directions.T)
        return np.asarray(np.sqrt(np.mean(moved**2, axis=1)))

    @classmethod
    def of_table(cls, table: Features, steps: Steps, gamma: float) -> Potential | None:
        """Return the V of a table, the same but for the ridge; None if there is no single one."""
        d = table.n_known_
        at, known = table.lookup(steps.observation), table.knows(steps.next_observation)
        after = np.zeros(len(steps), dtype=np.int64)
        after[known] = table.lookup(steps.next_observation[known])
        weight = np.ones(len(steps)) if steps.weight is None else steps.weight
        ahead = weight * steps.discounts(gamma)
        lost = weight - ahead
        offset = float(weight @ steps.reward / lost.sum()) if lost.sum() > 0.0 else 0.0
        # Of what was never seen to be left, nothing is known but the offset.
        seen = np.bincount(at, weight, d)
        matrix = scipy.sparse.diags_array(np.where(seen > 0.0, seen, 1.0), format="csc")
        matrix -= scipy.sparse.csc_array((ahead * known, (at, after)), shape=(d, d))
        right = np.bincount(at, weight * steps.reward - offset * lost, d)
        try:
            solved = splu(scipy.sparse.csc_array(matrix)).solve(right)
        except RuntimeError:  # singular: nothing is discounted, and something never ends
            return None
        if not np.isfinite(solved).all():
            return None
        return cls(table, solved, offset, spread=float(np.std(solved[at])))

    def values(self, observations: Any) -> FloatArray:
        """Return V of n observations, shape (n,)."""
        if not self.features.table:
            return function_values(self.features, self.weights, observations) + self.offset
        known = self.features.knows(observations)
        rows = np.full(len(known), len(self.weights))
        rows[known] = self.features.lookup(observations[known])
        return self.of_rows(rows)

    def of_rows(self, rows: IntArray) -> FloatArray:
        """Return V of rows of its table, shape (n,)."""
        known = rows < len(self.weights)
        return np.where(known, self.weights[np.where(known, rows, 0)], 0.0) + self.offset

    def both_values(self, steps: Steps) -> tuple[FloatArray, FloatArray]:
        """Return V of the observations and of the next ones, shape (n,) each.

        Those of the last steps are kept: while a plan is made, the same are asked for many times.
        """
        last = self._last
        if last is None or last[0]() is not steps:
            last = self._last = (ref(steps), *steps.both(self.values))
        return last[1], last[2]

    def errors(self, steps: Steps, gamma: float) -> FloatArray:
        """Return the TD errors r + δ V(s') − V(s) of steps, shape (n,)."""
        value, value_next = self.both_values(steps)
        return steps.reward + steps.discounts(gamma) * value_next - value

    def squared(self, steps: Steps, gamma: float) -> Steps:
        """Return steps whose return has the mean E (G − V(s))², were V the mean return.

        TD errors would then be uncorrelated: rewards are their squares, and so are discounts.
        """
        errors, discount = self.errors(steps, gamma), steps.discounts(gamma)
        return replace(steps, reward=errors**2, discount=discount**2)

    def __reduce__(self) -> tuple[Any, ...]:
        # What was kept of steps stays here.
        return Potential, (
            *(self.features, self.weights, self.offset),
            *(self.directions, self.spread, self.alike),
        )

    def save_bytes(self) -> bytes:
        """Return the content of a file; the features lie in a file of their own."""
        arrays = {
            "weights": self.weights,
            "offset": np.array([self.offset]),
            "spread": np.array([self.spread]),
            "alike": np.array([self.alike]),
        }
        if self.directions is not None:
            arrays["directions"] = self.directions
        return pack(_KEY, "Potential", {}, {}, arrays, str)

    @classmethod
    def read(cls, path: Path, features: Features) -> Potential:
        """Read the weights that go with these features."""

        def build(content: bytes) -> Potential:
            _, arrays = unpack(content, _KEY, ["Potential"])
            size = None if features.table else features.n_features_
            weights = check_array(arrays["weights"], "weights", shape=(size,))
            if not 0 < len(weights) <= features.n_features_:
                raise fail("weights", f"1 to {features.n_features_} numbers", len(weights))
            offset = float(check_array(arrays["offset"], "offset", shape=(1,))[0])
            spread = _number(arrays, "spread", low=0.0, high=math.inf)
            alike = _number(arrays, "alike", low=-1.0, high=1.0)
            directions = None
            if "directions" in arrays:
                shape = (None, len(weights))
                if features.table:
                    raise fail("directions", "none, of a table", "some")
                directions = check_array(arrays["directions"], "directions", shape=shape)
                if len(directions) == 0:
                    raise fail("directions", "at least one direction of errors", "none")
            return cls(features, weights, offset, directions, spread, alike)

        return read_packed(path, "file of a potential", build)


def _number(arrays: dict[str, FloatArray], name: str, *, low: float, high: float) -> float:
    """One number of a file; 0 where it was not looked at."""
    if name not in arrays:
        return 0.0
    value = float(check_array(arrays[name], name, shape=(1,))[0])
    return check_number(value, name, low=low, high=high)


def nearest_alike(observations: Any, values: FloatArray) -> float:
    """Return the rank correlation of values at points that are nearest to each other.

    0 where observations are no points, or of so many numbers that hardly anything is near.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.runs.potential import nearest_alike
    >>> x = np.random.default_rng(0).random((4000, 2))
    >>> bool(nearest_alike(x, x[:, 0] * x[:, 1]) > 0.95)
    True
    >>> bool(abs(nearest_alike(x, np.random.default_rng(1).random(4000))) < 0.1)
    True
    """
    if not isinstance(observations, np.ndarray) or observations.dtype.kind != "f":
        return 0.0
    from scipy.spatial import cKDTree  # takes a tenth of a second to import

    points = np.asarray(observations, dtype=np.float64).reshape(len(values), -1)
    deviation = points.std(axis=0)
    points = points[:, deviation > 0.0] / deviation[deviation > 0.0]
    some = np.arange(0, len(points), -(-len(points) // _COMPARED))
    if not 0 < points.shape[1] <= _FEW_NUMBERS or len(some) < _FEWEST:
        return 0.0
    _, near = cKDTree(points).query(points[some], k=2)
    near = np.where(near[:, 0] == some, near[:, 1], near[:, 0])
    here, there = _ranks(values[some]), _ranks(values[near])
    varied = np.ptp(here) > 0.0 and np.ptp(there) > 0.0
    return float(np.corrcoef(here, there)[0, 1]) if varied else 0.0


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks; those of equal values are the same."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * count)[place])


class _Sums:
    """The matrix A = Σ w phi (phi − δ phi')ᵀ of the equation of means."""

    def __init__(self, d: int) -> None:
        self.Sigma: FeatureMatrix = scipy.sparse.csr_array((d, d))  # dense as soon as features are
        self.cross: FeatureMatrix = scipy.sparse.csr_array((d, d))
        self.largest = 0.0  # discount

    def add(
        self,
        weighted: FeatureMatrix,
        phi: FeatureMatrix,
        phi_next: FeatureMatrix,
        discount: FloatArray,
    ) -> None:
        """Add steps by their features, once times their weights."""
        self.Sigma = self.Sigma + weighted.T @ phi  # half the work where that is phiᵀphi
        self.cross = self.cross + weighted.T @ _times(phi_next, discount)
        self.largest = max(self.largest, float(discount.max(initial=0.0)))

    def solve(self, right: FloatArray, ridge: float) -> FloatArray:
        """Return A⁻¹ right, with a ridge relative to the mean of the diagonal of Sigma."""
        matrix = self.Sigma - self.cross
        matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
        d = len(matrix)
        matrix[np.diag_indices(d)] += ridge * self.Sigma.trace() / d
        return solve_square(matrix, right, np.array([self.largest]))


_Part = tuple[Steps, FeatureMatrix, FeatureMatrix]  # steps, phi and phi'


def _transformed(features: Features, steps: Iterable[Steps]) -> Iterator[_Part]:
    for part in steps:
        for begin in range(0, len(part), _CHUNK):
            some = part[begin : begin + _CHUNK]
            yield some, *some.both(features.transform)


def _weighted(phi: FeatureMatrix, steps: Steps) -> FeatureMatrix:
    return phi if steps.weight is None else _times(phi, steps.weight)


def _times(rows: FeatureMatrix, factor: FloatArray) -> FeatureMatrix:
    """Rows, each times its factor."""
    if scipy.sparse.issparse(rows):
        return scipy.sparse.diags_array(factor, format="csr") @ rows
    return rows * factor[:, None]
