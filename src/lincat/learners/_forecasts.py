"""Predictions in the words of forecasters: quantiles, and intervals that hold the return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from lincat._typing import ArrayLike, FloatArray
from lincat.core.distribution import ReturnDistribution


class Forecasts(ABC):
    """What learners of distributions have beside ``predict``."""

    @abstractmethod
    def predict(self, Phi: Any, *, confidence: float | None = None) -> ReturnDistribution:
        """Return the distributions of the return from states."""

    def predict_quantiles(self, Phi: Any, alpha: Sequence[float] = (0.05, 0.5, 0.95)) -> FloatArray:
        """Return the quantiles of the return from n states at m levels, shape (n, m).

        Where distributions are signed, those of the nearest proper ones.
        """
        return self.predict(Phi).proper().quantile(list(alpha))

    def predict_interval(
        self, Phi: Any, coverage: ArrayLike = 0.9
    ) -> tuple[FloatArray, FloatArray]:
        """Return (low, high) between which so much of the returns from each state lies, (n,) each.

        Examples
        --------
        >>> import lincat
        >>> coin = lincat.catalog.uniform_coin().process.sample(20_000, seed=1)
        >>> model = lincat.CategoricalLSTD(gamma=0.5, n_features=1).fit(coin)
        >>> [end.round(1).tolist() for end in model.predict_interval([0], coverage=0.8)]
        [[0.2], [1.8]]
        """
        return self.predict(Phi).prediction_interval(coverage)
