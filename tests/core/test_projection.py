import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import lincat
from tests import naive
from tests.strategies import finite_floats, grids


@pytest.mark.parametrize(
    ("atoms", "masses", "support", "expected"),
    [
        # Dopamine, Rainbow agent tests
        ([0, 1, 2, 3, 4], [0.1, 0.2, 0.1, 0.3, 0.3], (3, 7, 4), [0.7, 0.3, 0, 0, 0]),
        # acme, distributional loss tests
        ([1], [1.0], (0.25, 3.25, 3), [0.25, 0.75, 0, 0]),
        # pfrl, categorical DQN tests
        ([-0.5, 0, 0.5], [0.5, 0.2, 0.3], (-1, 1, 2), [0.25, 0.6, 0.15]),
    ],
)
def test_numbers_that_other_projects_publish(atoms, masses, support, expected):
    np.testing.assert_allclose(
        lincat.project(atoms, masses, lincat.Grid(*support)), expected, atol=1e-15
    )


@pytest.mark.parametrize(
    ("low", "high", "atoms"),
    [
        *((0, high, atoms) for high in (1, 4) for atoms in (62, 110, 116)),
        (-10, 10, 124),
        (0, 100, 98),
    ],
)
def test_every_atom_keeps_its_mass_where_others_ran_one_past_the_end(low, high, atoms):
    grid = lincat.Grid(low, high, atoms - 1)
    for dtype in (np.float32, np.float64):
        points = np.linspace(low, high, atoms, dtype=dtype)
        projected = lincat.project(points, np.eye(atoms), grid)
        np.testing.assert_allclose(
            projected, np.eye(atoms), atol=1e-4 if dtype == np.float32 else 1e-12
        )
        np.testing.assert_allclose(projected.sum(axis=1), 1.0, atol=1e-14)


@given(grids(), st.data())
def test_equals_the_formula_atom_by_atom(grid, data):
    m = data.draw(st.integers(1, 6))
    width = grid.high - grid.low
    atoms = data.draw(
        arrays(np.float64, m, elements=finite_floats(grid.low - width, grid.high + width))
    )
    masses = data.draw(arrays(np.float64, m, elements=finite_floats(-2.0, 2.0)))
    scale = max(abs(grid.low), abs(grid.high)) / grid.spacing
    expected = naive.project(atoms, masses, grid)
    np.testing.assert_allclose(
        lincat.project(atoms, masses, grid), expected, atol=1e-14 * max(scale, 1.0) * 8
    )


@given(grids(), st.data())
def test_keeps_mass_and_mean_where_nothing_clips(grid, data):
    m = data.draw(st.integers(1, 6))
    share = data.draw(arrays(np.float64, (2, m), elements=finite_floats(0.0, 1.0)))
    atoms = grid.low + (grid.high - grid.low) * share
    masses = data.draw(arrays(np.float64, (2, m), elements=finite_floats(-1.0, 1.0)))
    projected = lincat.project(atoms, masses, grid)
    np.testing.assert_allclose(projected.sum(axis=1), masses.sum(axis=1), atol=1e-12)
    scale = max(abs(grid.low), abs(grid.high))
    np.testing.assert_allclose(
        projected @ grid.atoms, (masses * atoms).sum(axis=1), atol=1e-12 * max(scale, 1.0)
    )


def test_broadcasts_over_leading_axes():
    grid = lincat.Grid(0.0, 2.0, 2)
    masses = np.arange(12.0).reshape(2, 3, 2)
    out = lincat.project([0.5, 2.0], masses, grid)
    assert out.shape == (2, 3, 3)
    np.testing.assert_allclose(out[1, 2], [5.0, 5.0, 11.0])


@pytest.mark.parametrize(
    ("atoms", "masses", "message"),
    [
        ([0.0, np.nan], [1.0, 0.0], "atoms: expected finite numbers, got nan at index 1"),
        ([0.0, 1.0], [1.0, np.inf], "masses: expected finite numbers, got inf at index 1"),
        ([0.0, 1.0], [1.0], "masses: expected one mass for each of atoms"),
        (
            np.zeros((2, 3)),
            np.ones((4, 3)),
            r"masses: expected a shape that matches atoms \(2, 3\)",
        ),
        (0.0, 1.0, "masses: expected one mass for each of atoms"),
        ("ab", [1.0], "atoms: expected an array of numbers"),
    ],
)
def test_bad_input_is_named(atoms, masses, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.project(atoms, masses, lincat.Grid(0.0, 1.0, 2))
