"""One number of the input sizes nothing that the other numbers do not bear out.

Every entry that makes room for as much as a value says is asked for far too much. It refuses in one
line that names the argument, before it takes memory. The process may have a gigabyte more than it
has, so that a gate that is missing costs a test, not a machine.
"""

import contextlib
import json
import resource
import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat import catalog

MB = 2**20
ROOM, PEAK = 1024 * MB, 200 * MB
PAPER, GRID = catalog.paper(), lincat.Grid(0.0, 4.0, 30)
POINTS = np.random.default_rng(0).normal(size=(300, 3))
DENSE = lincat.Transitions(POINTS, np.ones(300), POINTS[::-1].copy())
STATES = lincat.Transitions([0, 1, 2] * 100, np.ones(300), [1, 2, 0] * 100)


@pytest.fixture
def little_room():
    """Let the process have a gigabyte more than it has, and count what it takes of that."""
    with open("/proc/self/statm") as sizes:
        now = int(sizes.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, before[1]))
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < PEAK
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, before)


def process(state=(0, 1), next_state=(0, 1), **options):
    return lincat.MarkovRewardProcess(list(state), [0.0, 1.0], list(next_state), [1, 1], **options)


def decisions(state=1, action=1, **options):
    return lincat.FiniteMDP([0, state], [0, action], [0.0, 1.0], [0, state], [1.0, 1.0], **options)


def sparse(n):
    row = scipy.sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, n))
    return lincat.Transitions(row, [1.0], row)


def wide(columns):
    rows = np.ones((2, min(columns, 10**5)))
    return lincat.Transitions(rows, np.ones(2), rows)


