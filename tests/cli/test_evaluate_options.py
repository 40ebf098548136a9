"""lincat evaluate with every pair of its options."""

import itertools
import json
import math

import numpy as np
import pytest

import lincat
from tests.cli.command import lincat_here, page_text
from tests.runs.logs import write_names, write_points, write_transitions


def evaluate(*arguments, **options):
    return lincat_here("evaluate", *arguments, **options)


CHOICES = {
    "learner": ["auto", "linear_ctd", "linear_pmf", "unnormalised_ctd", "softmax_ctd"],
    "features": ["auto", "tiles", "fourier", "rbf", "scaling", "identity", "tabular"],
    "averaging": ["tail", "full", "none"],
    "dtype": ["float64", "float32"],
    "batch-size": [1, 7],
    "n-step": [1, 3],
    "validate": [0, 100],
    "source": ["points", "names", "transitions", "frozen_lake"],
}


def pairwise(choices, seed=0):
    """Rows in which every pair of choices of two options occurs, greedily."""
    rng = np.random.default_rng(seed)
    names = list(choices)
    missing = {
        ((a, x), (b, y))
        for a, b in itertools.combinations(names, 2)
        for x in choices[a]
        for y in choices[b]
    }
    while missing:
        tries = []
        (first, second), *_ = sorted(missing, key=repr)
        for _ in range(30):
            row = {name: choices[name][rng.integers(len(choices[name]))] for name in names}
            row |= dict([first, second])
            tries.append((len(covered(row) & missing), repr(row), row))
        row = max(tries)[2]
        missing -= covered(row)
        yield row


def covered(row):
    return set(itertools.combinations(row.items(), 2))


def sensible(row):
    """The same row, with features that can be made of what the source gives."""
    names, points = row["source"] == "names", row["source"] in ("points", "transitions")
    impossible = (names and row["features"] != "tabular") or (
        points and row["features"] == "tabular"
    )
    return row | {"features": "auto"} if impossible else row


ROWS = [sensible(row) for row in pairwise(CHOICES)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(map(str, row.values())))
def test_every_pair_of_options_works_together(here, row):
    row = dict(row)
    write = {"points": write_points, "names": write_names, "transitions": write_transitions}
    kind = row.pop("source")
    source, gamma = kind, []
    if kind in write:
        source = write[kind](here / ("log.csv" if kind == "names" else "log.parquet"), rows=1500)
        gamma = ["--gamma", 0.8]
    options = list(itertools.chain(*((f"--{name}", value) for name, value in row.items())))
    ended = evaluate(
        *(source, *gamma, *options, "--steps", 1500, "--warm-up", 400),
        *("--intervals", 10, "--out", "run", "--json"),
    )
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    run = lincat.read_run("run")
    low, high = run.answer.grid.low, run.answer.grid.high
    for state in answer["states"]:
        numbers = [value for key, value in state.items() if key != "state"]
        assert all(map(math.isfinite, numbers))
        assert low - 1e-6 <= state["q0.05"] <= state["median"] <= state["q0.95"] <= high + 1e-6
    proper = run.returns.proper().cdf_values
    assert (np.diff(proper, axis=1) >= -1e-12).all()
    assert (answer["validation"] is not None) == (row["validate"] > 0)
    page = page_text(here / "run" / "report.html")
    assert answer["summary"][0] in page.replace("<code>", "").replace("</code>", "")


def test_there_are_enough_pairs():
    assert len(ROWS) >= 20
    pairs = set().union(*(covered(row) for row in ROWS))
    for learner, averaging in itertools.product(CHOICES["learner"], CHOICES["averaging"]):
        assert (("learner", learner), ("averaging", averaging)) in pairs
