"""The ways in that every learner has: all transitions at once, some more, a single one.

Their arguments are written out, each time, for help pages and type checkers to show them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import Any, Self

from lincat._arguments import check_integer
from lincat._typing import ArrayLike
from lincat.data.transitions import Transitions
from lincat.learners.inputs import as_transitions, single_row


class Learning(ABC):
    """Turns what users pass into transitions, which :meth:`_take` learns from."""

    @abstractmethod
    def _take(self, transitions: Transitions, batch_size: int, *, whole: bool) -> Self:
        """Learn from more transitions; ``whole`` says that there are no others."""

    def fit(
        self,
        phi: Any,
        reward: ArrayLike | None = None,
        phi_next: Any = None,
        *,
        terminated: ArrayLike | None = None,
        discount: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
        batch_size: int = 1,
    ) -> Self:
        """Forget everything, then learn from these transitions in one pass.

        The number of updates is known, so averaging="tail" covers exactly the second half.
        Arguments as for :meth:`partial_fit`.
        """
        given = as_transitions(phi, reward, phi_next, terminated, discount, weight, truncated)
        batch_size = check_integer(batch_size, "batch_size", low=1)
        self._forget()
        return self._take(given, batch_size, whole=True)

    def partial_fit(
        self,
        phi: Any,
        reward: ArrayLike | None = None,
        phi_next: Any = None,
        *,
        terminated: ArrayLike | None = None,
        discount: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
        batch_size: int = 1,
    ) -> Self:
        """Continue learning from more transitions.

        Parameters
        ----------
        phi : Transitions, what a process's ``sample`` returns, or features as for Transitions
            With features, ``reward`` and ``phi_next`` are needed too.
        reward, phi_next, terminated, discount, weight, truncated
            As for :class:`lincat.Transitions`.
        batch_size : int
            Transitions per update: the mean of their updates, all taken at the same parameters.
            A call whose length is no multiple ends with a smaller batch. To learners from sums it
            makes no difference, nor how transitions are cut into calls.

        Returns
        -------
        The learner itself.
        """
        given = as_transitions(phi, reward, phi_next, terminated, discount, weight, truncated)
        return self._take(given, check_integer(batch_size, "batch_size", low=1), whole=False)

    def learn_one(
        self,
        phi: Any,
        reward: float,
        phi_next: Any,
        *,
        terminated: bool = False,
        discount: float | None = None,
        weight: float = 1.0,
    ) -> Self:
        """Learn from a single transition.

        Parameters
        ----------
        phi, phi_next : arrays of shape (d,), single rows as features make them, or state numbers
            ``features.transform([observation])`` will do, sparse or not.
        reward : float
        terminated : bool
        discount : float, optional
        weight : float

        Examples
        --------
        >>> import lincat
        >>> tiles = lincat.Tiles(tilings=2, bins=4).fit([[0.0], [1.0]])
        >>> model = lincat.LinearTD(gamma=0.5, step_size=0.5)
        >>> model = model.learn_one(tiles.transform([[0.2]]), 1.0, tiles.transform([[0.7]]))
        >>> model.predict(tiles.transform([[0.2]])).round(2)
        array([0.5])
        """
        return self.partial_fit(
            single_row(phi, "phi"),
            [reward],
            single_row(phi_next, "phi_next"),
            terminated=[terminated] if terminated else None,
            discount=None if discount is None else [discount],
            weight=None if weight == 1.0 else [weight],
        )

    def _repr_html_(self) -> str:
        """What notebooks show: the learner as it was made, and what it has seen."""
        seen = f"{getattr(self, 'n_seen_', 0):,} transitions"
        return f"<div><code>{escape(repr(self))}</code><p>has learned from {seen}</p></div>"

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
