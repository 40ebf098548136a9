"""No numbers that come from outside lead a kernel out of its arrays.

What users pass goes through a process of its own: without the guards the heap is damaged there, and
whatever comes next dies.
"""

import ast
import functools
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from numba.core.dispatcher import Dispatcher

import lincat
from lincat.kernels import (
    affine,
    bellman,
    centers,
    entries,
    features,
    figures,
    guards,
    placement,
    product,
    returns,
    rules,
    sampling,
    step_sizes,
    sums,
)
from lincat.kernels.columns import columns_to_rows, differing_rows
from lincat.kernels.csr import csr_updates
from lincat.kernels.dense import batch_increments, dense_batches, dense_updates
from lincat.kernels.layout import padded_zeros
from lincat.kernels.linear_td import linear_td
from lincat.kernels.recentred import recentred_updates
from lincat.kernels.states import state_updates
from tests.kernels.cases import triple

LEARNERS = ["LinearCTD(grid=lincat.Grid(0.0, 2.0, 8), gamma=0.5", "LinearTD(gamma=0.5"]


def matrix(indices=(0, 1, 2), indptr=(0, 1, 2, 3), shape=(3, 3)):
    """A CSR matrix that SciPy makes without looking: it checks when asked to, and we do not ask."""
    made = scipy.sparse.csr_array(shape)
    made.data, made.indices = np.ones(len(indices)), np.array(indices, dtype=np.int32)
    made.indptr = np.array(indptr, dtype=np.int32)
    return made


BAD = {
    "a column too many": {"indices": (0, 3, 1)},
    "a negative column": {"indices": (0, -1, 1)},
    "far away": {"indices": (0, 2**31 - 1, 1)},
    "rows that go back": {"indptr": (0, 2, 1, 3)},
    "rows that begin before": {"indptr": (-1, 1, 2, 3)},
    "rows that end after": {"indptr": (0, 1, 2, 4)},
}


SCRIPT = """
import lincat
from tests.kernels.test_guards import BAD, matrix
good = matrix()
model = lincat.{learner})
model.partial_fit(good, [1.0] * 3, good)
for changes in BAD.values():
    for place in ("phi", "phi_next", "Phi"):
        pair = {{"phi": good, "phi_next": good, place: matrix(**changes)}}
        try:
            if place == "Phi":
                model.predict(pair["Phi"])
            for _ in range(100):
                model.partial_fit(pair["phi"], [1.0] * 3, pair["phi_next"])
        except lincat.InvalidInputError as error:
            print(error, flush=True)
"""


