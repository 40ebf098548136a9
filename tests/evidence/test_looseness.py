"""Fitted constants cover what is measured, on processes that they were not fitted on."""

from lincat.evidence.looseness import (
    QUICK,
    Measured,
    fitted,
    fitting_problems,
    held_out_problems,
    measure,
)
from lincat.theory.universal import UNIVERSAL


def test_constants_cover_small_measurements_on_held_out_processes():
    """The whole of it is `make evidence`: 20 processes, up to 131,072 transitions."""
    rows = [row for problem in held_out_problems(2) for row in measure(problem, QUICK)]
    assert {row.label for row in rows} == set(UNIVERSAL)
    for row in rows:
        assert 0.0 < row.ratio <= UNIVERSAL[row.label], row


def test_the_smallest_constant_rounded_up_to_two_digits():
    rows = [Measured("a", "p", 1, 0.1234), Measured("a", "q", 1, 0.01), Measured("b", "p", 1, 12.0)]
    assert fitted(rows) == {"a": 0.13, "b": 12.0}


def test_no_process_is_in_both():
    fitting = {problem.name for problem in fitting_problems(3)}
    assert not fitting & {problem.name for problem in held_out_problems(3)}
