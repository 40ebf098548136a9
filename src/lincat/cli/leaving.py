"""Exiting, also while a thread waits for input that may never come."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn

from lincat.runs.prefetch import READER

__all__ = ["INTERRUPTED", "leave"]

INTERRUPTED = 130  # exit code after Ctrl-C


def leave(code: int) -> NoReturn:
    """Exit; where a thread waits for standard input, Python itself would abort or hang over it."""
    if any(thread.name == READER for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