#: What is asked for n of something, and the argument that the refusal is to name.
ENTRIES = {
    "a state": (lambda n: process(state=(0, n)), "probability"),
    "a state that is led to": (lambda n: process(next_state=(0, n)), "probability"),
    "a state that ends": (lambda n: process(terminal=[n]), "probability"),
    "states of a process": (lambda n: process(n_states=n), "probability"),
    "a sparse matrix of states": (
        lambda n: lincat.MarkovRewardProcess.from_matrices(
            scipy.sparse.coo_array(([1.0], ([0], [0])), shape=(n, n)), [1.0]
        ),
        "R",
    ),
    "intervals of a grid": (lambda n: lincat.Grid(0.0, 1.0, n), "intervals"),
    "intervals of a problem's grid": (PAPER.grid, "intervals"),
    "returns of a process": (
        lambda n: lincat.true_returns(PAPER.process, 0.75, lincat.Grid(0.0, 4.0, n // 20)),
        "intervals",
    ),
    "a fixed point": (
        lambda n: lincat.solve_categorical(
            PAPER.process, PAPER.Phi, lincat.Grid(0.0, 4.0, n // 20), 0.75
        ),
        "intervals",
    ),
    "a Bellman matrix": (
        lambda n: lincat.bellman_matrix(lincat.Grid(0.0, 4.0, n // 1000), 0.5, 0.5),
        "intervals",
    ),
    "transitions of a process": (PAPER.process.sample, "n"),
    "a stream in one chunk": (lambda n: next(PAPER.process.stream(n)), "n"),
    "a stream in large chunks": (lambda n: next(PAPER.process.stream(n, chunk=n)), "chunk"),
    "returns that are drawn": (
        lambda n: lincat.ReturnDistribution(np.linspace(0.1, 0.9, 30), GRID).sample(n),
        "n",
    ),
    "Boyan's chain": (lambda n: catalog.boyan_chain(n // 4 * 4 + 1), "n_states"),
    "a random walk": (catalog.random_walk, "n_states"),
    "a random process": (catalog.random_process, "n_states"),
    "features of a random process": (
        lambda n: catalog.random_process(5, n_features=n),
        "n_features",
    ),
    "states of a learner": (
        lambda n: lincat.LinearCTD(grid=GRID, gamma=0.5, n_features=n).fit(STATES),
        "n_features",
    ),
    "states of a learner of means": (
        lambda n: lincat.LinearTD(gamma=0.5, n_features=n).fit(STATES),
        "n_features",
    ),
    "states of a learner that corrects itself": (
        lambda n: lincat.VarianceReducedCTD(grid=GRID, gamma=0.5, n_features=n).fit(STATES),
        "n_features",
    ),
    "columns of sparse rows": (lambda n: lincat.LinearTD(gamma=0.5).fit(sparse(n)), "phi"),
    "intervals of a learner": (
        lambda n: lincat.LinearCTD(grid=lincat.Grid(0, 2, n // 20), gamma=0.5).fit(DENSE),
        "intervals",
    ),
    "states of sums": (lambda n: lincat.Statistics(n_features=n).update(STATES), "n_features"),
    "states of a batch learner": (
        lambda n: lincat.LSTD(gamma=0.5, n_features=n).fit(STATES),
        "n_features",
    ),
    "columns of sparse rows for sums": (lambda n: lincat.LSTD(gamma=0.5).fit(sparse(n)), "phi"),
    "columns of dense rows for sums": (
        lambda n: lincat.Statistics().update(wide(n // 10**5)),
        "phi",
    ),
    "tilings": (lambda n: lincat.Tiles(tilings=n).fit(POINTS), "bins"),
    "an order": (lambda n: lincat.Fourier(order=n).fit(POINTS), "max_terms"),
}


@pytest.mark.parametrize("n", [10**9, 2**40, 2**62], ids=["10^9", "2^40", "2^62"])
@pytest.mark.parametrize("name", ENTRIES)
def test_far_too_much_is_refused_before_it_is_taken(name, n, little_room):
    ask, argument = ENTRIES[name]
    with pytest.raises(lincat.InvalidInputError) as caught:
        ask(n)
    assert str(caught.value).startswith(f"{argument}: expected")


#: What may be as large as it likes, since nothing has its size.
FREE = {
    "an action": lambda n: decisions(action=n),
    "actions": lambda n: decisions(n_actions=n),
    "a state of decisions": lambda n: decisions(state=n),
    "states of decisions": lambda n: decisions(n_states=n),
    "a batch": lambda n: lincat.LinearCTD(grid=GRID, gamma=0.5).fit(DENSE, batch_size=n),
    "a batch of means": lambda n: lincat.LinearTD(gamma=0.5).fit(DENSE, batch_size=n),
    "a batch of states": lambda n: lincat.LinearCTD(grid=GRID, gamma=0.5, n_features=3).fit(
        STATES, batch_size=n
    ),
    "blocks": lambda n: lincat.Statistics(max_blocks=n).update(DENSE),
    "a window": lambda n: lincat.Statistics(keep_last=n).update(DENSE),
    "a table": lambda n: lincat.Tabular(n_states=n).fit([0]).transform([0, n - 1]),
    "room of a table": lambda n: lincat.Tabular(capacity=n).fit([0]).transform([0]),
    "an id": lambda n: lincat.Tabular().fit([0, n]).transform([n]),
    "bumps": lambda n: lincat.RadialBasis(centers=n).fit(POINTS).transform(POINTS[:2]),
    "narrow bumps": lambda n: lincat.Nearby(bumps=n).fit(POINTS).transform(POINTS[:2]),
    "a long horizon": lambda n: lincat.LinearTD(gamma=0.5, horizon=n).fit(DENSE),
}


@pytest.mark.parametrize("n", [10**9, 2**40, 2**62], ids=["10^9", "2^40", "2^62"])
@pytest.mark.parametrize("name", FREE)
def test_numbers_that_size_nothing_take_nothing(name, n, little_room):
    with contextlib.suppress(lincat.InvalidInputError):
        FREE[name](n)


def test_a_batch_that_is_longer_than_a_call_is_that_call():
    """Whatever it says beyond that; one of 2^62 wrote outside of its arrays."""
    found = [
        lincat.LinearCTD(grid=GRID, gamma=0.5, step_size=0.1).fit(DENSE, batch_size=n)
        for n in (300, 301, 2**62)
    ]
    for model in found[1:]:
        np.testing.assert_array_equal(model.Theta_, found[0].Theta_)
        assert model.n_updates_ == 1


@pytest.mark.parametrize("key", ["state", "next_state", "action"])
def test_a_file_of_a_process_is_as_large_as_its_rows(key, tmp_path, little_room):
    file = tmp_path / "process.json"
    row = {"state": 0, "reward": 1, "next_state": 0, "probability": 1, "action": 0, key: 10**12}
    file.write_text(json.dumps({"gamma": 0.5, "policy": [[1.0]], "outcomes": [row]}))
    with pytest.raises(lincat.InvalidInputError):
        lincat.read_problem(file)


@pytest.mark.parametrize("state", [1e19, 1e300, -1e300])
def test_states_beyond_all_integers_are_none(state):
    with pytest.raises(lincat.InvalidInputError, match="state: expected integers of at least 0"):
        process(next_state=(0, state))


def test_decisions_of_numbers_far_apart_say_which_sum_is_wrong(little_room):
    with pytest.raises(lincat.InvalidInputError) as caught:
        lincat.FiniteMDP([0, 3], [0, 10**9], [0.0, 1.0], [0, 3], [1.0, 0.5])
    assert str(caught.value).endswith("got 0.5 for state-action pair 4000000003")
