"""The example files in examples/ do what the documentation says."""

import json
import pathlib

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
