"""Which column of a table holds what: the mapping that users give, and its defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from lincat._arguments import InvalidInputError, fail
from lincat._reach import Words
from lincat._text import listed
from lincat.tables.times import calendar_columns

# The first name that a table has is taken. For observations, the names also serve as prefixes:
# obs stands for a column obs and for columns obs_0, obs_1, ... alike.
_OBSERVATION = ("observation", "observations", "obs", "state", "s")
_NEXT_OBSERVATION = (
    *("next_observation", "next_observations", "next_obs", "next_state"),
    *("observation_next", "obs_next", "state_next", "s_next", "next_s"),
)
_NEXT_FORMS = ("next_{}", "{}_next")
_BY_NAME = 'name them, or say next_observation = "" where the next row holds it'
_NAMES = {
    "reward": ("reward", "rewards", "r"),
    "terminated": ("terminated", "terminations", "terminal", "done", "dones"),
    "truncated": ("truncated", "truncations", "timeout", "timeouts"),
    "discount": ("discount", "discounts"),
    "weight": ("weight", "weights", "importance_ratio"),
    "episode": ("episode", "episode_id", "episode_index", "trajectory", "trajectory_id"),
    "step": ("step", "step_id", "t", "timestep", "time_step", "step_index"),
}
# Not what is observed before it is chosen, and what pandas writes for its index.
ACTIONS = ("action", "actions", "a")
_NEVER_OBSERVED = (*ACTIONS, "", "Unnamed: 0", "__index_level_0__")


class Columns(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """Names of the columns of a table of steps; those not given are found by common names.

    Parameters
    ----------
    observation : str or tuple of str, optional
        One column (numbers, ids, or lists of numbers), several of them, or a pattern with one
        star: ``"obs_*"``. By default observation, obs or state, or columns that begin so
        (obs_0, obs_1, ...), or else all columns that are nothing of what follows, but for action.
    next_observation : str or tuple of str, optional
        Likewise; by default next_observation, next_obs, ..., or next_X and X_next for columns X.
        Without any, the next row holds it.
    reward : str, optional
        By default reward or r.
    terminated, truncated, discount, weight, episode, step : str, optional
        By default columns of these names, if there are any (for terminated also done or terminal,
        for episode also episode_id, for step also t, and so on). A step may be a time: rows are
        then in its order, and where it skips some the record breaks off.
    calendar : str or tuple of str, optional
        Columns of times of which hour, weekday and season are observed too, as points on circles;
        ``"when.hour"`` is the hour alone.
    kind : "points" or "ids", optional
        Whether observations are points in space or names of states. By default a single column of
        integers or texts holds ids, and everything else points.

    An empty name, ``terminated=""``, says that there is no such column, whatever the table has.

    Examples
    --------
    >>> from lincat.tables.columns import Columns, find_columns
    >>> found = find_columns(Columns(reward="cash"), ["obs_0", "obs_1", "cash", "done"], "log.csv")
    >>> found.observation, found.reward, found.terminated, found.next_observation
    (('obs_0', 'obs_1'), 'cash', 'done', None)
    """

    observation: Words | tuple[Words, ...] | None = None
    next_observation: Words | tuple[Words, ...] | None = None
    reward: Words | None = None
    terminated: Words | None = None
    truncated: Words | None = None
    discount: Words | None = None
    weight: Words | None = None
    episode: Words | None = None
    step: Words | None = None
    calendar: Words | tuple[Words, ...] | None = None
    kind: Literal["points", "ids"] | None = None


@dataclass(frozen=True)
class Found:
    """The columns of one table; None where there is no such column."""

    observation: tuple[str, ...]
    next_observation: tuple[str, ...] | None
    reward: str | None
    terminated: str | None = None
    truncated: str | None = None
    discount: str | None = None
    weight: str | None = None
    episode: str | None = None
    step: str | None = None
    #: Whether observations are the columns that were nothing else.
    by_default: bool = False

    @property
    def needed(self) -> list[str]:
        """All columns to be read, each once."""
        single = (self.reward, self.terminated, self.truncated, self.discount, self.weight)
        names = (*self.observation, *(self.next_observation or ()), *single)
        return list(dict.fromkeys(x for x in (*names, self.episode, self.step) if x is not None))


def find_columns(
    columns: Columns, names: Sequence[str], where: str, *, observations_only: bool = False
) -> Found:
    """Return what ``columns`` stands for in a table with columns ``names``.

    ``where`` names the table in errors. With ``observations_only`` nothing else is looked for.
    """
    doubled = sorted({name for name in names if list(names).count(name) > 1})
    if doubled:
        raise fail(where, "columns of different names", f"{doubled[0]!r} more than once")
    single = {role: _find_one(getattr(columns, role), role, names, where) for role in _NAMES}
    by_default = False
    try:
        observation, endings = _find_observation(columns, names, where)
    except InvalidInputError:
        others = _others(names, single, columns)
        none = not others and columns.calendar is None
        if columns.observation is not None or observations_only or none:
            raise
        observation, endings, by_default = others, None, True
    if observations_only:
        return Found((*observation, *_calendar(columns, names, where, "")), None, None)
    if by_default and columns.next_observation is None:
        following = _named_next(names, observation, where)
    else:
        following = _find_next(columns, names, where, observation, endings)
    calendar = _calendar(columns, names, where, "")
    observation = (*observation, *calendar)
    if following is not None:
        single["step"] = None  # nothing to be joined: the order does not matter
        following = (*following, *(_calendar(columns, names, where, "next_") if calendar else ()))
    if single["reward"] is None:
        raise _missing("reward", _NAMES["reward"], names, where)
    return Found(observation, following, **single, by_default=by_default)


def _others(
    names: Sequence[str], single: dict[str, str | None], columns: Columns
) -> tuple[str, ...]:
    """Columns that are nothing else, nor the next observation of another."""
    times = [x if x in names else x.rpartition(".")[0] for x in _several(columns.calendar)]
    taken = {*single.values(), *_several(columns.next_observation), *times}
    taken |= {f"next_{name}" for name in times}
    rest = [name for name in names if name not in taken and name not in _NEVER_OBSERVED]
    after = {form.format(name) for name in rest for form in _NEXT_FORMS}
    return tuple(name for name in rest if name not in after)


def _calendar(columns: Columns, names: Sequence[str], where: str, before: str) -> tuple[str, ...]:
    """What is read from the columns of times, or from those of the next observation."""
    found: list[str] = []
    for asked in _several(columns.calendar):
        parts = calendar_columns(before + asked, names)
        if parts is None:
            raise _absent(before + asked, "calendar", names, where)
        found += parts
    return tuple(found)


def _several(given: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _named_next(
    names: Sequence[str], observation: tuple[str, ...], where: str
) -> tuple[str, ...] | None:
    """next_X, or X_next, for each column X; None if there is no such column."""
    found = [
        next((form.format(name) for form in _NEXT_FORMS if form.format(name) in names), None)
        for name in observation
    ]
    if not any(found):
        return None
    for name, after in zip(observation, found, strict=True):
        if after is None:
            expected = f"a column next_{name}, as others have one"
            raise fail(
                f"{where}, next_observation", expected, f"only {listed_shortly(names)}", _BY_NAME
            )
    return tuple(name for name in found if name is not None)


def _find_one(given: str | None, role: str, names: Sequence[str], where: str) -> str | None:
    if given is None:
        return next((name for name in _NAMES[role] if name in names), None)
    if given and given not in names:
        raise _absent(given, role, names, where)
    return given or None


def _find_observation(
    columns: Columns, names: Sequence[str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the columns, and for a pattern what its star stood for."""
    given = columns.observation
    if given is not None:
        return _given(given, "observation", names, where)
    for name in _OBSERVATION:
        if name in names:
            return (name,), None
        found, endings = _matching(f"{name}_*", _without_next(names))
        if found and name != "s":  # too short for a prefix
            return found, endings
    raise _missing("observation", _OBSERVATION, names, where)


