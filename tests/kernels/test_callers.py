"""What users pass is refused before compiled code sees it: every entry is listened to."""

import sys

import numpy as np
import pytest
import scipy.sparse

import lincat
from tests.kernels.test_guards import entry_points
from tests.learners import cases

N, GRID = 60, cases.GRID
# These look at points themselves, and say which row is bad.
LOOKING = ("tile_rows", "scaled_rows", "fourier_rows", "radial_rows", "columns_to_rows")
KINDS = {"f": (4, 8), "i": (4, 8), "u": (1, 8), "b": (1,)}  # sizes that kernels are written for


@pytest.fixture
def seen(monkeypatch):
    """Names of entries that were called, and what they should not have been given."""
    called, wrong = set(), []

    def listening(entry):
        def call(*arguments):
            arrays = [x for y in arguments for x in (y if isinstance(y, tuple) else (y,))]
            arrays = [x for x in arrays if isinstance(x, np.ndarray)]
            before = [x.copy() for x in arrays]
            result = entry(*arguments)
            for old, new in zip(before, arrays, strict=True):
                fits = old.dtype.isnative and old.itemsize in KINDS.get(old.dtype.kind, ())
                bare = old.dtype.kind != "f" or np.isfinite(old).all()
                written = not np.array_equal(old, new)  # room for results, empty before
                if not fits or not (bare or written):
                    wrong.append((entry.py_func.__name__, old))
            called.add(entry.py_func.__name__)
            return result

        return call

    for entry in entry_points():
        if entry.py_func.__name__ not in LOOKING:
            module = sys.modules[entry.py_func.__module__]
            monkeypatch.setattr(module, entry.py_func.__name__, listening(entry))
    return called, wrong


def spoilt(value):
    """The same with a number that is none, of other types, and of other shapes."""
    if scipy.sparse.issparse(value):
        for number in (np.nan, np.inf):
            bad = value.copy()
            bad.data[5] = number
            yield bad
        yield value * 1j
        return
    array = np.asarray(value)
    for number in (np.nan, np.inf, -np.inf) if array.dtype.kind == "f" else (-1, 10**9):
        bad = array.copy()
        bad.flat[5] = number
        yield bad
    yield array * 1j
    yield np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 3)
    yield np.full(array.shape, "a")
    yield np.full(array.shape, None)
    yield np.stack([array] * 2)


def learning(kind, make):
    t = cases.stream(kind, N)
    weight, discount = np.ones(N), np.full(N, 0.5)
    states = cases.STATES if kind == "states" else None
    given = {"phi": t.phi, "reward": t.reward, "phi_next": t.phi_next}
    given |= {"discount": discount, "weight": weight}
    return given, lambda **x: make(gamma=0.5, n_features=states).fit(**x)


def answers():
    cdf = np.sort(np.random.default_rng(0).random((N, GRID.intervals)), axis=1)
    process = lincat.catalog.random_process(4, branching=2, seed=1).process
    table = {
        name: np.asarray(getattr(process, name))
        for name in ("state", "reward", "next_state", "probability")
    }
    yield (
        "targets",
        {"cdf_next": cdf, "reward": np.ones(N), "discount": np.full(N, 0.5)},
        (lambda **x: lincat.bellman_target(**x, grid=GRID)),
    )
    yield (
        "proper",
        {"cdf": cdf[:, ::-1].copy()},
        (lambda cdf: lincat.ReturnDistribution(cdf, GRID).proper()),
    )
    yield (
        "process",
        table,
        (lambda **x: lincat.true_returns(lincat.MarkovRewardProcess(**x), 0.5, GRID)),
    )


LEARNERS = {
    "td": lincat.LinearTD,
    "ctd": lambda **x: lincat.LinearCTD(grid=GRID, **x),
    "recentred": lambda **x: lincat.VarianceReducedCTD(grid=GRID, **x),
    "lstd": lambda **x: lincat.CategoricalLSTD(intervals=8, **x),
}
CASES = {f"{n} {k}": learning(k, make) for n, make in LEARNERS.items() for k in cases.KINDS}
CASES |= {name: (given, use) for name, given, use in answers()}


@pytest.mark.parametrize("name", CASES)
def test_compiled_code_sees_finite_numbers_of_its_own_types_alone(name, seen):
    called, wrong = seen
    given, use = CASES[name]
    use(**given)
    assert called
    assert not wrong
    for argument, value in given.items():
        for bad in spoilt(value):
            with pytest.raises(lincat.InvalidInputError):
                use(**{**given, argument: bad})
    assert not wrong
