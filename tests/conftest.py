"""What all tests share."""

import importlib

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, which no deadline survives.
settings.register_profile("lincat", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("lincat")


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
