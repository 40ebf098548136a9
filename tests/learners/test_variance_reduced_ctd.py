import numpy as np
import pytest

import lincat
from lincat.evidence.barrier import BARRIERS, ratios
from lincat.learners.variance_reduced_ctd import VarianceReducedCTD
from tests import naive
from tests.learners import cases

OPTIONS = [
    ("dense", 1, "tail"),
    ("sparse", 2, "full"),
    ("states", 1, "none"),
    ("states", 3, "tail"),
]


@pytest.mark.parametrize(("kind", "batch", "averaging"), OPTIONS)
def test_equals_naive(kind, batch, averaging):
    n = 620 * batch - 1
    transitions = cases.stream(kind, n)
    data, alpha = cases.tuples(transitions), 0.4
    model = VarianceReducedCTD(
        grid=cases.GRID,
        gamma=cases.GAMMA,
        step_size=alpha,
        averaging=averaging,
        n_features=cases.STATES if kind == "states" else None,
    )
    model.fit(transitions, batch_size=batch)
    updates = -(-n // batch)
    expected = naive.recentred(
        data, cases.GRID, [alpha] * updates, batch, len(data[0][0]), averaging, model._epochs
    )
    assert model.n_updates_ == updates
    assert model._epoch_ >= 3
    np.testing.assert_allclose(model.Theta_mean_, expected, rtol=0, atol=1e-10)


def test_constant_steps_do_not_decay_and_automatic_ones_neither():
    t = cases.stream("dense", 3000, everything=False)
    longest = (cases.features("dense") ** 2).sum(axis=1).max()
    first = t[:1]  # the longest features decide the step: let them come first
    state = int((cases.features("dense") ** 2).sum(axis=1).argmax())
    start = lincat.Transitions(cases.features("dense")[[state]], [0.0], first.phi_next)
    models = []
    for step in ("auto", 0.375 / longest):
        model = VarianceReducedCTD(grid=cases.GRID, gamma=cases.GAMMA, step_size=step)
        models.append(model.partial_fit(start).partial_fit(t))
    np.testing.assert_allclose(models[0].Theta_, models[1].Theta_, atol=1e-12)


@pytest.mark.parametrize("barrier", BARRIERS[:1], ids=lambda barrier: barrier.name)
def test_reaches_the_asymptotic_error_past_the_barrier(barrier):
    """A small version of what `make evidence` measures: 1.3x where tail averages are above 2x."""
    found = ratios(barrier, range(12))
    reduced, batch = found.pop("VarianceReducedCTD"), found.pop("CategoricalLSTD")
    assert batch.mean == pytest.approx(1.0, abs=0.1)
    assert reduced.mean <= 1.3 + 2 * reduced.error
    assert min(row.mean for row in found.values()) > 1.4 * reduced.mean


def test_float32_and_float64_agree():
    t = cases.stream("dense", 2500)
    single, double = (
        VarianceReducedCTD(grid=cases.GRID, gamma=cases.GAMMA, dtype=dtype).fit(t).Theta_mean_
        for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(single, double, atol=1e-4)


def test_divergence_is_told():
    t = cases.stream("dense", 3000)
    model = VarianceReducedCTD(grid=cases.GRID, gamma=cases.GAMMA, step_size=60.0)
    with pytest.raises(lincat.DivergenceError):
        model.fit(t)


def test_sums_beside_it_give_intervals():
    t = cases.stream("states", 4000)
    model = VarianceReducedCTD(
        grid=cases.GRID, gamma=cases.GAMMA, n_features=cases.STATES, statistics=True
    )
    low, high = model.fit(t).predict([0], confidence=0.9).interval("mean")
    assert low < model.predict([0]).mean() + 0.2
    assert low < high