def _find_next(
    columns: Columns,
    names: Sequence[str],
    where: str,
    observation: tuple[str, ...],
    endings: tuple[str, ...] | None,
) -> tuple[str, ...] | None:
    given = columns.next_observation
    found: tuple[str, ...] = ()
    found_endings: tuple[str, ...] | None = None
    if given == "" or given == ():
        return None
    if given is not None:
        found, found_endings = _given(given, "next_observation", names, where)
    else:
        for name in _NEXT_OBSERVATION:
            found, found_endings = (
                ((name,), None) if name in names else _matching(f"{name}_*", names)
            )
            if found:
                break
    if not found:
        return None
    if endings is not None and found_endings is not None and set(endings) == set(found_endings):
        # Next observations in the order of the observations, whatever that of the columns.
        by_ending = dict(zip(found_endings, found, strict=True))
        found = tuple(by_ending[ending] for ending in endings)
    elif len(found) != len(observation) or (endings and found_endings):
        raise fail(
            f"{where}, next_observation",
            f"one column for each of {listed_shortly(observation)}",
            listed_shortly(found),
            _BY_NAME,
        )
    return found


def _given(
    given: str | tuple[str, ...], role: str, names: Sequence[str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    if isinstance(given, str) and "*" in given and given not in names:
        if given.count("*") > 1:
            raise fail(f"columns.{role}", "a pattern with one star", repr(given))
        found, endings = _matching(
            given, names if role == "next_observation" else _without_next(names)
        )
        if not found:
            raise _absent(given, role, names, where)
        return found, endings
    chosen = (given,) if isinstance(given, str) else tuple(given)
    for name in chosen:
        if name not in names:
            raise _absent(name, role, names, where)
    if not chosen or len(set(chosen)) < len(chosen):
        raise fail(f"columns.{role}", "names of columns, each once", list(chosen))
    return chosen, None


def _matching(pattern: str, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that match, and what the star stood for: by number, or as in the file."""
    before, after = pattern.split("*")
    least = len(before) + len(after) + 1
    found = [
        (name[len(before) : len(name) - len(after)], name)
        for name in names
        if len(name) >= least and name.startswith(before) and name.endswith(after)
    ]
    if all(ending.isdecimal() for ending, _ in found):
        found.sort(key=lambda pair: int(pair[0]))
    return tuple(name for _, name in found), tuple(ending for ending, _ in found)


def _without_next(names: Sequence[str]) -> list[str]:
    """Names without those of next observations: obs_* does not mean obs_next_0."""
    return [name for name in names if not name.startswith(_NEXT_OBSERVATION)]


def listed_shortly(names: Sequence[str]) -> str:
    """Return names for a message, the first twenty of many."""
    shown = ", ".join(names[:20]) or "no columns"
    return shown if len(names) <= 20 else f"{shown}, ... ({len(names)} columns)"


def _absent(name: str, role: str, names: Sequence[str], where: str) -> InvalidInputError:
    return fail(f"{where}, {role}", f"a column {name!r}", f"only {listed_shortly(names)}")


def _missing(
    role: str, common: Sequence[str], names: Sequence[str], where: str
) -> InvalidInputError:
    return fail(
        f"{where}, {role}",
        f"a column named {listed(common, 'or')}",
        f"only {listed_shortly(names)}",
        f"name it: --column {role}=NAME",
    )
