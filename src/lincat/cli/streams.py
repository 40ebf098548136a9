"""Standard output as it is: closed, or without the letters that our tables are drawn with."""

from __future__ import annotations

import codecs
import os
import sys

_ALIKE = str.maketrans({"─": "-", "±": "+-", "−": "-"})


def usable_streams() -> None:
    """Let nothing that is printed end a command: what it learned is worth more than a letter.

    Services start programs without standard output (Python has None there), and not every terminal
    or file speaks UTF-8: it gets a letter that is alike, else its number.
    """
    codecs.register_error("lincat", _alike)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="lincat")


def _alike(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ALIKE)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end
