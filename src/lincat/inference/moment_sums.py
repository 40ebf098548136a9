"""Sums small enough for a page, from which it solves mean and second moment for any gamma.

In whitened coordinates (``solvers/whitening.py``), with N = Σ Wᵀ N_g W and N_r = Σ r_g Wᵀ N_g W
over groups whose discount is gamma,

    (I − gamma N) x = Wᵀ Σ r_g c_g + m p,     (I − gamma² N) y = Wᵀ Σ r_g² c_g + 2 gamma N_r x + q p

and mean and second moment of a state are z·x and z·y, z = Wᵀ phi. A ridge draws towards the moments
m and q of all states as one, by p (``solvers/moments.py``).
"""

from __future__ import annotations

import msgspec
import numpy as np

from lincat._typing import FeatureMatrix
from lincat.inference.validation import Numbers
from lincat.solvers.moments import weighted_cross
from lincat.solvers.whitening import whiten
from lincat.statistics.totals import Totals

_LARGEST = 48  # coordinates: their squares go into a page


class MomentSums(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a page solves by itself.

    Attributes
    ----------
    following, rewarded : r tuples of r floats
        N and N_r.
    first, second, pull : tuples of r floats
        Wᵀ Σ r c, Wᵀ Σ r² c, and p.
    pooled : tuple of 5 floats
        Of all states as one: weight that goes on, weight that ends, Σ w r, Σ w r², and Σ w r of
        what goes on.
    states : n tuples of r floats
        z of each state that is shown.
    ends : bool
        Whether episodes end, so that gamma may be 1.
    """

    following: tuple[Numbers, ...]
    rewarded: tuple[Numbers, ...]
    first: Numbers
    second: Numbers
    pull: Numbers
    pooled: Numbers
    states: tuple[Numbers, ...]
    ends: bool


def moment_sums(totals: Totals, Phi: FeatureMatrix, *, ridge: float = 0.0) -> MomentSums | None:
    """Return the sums of a page; None where they are too large, or discounts came with the data.

    Parameters
    ----------
    totals : Totals
    Phi : array of shape (n, d)
        Features of the states that are shown.
    ridge : float
    """
    if (totals.power == -1).any() or totals.n_features > _LARGEST:
        return None
    whitening = whiten(totals.Sigma, ridge=ridge)
    goes_on = (totals.power == 1).astype(np.float64)
    N, rewarded = (
        _dense(whitening.inner(weighted_cross(totals, weight)))
        for weight in (goes_on, goes_on * totals.reward)
    )
    plain = whiten(totals.Sigma)
    constant = plain.up(plain.down(totals.phi_sum.sum(axis=0)))
    weight, reward = totals.phi_sum @ constant, totals.reward
    spans = abs(weight.sum() - totals.weight) <= 1e-9 * totals.weight
    pull = whitening.added * constant if spans else 0.0 * constant
    pooled = (
        weight @ goes_on,
        weight @ (1.0 - goes_on),
        weight @ reward,
        weight @ reward**2,
        weight @ (goes_on * reward),
    )
    return MomentSums(
        following=_rows(N),
        rewarded=_rows(rewarded),
        first=tuple(whitening.down(totals.phi_sum.T @ reward).tolist()),
        second=tuple(whitening.down(totals.phi_sum.T @ reward**2).tolist()),
        pull=tuple(whitening.down(pull).tolist()),
        pooled=tuple(float(x) for x in pooled),
        states=_rows(whitening.down(np.asarray(Phi))),
        ends=bool((totals.power == 0).any()),
    )


def _dense(matrix: FeatureMatrix) -> FeatureMatrix:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _rows(table: FeatureMatrix) -> tuple[Numbers, ...]:
    return tuple(map(tuple, np.asarray(table).tolist()))
