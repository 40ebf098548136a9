"""``lincat predict --follow``: one loaded model that answers JSON lines as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from lincat._json import NOT_JSON
from lincat.runs.asking import Figures, answered, wanted_by
from lincat.tables.asked import asked_of

if TYPE_CHECKING:
    from lincat.runs.run import Run

_BLOCK = 1 << 18  # bytes that are read at once: some thousand lines


def follow(run: Run, figures: Figures, given: tuple[str, ...] | None) -> None:
    """Answer each line of standard input with a line, until it ends.

    A line is an object with the columns of an observation (and maybe others, which are passed on),
    or a bare observation. What cannot be answered has a reason.
    """
    wanted = wanted_by(run)
    run.predict(run.shown.members[0][:1])  # kernels are loaded before the first line comes
    write = sys.stdout.buffer.write
    for lines in _blocks():
        values, broken = _decoded(lines)
        try:
            asked = asked_of(values, wanted, given=given, where="standard input")
        except ValueError as error:  # no line of this block has the columns
            write(b"".join(_encoded({**_cells(x), "reason": str(error)}) for x in values))
            sys.stdout.buffer.flush()
            continue
        if broken:
            reasons = [broken.get(i) or reason for i, reason in enumerate(asked.reasons)]
            asked = replace(asked, reasons=reasons)
        columns, reasons = answered(run, asked, figures)
        cells = [column.tolist() for column in columns.values()]  # JSON has null for NaN
        names = [*columns, "reason"]
        rows = []
        for value, *figures_of_row in zip(values, *cells, reasons, strict=True):
            row = _cells(value, wanted.names)
            row.update(zip(names, figures_of_row, strict=True))
            rows.append(_encoded(row))
        write(b"".join(rows))
        sys.stdout.buffer.flush()


def _blocks() -> Iterator[list[bytes]]:
    """Yield whole lines, as many as have come."""
    stream: Any = sys.stdin.buffer
    pending = b""
    while more := stream.read1(_BLOCK):
        *lines, pending = (pending + more).split(b"\n")
        lines = [line for line in lines if line.strip()]
        if lines:
            yield lines
    if pending.strip():
        yield [pending]


def _decoded(lines: list[bytes]) -> tuple[list[Any], dict[int, str]]:
    """The values of lines, None for those that are no JSON, and what is wrong with these."""
    decode, values, broken = msgspec.json.Decoder().decode, [], {}
    for i, line in enumerate(lines):
        try:
            values.append(decode(line))
        except NOT_JSON as error:
            values.append(None)
            broken[i] = f"expected JSON, got {line[:60].decode(errors='replace')!r} ({error})"
    return values, broken


def _cells(value: Any, names: tuple[str, ...] = ("observation",)) -> dict[str, Any]:
    """What is passed on of a line."""
    if isinstance(value, dict):
        return dict(value)
    return {names[0] if len(names) == 1 else "observation": value}


def _encoded(row: dict[str, Any]) -> bytes:
    return msgspec.json.encode(row) + b"\n"
