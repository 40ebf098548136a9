"""Columns as a frame of the library that the user works with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from lincat._arguments import check_choice
from lincat._imports import optional

LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Any], library: str | None = None) -> Any:
    """Return columns as a frame; by default of pandas if that is installed, and else of Arrow.

    Examples
    --------
    >>> from lincat.core.frames import frame_of
    >>> frame_of({"state": ["a"], "mean": [0.5]}, "pyarrow").column_names
    ['state', 'mean']
    """
    if library is None:
        library = "pandas" if find_spec("pandas") is not None else "pyarrow"
    check_choice(library, "library", LIBRARIES)
    module = optional(library, "frames of it")
    return module.table(dict(columns)) if library == "pyarrow" else module.DataFrame(dict(columns))
