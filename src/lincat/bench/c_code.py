"""C, compiled when it is measured: the best that we can write, and the straightforward form."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lincat import kernels
from lincat.bench.cases import Data
from lincat.bench.contender import Contender, UnavailableError

_SOURCES = Path(__file__).parent / "c"
_FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
_NAMES = {
    "dense": (("dense_best", "dense_best_line"), "dense_simple"),
    "states": (("states_best",), "sparse_simple"),
    "tiles": (("csr_best",), "sparse_simple"),
}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="lincat-bench-")  # removed at exit


@cache
def load(name: str) -> Callable[..., None]:
    """Compile ``name``.c and return its function ``name``, arguments checked by nobody."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        raise UnavailableError("C: no compiler found; install gcc, or set CC")
    library = Path(_folder().name) / f"{name}.so"
    command = [compiler, *_FLAGS, str(_SOURCES / f"{name}.c"), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"C: {name}.c does not compile: {done.stderr.splitlines()[0]}")
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None

    def call(*arguments: Any) -> None:
        function(
            *(
                ctypes.c_long(a) if isinstance(a, int) else ctypes.c_void_p(a.ctypes.data)
                for a in arguments
            )
        )

    return call


def contenders(data: Data) -> list[Contender]:
    """Return "C best" (in several versions, if which is faster depends on the size), "C simple"."""
    best, simple = _NAMES[data.case.kind]
    made = [_contender("C best", name, data) for name in best]
    return [*made, _contender("C simple", simple, data)]


def _contender(label: str, name: str, data: Data) -> Contender:
    case, n = data.case, len(data)
    call = load(name)
    Theta = kernels.layout.padded_zeros(case.d, case.K)
    width = Theta.shape[1]
    features: tuple[Any, ...] = (data.phi, data.phi_next)
    sizes: tuple[int, ...] = (n, case.K, width)
    if case.kind == "dense":
        sizes = (n, case.d, case.K, width)
    elif name != "states_best":
        indptr = np.arange(0, n * case.active + 1, case.active, dtype=np.int32)
        values = np.full(n * case.active, case.value)
        features = tuple(
            array
            for phi in (data.phi, data.phi_next)
            for array in (indptr, phi.ravel().astype(np.int32), values)
        )
    arguments = (Theta, *features, data.rho, data.delta, data.step, *sizes)
    return Contender(label, lambda: call(*arguments), n, lambda: Theta[:, : case.K])


def roofline(data: Data) -> list[Contender]:
    """Return what a dense update cannot do without: its arithmetic, and its way through memory.

    Each parameter takes part in three multiply-adds (the update and two dot products), and is read
    and written once. Times over ours are shares of the roofline.
    """
    case, n = data.case, len(data)
    Theta = kernels.layout.padded_zeros(case.d, case.K)
    peak, touch = load("peak"), load("touch")
    vectors, numbers = 3 * case.d * case.K // 4, Theta.size // 16 * 16
    return [
        Contender("FMA bound", lambda: peak(Theta, n, vectors), n),
        Contender("memory bound", lambda: touch(Theta, n, numbers), n),
    ]
