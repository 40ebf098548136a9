"""The compiler of all kernels, and where compiled code is kept: one folder for each version.

    <user's cache>/lincat/kernels-<digest>/<function>-<key>.bin

The digest is of every source file here, of Python, Numba and llvmlite, so an upgrade (or an edit of
a function that others inline) looks elsewhere; the key is of argument types and of the processor.
A file begins with the SHA-256 of the rest: compiled code with a flipped bit would end the process.
Numba's own cache keeps an index, in which two processes that compile at once can give each other's
code a name; here every piece has a name of its own, and appears whole or not at all. What cannot be
read is compiled again, and what cannot be written is compiled each time.
"""

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
import uuid
from pathlib import Path

import llvmlite
import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.serialize import dumps

_DIGEST = 32  # bytes of a SHA-256


def user_cache():
    """Where this user's caches are: NUMBA_CACHE_DIR, or the system's usual place; None if none.

    The variable itself: Numba's setting may come from a file in the current folder, and compiled
    code is pickles.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given)
    usual = {"darwin": "~/Library/Caches", "win32": "~/AppData/Local"}.get(sys.platform, "~/.cache")
    place = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(usual))
    return place if place.is_absolute() else None


def cache_folder():
    """Where compiled code of these very sources is kept; None where there is no place for it."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    place = user_cache()
    if place is None or not sources:
        return None
    digest = hashlib.sha256()
    for text in (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__):
        digest.update(f"{text}\n".encode())
    for source in sources:
        digest.update(source.name.encode() + source.read_bytes())
    return place / "lincat" / f"kernels-{digest.hexdigest()[:16]}"


# At import, before an upgrade could put other sources beside the modules that are already loaded.
FOLDER = cache_folder()


def clear():
    """Remove the compiled code of all versions; return where it was, or would have been."""
    root = None if FOLDER is None else FOLDER.parent
    for place in [] if root is None else root.glob("kernels-*"):
        shutil.rmtree(place)
    return root


def njit(*, cache=False, **options):
    """``numba.njit``, with ``cache=True`` for kernels that are called from Python."""

    def compiled(function):
        made = numba.njit(**options)(function)
        if cache and FOLDER is not None and not config.DISABLE_JIT:
            made._cache = KernelCache(function, FOLDER)
        return made

    return compiled


class KernelCache(_Cache):
    """Compiled code of one function on disk, for each kind of arguments and processor."""

    def __init__(self, function, folder):
        self._folder = folder
        self._form = _Form(function)
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self):
        """The folder."""
        return str(self._folder)

    def load_overload(self, sig, target_context):
        """Return compiled code, or None if there is none that can be used."""
        target_context.refresh()
        try:
            content = self._file(sig, target_context.codegen()).read_bytes()
            if self._enabled and hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                return self._form.rebuild(target_context, pickle.loads(content[_DIGEST:]))
        except Exception:
            # Not there, damaged, or of something that looks alike: compiling helps with all.
            return None
        return None

    def save_overload(self, sig, data):
        """Keep compiled code, if there is a place for it."""
        if not self._enabled or not self._form.check_cachable(data):
            return
        content = dumps(self._form.reduce(data))
        file = self._file(sig, data.codegen)
        draft = file.with_suffix(f".{uuid.uuid4().hex[:16]}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(draft, file)
        except OSError:  # no room, or read-only
            with contextlib.suppress(OSError):
                draft.unlink()

    def _file(self, sig, codegen):
        key = hashlib.sha256(f"{sig} {codegen.magic_tuple()}".encode()).hexdigest()[:24]
        return self._folder / f"{self._name}-{key}.bin"

    def enable(self):
        """Read and write from now on."""
        self._enabled = True

    def disable(self):
        """Neither read nor write."""
        self._enabled = False

    def flush(self):
        """Forget what is kept of this function."""
        for file in self._folder.glob(f"{self._name}-*.bin"):
            file.unlink(missing_ok=True)


class _Form(CompileResultCacheImpl):
    """How Numba turns compiled code into what can be pickled, without its search for a folder."""

    def __init__(self, function):
        self._lineno = function.__code__.co_firstlineno
        self._locator = self
        self._py_file = function.__code__.co_filename
