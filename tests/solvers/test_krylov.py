import numpy as np
import pytest

import lincat
from lincat.solvers.krylov import solve_contraction


@pytest.mark.parametrize("norm", [0.0, 0.5, 0.9, 0.999])
def test_solves_to_the_tolerance(norm):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 30))
    A *= norm / np.linalg.norm(A, 2)
    b = rng.normal(size=(30, 2))
    x = solve_contraction(lambda v: A @ v, b, tolerance=1e-12)
    np.testing.assert_allclose(x - A @ x, b, atol=1e-11)


def test_nothing_gives_nothing():
    x = solve_contraction(lambda v: 0.5 * v, np.zeros((2, 3)), tolerance=1e-12)
    np.testing.assert_array_equal(x, np.zeros((2, 3)))


def test_gives_up_with_a_word_where_there_is_no_solution():
    with pytest.raises(lincat.ConvergenceError, match="the fixed point was not reached"):
        solve_contraction(lambda v: v, np.ones(4), tolerance=1e-12)
