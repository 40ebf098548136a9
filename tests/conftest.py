"""What all tests share."""

import importlib
import os

import pytest
from hypothesis import settings

# The workers of pytest share the cores already. Two threads of BLAS or OpenMP in each of them wait
# for each other: eigenvectors of 1,125 unknowns took 11 s of the processor instead of 1. Set before
# anything loads NumPy, for commands in other processes too; tests of threads say their number.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# The first call of a kernel compiles it, which no deadline survives.
settings.register_profile("lincat", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("lincat")


def pytest_configure(config):
    config.pluginmanager.import_plugin("tests.peak_memory")


@pytest.fixture(scope="session")
def quantecon(tmp_path_factory):
    """QuantEcon, an oracle, with a compile cache of this process's own.

    It has universal functions compiled while it is imported, and keeps them beside its source. Two
    test workers that did so at the same moment left a cache in which one file names a symbol that
    the other does not have ("LLVM ERROR: Symbol not found: __gufunc__..."): every later import
    aborted, until somebody removed the files. Nobody shares this folder, so that cannot happen; it
    costs the worker that gets these tests some seconds. Numba decides where a function is cached
    when it is decorated, hence our own kernels, and their cache, know nothing of it.
    """
    config = importlib.import_module("numba.core.config")
    before = config.CACHE_DIR
    config.CACHE_DIR = str(tmp_path_factory.mktemp("quantecon"))
    try:
        return importlib.import_module("quantecon")
    finally:
        config.CACHE_DIR = before
