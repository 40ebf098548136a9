"""Contenders, and taking turns with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from lincat._typing import FloatArray


class UnavailableError(Exception):
    """A contender cannot be measured here; the message says why, and what to install."""


@dataclass(frozen=True)
class Contender:
    """Something that works off transitions, continuing from the parameters that it has."""

    label: str  # the column; of contenders with one label, the fastest counts
    run: Callable[[], object]
    count: int  # transitions that a run works off: the first ones of the data
    theta: Callable[[], FloatArray] | None = None  # its parameters (d, K); None if it has none
    tolerance: float = 1e-9
    also: str = ""  # another column that it counts for


def check(contender: Contender, reference: Callable[[int], FloatArray]) -> None:
    """Make the first run, which also compiles; it must learn what ``reference(count)`` does."""
    contender.run()
    if contender.theta is not None:
        np.testing.assert_allclose(
            contender.theta(),
            reference(contender.count),
            rtol=0.0,
            atol=contender.tolerance,
            err_msg=f"{contender.label} learns something else",
        )


def compare(
    ours: Contender, others: Sequence[Contender], rounds: int
) -> tuple[float, dict[str, float]]:
    """Return our median seconds a transition, and for each label the median of theirs over ours.

    We run before each of them again, so that a slow moment of the machine falls on both.
    """
    seconds: list[float] = []
    ratios: list[list[float]] = [[] for _ in others]
    for _ in range(rounds):
        for contender, found in zip(others, ratios, strict=True):
            seconds.append(seconds_of(ours))
            found.append(seconds_of(contender) / seconds[-1])
    best: dict[str, float] = {}
    for contender, found in zip(others, ratios, strict=True):
        for label in filter(None, (contender.label, contender.also)):
            best[label] = min(best.get(label, np.inf), median(found))
    return median(seconds), best


def seconds_of(contender: Contender) -> float:
    """CPU seconds a transition: on one core the time that it takes, less what others take away."""
    start = time.process_time()
    contender.run()
    return (time.process_time() - start) / contender.count
