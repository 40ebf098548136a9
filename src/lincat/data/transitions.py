"""A batch of transitions: what a learner learns from, wherever it came from."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse

from lincat import kernels
from lincat._arguments import (
    check_array,
    check_discounts,
    check_each,
    check_flags,
    check_indices,
    check_plain,
    check_sparse,
    fail,
)
from lincat._typing import ArrayLike, BoolArray, FeatureMatrix, FloatArray
from lincat.core.grid import reach

_ROUNDING = 1e-11  # of what TD errors are differences of

#: How states are given: by features, or by their numbers.
FeatureKind: TypeAlias = Literal["dense", "sparse", "states"]


class Transitions:
    """n transitions (phi, reward, phi'), in the order in which they were seen.

    Parameters
    ----------
    phi, phi_next : array (n, d), CSR matrix (n, d), or integer array (n,)
        Features of the states left and entered: dense, sparse, or the numbers of the states of a
        finite set (a table, one feature per state). Float32 stays float32.
    reward : array of shape (n,)
    terminated : array of bool, shape (n,), optional
        Where the episode ended: nothing follows, so the discount is 0. A *truncated* episode has
        not ended in this sense.
    discount : array of shape (n,) or a number, optional
        In [0, 1]; by default the learner's gamma. For n-step rewards pass gamma**n.
    weight : array of shape (n,), optional
        At least 0: importance ratios; 1 by default.
    truncated : array of bool, shape (n,), optional
        Where the record of an episode breaks off, so that the next transition does not follow. No
        learner needs it, but blocks of :class:`lincat.Statistics` hold whole episodes.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat import Transitions
    >>> t = Transitions(np.eye(3), [0.0, 1.0, 2.0], np.eye(3)[[1, 2, 0]])
    >>> len(t), t.kind, t.n_features
    (3, 'dense', 3)
    >>> len(t[1:])
    2
    """

    def __init__(
        self,
        phi: Any,
        reward: ArrayLike,
        phi_next: Any,
        terminated: ArrayLike | None = None,
        discount: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
    ) -> None:
        self.phi = check_state_features(phi, "phi")
        n = self.phi.shape[0]
        self.phi_next = check_state_features(phi_next, "phi_next")
        if _kind(self.phi) != _kind(self.phi_next) or self.phi.shape != self.phi_next.shape:
            raise fail(
                "phi_next",
                f"{_kind(self.phi)} features of shape {self.phi.shape} like phi",
                f"{_kind(self.phi_next)} of shape {self.phi_next.shape}",
            )
        if self.kind == "dense" and self.phi.dtype != self.phi_next.dtype:
            self.phi, self.phi_next = (x.astype(np.float64) for x in (self.phi, self.phi_next))
        self.reward: FloatArray = check_array(reward, "reward", shape=(n,))
        #: Rewards as they came, also where TD errors stand for them.
        self.reward_seen: FloatArray = self.reward
        #: Likewise what each would come to for ever, between which returns lie; see ``centred``.
        self.reach: FloatArray | None = None
        self.terminated: BoolArray | None = None
        self.truncated: BoolArray | None = None
        self.discount: FloatArray | None = None
        self.weight: FloatArray | None = None
        if terminated is not None:
            self.terminated = check_flags(terminated, "terminated", n)
        if truncated is not None:
            self.truncated = check_flags(truncated, "truncated", n)
        if discount is not None:
            self.discount = check_discounts(discount, "discount", n)
        if weight is not None:
            ratios = check_array(weight, "weight", shape=(n,))
            self.weight = check_each(ratios, ratios >= 0.0, "weight", "numbers of at least 0")

    @property
    def kind(self) -> FeatureKind:
        """How states are given: "dense", "sparse" or "states"."""
        return _kind(self.phi)

    @property
    def n_features(self) -> int | None:
        """The number of features d; None for state numbers, which do not tell."""
        return None if self.kind == "states" else int(self.phi.shape[1])

    def __len__(self) -> int:
        return len(self.reward)

    def __getitem__(self, part: slice) -> Transitions:
        """Return a slice, without copying (but for sparse features) and without new checks."""
        if not isinstance(part, slice):
            raise fail("index", "a slice of transitions", repr(part))
        piece = object.__new__(Transitions)
        for name, column in vars(self).items():
            setattr(piece, name, None if column is None else column[part])
        return piece

    def __repr__(self) -> str:
        return f"Transitions({len(self)}, {self.kind} features of shape {self.phi.shape})"

    def discounts(self, gamma: float) -> FloatArray:
        """Return the discount of each transition: as given, or gamma; 0 where it terminated."""
        given = np.full(len(self), gamma) if self.discount is None else self.discount
        return given if self.terminated is None else np.where(self.terminated, 0.0, given)

    def centred(self, value: ArrayLike, value_next: ArrayLike, gamma: float) -> Transitions:
        """Return the same transitions with TD errors as rewards, for *any* function V.

        G − V(s) = Σ gamma^t δ_t with δ = r + discount V(s') − V(s): it telescopes. So a learner of
        these learns the distributions of G − V(s), which share a narrow grid, and
        :meth:`lincat.ReturnDistribution.shifted` adds V(s) back.

        Parameters
        ----------
        value, value_next : arrays of shape (n,)
            V of the states left and entered; where an episode ended, what follows is worth 0
            whatever ``value_next`` says.
        gamma : float

        Examples
        --------
        >>> from lincat import Transitions
        >>> t = Transitions([0, 1], [1.0, 1.0], [1, 0], terminated=[False, True])
        >>> t.centred([5.0, 2.0], [2.0, 5.0], gamma=0.5).reward
        array([-3., -1.])
        """
        n = len(self)
        here = check_array(value, "value", shape=(n,))
        there = check_array(value_next, "value_next", shape=(n,))
        other = self[:]
        following = self.discounts(gamma) * there
        error = self.reward + following - here
        size = np.abs(self.reward) + np.abs(following) + np.abs(here)
        # What rounding leaves of a certain return is no chance, and would get a grid of its own.
        other.reward = np.where(np.abs(error) > _ROUNDING * size, error, 0.0)
        with np.errstate(over="ignore"):  # what is infinite is no end
            other.reach = reach(self.reward, self.discounts(gamma))
        return other

    def in_units(self, scale: ArrayLike, discount: ArrayLike) -> Transitions:
        """Return the same transitions with rewards in units that depend on the state.

        For *any* function σ > 0, G/σ(s) = r/σ(s) + (discount σ(s')/σ(s)) G'/σ(s'): a return
        whose rewards are r/σ(s) and whose discounts, also above 1, are ``discount``. A learner of
        these learns the distributions of G/σ(s), which are much alike where returns from some
        states are far more certain than from others;
        :meth:`lincat.ReturnDistribution.rescaled` multiplies by σ(s).

        Parameters
        ----------
        scale : array of shape (n,)
            σ of the states left, above 0.
        discount : array of shape (n,)
            discount σ(s')/σ(s), at least 0, or values near it that are shared by many transitions.

        Examples
        --------
        >>> from lincat import Transitions
        >>> t = Transitions([0, 1], [1.0, 3.0], [1, 0], discount=[0.8, 0.8])
        >>> in_units = t.in_units([2.0, 4.0], discount=[1.6, 0.4])
        >>> in_units.reward, in_units.discount
        (array([0.5 , 0.75]), array([1.6, 0.4]))
        """
        n = len(self)
        unit = check_array(scale, "scale", shape=(n,))
        unit = check_each(unit, unit > 0.0, "scale", "numbers above 0")
        other = self[:]
        other.reward = self.reward / unit
        other.discount = check_discounts(discount, "discount", n, highest=np.inf)
        return other

    def squared_norms(self) -> FloatArray:
        """Return ‖phi‖² of each transition, shape (n,)."""
        if self.kind == "states":
            return np.ones(len(self))
        if self.kind == "sparse":
            return np.asarray(self.phi.multiply(self.phi).sum(axis=1), dtype=np.float64)
        norms: FloatArray = np.empty(len(self))
        kernels.step_sizes.squared_norms(norms, self.phi)
        return norms


def check_state_features(value: Any, argument: str) -> FeatureMatrix:
    """Return features as a contiguous float array (n, d), a sorted CSR matrix, or integers (n,)."""
    if scipy.sparse.issparse(value):
        return check_sparse(value, argument)
    check_plain(value, argument)
    try:
        array = np.asarray(value)
    except ValueError:
        raise fail(argument, "an array of numbers", "rows of different lengths") from None
    if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
        return check_indices(array, argument)
    if array.dtype == np.float32 and array.ndim == 2:
        if not np.isfinite(array).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise fail(argument, "finite numbers", f"{array[row, column]} at index {(row, column)}")
        return np.ascontiguousarray(array)
    return check_array(value, argument, shape=(None, None))


def _kind(features: FeatureMatrix) -> FeatureKind:
    if scipy.sparse.issparse(features):
        return "sparse"
    return "states" if features.ndim == 1 else "dense"
