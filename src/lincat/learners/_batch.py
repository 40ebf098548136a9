"""What learners from sums share: they add up what they see, and solve when they are asked.

There is no step size and no order of updates: the answer is the fixed point of all data seen, and
:class:`lincat.Statistics` holds everything that it depends on.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse

from lincat._arguments import check_integer, check_number, fail
from lincat._parameters import Parametrised
from lincat._threads import one_blas_thread
from lincat._typing import BoolArray, FeatureMatrix, FloatArray
from lincat.core.grid import Grid
from lincat.data.transitions import Transitions, check_state_features
from lincat.learners._learning import Learning
from lincat.learners.state_sample import StateSample
from lincat.statistics.block_statistics import Statistics


class BatchLearner(Learning, Parametrised, ABC):
    """Base of :class:`lincat.LSTD` and :class:`lincat.CategoricalLSTD`."""

    #: Where distributions live; None for a learner of means.
    grid: Grid | str | None = None

    def __init__(
        self,
        *,
        gamma: float,
        ridge: float = 0.0,
        n_features: int | None = None,
        max_blocks: int = 64,
        nodes: Any = "auto",
        memory_limit: int = 2**31,
        keep_last: int | None = None,
    ) -> None:
        # Stored as given, validated at first use.
        self.gamma = gamma
        self.ridge = ridge
        self.n_features = n_features
        self.max_blocks = max_blocks
        self.nodes = nodes
        self.memory_limit = memory_limit
        self.keep_last = keep_last

    @abstractmethod
    def _solve(self) -> None:
        """Solve the equations of the statistics, and keep what comes out in attributes."""

    @abstractmethod
    def predict(self, Phi: Any) -> Any:
        """Return what the data say of the states with features Phi (n, d), or of state numbers."""

    @abstractmethod
    def _answer(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Arrays and numbers of what was solved, for files."""

    @abstractmethod
    def _restore_answer(self, arrays: dict[str, FloatArray], numbers: dict[str, Any]) -> None:
        """Restore what :meth:`_answer` gave."""

    # -------------------------------------------------------------------------------- learning

    def _take(self, transitions: Transitions, batch_size: int, *, whole: bool) -> Self:
        self._begin()
        if len(transitions):
            self._unsolve()
            self.statistics_.update(transitions)
            if transitions.kind != "states":  # else the sums name every state that was seen
                self._sample_.update(transitions.phi)
        return self

    def merge(self, other: BatchLearner) -> Self:
        """Add what another learner of the same kind has seen; ``other`` stays as it is."""
        if not isinstance(other, type(self)) or not other.begun:
            got = type(other).__name__ if not isinstance(other, type(self)) else "one without data"
            raise fail("other", f"a {type(self).__name__} that has seen transitions", got)
        self._begin()
        self._unsolve()
        self.statistics_.merge(other.statistics_)
        self._sample_.merge(other._sample_)
        return self

    def add_statistics(self, statistics: Statistics, states: FeatureMatrix | None = None) -> Self:
        """Add sums that somebody else has made, in place of transitions.

        Parameters
        ----------
        statistics : Statistics
        states : array or CSR matrix of shape (n, d), optional
            Features of states that are typical of those seen, by which the grid is placed; not
            needed where states are numbers.
        """
        self._begin()
        self._unsolve()
        self.statistics_.merge(statistics)
        if states is not None:
            self._sample_.update(states)
        return self

    # ------------------------------------------------------------------------------- answering

    @property
    def begun(self) -> bool:
        """Whether it has been given anything to learn from."""
        return hasattr(self, "statistics_")

    @property
    def n_seen_(self) -> int:
        """Transitions seen."""
        return self.statistics_.count if self.begun else 0

    def touched_rows(self) -> BoolArray:
        """Return which features any transition had, shape (d,)."""
        return np.asarray(self.statistics_.totals().Sigma.diagonal() > 0.0)

    def sampled_features(self) -> FeatureMatrix:
        """Return features of a sample of the states seen; of all where states are numbers."""
        if len(self._sample_):
            return self._sample_.rows()
        return self._check_states(np.flatnonzero(self.touched_rows()))

    def typical_features(self, n: int) -> FeatureMatrix:
        """Return features of about n of the states seen, each as often as it was seen."""
        rows = self.sampled_features()
        if len(self._sample_):
            return rows[:: -(-rows.shape[0] // n)]
        visits = self.statistics_.totals().Sigma.diagonal()
        seen = np.cumsum(visits[visits > 0.0])
        at = np.searchsorted(seen, (np.arange(n) + 0.5) / n * seen[-1])
        return rows[np.minimum(at, len(seen) - 1)]

    def save(self, path: str | Path) -> None:
        """Write the learner, its statistics and its answer to a file: safetensors, no code."""
        from lincat.learners.files import save

        self._ready()
        save(self, path)

    # ---------------------------------------------------------------------------------- inside

    _is_solved_ = False
    _is_shared_ = False

    def _begin(self) -> None:
        self._validate()
        if not self.begun:
            self.statistics_ = Statistics(
                self.n_features,
                max_blocks=self.max_blocks,
                nodes=self.nodes,
                memory_limit=self.memory_limit,
                keep_last=self.keep_last,
            )
            self._sample_ = StateSample()
        elif self._is_shared_:
            self.statistics_, self._sample_ = self.statistics_.copy(), self._sample_.copy()
            self._is_shared_ = False

    def _solved_copy(self, **changes: Any) -> Self:
        """Return a copy with other hyper-parameters, which shares what was seen until either adds.

        Those that are None stay as they are.
        """
        self._is_shared_ = True
        other = copy.copy(self)
        other._unsolve()
        other.set_params(**{name: value for name, value in changes.items() if value is not None})
        other._validate()
        other._ready()
        return other

    def _ready(self) -> None:
        """Solve, unless what was solved is still true."""
        if not self.n_seen_:
            raise fail(type(self).__name__, "a call of fit or partial_fit first", "none")
        if not self._is_solved_:
            # Threads would change the last bits; and on busy cores they wait for each other, which
            # has taken ten times as long.
            with one_blas_thread:
                self._solve()
            self._is_solved_ = True

    def _unsolve(self) -> None:
        self._is_solved_ = False

    def _validate(self) -> None:
        check_number(self.gamma, "gamma", low=0.0, high=1.0)
        check_number(self.ridge, "ridge", low=0.0)
        if self.n_features is not None:
            check_integer(self.n_features, "n_features", low=1)

    def _check_states(self, Phi: Any) -> FeatureMatrix:
        """Return features that the parameters can be applied to; state numbers become rows."""
        features = check_state_features(Phi, "Phi")
        d = self.statistics_.n_features
        if features.ndim == 2 and features.shape[1] != d:
            raise fail("Phi", f"{d} features, as learned from", f"shape {features.shape}")
        if features.ndim == 1 and d is not None:
            if features.max(initial=0) >= d:
                raise fail("Phi", f"states below {d}, as learned from", int(features.max()))
            rows = np.arange(len(features) + 1)
            one_hot = (np.ones(len(features)), features, rows)
            return scipy.sparse.csr_array(one_hot, shape=(len(features), d))
        return features
