"""What to learn from, and how, by a rule: a table, or what a trial of smooth features says.

Ids, and numbers that take few values, get a table; for other numbers returns decide that no
candidate was fitted to.
"""

from __future__ import annotations

import numpy as np

from lincat.data.mixed import is_mixed, rows_of
from lincat.data.steps import ObservationSpace, Steps
from lincat.features._base import Features
from lincat.features.auto import are_ids
from lincat.features.points import Points
from lincat.features.tabular import Tabular
from lincat.runs.candidates import Pilot, candidates_for, long_steps, sizes_for
from lincat.runs.plan import PSEUDO_ROWS, Plan
from lincat.runs.trial import trial

_MOST_POINTS = 1024  # different points that are still a table
_VISITS = 20  # of each of them, on average, at least
_OWN_ROW = 5  # visits of a point with a row of its own, where a potential tells the others apart
_POINTS_A_BUMP = 4  # of that potential, which is to be smooth
_STANDS_OUT = 4.0  # standard errors of the TD error of a point that is not like its neighbours
_TRIAL_ROWS = 25_000  # of the pilot, at most


def choose_plan(
    pilot: Steps, gamma: float, space: ObservationSpace, *, rows: int | None = None
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
    """
    expected = max(rows or 0, len(pilot))
    table = table_for(pilot, space)
    if table is not None:
        return _table_plan(table, Pilot(pilot, gamma, PSEUDO_ROWS / expected), expected)
    long, some = long_steps(pilot, gamma), pilot[-_TRIAL_ROWS:]
    # Tried at sizes that suit the rows of a trial.
    best = trial(some, gamma, candidates_for(len(some), long))
    chosen = candidates_for(expected, long)[best]
    return chosen.plan(Pilot(pilot, gamma, PSEUDO_ROWS / expected))


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
    """The plan of a table; of points that were hardly seen, the numbers say more than the visits.

    A row that rests on one visit repeats what followed it once. So such points take the row of the
    nearest other one, of returns about a potential, which tells them apart. If V is far off at one
    of them (a state of its own, such as a ruin), each keeps its row.
    """
    plain = Plan(table, None, None, 1, 0.0, f"{table.describe()[:-1]}, nothing to approximate.")
    if not isinstance(table, Points):
        return plain
    steps = pilot.steps
    points = np.asarray(steps.observation, dtype=np.float64).reshape(len(steps), -1)
    at = table.transform(points)
    visits = np.bincount(at)
    if visits.min() >= _OWN_ROW:
        return plain
    often = Points(most=_MOST_POINTS, fewest=_OWN_ROW).fit(points)
    bumps = max(often.n_features_ // _POINTS_A_BUMP, 1)
    potential = pilot.potential(min(bumps, sizes_for(rows).potential))
    value, value_next = potential.both_values(steps)
    error = steps.reward + steps.discounts(pilot.gamma) * value_next - value
    far = np.abs(np.bincount(at, error)) > _STANDS_OUT * error.std() * np.sqrt(visits)
    if far[visits < _OWN_ROW].any():
        return plain
    reason = (
        f"{often.describe()[:-1]}, about a potential V of {potential.features.n_features_} smooth "
        "features, which tells these apart."
    )
    return Plan(often, potential, None, 1, 0.0, reason)
