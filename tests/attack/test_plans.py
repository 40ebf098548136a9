"""Targets and constants whose squares, or the number of rows that they ask for, are no numbers."""

import math

import numpy as np
import pytest

import lincat
from lincat import bounds

_SETTING = lincat.Setting(0.9, 40, lambda_min=0.1, norm_V1=5.0, norm_V2=10.0)
_EXTREMES = [1e-320, 1e-300, 1e-160, 1e-100, 1e100, 1e160, 1e300]


def _ends_well(plan, error):
    try:
        found, said = plan(error), "error"
    except lincat.InvalidInputError as refused:
        found, said = 0.0, str(refused)
    assert math.isfinite(found)
    assert "error" in said
    assert "\n" not in said


@pytest.mark.parametrize("error", _EXTREMES)
def test_plans_of_any_target(error):
    x = np.arange(400) % 3
    log = {"state": x, "reward": 1.0 * x}
    _ends_well(lambda e: lincat.plan(log, gamma=0.9, error=e).transitions, error)
    _ends_well(lambda e: lincat.plan(_SETTING, error=e).transitions, error)
    _ends_well(lambda e: lincat.plan(lincat.catalog.paper(), error=e).transitions, error)


@pytest.mark.parametrize("error", _EXTREMES)
def test_bounds_of_any_target(error):
    step = bounds.instance_step(_SETTING)
    _ends_well(lambda e: bounds.sample_size(_SETTING, error=e, step=step).value, error)
    for bound in (bounds.whp_sample_size, bounds.markov_sample_size):
        _ends_well(lambda e, b=bound: b(_SETTING, error=e, delta=0.1, step=step).value, error)
    _ends_well(lambda e: bounds.sample_size_td(_SETTING, error=e).value, error)


@pytest.mark.parametrize("smallest", [1e-320, 1e-300, 1e-160])
def test_bounds_of_hardly_any_data(smallest):
    setting = lincat.Setting(0.9, 40, lambda_min=smallest, norm_V1=5.0, norm_V2=10.0)
    _ends_well(lambda e: lincat.plan(setting, error=e).transitions, 0.5)
