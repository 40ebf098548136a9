"""Reading a policy-evaluation problem from a JSON file (docs/process-files.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from lincat._arguments import InvalidInputError, fail
from lincat._json import decoded
from lincat.processes.finite import MarkovRewardProcess
from lincat.processes.mdp import FiniteMDP
from lincat.processes.problem import Problem


class _Outcome(msgspec.Struct, forbid_unknown_fields=True):
    """One row of the outcome table; states and actions by number or by name."""

    state: int | str
    reward: float
    next_state: int | str
    probability: float
    action: int | str | None = None
    terminated: bool = False


class _ProblemFile(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file: either ``outcomes``, or ``transitions`` with ``rewards``."""

    gamma: float
    name: str | None = None
    note: str = ""
    states: list[str] | None = None
    outcomes: list[_Outcome] | None = None
    policy: list[list[float]] | None = None
    transitions: list[list[float]] | None = None
    rewards: list[float | list[float]] | None = None
    initial: list[float] | None = None
    terminal: list[int | str] = []
    features: list[list[float]] | None = None


def read_problem(path: str | Path) -> Problem:
    """Read a problem from a JSON file; anything wrong is named with its place in the file.

    The file holds ``gamma`` and either ``outcomes``, a list of ``{state, reward, next_state,
    probability}`` rows (with ``action`` and a ``policy`` table for a decision process), or a matrix
    of ``transitions`` with ``rewards``; optionally ``name``, ``states`` (names), ``features``,
    ``initial``, ``terminal``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lincat import read_problem
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "coin.json"
    >>> _ = file.write_text('{"gamma": 0.5, "transitions": [[1]], "rewards": [1]}')
    >>> read_problem(file).process
    MarkovRewardProcess(1 states, 1 outcomes)
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise fail(str(path), "a readable JSON file", error.strerror or "an error") from None
    found = decoded(content, str(path), "a finite process", _ProblemFile)
    try:
        return _build(found, path.stem)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _build(content: _ProblemFile, stem: str) -> Problem:
    names = content.states
    numbers = _Numbers("state", names)
    options: dict[str, Any] = {
        "terminal": numbers.of(content.terminal, "terminal"),
        "initial": content.initial,
    }
    if names is not None:
        options["n_states"] = len(names)
    process = (
        _from_matrices(content, options)
        if content.outcomes is None
        else _from_outcomes(content, content.outcomes, numbers, options)
    )
    return Problem(
        name=content.name or stem,
        process=process,
        gamma=content.gamma,
        Phi=None if content.features is None else _rectangle(content.features, "features"),
        state_names=names or (),
        note=content.note,
    )


def _from_matrices(content: _ProblemFile, options: dict[str, Any]) -> MarkovRewardProcess:
    if content.transitions is None or content.rewards is None:
        raise fail("file", "either outcomes, or transitions and rewards", "neither")
    if content.policy is not None:
        raise fail("policy", "outcomes with actions beside it", "transitions")
    options.pop("n_states", None)
    P = _rectangle(content.transitions, "transitions")
    return MarkovRewardProcess.from_matrices(P, _rectangle(content.rewards, "rewards"), **options)


def _from_outcomes(
    content: _ProblemFile, rows: list[_Outcome], numbers: _Numbers, options: dict[str, Any]
) -> MarkovRewardProcess:
    if content.transitions is not None or content.rewards is not None:
        raise fail("file", "either outcomes, or transitions and rewards", "both")
    if not rows:
        raise fail("outcomes", "at least one outcome", "an empty list")
    columns: dict[str, Any] = {
        "state": numbers.of((row.state for row in rows), "outcomes[{}].state"),
        "reward": [row.reward for row in rows],
        "next_state": numbers.of((row.next_state for row in rows), "outcomes[{}].next_state"),
        "probability": [row.probability for row in rows],
        "terminated": [row.terminated for row in rows],
    }
    with_action = sum(row.action is not None for row in rows)
    if with_action == 0 and content.policy is None:
        return MarkovRewardProcess(**columns, **options)
    if with_action != len(rows) or content.policy is None:
        raise fail(
            "action",
            "an action in every outcome together with a policy table",
            f"{with_action} of {len(rows)} outcomes with one, "
            f"and {'no' if content.policy is None else 'a'} policy",
        )
    policy = _rectangle(content.policy, "policy")
    actions = _Numbers("action", None).of((row.action for row in rows), "outcomes[{}].action")
    mdp = FiniteMDP(action=actions, n_actions=policy.shape[-1], **columns, **options)
    return mdp.under(policy)


class _Numbers:
    """Turns names into numbers: given names in their order, others as they first appear."""

    def __init__(self, kind: str, names: list[str] | None) -> None:
        self._kind = kind
        self._known = {name: i for i, name in enumerate(names or [])}
        self._closed = names is not None
        if len(self._known) != len(names or []):
            raise fail(f"{kind}s", "names that differ", "a name twice")

    def of(self, items: Iterable[int | str | None], place: str) -> list[int]:
        return [self._number(item, place.format(i)) for i, item in enumerate(items)]

    def _number(self, item: int | str | None, place: str) -> int:
        if isinstance(item, str):
            if item not in self._known and self._closed:
                raise fail(place, f"one of the {self._kind}s listed", repr(item))
            if item not in self._known and self._kind == "state":
                raise fail(
                    place, "a state number", repr(item), 'list the names first, as "states": [...]'
                )
            return self._known.setdefault(item, len(self._known))
        assert item is not None  # the caller counts rows without an action
        if self._closed and not 0 <= item < len(self._known):
            raise fail(place, f"a {self._kind} below {len(self._known)}", item)
        return item


def _rectangle(rows: Any, argument: str) -> Any:
    lengths = {np.size(row) if isinstance(row, list) else 1 for row in rows}
    kinds = {isinstance(row, list) for row in rows}
    if len(lengths) > 1 or len(kinds) > 1:
        raise fail(argument, "rows of equal length", f"lengths {sorted(lengths)}")
    return np.array(rows, dtype=np.float64)
