"""Every learner passes every public check; and the checks notice learners that do not."""

import numpy as np
import pytest

import lincat
from lincat import checks

GRID = lincat.Grid(-0.5, 5.5, 12)
LEARNERS = {
    "ctd": lincat.LinearCTD(grid=GRID, gamma=0.8),
    "ctd full": lincat.LinearCTD(grid=GRID, gamma=0.8, averaging="full", step_size=0.1),
    "ctd none": lincat.LinearCTD(grid=GRID, gamma=0.8, averaging="none", gradient_step=True),
    "ctd float32": lincat.LinearCTD(grid=GRID, gamma=0.8, dtype="float32"),
    "ctd auto grid": lincat.LinearCTD(grid="auto", gamma=0.8, intervals=9),
    "ctd decay": lincat.LinearCTD(
        grid=GRID, gamma=0.8, step_size=lincat.PolynomialDecay(0.5, power=0.7)
    ),
    "ctd statistics": lincat.LinearCTD(grid=GRID, gamma=0.8, statistics=True),
    "ctd horizon": lincat.LinearCTD(grid=GRID, gamma=0.8, horizon=900),
    "reduced": lincat.VarianceReducedCTD(grid=GRID, gamma=0.8),
    "reduced none": lincat.VarianceReducedCTD(
        grid=GRID, gamma=0.8, averaging="none", dtype="float32", step_size=0.2
    ),
    "reduced statistics": lincat.VarianceReducedCTD(grid="auto", gamma=0.8, statistics=True),
    "pmf": lincat.LinearPMF(grid=GRID, gamma=0.8),
    "unnormalised": lincat.UnnormalisedCTD(grid=GRID, gamma=0.8),
    "softmax": lincat.SoftmaxCTD(grid=GRID, gamma=0.8),
    "td": lincat.LinearTD(gamma=0.8),
    "lstd": lincat.LSTD(gamma=0.8),
    "categorical lstd": lincat.CategoricalLSTD(grid=GRID, gamma=0.8, max_blocks=4),
    "categorical lstd auto grid": lincat.CategoricalLSTD(gamma=0.8, intervals=20, nodes=16),
    "td float32": lincat.LinearTD(gamma=0.8, dtype="float32", averaging="full"),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_passes_every_check(name):
    checks.check_learner(LEARNERS[name])


def test_a_broken_learner_is_named(monkeypatch):
    original = lincat.LinearTD._run

    def forgetful(self, transitions, step, batch_size):
        step = step * (1.0 + 1e-9 * np.random.default_rng().random())
        return original(self, transitions, step, batch_size)

    monkeypatch.setattr(lincat.LinearTD, "_run", forgetful)
    with pytest.raises(AssertionError, match="LinearTD: chunked_equals_one_call with dense"):
        checks.check_learner(lincat.LinearTD(gamma=0.8))
