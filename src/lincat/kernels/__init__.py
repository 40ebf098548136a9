"""Compiled loops: Numba and NumPy only, no validation, no allocation in loops, no randomness.

The submodules are imported on first use, because importing Numba takes longer than most commands.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["bellman", "sampling"])
