"""All problems of known truth, by name."""

from __future__ import annotations

from lincat._arguments import fail
from lincat.truth import edges, environments, ids, numbers
from lincat.truth.problem import Problem

PROBLEMS: tuple[Problem, ...] = (*ids.PROBLEMS, *numbers.PROBLEMS, *environments.PROBLEMS)
#: Run if they are named.
FURTHER: tuple[Problem, ...] = edges.PROBLEMS


def problem_named(name: str) -> Problem:
    """Return the problem of this name.

    Examples
    --------
    >>> from lincat.truth.problems import problem_named
    >>> problem_named("queue").gamma
    0.99
    """
    for problem in (*PROBLEMS, *FURTHER):
        if problem.name == name:
            return problem
    names = ", ".join(p.name for p in (*PROBLEMS, *FURTHER))
    raise fail("problem", f"one of {names}", repr(name))
