"""Why the mean-square limit of the paper's process falls by 0.8 % at K = 375, and not elsewhere."""

from pathlib import Path

import numpy as np
import pytest

import lincat
from tests import naive

_PAGE = Path(lincat.__file__).parents[2] / "docs" / "reproduction.md"


def test_first_order_equals_dense_matrices():
    problem = lincat.catalog.paper("unit_norm")
    grid, B = problem.grid(6), 10
    outcomes = []
    for p, s, r, s_next, discount in naive.expectation(problem.process, problem.gamma):
        A, _ = naive.transition_system(problem.Phi[s], r, problem.Phi[s_next], discount, grid)
        outcomes.append((p, A))
    mean = sum(p * A for p, A in outcomes)
    values, right = np.linalg.eig(mean)
    left = np.linalg.inv(right)  # rows, with left @ right = I
    limits = 2 * values.real / abs(values) ** 2
    i = np.argmin(limits)
    growth = sum(p * abs(left[i] @ A @ right[:, i]) ** 2 for p, A in outcomes) - abs(values[i]) ** 2
    found = lincat.limiting_mode(problem.process, problem.Phi, grid, problem.gamma, B)
    assert found.limit == pytest.approx(limits[i])
    assert abs(found.eigenvalue) == pytest.approx(abs(values[i]))
    assert found.lowered == pytest.approx(limits[i] * growth / B / (2 * values[i].real))
    norms = np.linalg.norm(left[i]) * np.linalg.norm(right[:, i])
    assert found.condition == pytest.approx(norms)


@pytest.mark.parametrize("seed", range(3))
def test_noise_lowers_the_limit_as_the_first_order_says(seed):
    problem = lincat.catalog.random_process(5, n_features=3, gamma=0.8, seed=seed)
    place = (problem.process, problem.Phi, problem.grid(12), problem.gamma, 60)
    mode, limit = lincat.limiting_mode(*place), lincat.max_step_size(*place)
    lowered = 1.0 - limit / mode.limit
    assert lowered == pytest.approx(mode.lowered, rel=0.15, abs=4e-4)  # 2e-4 by the search


def test_the_limit_at_375_is_lower_because_its_mode_is_ill_conditioned():
    """The documented limits, which take minutes to compute, and what the first order says."""
    problem, found = lincat.catalog.paper(), {}
    for K in (300, 375):
        place = (problem.process, problem.Phi, problem.grid(K), problem.gamma, 25)
        found[K] = lincat.limiting_mode(*place)
    documented = 1.0 - 1.6158 / 1.62805  # docs/reproduction.md, table cdf_K_alpha
    assert "| 1.6281 | yes | 1.6293 | 1.6158 |" in _PAGE.read_text()
    assert found[375].lowered == pytest.approx(documented, rel=0.1)
    assert found[375].condition > 50.0
    assert abs(found[375].eigenvalue.imag) > 0.05
    assert found[300].lowered < 0.0005
    assert found[300].eigenvalue.imag == 0.0


def test_more_unknowns_than_can_be_written_down_are_refused(monkeypatch):
    monkeypatch.setattr("lincat.theory.limiting_mode._LARGEST", 20)
    problem = lincat.catalog.paper()
    place = (problem.process, problem.Phi, problem.grid(20), problem.gamma)
    with pytest.raises(
        lincat.InvalidInputError, match=r"at most 20 unknowns d \* K, got 60; fewer"
    ):
        lincat.limiting_mode(*place)
