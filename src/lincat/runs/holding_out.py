"""Which steps of a source are held out, to check what is learned from the others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lincat.data.steps import Steps
from lincat.runs.beginning import pilot_rows
from lincat.runs.config import EvaluationConfig
from lincat.runs.held_out import HoldOut, SpreadHoldOut
from lincat.runs.horizon import parts_of, steps_that_count, steps_until_known
from lincat.runs.so_far import SoFar
from lincat.runs.sources import Opened

#: Of a return whose record breaks off, at most this much of what would follow may be missing.
REST = 1e-2
_MOST_HELD = 20_000
_MOST_SHARE = 0.3  # of all rows
_LOST = 0.02  # likewise for the sake of returns from others


def hold_out_of(config: EvaluationConfig, opened: Opened) -> HoldOut | SpreadHoldOut:
    """Return what is held out of a source that is begun."""
    if not _decided(config, opened):
        decide = partial(held_out_of_stream, gamma=opened.gamma)
        return HoldOut(decide, first=pilot_rows(config))
    if config.window is None:  # else only the last rows are like those learned from
        spread = spread_hold_out(config.validate, opened)
        if spread is not None:
            return spread
    return HoldOut(held_out_rows(config.validate, opened))


def hold_out_again(
    so_far: SoFar, config: EvaluationConfig, opened: Opened, *, append: bool
) -> HoldOut | SpreadHoldOut:
    """Return the same for one that is continued; of rows that were added, some as well."""
    if so_far.edges is not None:
        new = _edges_after(so_far.rows or 0, config, opened) if append else []
        return SpreadHoldOut.at([*so_far.edges, *new])
    return hold_out_of(config, opened) if _decided(config, opened) else HoldOut(so_far.held)


def _decided(config: EvaluationConfig, opened: Opened) -> bool:
    """Whether it does not take the first steps of a stream to say."""
    return config.validate is not None or not opened.is_live


def _edges_after(seen: int, config: EvaluationConfig, opened: Opened) -> list[int]:
    """Where steps are held out of the rows after the first so many."""
    if (opened.rows or 0) <= seen:
        return []
    held = spread_hold_out(config.validate, replace(opened, rows=(opened.rows or 0) - seen))
    return [] if held is None else [seen + edge for edge in held.edges]


def held_out_rows(n: int | None, opened: Opened) -> int:
    """Return how many of the last steps to keep from the learner, for n returns to be known.

    By default (None) a tenth of what there is, if that and the rest of the last returns is at most
    three tenths.
    """
    if n == 0 or not opened.is_recorded:
        return 0
    if n is not None:
        return n + steps_that_count(opened.gamma, REST, n)
    if not opened.rows or opened.is_live:  # a stream must not be looked into twice
        return 0
    return _a_tenth(opened.rows, opened.gamma, next(iter(opened.source.batches()), None))


def spread_hold_out(n: int | None, opened: Opened) -> SpreadHoldOut | None:
    """Return the same by default, as rows from every part of what there is.

    From the middle of the whole where parts would be too short for returns to be known. None where
    that is too short as well, or where the last rows were asked for.
    """
    if n is not None or not opened.is_recorded or not opened.rows or opened.is_live:
        return None
    first = next(iter(opened.source.batches()), None)
    wanted, rest = _tenth_and_rest(opened.rows, opened.gamma, first)
    if wanted + rest > _MOST_SHARE * opened.rows:
        return None
    parts = parts_of(opened.rows, rest, lost=_LOST)
    return SpreadHoldOut(opened.rows, wanted + parts * rest, parts)


def held_out_of_stream(first: Steps, gamma: float) -> int:
    """Return the same by default for a stream of unknown length, by its first steps."""
    return _a_tenth(len(first), gamma, first)


def _a_tenth(rows: int, gamma: float, first: Steps | None) -> int:
    held = sum(_tenth_and_rest(rows, gamma, first))
    return held if held <= _MOST_SHARE * rows else 0


def _tenth_and_rest(rows: int, gamma: float, first: Steps | None) -> tuple[int, int]:
    """How many returns are wanted, and the steps that the last of them takes to be known."""
    n = min(rows // 10, _MOST_HELD)
    return n, steps_until_known(gamma, REST, first, n)