@pytest.mark.parametrize("learner", LEARNERS)
def test_columns_outside_of_the_shape_are_refused(learner):
    command = [sys.executable, "-c", SCRIPT.format(learner=learner)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    places = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert places == ["phi", "phi_next", "Phi"] * len(BAD)


@pytest.mark.parametrize("form", ["csc", "csr", "coo"])
def test_other_forms_are_looked_at_before_they_are_converted(form):
    made = scipy.sparse.eye_array(3, format="csr").asformat(form)
    assert lincat.Transitions(made, np.ones(3), made).kind == "sparse"
    if form != "coo":  # which SciPy checks itself
        made.indices[1] = 5
        with pytest.raises(lincat.InvalidInputError, match=r"^phi: expected"):
            lincat.Transitions(made, np.ones(3), made)


def test_slices_are_as_safe_as_the_whole():
    whole = lincat.Transitions(matrix(), np.ones(3), matrix())
    model = lincat.LinearCTD(grid=lincat.Grid(0.0, 2.0, 8), gamma=0.5)
    for part in (slice(0, 0), slice(1, 3), slice(None, None, -1), slice(2, None)):
        model.partial_fit(whole[part])
    # An array that the user keeps, and writes to after it was checked.
    mine = matrix()
    late = lincat.Transitions(mine, np.ones(3), mine)
    mine.indices[1] = 1000
    with pytest.raises(IndexError, match="a column outside"):
        model.partial_fit(late)


def test_states_changed_behind_our_back():
    states = np.array([0, 1, 2])
    late = lincat.Transitions(states, np.ones(3), states)
    late.phi[1] = -4
    for learner in (lincat.LinearTD, lincat.LinearCTD):
        grid = {} if learner is lincat.LinearTD else {"grid": lincat.Grid(0.0, 2.0, 8)}
        with pytest.raises(IndexError, match="a state that has no row"):
            learner(gamma=0.5, n_features=3, **grid).partial_fit(late)


# ----------------------------------------------------------- every loop, argument by argument

N, D, K = 4, 3, 8
ONES, FEW = np.ones(N), np.ones(N - 1)
PHI, SPARSE, STATES = (
    np.ones((N, D)),
    triple(scipy.sparse.csr_array(np.ones((N, D)))),
    np.zeros(N, int),
)
THETA, SUMS = padded_zeros(D, K), padded_zeros(D, K)
PARAMETERS = (THETA, SUMS, np.zeros(2))
NUMBERS = (ONES, ONES, ONES, 1e12, K, rules.CTD, 0)
TABLE = (
    np.zeros((2, K)),
    np.array([0, 1, 2]),
    np.array([0, 1]),
    np.ones(2),
    np.ones(2),
    np.ones(2),
)
POINTS, TWO = np.zeros((N, 2)), np.ones(2)
WALK = (
    np.array([0, 1, 2]),
    np.ones(2),
    np.array([0, 1]),
    np.array([False, True]),
    np.ones(2),
    ONES,
    ONES,
)
PLACES, ROWS = np.array([0, 2]), np.ones((2, 3))
SLOTS = (np.zeros((1, 1), int), np.zeros((1, 1), int), np.ones((N, 1)), ONES)
TOTALS = (np.zeros((1, D, D)), np.zeros((1, D)), np.zeros((D, D)))
COLUMN = np.ones(N)
AWAY = (SPARSE[0], SPARSE[1] + 1, SPARSE[2])
OUT = (np.zeros(N), np.zeros(N))
# A loop with arguments that it takes; then what it must not take, by position.
LOOPS = {
    "dense": (
        dense_updates,
        (*PARAMETERS, PHI, PHI, *NUMBERS),
        {0: THETA[:, :4], 1: SUMS[:2], 2: np.zeros(1), 3: PHI[:, :2], 4: PHI[1:], 5: FEW, 9: 99},
    ),
    "dense batches": (
        dense_batches,
        (*PARAMETERS, PHI, PHI, *NUMBERS, 2),
        {0: THETA[:2], 3: PHI[:, :2], 4: PHI[1:], 7: FEW, 9: 99, 12: 0},
    ),
    "batch increments": (
        batch_increments,
        (padded_zeros(N, K), np.zeros(2), padded_zeros(N, K), padded_zeros(N, K), *NUMBERS[:-1]),
        {0: padded_zeros(2, K), 1: np.zeros(1), 3: padded_zeros(2, K), 5: FEW, 8: 99},
    ),
    "csr": (
        csr_updates,
        (*PARAMETERS, SPARSE, SPARSE, *NUMBERS, 2),
        {3: AWAY, 4: (SPARSE[0][1:], *SPARSE[1:]), 5: np.ones(N + 1), 9: 99, 12: 0},
    ),
    "recentred": (
        recentred_updates,
        (
            *PARAMETERS[:2],
            np.zeros((D, K)),
            np.zeros((3, D, K)),
            np.zeros(3),
            PARAMETERS[2],
            SPARSE,
            SPARSE,
            ONES,
            ONES,
            ONES,
            ONES,
            1e9,
            K,
            0,
            0,
            2,
        ),
        {2: np.zeros((D, 2)), 3: np.zeros((2, D, K)), 4: TWO, 6: AWAY, 8: np.ones(N + 1), 11: FEW},
    ),
    "states": (
        state_updates,
        (*PARAMETERS, STATES, STATES, *NUMBERS, 2),
        {0: THETA[:0], 3: STATES + D, 4: STATES - 1, 6: FEW, 12: -1},
    ),
    "td, dense": (
        linear_td,
        (np.zeros(D), np.zeros(D), PHI, PHI, ONES, ONES, ONES, 1.0, 0, 2),
        {0: np.zeros(2), 1: np.zeros(2), 2: PHI[1:], 3: PHI[:, :2], 5: FEW, 9: 0},
    ),
    "td, csr": (
        linear_td,
        (np.zeros(D), np.zeros(D), SPARSE, SPARSE, ONES, ONES, ONES, 1.0, 0, 2),
        {0: np.zeros(2), 2: AWAY, 3: (SPARSE[0][::-1].copy(), *SPARSE[1:])},
    ),
    "td, states": (
        linear_td,
        (np.zeros(D), np.zeros(D), STATES, STATES, ONES, ONES, ONES, 1.0, 0, 2),
        {2: STATES - 1, 3: STATES + D},
    ),
    "targets": (
        bellman.target_rows,
        (np.zeros((N, K)), np.zeros((N, K)), ONES, ONES),
        {1: np.zeros((N - 1, K)), 2: FEW},
    ),
    "expected targets": (
        bellman.add_expected_targets,
        (np.zeros((2, K)), *TABLE, 1.0),
        {1: np.zeros((2, K - 1)), 2: np.array([0, 1, 3]), 3: np.array([0, 2]), 4: np.ones(1)},
    ),
    "clipped": (
        bellman.clipped_masses,
        (np.zeros((N, 2)), np.zeros((2, K)), STATES, ONES, ONES),
        {0: np.zeros((N, 1)), 2: STATES + 2, 3: FEW},
    ),
    "figures": (
        figures.figures_of_rows,
        (np.zeros((N, 6)), np.zeros((N, K)), ONES, ONES, ONES, TWO, np.array([0.5]), 0.1, 0.0),
        {0: np.zeros((N, 5)), 1: np.zeros((N + 1, K)), 2: FEW, 5: FEW, 6: np.array([0.1, 0.5])},
    ),
    "turned": (
        figures.turned_rows,
        (np.zeros((N, K + 1)), np.zeros((N, K)), 1, *np.ones((3, K - 1))),
        {0: np.zeros((N - 1, K + 1)), 1: np.zeros((N, K - 1)), 2: -1, 3: np.ones(K - 2)},
    ),
    "shifts": (bellman.reward_shifts, (np.zeros(N), ONES, ONES, 0.0, 1.0, K), {1: FEW, 2: FEW}),
    "tiles": (
        features.tile_rows,
        (
            np.zeros((N, 3), np.int32),
            POINTS,
            TWO,
            TWO,
            TWO,
            np.zeros((2, 3), int),
            np.ones(2, np.uint64),
            np.uint64(4),
            False,
        ),
        {
            0: np.zeros((N, 2), np.int32),
            2: TWO[:1],
            5: np.zeros((1, 3), int),
            6: np.ones(1, np.uint64),
        },
    ),
    "scaling": (
        features.scaled_rows,
        (np.zeros((N, 3)), POINTS, TWO, TWO, 1.0, 1.0),
        {0: np.zeros((N, 1)), 2: TWO[:1], 3: TWO[:1]},
    ),
    "fourier": (
        features.fourier_rows,
        (np.zeros((N, 3)), POINTS, TWO, TWO, np.zeros(3, int), np.zeros(3, int), 1.0),
        {0: np.zeros((1, 3)), 2: TWO[:1], 4: np.array([0, 0, 3]), 5: np.array([0, 0, 2])},
    ),
    "radial": (
        features.radial_rows,
        (np.zeros((N, 3)), POINTS, TWO, TWO, np.zeros((2, 2)), 1.0, 1.0),
        {0: np.zeros((N, 2)), 2: TWO[:1], 4: np.zeros((2, 3))},
    ),
    "centers": (
        centers.draw_centers,
        (np.zeros((3, 2)), POINTS, 1, TWO),
        {0: np.zeros((3, 1)), 2: len(POINTS), 3: TWO[:1]},
    ),
    "nearest": (
        centers.nearest_centers,
        (np.zeros(N, int), POINTS, np.zeros((2, 2))),
        {0: np.zeros(N - 1, int), 2: np.zeros((2, 3))},
    ),
    "moved": (
        affine.move_rows,
        (np.zeros((N, 5)), np.ones((N, 3)), np.zeros(N, int), np.full(N, 0.5)),
        {0: np.zeros((N, 3)), 2: np.full(N, 3), 3: FEW},
    ),
    "spread": (
        affine.spread_rows,
        (np.zeros((N, 5)), np.ones((N, 3)), np.arange(5.0), np.zeros(N), ONES),
        {0: np.zeros((N, 4)), 1: np.ones((N, 0)), 2: np.zeros(1), 3: np.full(N, np.nan), 4: FEW},
    ),
    "draws": (
        sampling.draw_outcomes,
        (STATES.copy(), STATES, WALK[0], np.ones(2), ONES),
        {1: STATES + 2, 4: FEW},
    ),
    "walk": (sampling.walk, (STATES.copy(), 0, *WALK), {1: 2, 7: FEW, 8: FEW}),
    "returns": (
        returns.returns_to_go,
        (*OUT, ONES, ONES, ONES > 2, ONES > 2),
        {0: FEW, 3: FEW, 4: FEW > 2},
    ),
    "norms": (step_sizes.squared_norms, (np.zeros(N), PHI), {0: FEW}),
    "steps": (
        step_sizes.auto_steps,
        (np.zeros(N), ONES, ONES, 1.0, 0, 0, 1.0, 1.0, 1.0, 0.0),
        {1: FEW, 2: FEW},
    ),
    "rows": (differing_rows, (np.zeros(N, bool), PHI, PHI), {0: np.zeros(2, bool), 2: PHI[:, :2]}),
    "columns": (
        columns_to_rows,
        (np.zeros((N, 1)), np.array([COLUMN.ctypes.data])),
        {0: np.zeros((N, 2))},
    ),
    "sums by place": (entries.summed, (PLACES, ROWS), {0: PLACES - 1, 1: ROWS[:1]}),
    "merged": (
        entries.merged,
        (PLACES, ROWS, PLACES, ROWS),
        {0: PLACES[:1], 1: ROWS[:1], 2: PLACES[:1], 3: ROWS[:, :2].copy()},
    ),
    "nodes": (
        placement.split_rewards,
        (np.zeros(N, int), np.zeros((N, 3)), np.arange(4.0), ONES),
        {0: np.zeros(2, int), 1: np.zeros((N, 2)), 2: np.arange(2.0)},
    ),
    "kinds": (placement.discount_kinds, (np.zeros(N, int), ONES), {0: np.zeros(2, int)}),
    "pairs": (
        placement.number_pairs,
        (np.zeros(N, int), STATES, STATES, 2, 2),
        {1: STATES - 1, 2: STATES + 2, 3: 0},
    ),
    "fingerprint": (
        placement.fingerprint,
        (np.ones(N, np.uint64), ONES > 2, np.uint64(3)),
        {1: FEW > 2},
    ),
    "products": (
        sums.add_products,
        (*TOTALS, PHI, PHI, np.arange(N), np.array([N]), *SLOTS, np.array([0, D])),
        {0: np.zeros((1, 2, 2)), 4: PHI[1:], 5: np.arange(N) + 1, 6: np.array([N + 1])},
    ),
    "row by row": (
        sums.add_rows,
        (*TOTALS, PHI, PHI, STATES, *SLOTS),
        {1: np.zeros((1, 2)), 4: PHI[:, :2].copy(), 5: STATES + 1, 8: SLOTS[2][1:], 9: FEW},
    ),
    "counts": (
        sums.count_states,
        (*TOTALS, STATES, STATES, STATES, *SLOTS),
        {3: STATES + D, 4: STATES - 1, 5: STATES - 1, 6: SLOTS[0] + 1, 7: SLOTS[1] + 1},
    ),
    "mirror": (sums.mirror, (np.zeros((D, D)),), {0: np.zeros((D, 2))}),
    "proper": (figures.make_proper, (np.zeros((N, K)),), {}),  # has no second array to fit
    "growth": (
        product.log_growth,
        (
            np.zeros(2),
            np.ones((D, K)),
            np.ones((2, D)),
            np.zeros(2, int),
            np.zeros(1, int),
            np.zeros(1, int),
            np.ones(1),
            np.ones(1),
            0.1,
            1,
            False,
        ),
        {
            2: np.ones((2, 2)),
            3: np.ones(2, int),
            4: np.array([2]),
            5: np.array([-1]),
            6: np.ones(0),
        },
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_every_loop_guards_its_arrays(name):
    loop, arguments, bad = LOOPS[name]
    loop(*arguments)
    for place, value in bad.items():
        changed = [*arguments]
        changed[place] = value
        with pytest.raises(IndexError):
            loop(*changed)


@functools.cache
def entry_points():
    """Every compiled function that is named outside of kernels, found in the sources."""
    root, found = Path(lincat.__file__).parent, set()
    for file in root.rglob("*.py"):
        if root / "kernels" in file.parents:
            continue
        tree = ast.parse(file.read_text())
        named, used = set(), 0
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "lincat.kernels."
            ):
                named |= {(node.module.split(".")[2], alias.name) for alias in node.names}
            used += isinstance(node, ast.Name) and node.id == "kernels"
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("kernels."):
                parts = ast.unparse(node).split(".")
                used -= len(parts) == 2
                named |= {(parts[1], parts[2])} if len(parts) > 2 else set()
        assert used == 0, f"{file} names kernels in a way that this test does not see"
        for module, name in named:
            found.add(getattr(importlib.import_module(f"lincat.kernels.{module}"), name))
    return {one for one in found if isinstance(one, Dispatcher)}


def test_no_entry_is_left_out():
    known = {loop for loop, _, _ in LOOPS.values()}
    looking = {guards.bad_entry, guards.guard_csr, guards.guard_states}  # guards themselves
    assert entry_points() == known | looking
    assert len(known) > 30
