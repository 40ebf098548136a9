"""Learning from one transition at a time, which every learner can."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from lincat._typing import ArrayLike

__all__ = ["LearnsOne"]


class LearnsOne(ABC):
    """Adds :meth:`learn_one` to what has ``partial_fit``."""

    @abstractmethod
    def partial_fit(self, phi: Any, *args: Any, **options: Any) -> Self:
        """Learn from more transitions."""

    def learn_one(
        self,
        phi: ArrayLike,
        reward: float,
        phi_next: ArrayLike,
        *,
        terminated: bool = False,
        discount: float | None = None,
        weight: float = 1.0,
    ) -> Self:
        """Learn from a single transition with features of shape (d,), or two state numbers."""
        one = [np.asarray(x)[None] for x in (phi, phi_next)]
        return self.partial_fit(
            one[0],
            [reward],
            one[1],
            terminated=[terminated] if terminated else None,
            discount=None if discount is None else [discount],
            weight=None if weight == 1.0 else [weight],
        )
