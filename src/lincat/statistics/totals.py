"""Totals: what a data set says of the linear-categorical Bellman equation, for any gamma and grid.

With weights w_t, the fixed point of the data solves (Thm linear_cate_TD_equation, expectations
replaced by sums)

    Sigma Theta − Σ_g N_g Theta B(r_g, δ_g)ᵀ = Σ_g c_g b(r_g, δ_g)ᵀ

where g runs over groups of transitions that share a reward and a discount, N_g = Σ w phi phi'ᵀ,
c_g = Σ w phi, Sigma = Σ w phi phiᵀ. Rewards of a group are the same to the last bit, or have been
split among neighbouring nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from lincat._typing import FloatArray, IntArray
from lincat.statistics.reward_nodes import three_way

_OWN = 10.0  # times heavier than its neighbours is a node that is a reward of its own


@dataclass(frozen=True)
class Totals:
    """Sums over transitions, by groups of equal reward and equal discount.

    Attributes
    ----------
    reward : array of shape (G,)
        The reward of each group.
    power : int array of shape (G,)
        The discount of a group is gamma**power; 0 where the episode ended: nothing follows, and
        the discount is 0; -1 where the discount was given with the data.
    given_discount : array of shape (G,)
        That discount; NaN for the other groups.
    cross : array (G, d, d), or CSR matrix (G * d, d)
        N_g = Σ w phi phi'ᵀ of each group, one below the other where sparse; zero where power is 0.
    phi_sum : array of shape (G, d)
        c_g = Σ w phi.
    Sigma : array (d, d), or CSR matrix (d, d)
        Σ w phi phiᵀ over all groups.
    count : int
        Number of transitions.
    weight : float
        Σ w.
    """

    reward: FloatArray
    power: IntArray
    given_discount: FloatArray
    cross: FloatArray | scipy.sparse.csr_array
    phi_sum: FloatArray
    Sigma: FloatArray | scipy.sparse.csr_array
    count: int
    weight: float

    @property
    def n_features(self) -> int:
        """The number of features d."""
        return int(self.phi_sum.shape[1])

    def discount(self, gamma: float) -> FloatArray:
        """Return the discount of each group, shape (G,).

        Examples
        --------
        >>> import numpy as np
        >>> from lincat.statistics.totals import Totals
        >>> one = np.ones((3, 1))
        >>> totals = Totals(np.zeros(3), np.array([1, 2, 0]), np.full(3, np.nan),
        ...                 one[..., None], one, one[:1], count=3, weight=3.0)
        >>> totals.discount(0.5)
        array([0.5 , 0.25, 0.  ])
        """
        powers = np.where(self.power > 0, gamma ** np.maximum(self.power, 1), 0.0)
        return np.where(self.power == -1, self.given_discount, powers)

    def following(self, constant: FloatArray) -> FloatArray:
        """Return Σ w phi' of each group, shape (G, d), where phi·constant = 1 on all rows."""
        if scipy.sparse.issparse(self.cross):
            G, d = self.phi_sum.shape
            rows = scipy.sparse.kron(scipy.sparse.eye_array(G), constant[None, :], format="csr")
            return np.asarray((rows @ self.cross).toarray()).reshape(G, d)
        return np.asarray(np.einsum("i,gij->gj", constant, self.cross))

    def coarser(self) -> Totals:
        """Return the sums as if every second reward node had not been there, on the same groups.

        But for one that is a reward of its own, much heavier than both its neighbours: it would be
        a node of fewer, too, and its neighbour goes. What a node had that is not there is split
        over three that are, like a reward between nodes.

        Examples
        --------
        >>> import numpy as np
        >>> from lincat.statistics.totals import Totals
        >>> c = np.array([[0.0], [1.0], [0.5], [0.0], [0.0]])
        >>> totals = Totals(np.arange(5.0), np.ones(5, int), np.full(5, np.nan), c[..., None], c,
        ...                 np.eye(1), count=1, weight=1.0)
        >>> totals.coarser().phi_sum.ravel()
        array([ 0.375,  0.   ,  1.25 ,  0.   , -0.125])
        """
        G, d = self.phi_sum.shape
        shares = np.eye(G)
        size = np.abs(self.phi_sum).sum(axis=1)
        kinds = np.stack([self.power, np.nan_to_num(self.given_discount, nan=-1.0)], axis=1)
        for kind in np.unique(kinds, axis=0):
            groups = np.flatnonzero((kinds == kind).all(axis=1))
            second = np.arange(1, len(groups) - 1, 2)  # the last is an end
            before, here, after = (size[groups[second + i]] for i in (-1, 0, 1))
            second += here > _OWN * np.maximum(before, after)
            gone = groups[second[second < len(groups) - 1]]
            left = np.setdiff1d(groups, gone)
            if len(left) < 3:
                continue
            first, split = three_way(self.reward[left], self.reward[gone])
            shares[:, gone] = 0.0
            for m in range(3):
                shares[left[first + m], gone] = split[:, m]
        if scipy.sparse.issparse(self.cross):
            cross = scipy.sparse.csr_array(
                scipy.sparse.kron(shares, scipy.sparse.eye_array(d), format="csr") @ self.cross
            )
        else:
            cross = np.tensordot(shares, self.cross, 1)
        return replace(self, cross=cross, phi_sum=shares @ self.phi_sum)

    def restricted(self, kept: IntArray, *, dense: bool = True) -> Totals:
        """Return sums over some of the features, as if the others were zero; dense, or sparse."""
        G = len(self.reward)
        rows = (np.arange(G)[:, None] * self.n_features + kept).ravel()
        cross = scipy.sparse.csr_array(scipy.sparse.csr_array(self.cross)[rows][:, kept])
        Sigma = scipy.sparse.csr_array(scipy.sparse.csr_array(self.Sigma)[kept][:, kept])
        phi_sum = np.ascontiguousarray(self.phi_sum[:, kept])
        if not dense:
            return replace(self, cross=cross, phi_sum=phi_sum, Sigma=Sigma)
        blocks = cross.toarray().reshape(G, len(kept), len(kept))
        return replace(self, cross=blocks, phi_sum=phi_sum, Sigma=Sigma.toarray())
