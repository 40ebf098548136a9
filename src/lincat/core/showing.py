"""How distributions show themselves: as text, in notebooks, as frames and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lincat._arguments import fail
from lincat._rows import Row, html_table, text_table
from lincat._text import counted
from lincat._typing import ArrayLike, FloatArray
from lincat.core.frames import frame_of
from lincat.core.summary import summary_columns

if TYPE_CHECKING:
    import altair

    from lincat.core.distribution import ReturnDistribution

_ROWS = 8  # of a table that nobody asked for


class Showing:
    """What :class:`ReturnDistribution` says of itself; the figures are its own."""

    #: What the states are called; their numbers, where nothing else is said.
    names: tuple[str, ...] | None = None
    #: The library of frames that are made of it: that of the frame it was predicted for.
    frames: str | None = None

    def labelled(
        self, names: Sequence[str] | None = None, *, frames: str | None = None
    ) -> ReturnDistribution:
        """Return the same distributions with names for their states, and a library for frames.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution([[0.5], [0.25]], Grid(0.0, 1.0, intervals=1))
        >>> coin.labelled(["fair", "bent"])
        ReturnDistribution of 2 states on [0, 1], 1 interval
        state  mean      std  q0.05  median  q0.95  cvar0.05
        fair    0.5      0.5      0       0      1         0
        bent   0.75  0.43301      0       1      1         0
        """
        other = self._dist()[:]
        if names is not None:
            if len(names) != len(other):
                raise fail("names", f"{len(other)} names, one per state", f"{len(names)} names")
            other.names = tuple(map(str, names))
        other.frames = frames or self.frames
        return other

    def summary_frame(
        self,
        *,
        level: float = 0.05,
        threshold: float | None = None,
        library: str | None = None,
    ) -> Any:
        """Return a frame with a row for each state: mean, std, quantiles, CVaR.

        Parameters
        ----------
        level : float
            Of quantiles and CVaR.
        threshold : float, optional
            Also the chance of a return below it.
        library : "pandas", "polars" or "pyarrow", optional
            By default that of the frame that was predicted for, or pandas if it is installed.

        Returns
        -------
        A frame with columns state, mean, std, q0.05, median, q0.95, cvar0.05; and mean_low,
        mean_high and so on where sampling errors are known (``predict(..., confidence=0.95)``).

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution([[0.5], [0.25]], Grid(0.0, 1.0, intervals=1))
        >>> coin.summary_frame(library="pyarrow")["mean"].to_pylist()
        [0.5, 0.75]
        """
        columns = self._columns(level, threshold)
        return frame_of({"state": self._labels(), **columns}, library or self.frames)

    def to_frame(self, *, library: str | None = None) -> Any:
        """Return a frame with a row for each state and atom: state, return, probability, cdf.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution
        >>> coin = ReturnDistribution([[0.5], [0.25]], Grid(0.0, 1.0, intervals=1))
        >>> coin.to_frame(library="pyarrow")["probability"].to_pylist()
        [0.5, 0.5, 0.25, 0.75]
        """
        dist = self._dist()
        atoms = dist.grid.atoms
        columns = {
            "state": np.repeat(self._labels(), len(atoms)),
            "return": np.tile(atoms, len(dist)),
            "probability": dist.pmf.ravel(),
            "cdf": np.column_stack([dist.cdf_values, np.ones(len(dist))]).ravel(),
        }
        return frame_of(columns, library or self.frames)

    def prediction_interval(self, coverage: ArrayLike = 0.9) -> tuple[FloatArray, FloatArray]:
        """Return (low, high) between which so much of the returns lies, as much outside either end.

        Not to be mixed up with :meth:`ReturnDistribution.interval`, which holds a *figure*.

        Parameters
        ----------
        coverage : float, or list of m floats
            In (0, 1); with a list, ends are of shape (n, m).

        Examples
        --------
        >>> import numpy as np
        >>> from lincat import Grid, ReturnDistribution
        >>> even = ReturnDistribution(np.linspace(0.005, 0.995, 100), Grid(0.0, 100.0, 100))
        >>> even.prediction_interval(0.5)
        (array([25.]), array([75.]))
        """
        share = np.asarray(coverage, dtype=np.float64)
        if not ((share > 0.0) & (share < 1.0)).all():
            raise fail("coverage", "shares in (0, 1)", coverage)
        proper = self._dist().proper()
        return proper.quantile((1.0 - share) / 2.0), proper.quantile((1.0 + share) / 2.0)

    def plot(self, *, level: float = 0.05, title: str = "") -> altair.Chart:
        """Return an Altair chart of up to 24 states under each other: the last line of a cell.

        Each ridge is the density of a state's return, with its mean and the mean of the worst
        ``level`` share. ``chart.save("returns.png")`` keeps it.
        """
        from lincat.core.figures import ridgelines

        return ridgelines(self._dist(), self._labels(), title=title or "Returns", level=level)

    def __repr__(self) -> str:
        dist = self._dist()
        head = _head(dist)
        if not len(dist):
            return head
        more = f"\n({len(dist) - _ROWS} more)" if len(dist) > _ROWS else ""
        return f"{head}\n{text_table(self._rows())}{more}"

    def _repr_html_(self) -> str:
        dist = self._dist()
        head = f"<p>{escape(_head(dist))}</p>"
        if not len(dist):
            return head
        more = f"<p>({len(dist) - _ROWS} more)</p>" if len(dist) > _ROWS else ""
        return f"<div>{head}{html_table(self._rows())}{more}</div>"

    # ----------------------------------------------------------------------------------- pieces

    def _dist(self) -> ReturnDistribution:
        return cast("ReturnDistribution", self)

    def _labels(self) -> list[str]:
        return list(self.names or map(str, range(len(self._dist()))))

    def _columns(self, level: float, threshold: float | None = None) -> dict[str, FloatArray]:
        dist = self._dist()
        known = None if dist.uncertainty is None else dist.interval
        return summary_columns(dist, level=level, threshold=threshold, interval=known)

    def _rows(self) -> list[Row]:
        shown = self._dist()[:_ROWS]
        columns = shown._columns(0.05)
        return [
            {"state": name, **{key: float(values[i]) for key, values in columns.items()}}
            for i, name in enumerate(shown._labels())
        ]


def _head(dist: ReturnDistribution) -> str:
    low, high = dist.grid.low, dist.grid.high
    states, intervals = counted(len(dist), "state"), counted(dist.grid.intervals, "interval")
    return f"ReturnDistribution of {states} on [{low:.5g}, {high:.5g}], {intervals}"
