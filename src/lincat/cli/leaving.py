"""Exiting, also while a thread waits for input that may never come."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn

__all__ = ["INTERRUPTED", "leave"]

INTERRUPTED = 130  # exit code after Ctrl-C


def leave(code: int) -> NoReturn:
    """Exit; where a thread waits for standard input, Python itself would abort or hang over it."""
    if _somebody_reads():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _somebody_reads() -> bool:
    """Whether another thread is in our code: one of our own, or one of Arrow's that reads ahead."""
    own = threading.get_ident()
    for thread, frame in sys._current_frames().items():
        while thread != own and frame is not None:
            if frame.f_globals.get("__name__", "").startswith("lincat."):
                return True
            frame = frame.f_back  # type: ignore[assignment]
    return False
