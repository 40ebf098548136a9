"""From rows to steps: rows that hold transitions, and rows of episodes that must be joined.

Both classes take :class:`~lincat.tables.rows.Rows` in order, and return steps one batch late,
because whether the record breaks off after a row shows only in the next one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError, fail
from lincat._typing import BoolArray
from lincat.data.mixed import differing, is_mixed
from lincat.data.steps import Steps
from lincat.tables.rows import Rows
from lincat.tables.times import counts_on

_REMEMBERED = 4096  # episodes that are known again when they come back, in bounded memory


class TransitionRows:
    """Rows with a next observation each.

    The record breaks off after a row if its next observation is not the observation of the row
    after it, if that row is of another episode or another file, or if rows between were left out.
    """

    def __init__(self) -> None:
        self._held: tuple[Steps, Rows] | None = None

    def add(self, rows: Rows, *, new_file: bool) -> Steps | None:
        """Take some rows (at least one); return the steps of those before."""
        n = len(rows)
        terminated = np.zeros(n, dtype=bool) if rows.terminated is None else rows.terminated
        truncated = np.zeros(n, dtype=bool) if rows.truncated is None else rows.truncated.copy()
        truncated[:-1] |= _differing(rows.next_observation[:-1], rows.observation[1:])
        if rows.gap is not None:
            truncated[:-1] |= rows.gap[1:]
        if rows.episode is not None:
            truncated[:-1] |= rows.episode[1:] != rows.episode[:-1]
        truncated &= ~terminated
        steps = Steps(
            *(rows.observation, rows.reward, rows.next_observation, terminated, truncated),
            *(rows.discount, rows.weight, rows.time),
        )
        done = None
        if self._held is not None:
            done, last = self._held
            breaks = new_file or bool(_differing(last.next_observation[-1:], rows.observation[:1]))
            breaks |= rows.gap is not None and bool(rows.gap[0])
            breaks |= rows.episode is not None and bool(last.episode[-1] != rows.episode[0])
            done.truncated[-1] |= breaks and not done.terminated[-1]
        self._held = (steps, rows)
        return done

    def finish(self, *, gap: bool) -> list[Steps]:
        """Return the last steps."""
        if self._held is None:
            return []
        steps, _ = self._held
        steps.truncated[-1] = not steps.terminated[-1]
        return [steps]


def _differing(left: Any, right: Any) -> BoolArray:
    if is_mixed(left):
        return differing(left, right)
    if left.ndim == 1:
        differs: BoolArray = np.asarray(left != right, dtype=bool)
        return differs
    from lincat.kernels.columns import differing_rows

    out = np.empty(len(left), dtype=bool)
    differing_rows(out, left, right)
    return out


class EpisodeRows:
    """Rows of episodes, whose next observation is in the next row.

    A row that is the last of its record, but not of its episode, has no next observation: it serves
    as the next observation of the row before, and its reward is not used. The last row of an
    episode without a terminated column is such a row if ``ends`` is "truncated". ``every`` is that
    of the layout: times may skip some steps, at which the record breaks off.
    """

    def __init__(self, ends: str, *, stop: bool, every: int | None = None) -> None:
        self._ends, self._stop, self._every = ends, stop, every
        self._last: Rows | None = None  # the one row whose successor is not known yet
        self._held: Steps | None = None
        self._leads_on = False  # whether the last step held leads to the row in _last
        self._recent: OrderedDict[Any, None] = OrderedDict()

    def add(self, rows: Rows, *, new_file: bool) -> Steps | None:
        """Take some rows (at least one); return the steps of those before."""
        last, self._last = self._last, _last_row(rows)
        whole = rows if last is None else _after(last, rows)
        pairs = len(whole) - 1
        if not pairs:
            return None
        # Of each pair of neighbours: whether the second begins another episode or record.
        gap = np.zeros(pairs, dtype=bool) if whole.gap is None else whole.gap[1:].copy()
        border = new_file and last is not None
        differs = self._new_episodes(whole, gap, border)
        breaks = differs | gap
        terminal = self._terminal(whole, slice(-1), differs & ~gap)
        cut = breaks & ~terminal
        if whole.truncated is not None:
            cut |= whole.truncated[:-1] & ~terminal
        if whole.episode is not None:
            self._check_ends(whole, terminal | cut, breaks)
        if self._held is not None and self._leads_on:
            self._held.truncated[-1] = cut[0]
        done, self._held = self._held, _steps(whole, terminal, cut)
        self._leads_on = not (terminal[-1] or cut[-1])
        return done

    def finish(self, *, gap: bool) -> list[Steps]:
        """Return the last steps."""
        row = self._last
        if row is None:
            return []
        steps = []
        terminal = self._terminal(row, slice(None), np.array([not gap]))
        if self._held is not None:
            if self._leads_on and not terminal[0]:
                self._held.truncated[-1] = True
            steps.append(self._held)
        if terminal[0]:
            none = np.array([False])
            columns = (row.observation, row.reward, row.observation, terminal, none)
            steps.append(Steps(*columns, row.discount, row.weight, row.time))
        return [batch for batch in steps if len(batch)]

    def _terminal(self, rows: Rows, part: slice, ended: BoolArray) -> BoolArray:
        """Where an episode ends for good; ``ended`` is where its last row is known to be."""
        if rows.terminated is not None:
            return rows.terminated[part]
        if rows.episode is None or self._ends == "truncated":
            return np.zeros(len(ended), dtype=bool)
        return ended if rows.truncated is None else ended & ~rows.truncated[part]

    def _new_episodes(self, rows: Rows, gap: BoolArray, border: bool) -> BoolArray:
        """Whether the second row of each pair begins an episode; marks gaps of the step count."""
        follows = None
        if rows.step is not None:
            ahead = np.diff(rows.step)
            follows = ahead == 1 if self._every is None else counts_on(ahead, self._every)
        if rows.episode is None:
            differs = np.zeros(len(gap), dtype=bool) if follows is None else ~follows
            differs[0] |= border and follows is None
            return differs
        differs = np.asarray(rows.episode[1:] != rows.episode[:-1], dtype=bool)
        if border:
            self._recent.clear()  # other files may count episodes from the start again
            if follows is not None and not follows[0]:
                differs[0] = True
        if follows is not None:
            self._check_order(rows, ~differs & ~follows, gap)
        for i in np.flatnonzero(differs).tolist():
            if i == 0 and border:
                continue
            before, after = rows.episode[i], rows.episode[i + 1]
            self._recent[before] = None
            if after in self._recent:
                raise _disorder(rows, i + 1, "the rows of an episode together", f"{after} again")
            if len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)
        return differs

    def _check_order(self, rows: Rows, wrong: BoolArray, gap: BoolArray) -> None:
        if not wrong.any() or rows.step is None:
            return
        missing = wrong & (rows.step[1:] > rows.step[:-1])
        bad = wrong & ~(missing & gap)
        if not self._stop or self._every is not None:  # as if they had been left out
            gap |= missing
            bad &= ~missing
        if bad.any():
            i = int(np.argmax(bad))
            expected, got = f"step {rows.step[i] + 1}", f"step {rows.step[i + 1]}"
            if self._every is not None:
                expected, got = f"a step after that of row {rows.numbers[i]}", "an earlier one"
            raise _disorder(rows, i + 1, f"{expected} of episode {rows.episode[i]}", got)

    def _check_ends(self, rows: Rows, ends: BoolArray, breaks: BoolArray) -> None:
        wrong = ends & ~breaks
        if wrong.any():
            i = int(np.argmax(wrong))
            got = f"a row of episode {rows.episode[i + 1]} after its end"
            raise _disorder(rows, i + 1, "the end of an episode in its last row", got)


def _disorder(rows: Rows, i: int, expected: str, got: str) -> InvalidInputError:
    remedy = "sort the rows by episode and step, or name other columns for them"
    return fail(f"{rows.path}, row {rows.numbers[i]}", expected, got, remedy)


def _steps(rows: Rows, terminal: BoolArray, cut: BoolArray) -> Steps:
    """Join neighbours. After the end of an episode comes whatever row is next: it has no say."""
    truncated = np.zeros(len(cut), dtype=bool)
    truncated[:-1] = cut[1:] & ~terminal[:-1]
    unbroken = not cut.any()
    bends = rows.observation.ndim == 2 or is_mixed(rows.observation)
    keep: Any = slice(None) if unbroken else ~cut

    def pick(column: Any) -> Any:
        return None if column is None else column[:-1][keep]

    return Steps(
        *(pick(rows.observation), pick(rows.reward), rows.observation[1:][keep]),
        *(terminal[keep], truncated[keep], pick(rows.discount), pick(rows.weight), pick(rows.time)),
        record=rows.observation if unbroken and bends else None,
    )


def _last_row(rows: Rows) -> Rows:
    """Copy the last row, so that the others can be freed."""
    columns: dict[str, Any] = {
        name: None if value is None else value[-1:].copy()
        for name, value in vars(rows).items()
        if name not in ("path", "room")
    }
    return Rows(path=rows.path, room=None, **columns)


def _after(last: Rows, rows: Rows) -> Rows:
    """Return rows with one put in front of them; points are not copied, there is room for it."""
    columns: dict[str, Any] = {"path": rows.path, "room": None}
    for name, value in vars(rows).items():
        if name in columns or value is None:
            columns.setdefault(name, None)
        elif name == "gap":
            columns[name] = np.append(False, value)
        elif name == "observation" and rows.room is not None:
            rows.room[0] = last.observation[0]
            columns[name] = rows.room
        else:
            columns[name] = np.concatenate((getattr(last, name), value))
    return Rows(**columns)
