"""The example files in examples/ do what the documentation says."""

import json
import pathlib
import sys

import numpy as np
import pytest

import lincat

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda p: p.stem)
def test_every_process_file_can_be_solved(file):
    problem = lincat.read_problem(file)
    dist = lincat.true_returns(problem.process, problem.gamma, problem.grid(40))
    np.testing.assert_allclose(
        dist.mean(),
        problem.Phi @ lincat.solve_value(problem.process, problem.Phi, problem.gamma),
        atol=1e-9,
    )


def test_inventory_is_a_decision_process_under_its_policy():
    content = json.loads((EXAMPLES / "inventory.json").read_text())
    problem = lincat.read_problem(EXAMPLES / "inventory.json")
    assert problem.state_names == ("empty", "one", "two")
    assert len(problem.process.state) <= len(content["outcomes"])


def test_learners_are_compared_on_the_same_streams(tmp_path):
    sys.path.insert(0, str(EXAMPLES))
    try:
        import compare_learners
    finally:
        sys.path.remove(str(EXAMPLES))
    rows = list(compare_learners.curves(seeds=1, stops=np.array([100, 1500]), intervals=10))
    assert len(rows) == 4 * 2
    by_learner = {row["learner"]: row["W1 to the truth"] for row in rows}
    assert by_learner["LinearCTD"] < by_learner["SoftmaxCTD"]
    compare_learners.main(str(tmp_path), seeds=1, stops=np.array([100, 200]), intervals=5)
    assert (tmp_path / "learners.svg").exists()
