"""Tables on rows whose answers are known, and facts of the published numbers."""

import numpy as np
import pytest

from lincat.paper.analysis import (
    all_tables,
    fit_table,
    iteration_table,
    quadratic_fit,
    rate_table,
    step_table,
)
from lincat.paper.checks import check_table
from lincat.paper.settings import PUBLISHED, Settings

SETTINGS = Settings()


def thresholds(rule, steps):
    return [
        {"rule": rule, "K": K, "notion": "deterministic", "step": step} for K, step in steps.items()
    ]


def counts(rule, K, full, tail=(1,)):
    return [
        {"rule": rule, "K": K, "averaging": averaging, "iterations": count}
        for averaging, numbers in (("full", full), ("tail", tail))
        for count in numbers
    ]


def test_the_published_numbers_are_complete():
    for rule in ("ctd", "pmf"):
        assert tuple(PUBLISHED.brackets[rule]) == SETTINGS.intervals
        assert tuple(PUBLISHED.iterations[rule]) == SETTINGS.intervals
        assert all(low < high for low, high in PUBLISHED.brackets[rule].values())
    assert all(
        PUBLISHED.iterations["ctd"][K] < PUBLISHED.iterations["pmf"][K] for K in SETTINGS.intervals
    )


def test_published_midpoints_fall_as_one_over_K_squared():
    scaled = [(low + high) / 2 * K**2 for K, (low, high) in PUBLISHED.brackets["pmf"].items()]
    assert 18.7 <= round(min(scaled), 1)
    assert round(max(scaled), 1) <= 19.6


def test_the_published_fit_averages_reciprocals():
    rows = fit_table({"thresholds": thresholds("pmf", {30: 0.02, 45: 0.01, 75: 0.003})}).rows
    found = {row["fit of"]: row for row in rows}
    reciprocals = found["paper's bounds, reciprocals averaged"]
    assert reciprocals["MSE"] == pytest.approx(PUBLISHED.fit_mse, abs=0.005)
    assert round(reciprocals["R²"], 5) == PUBLISHED.fit_r2
    bounds = found["paper's bounds, averaged (as its caption says)"]
    assert bounds["MSE"] == pytest.approx(413.57, abs=0.005)
    assert "ours, noise-free" not in found  # a parabola through three points says nothing


def test_a_parabola_is_fitted_exactly():
    K = np.array([1, 2, 4, 7])
    mse, r2, coefficients = quadratic_fit(list(K), 2.0 * K**2 - 3.0 * K + 1.0)
    assert mse < 1e-20
    assert r2 == pytest.approx(1.0)
    assert coefficients == pytest.approx([2.0, -3.0, 1.0])


def test_steps_stand_beside_the_brackets():
    rows = {
        "thresholds": thresholds("ctd", {30: 1.66, 45: 1.71, 31: 1.0}),
        "simulated": [{"rule": "ctd", "K": 30, "low": 1.6, "high": 1.7}],
    }
    table = step_table(rows, "ctd").rows
    assert [row["K"] for row in table] == [30, 31, 45]
    assert [row["inside"] for row in table] == ["yes", None, "no"]
    assert (table[0]["simulated low"], table[0]["simulated high"]) == (1.6, 1.7)
    assert table[1]["simulated low"] is None
    assert step_table(rows, "pmf").rows == []


def test_iterations_stand_beside_the_published_count():
    published = PUBLISHED.iterations["ctd"][30]
    full = [published - 100, published, published + 1000, published + 2000, None]
    (row,) = iteration_table(
        {"iterations": counts("ctd", 30, full, [7, 9, 8])}, "ctd", SETTINGS
    ).rows
    assert row["median"] == published + 1000
    assert row["ratio"] == pytest.approx((published + 1000) / published)
    assert row["percentile of paper"] == pytest.approx(40.0)
    assert row["90 %"] is None  # some runs never got there
    assert row["tail average"] == 8
    assert row["runs"] == 5


def test_the_average_is_named_where_counts_are_shown():
    rows = [*counts("pmf", 30, [1]), *counts("pmf", 45, [1, 10**6]), *counts("pmf", 75, [10**6])]
    table = iteration_table({"iterations": rows}, "pmf", SETTINGS)
    assert "FULL running average" in table.note
    assert "outside of all our runs at K = 30, 75." in table.note


def test_gap_of_two_algorithms():
    def rows(rule, K, numbers):
        shared = {"rule": rule, "K": K, "gamma": 0.5, "max_step": 1.0, "target": 1e-3}
        return [{**shared, "iterations": n} for n in numbers]

    data = [*rows("ctd", 10, [10, 20, 30]), *rows("pmf", 10, [100, 200, None])]
    data += [*rows("ctd", 20, [20]), *rows("pmf", 20, [None])]
    data += rows("ctd", 30, [20])  # the other algorithm is still to come
    first, second = rate_table({"random_process": data}, "random_process", "K", "").rows
    assert first["gap"] == pytest.approx(10.0)
    assert second["gap"] is None


def test_nothing_is_shown_of_nothing():
    assert all_tables({}, SETTINGS) == []
    assert check_table([]).rows == []


def verdicts(rows):
    return {row["check"]: row["holds"] for row in check_table(all_tables(rows, SETTINGS)).rows}


def test_checks_say_no():
    good = {K: 19.0 / K**2 for K in SETTINGS.intervals}
    found = verdicts({"thresholds": thresholds("pmf", good)})
    assert found["SSGD-PMF: step × K² constant, max/min − 1"] == "yes"
    assert found["R² of the quadratic fit of 1/step on K"] == "yes"
    found = verdicts({"thresholds": thresholds("pmf", {K: 1.0 / K for K in good})})
    assert found["SSGD-PMF: step × K² constant, max/min − 1"] == "NO"
    assert found["SSGD-PMF: noise-free maximum step inside the published bracket"] == "NO"

    many = {"iterations": [*counts("ctd", 30, [50_000]), *counts("pmf", 30, [40_000])]}
    found = verdicts(many)
    assert found["Linear-CTD needs fewer iterations than SSGD-PMF"] == "NO"
    assert found["Linear-CTD: median iterations over published, worst of 1 K"] == "NO"
    assert found["SSGD-PMF: median iterations over published, worst of 1 K"] == "yes"

    run = {"rule": "pmf", "K": 45, "step": 0.01, "iterations": 9, "error": 1e-3, "diverged": False}
    text = "Figure loss_pmf: converges and diverges where the paper's does"
    assert verdicts({"loss_pmf": [run]})[text] == "NO"
    assert verdicts({"loss_pmf": [{**run, "diverged": True}]})[text] == "yes"
