"""Compiled loops: Numba and NumPy only, no validation, no allocation in loops, no randomness.

Callers pass C-contiguous arrays (rows of parameters may lie apart: layout.py) of matching shapes
and finite numbers, rho from ``reward_shifts``, delta in [0, 1], states and indices within range. A
NaN or infinity that gets through all the same shows up in the parameters. The submodules are
imported on first use, because importing Numba takes longer than most commands.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "bellman",
        "columns",
        "csr",
        "dense",
        "features",
        "layout",
        "linear_td",
        "product",
        "returns",
        "rules",
        "sampling",
        "states",
        "step_sizes",
        "sums",
    ],
)
