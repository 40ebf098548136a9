"""Telling the user why nothing seems to happen: a kernel compiles when it is first called.

Compiling takes ten seconds or so, once a machine: the result is kept on disk. Numba tells when
it begins to compile, not when it reads from disk, so there is nothing to guess.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def announced(say: Callable[[], object]) -> Iterator[None]:
    """Call ``say`` once, and at once, if anything has to be compiled in this block.

    Examples
    --------
    >>> import numba
    >>> double = numba.njit(lambda x: 2 * x)
    >>> with announced(lambda: print("compiling, which takes a moment")):
    ...     print(double(1))
    ...     print(double(2))
    compiling, which takes a moment
    2
    4
    """
    from numba.core import event

    class Once(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                say()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Once()):
        yield
