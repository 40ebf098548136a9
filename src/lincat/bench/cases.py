"""The sizes that are measured, and transitions of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lincat._typing import FloatArray
from lincat.core.grid import Grid

GAMMA, STEP = 0.9, 0.1


@dataclass(frozen=True)
class Case:
    """One size: d features (or states), K intervals."""

    #: Dense features; states, one of d; or tiles: `active` of d features equal, others zero.
    kind: Literal["dense", "states", "tiles"]
    d: int
    K: int
    active: int = 1
    batch: int = 1

    @property
    def name(self) -> str:
        """How tables name it."""
        size = {
            "dense": f"{self.d} x {self.K}",
            "states": f"one-hot {self.d} x {self.K}",
            "tiles": f"tiles {self.d} ({self.active} active) x {self.K}",
        }[self.kind]
        return size if self.batch == 1 else f"{size}, batch {self.batch}"

    @property
    def value(self) -> float:
        """Of an active feature, so that phi has norm one."""
        return float(self.active**-0.5)

    @property
    def touched(self) -> int:
        """Features that are not zero."""
        return self.d if self.kind == "dense" else self.active


DENSE = tuple(
    Case("dense", d, K) for d, K in [(3, 30), (3, 450), (16, 51), (64, 201), (256, 101), (1024, 51)]
)
SPARSE = (Case("states", 1000, 201), Case("tiles", 100_000, 51, active=8))


@dataclass(frozen=True)
class Data:
    """n transitions: features as (n, d) floats, (n,) states, or (n, active) ascending indices."""

    case: Case
    phi: Any
    phi_next: Any
    reward: FloatArray
    rho: FloatArray  # the reward in grid cells
    delta: FloatArray
    step: FloatArray  # over the size of a batch

    def __len__(self) -> int:
        return len(self.reward)

    def first(self, n: int) -> Data:
        """Return the first n transitions."""
        names = ("phi", "phi_next", "reward", "rho", "delta", "step")
        return replace(self, **{name: getattr(self, name)[:n] for name in names})

    @property
    def grid(self) -> Grid:
        """The grid of the paper: rewards in [0, 1]."""
        return Grid(0.0, 1.0 / (1.0 - GAMMA), self.case.K)


def draw(case: Case, n: int, seed: int) -> Data:
    """Draw independent transitions: features of norm one, rewards uniform in [0, 1]."""
    rng = np.random.default_rng(seed)
    reward = rng.random(n)
    return Data(
        case,
        _features(case, n, rng),
        _features(case, n, rng),
        reward,
        reward * ((1.0 - GAMMA) * case.K),
        np.full(n, GAMMA),
        np.full(n, STEP / case.batch),
    )


def _features(case: Case, n: int, rng: np.random.Generator) -> Any:
    if case.kind == "states":
        return rng.integers(case.d, size=n)
    if case.kind == "tiles":  # one tile of each tiling
        tiling = case.d // case.active
        index = rng.integers(tiling, size=(n, case.active)) + tiling * np.arange(case.active)
        return index.astype(np.int32)
    phi = rng.normal(size=(n, case.d))
    return phi / np.linalg.norm(phi, axis=1, keepdims=True)
