"""Nothing that is learned or solved depends on how many threads BLAS may use."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import lincat
from lincat._threads import _blas_threads, blas_threads

RNG = np.random.default_rng(0)
PROBLEM = lincat.catalog.random_process(600, n_features=300, branching=200, seed=1)
WIDE = RNG.normal(size=(3000, 400))


def value():
    return lincat.solve_value(PROBLEM.process, PROBLEM.Phi, 0.9)


def fixed_point():
    grid = PROBLEM.grid(20)
    return lincat.solve_categorical(PROBLEM.process, PROBLEM.Phi, grid, 0.9, tolerance=1e-6)


def predicted():
    model = lincat.LinearCTD(grid=lincat.Grid(-60.0, 60.0, 300), gamma=0.9, step_size=1e-4)
    model.fit(WIDE[:50], WIDE[:50, 0], WIDE[50:100])
    return model.predict(WIDE).cdf_values


def solved():
    model = lincat.CategoricalLSTD(grid=lincat.Grid(-30.0, 30.0, 40), gamma=0.9, ridge=0.01)
    model.fit(WIDE[:1000, :40].copy(), WIDE[:1000, 0], WIDE[1000:2000, :40].copy())
    return model.predict(WIDE[:, :40].copy(), confidence=0.9).interval("mean")[0]


@pytest.mark.parametrize("ask", [value, fixed_point, predicted, solved])
def test_answers_have_the_same_bits_on_one_thread_and_on_two(ask):
    blas_threads()  # loads all of BLAS: a limit holds for what is there
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(ask())
    np.testing.assert_array_equal(found[0], found[1])


def test_a_run_holds_blas_to_one_thread_and_nobody_else():
    """From the first row on, until it has its answer; sums may have all the threads there are."""
    seen = set()

    def policy(observation, rng):
        seen.add((_blas_threads(), blas_threads()))
        return int(rng.integers(2))

    blas_threads()
    with threadpool_limits(2):
        lincat.evaluate("gym:CartPole-v1", policy=policy, gamma=0.9, steps=500, validate=0)
        assert _blas_threads() == 2
    assert seen == {(1, 2)}
