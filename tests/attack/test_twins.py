"""The same question asked twice, of two parts of the program: they have to answer alike."""

import numpy as np
import pytest

import lincat


def _only_breaking_off(records, steps, rng):
    """A log of two states that never ends, in records that break off."""
    rows = records * steps
    state = rng.integers(2, size=rows)
    return {
        "episode": np.repeat(np.arange(records), steps),
        "state": state,
        "reward": state + rng.normal(size=rows),
        "terminated": np.zeros(rows, dtype=bool),
        "truncated": np.arange(rows) % steps == steps - 1,
    }


@pytest.mark.parametrize(("steps", "gamma"), [(60, 0.9), (60, 0.95)])
def test_returns_of_records_that_only_break_off_are_known_to_evaluate_and_to_stats(steps, gamma):
    # At gamma 0.95 no return of 60 steps is known, at 0.9 those from the first 16 are: nothing ends,
    # so that what is known is no odd sample of what there is.
    log = _only_breaking_off(1_000, steps, np.random.default_rng(0))
    known = round(np.log(1e-2) / np.log(gamma)) < steps
    sums = lincat.stats(log)
    kept = [held.gamma for held in sums.sites[0].held]
    assert (gamma in kept) == known
    run = lincat.evaluate(log, gamma=gamma)
    assert run.trusted
    drawn = "completed by the model" in run.validation.description
    assert drawn != known
    if known:
        assert lincat.evaluate(sums, gamma=gamma).validation["all"].n_returns > 1_000
