"""Exiting, also while a thread waits for input that may never come."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

INTERRUPTED = 130  # exit code after Ctrl-C
NOT_TRUSTED = 4  # exit code of --require after a verdict that failed


def leave(code: int) -> NoReturn:
    """Exit, also if standard input is still being read."""
    leave_reading(code)
    sys.exit(code)


def leave_reading(code: int) -> None:
    """Exit at once if standard input is still being read: Python would abort or hang over it."""
    readers = sys.modules.get("lincat.tables.readers")
    if readers is not None and readers.standard_input and sys.stdin is sys.__stdin__:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
