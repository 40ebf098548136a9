"""What to learn from, and how, by a rule: a table, or what a trial of smooth features says.

Ids, and numbers that take few values, get a table; for other numbers returns decide that no
candidate was fitted to.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lincat.data.mixed import is_mixed, rows_of
from lincat.data.steps import ObservationSpace, Steps
from lincat.features._base import Features
from lincat.features.auto import are_ids
from lincat.features.points import Points
from lincat.features.tabular import Tabular
from lincat.runs.candidates import Candidate, Lengths, Pilot, candidates_for, lengths_for, sizes_for
from lincat.runs.plan import Plan
from lincat.runs.potential import Potential
from lincat.runs.trial import compare

_MOST_POINTS = 1024  # different points that are still a table
_VISITS = 20  # of each of them, on average, at least
_OWN_ROW = 5  # visits of a point with a row of its own, where a potential tells the others apart
_BEGINNINGS = 1.0 / 30.0  # of records at points with fewer: the share from which they matter
_POINTS_A_BUMP = 4  # of that potential, which is to be smooth
_STANDS_OUT = 4.0  # standard errors of the TD error of a point that is not like its neighbours
_WIDTHS = 12.0  # standard deviations that means must be apart, for grids about them to be narrow
_NEARLY_ALL = 0.999  # of the states
_ROUNDING = 1e-9  # of a mean
_TRIAL_ROWS = 25_000  # of the pilot, at most
_AGAIN = 0.5  # of the pilot, for what a trial left in question
_AGAIN_ROWS = 75_000  # at least; with fewer it would say little more


def choose_plan(
    pilot: Steps,
    gamma: float,
    space: ObservationSpace,
    *,
    rows: int | None = None,
    n_step: int | None = None,
) -> Plan:
    """Return a plan for a source that begins with these steps.

    Parameters
    ----------
    pilot : Steps
        The first steps, or all of them.
    gamma : float
    space : ObservationSpace
    rows : int, optional
        How many there will be in all, if that is known.
    n_step : int, optional
        How many steps to sum, if that is not to be chosen.
    """
    expected = max(rows or 0, len(pilot))
    table = table_for(pilot, space)
    if table is not None:
        plan = _table_plan(table, Pilot(pilot, gamma, expected), expected)
        return plan if n_step is None else replace(plan, n_step=n_step)
    lengths = lengths_for(pilot, gamma, n_step)
    chosen = candidates_for(expected, lengths)[tried(pilot, gamma, lengths)]
    seen = Pilot(pilot, gamma, expected)
    plan = chosen.plan(seen)
    if plan.potential is None or plan.potential.directions is not None:
        return plan
    ridge = seen.ridge_of(chosen.narrow)
    return replace(plan, potential=plan.potential.with_errors(pilot, gamma, ridge=ridge))


def tried(pilot: Steps, gamma: float, lengths: Lengths) -> int:
    """The number of the candidate that is best in a trial, or in a second one with more rows.

    Plans are tried at sizes that suit the rows of the trial.
    """
    some, more = min(_TRIAL_ROWS, len(pilot)), int(_AGAIN * len(pilot))
    first = compare(pilot, gamma, candidates_for(some, lengths), rows=some)
    if more < _AGAIN_ROWS:
        return first.best()
    candidates = candidates_for(more, lengths)
    # What cannot be told apart: without a potential longer steps first, as with many rows features
    # that smooth with each of them matter more than chance.
    left = sorted(first.in_question(), key=lambda i: _preferred(candidates[i]))
    if len(left) == 1:
        return left[0]
    return left[compare(pilot, gamma, [candidates[i] for i in left], rows=more).best()]


def _preferred(plan: Candidate) -> tuple[bool, int]:
    return (False, 0) if plan.scale else (True, -plan.n_step)


def table_for(pilot: Steps, space: ObservationSpace) -> Features | None:
    """Return a table, fitted, where observations are ids or take few values; else None."""
    if space.n_states is not None:
        return Tabular(n_states=space.n_states).fit(pilot.observation)
    if are_ids(pilot.observation):
        return Tabular().fit(pilot.observation)
    most = min(_MOST_POINTS, max(len(pilot) // _VISITS, 8))
    if is_mixed(pilot.observation):
        few = len(set(rows_of(pilot.observation))) <= most
        return Tabular().fit(pilot.observation) if few else None
    points = np.asarray(pilot.observation, dtype=np.float64).reshape(len(pilot), -1)
    if len(np.unique(points, axis=0)) <= most:
        return Points(most=_MOST_POINTS).fit(points)
    return None


def _table_plan(table: Features, pilot: Pilot, rows: int) -> Plan:
    """The plan of a table, about a potential where rare points or a narrower grid speak for it."""
    plan = _rare_points(table, pilot, rows) or _apart_means(table, pilot)
    if plan is not None:
        return plan
    return Plan(table, None, None, 1, 0.0, f"{table.describe()[:-1]}, nothing to approximate.")


def _rare_points(table: Features, pilot: Pilot, rows: int) -> Plan | None:
    """A plan for records that begin at points hardly seen, of which numbers say more than visits.

    A row that rests on one visit repeats what followed it once. So such a point takes the row of
    the nearest other one n, with returns about V(s) − V(n), V a smooth function; about all other
    points, returns are as they are. None if hardly a record begins there (rewards that take few
    values stay so, which is worth more than what is rare), or if V is far off at one of the points:
    a state of its own, such as a ruin, keeps its row.
    """
    if not isinstance(table, Points):
        return None
    steps = pilot.steps
    points = np.asarray(steps.observation, dtype=np.float64).reshape(len(steps), -1)
    at = table.transform(points)
    visits = np.bincount(at)
    rare = visits < _OWN_ROW
    if rare[at[steps.begins()]].mean() <= _BEGINNINGS:
        return None
    often = Points(most=_MOST_POINTS, fewest=_OWN_ROW).fit(points)
    bumps = max(often.n_features_ // _POINTS_A_BUMP, 1)
    smooth = pilot.potential(min(bumps, sizes_for(rows).potential))
    error = smooth.errors(steps, pilot.gamma)
    far = np.abs(np.bincount(at, error)) > _STANDS_OUT * error.std() * np.sqrt(visits)
    if far[rare].any():
        return None
    nearest = often.points_[often.transform(table.points_)]
    apart = smooth.values(table.points_) - smooth.values(nearest)
    reason = (
        f"{often.describe()[:-1]}, as far from its mean as {smooth.features.n_features_} smooth "
        "features say."
    )
    return Plan(often, Potential(table, apart), None, 1, 0.0, reason)


def _apart_means(table: Features, pilot: Pilot) -> Plan | None:
    """A plan for states whose means are many standard deviations apart: about their own means.

    On one grid for all, intervals that are narrow enough for each would be very many.
    """
    if table.n_known_ > _MOST_POINTS:
        return None
    steps, gamma = pilot.steps, pilot.gamma
    potential = Potential.of_table(table, steps, gamma)
    if potential is None:
        return None
    second = Potential.of_table(table, potential.squared(steps, gamma), gamma)
    if second is None:
        return None
    mean, variance = (x.values(steps.observation) for x in (potential, second))
    sd = math.sqrt(max(float(np.quantile(variance, _NEARLY_ALL)), 0.0))
    low, high = np.quantile(mean, [1.0 - _NEARLY_ALL, _NEARLY_ALL])
    # What is certain is known exactly on any grid that holds it.
    certain = sd <= _ROUNDING * max(abs(low), abs(high))
    if certain or high - low <= _WIDTHS * sd:
        return None
    reason = f"{table.describe()[:-1]}, about a potential V, the means, which lie far apart."
    return Plan(table, potential, None, 1, 0.0, reason)
