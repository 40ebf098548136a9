"""What a section returns: rows to show, and bars that hold or do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

_SCATTER = 0.05  # by which a ratio differs between runs, on a machine that does other work too


@dataclass(frozen=True)
class Bar:
    """A number and what it should be at least (or at most); None if it was not measured."""

    what: str
    measured: float | None
    relation: str  # ">=" or "<="
    limit: float
    where: str = ""  # the case that was worst, or why there is no number

    @property
    def holds(self) -> bool | None:
        """Whether the bar holds; None if nothing was measured."""
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.relation == ">=" else self.measured <= self.limit

    @property
    def verdict(self) -> str:
        """The same in words; "on the line" if another run might say the opposite."""
        if self.measured is None:
            return "not measured"
        said = "yes" if self.holds else "NO"
        return f"{said}, on the line" if abs(self.measured / self.limit - 1) < _SCATTER else said


@dataclass
class Result:
    """The rows, bars and notes of one section."""

    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {**asdict(self), "bars": [{**asdict(bar), "holds": bar.holds} for bar in self.bars]}


def worst(
    what: str,
    rows: Iterable[dict[str, Any]],
    column: str,
    relation: str,
    limit: float,
) -> Bar:
    """Return the bar for the row whose ``column`` is worst; rows without it do not count."""
    measured = [(row[column], row["case"]) for row in rows if row.get(column) is not None]
    if not measured:
        return Bar(what, None, relation, limit)
    value, where = (min if relation == ">=" else max)(measured)
    return Bar(what, value, relation, limit, where)
