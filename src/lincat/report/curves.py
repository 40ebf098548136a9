"""Rows of metrics as the columns of learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["curve_of", "ticks_of"]


def curve_of(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, list[float]] | None:
    """Return the columns of one state's curve, or nothing where it has no rows."""
    own = [row for row in rows if row.get("state") == name and "transitions" in row]
    keys = ("transitions", "mean", "cvar")
    return {key: [_number(row.get(key)) for row in own] for key in keys} if own else None


def ticks_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the columns of the rows that belong to no state, as far as they say something."""
    own = [row for row in rows if row.get("state") is None and "transitions" in row]
    if not own:
        return None
    masses = [
        {"name": text, "values": [_number(row.get(key)) for row in own]}
        for key, text in (("clipped", "clipped mass"), ("negative", "negative mass"))
    ]
    steps = [_number(row.get("step_size")) for row in own]
    return {
        "transitions": [_number(row["transitions"]) for row in own],
        # The charts are drawn only where there is more to see than rounding.
        "masses": [m for m in masses if np.nanmax([*m["values"], 0.0]) > 1e-9],
        "step_size": steps if np.unique(np.array(steps)[~np.isnan(steps)]).size > 1 else None,
    }


def _number(value: Any) -> float:
    """A number to seven digits, NaN where there is none."""
    return float(f"{float(value):.7g}") if value is not None else float("nan")
