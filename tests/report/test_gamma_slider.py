"""The slider of a page of statistics: what the page solves is what solvers/moments.py solves."""

import numpy as np
import pytest

import lincat
from lincat.inference.moment_sums import moment_sums
from lincat.report.answer_page import evaluation_page
from lincat.runs.asked_statistics import ask
from lincat.solvers.moments import solve_moments


def smooth():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    log = {"x": x, "reward": x + rng.integers(0, 2, 2000)}
    return lincat.stats(log, features="smooth", feature_options={"bumps": 4}, validate=0)


@pytest.mark.parametrize("made", [lambda: lincat.stats("frozen_lake", steps=3000), smooth])
def test_the_page_solves_for_any_gamma(visit, made):
    whole = made()
    run = lincat.evaluate(whole, gamma=0.9)
    totals, ridge = ask(whole).pooled.totals(), run.model.learner.ridge
    page = visit(evaluation_page(run.answer))
    for power in (0.5, 1.0, 2.0):
        page.locator("#gamma").evaluate(
            "(x, value) => { x.value = value; x.dispatchEvent(new Event('input')); }", power
        )
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        gamma = float(page.locator("#gamma-shown").inner_text())
        assert 1.0 - gamma == pytest.approx(10.0**-power, rel=0.05)
        expected = solve_moments(totals, gamma, ridge=ridge)
        Phi = run.shown.Phi
        found = [
            [float(x) for x in page.locator(f"#gamma-table td[data-key={key}]").evaluate_all(
                "cells => cells.map(cell => cell.dataset.value || 'nan')")]
            for key in ("mean", "sd")
        ]  # fmt: skip
        np.testing.assert_allclose(found[0], expected.mean(Phi), rtol=1e-6, atol=1e-9)
        variance = expected.variance(Phi)
        good = variance > 1e-9
        np.testing.assert_allclose(
            np.array(found[1])[good], np.sqrt(variance[good]), rtol=1e-5, atol=1e-7
        )


def test_sums_that_are_too_large_stay_at_home():
    wide = lincat.Statistics(n_features=60).update(lincat.Transitions([0], [1.0], [1]))
    assert moment_sums(wide.totals(), np.eye(60)[:1]) is None
    given = lincat.Statistics(n_features=2).update(
        lincat.Transitions([0, 1], [1.0, 1.0], [1, 0], discount=[0.5, 0.5])
    )
    assert moment_sums(given.totals(), np.eye(2)[:1]) is None
