"""Kernels without their compiler, so that coverage sees their branches: a plugin of pytest.

    NUMBA_DISABLE_JIT=1 python -m pytest -n 0 -p tests.kernels.interpreted tests/kernels

What only the compiler can do has a twin here: vectors of ``kernels/simd.py`` are NumPy arrays, an
address is read as it is, and a version that is chosen by types is chosen when it is called.
Tests of the compiler itself are left out.
"""

import importlib
import signal

import numpy as np
import pytest
from numba import config, typeof

from lincat.kernels import compiled, simd

SECONDS = 0.7
# Bad addresses, too, and who listens to calls of compiled code.
COMPILED = ("test_compiled.py", "test_simd.py", "test_guards.py", "test_callers.py")


def _memory(array, at, lanes):
    """Numbers at .. at + lanes - 1, counted in memory from the first one of the array."""
    kind = np.ctypeslib.as_ctypes_type(array.dtype) * int(lanes)
    return np.ctypeslib.as_array(kind.from_address(array.ctypes.data + int(at) * array.itemsize))


def _zeros(size):
    return lambda like: np.zeros(size // np.asarray(like).itemsize, np.asarray(like).dtype)


def _load(array, at, like):
    return _memory(array, at, len(like)).astype(like.dtype)


def _store(array, at, block):
    _memory(array, at, len(block))[:] = block.astype(array.dtype)


def _fma(a, b, c):
    wide = np.longdouble
    return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(a.dtype)


def _clamp(a, low, high):
    a = np.where(a > low, a, low)
    return np.where(a < high, a, high)


TWINS = {
    "half": _zeros(32),
    "line": _zeros(64),
    "pair": _zeros(128),
    "quad": _zeros(256),
    "lanes": len,
    "stride": lambda matrix: matrix.strides[0] // matrix.itemsize,
    "load": _load,
    "store": _store,
    "element": lambda array, at: _memory(array, at, 1)[0],
    "prefetch": lambda array, at: None,
    "broadcast": lambda x, like: np.full_like(like, x),
    "ramp": lambda like: np.arange(len(like), dtype=like.dtype),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fma": _fma,
    "floor": np.floor,
    "clamp": _clamp,
    "keep": lambda a, n: np.where(np.arange(len(a)) < n, a, a.dtype.type(0)),
}


def _number_at(address, index, like):
    kind = np.ctypeslib.as_ctypes_type(like.dtype)
    return like.dtype.type(kind.from_address(int(address) + int(index) * like.itemsize).value)


def _njit(**_options):
    """A decorator that leaves a function what it is; some ask for what was compiled."""

    def itself(function):
        function.py_func = function
        return function

    return itself


def _exchange():
    """Give kernels the twins, before any of them has taken the originals."""
    for name, twin in TWINS.items():
        setattr(simd, name, twin)
    compiled.njit = _njit
    columns, linear_td = (
        importlib.import_module(f"lincat.kernels.{x}") for x in ("columns", "linear_td")
    )
    columns._number_at = _number_at
    linear_td.uint64 = lambda x: int(x) % 2**64
    for name in ("guard", "difference", "add"):
        choose = getattr(linear_td, f"_choose_{name}")
        setattr(linear_td, f"_{name}", lambda *args, f=choose: f(*map(typeof, args))(*args))


if config.DISABLE_JIT:  # not where doctests are looked for
    _exchange()


def pytest_collection_modifyitems(session, items):
    """Leave the tests of the compiler out."""
    out = [item for item in items if item.path.name in COMPILED]
    session.config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


def _enough(*_):
    pytest.skip("its branches were seen; its numbers are looked at where it is compiled")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Let NumPy's numbers overflow like the processor's, and leave a test after a second."""
    signal.signal(signal.SIGVTALRM, _enough)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with np.errstate(all="ignore"):
            return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
