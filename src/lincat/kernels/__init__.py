"""Compiled loops: Numba and NumPy only, no validation, no allocation in loops, no randomness.

    layout                      where numbers live, and the flags that kernels are compiled with
    compiled                    the compiler, and where compiled code is kept
    guards                      what a loop looks at before it touches memory, once for each call
    simd                        vectors as values: the vocabulary of the passes
    blocks, matrix_, row_passes one step of an update: the error, dot products, outer products
    bellman, rules              the target of a transition; what each learning rule makes of it
    dense, csr, states          the loops over transitions, for three kinds of features; linear_td,
                                and recentred, whose noise vanishes
    sums, entries, placement    what block statistics add up, dense and sparse, and where it goes
    features, columns           from observations to features; from columns of a table to rows
    centers                     of bumps, among observations
    sampling, returns, product, step_sizes   what processes, validation and schedules need
    affine, figures             of distributions: scaled and shifted; for those who ask about states

Callers pass C-contiguous arrays (rows of parameters may lie apart: layout.py) of matching shapes
and finite numbers, rho from ``reward_shifts``, delta in [0, 1], states and indices within range;
shapes and addresses are guarded all the same. A NaN or infinity that gets through shows up in the
parameters. The submodules are imported on first use, because importing Numba takes longer than most
commands.
"""

import pkgutil

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=[module.name for module in pkgutil.iter_modules(__path__)]
)
