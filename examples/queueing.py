"""A queue at a counter: ten million transitions through a Parquet file, against the exact answer.

    python examples/queueing.py

In each time slot a customer comes with probability 0.45 and one is served with probability 0.5; who
finds 20 waiting goes away. The reward is minus the number who wait, and -10 for each who goes away.
The log is simulated and written a million rows at a time, then learned from in one pass; neither
needs more memory for more rows. A queue this simple is a finite process, so `lincat.true_returns`
gives the distribution that should come out. From the shell, after the log is written:

    lincat evaluate runs/queueing/log.parquet --gamma 0.99
"""

import argparse
import time
from pathlib import Path

import numba
import numpy as np
import pyarrow
import pyarrow.parquet

import lincat

ARRIVAL, SERVICE, ROOM = 0.45, 0.5, 20
TURNED_AWAY = 10.0
GAMMA = 0.99
CHUNK = 1_000_000


def exact_process():
    """Return the queue as a table of outcomes: arrival or not, service or not."""
    rows = []
    for waiting in range(ROOM + 1):
        for comes, served in ((0, 0), (0, 1), (1, 0), (1, 1)):
            chance = (ARRIVAL if comes else 1 - ARRIVAL) * (SERVICE if served else 1 - SERVICE)
            reward, after = slot(waiting, comes, served)
            rows.append((waiting, reward, after, chance))
    return lincat.MarkovRewardProcess(*map(np.array, zip(*rows, strict=True)))


@numba.njit
def slot(waiting, comes, served):
    """Return the reward of one time slot, and how many wait after it."""
    after = waiting - (served and waiting > 0)
    away = comes and after == ROOM
    return -float(waiting) - TURNED_AWAY * away, after + (comes and not away)


@numba.njit
def walk(waiting, comes, served, state, reward, next_state):
    """Fill the arrays with consecutive slots, and return how many wait at the end."""
    for t in range(len(state)):
        state[t] = waiting
        reward[t], waiting = slot(waiting, comes[t], served[t])
        next_state[t] = waiting
    return waiting


def write_log(path, n, seed=0):
    """Simulate n slots into a Parquet file, a chunk at a time."""
    rng = np.random.default_rng(seed)
    schema = pyarrow.schema(
        [("state", pyarrow.int32()), ("reward", pyarrow.float64()), ("next_state", pyarrow.int32())]
    )
    waiting = 0
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for begin in range(0, n, CHUNK):
            size = min(CHUNK, n - begin)
            columns = [np.empty(size, np.int32), np.empty(size), np.empty(size, np.int32)]
            comes, served = rng.random(size) < ARRIVAL, rng.random(size) < SERVICE
            waiting = walk(waiting, comes, served, *columns)
            writer.write_table(pyarrow.table(columns, schema=schema))


def main(argv=None):
    """Write the log, learn from it, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10_000_000, help="transitions in the log")
    parser.add_argument("--out", type=Path, default=Path("runs/queueing"))
    options = parser.parse_args(argv)

    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "log.parquet"
    begun = time.perf_counter()
    write_log(log, options.steps)
    seconds = time.perf_counter() - begun
    print(f"{options.steps:,} transitions written in {seconds:.1f} s ({log}).")

    run = lincat.evaluate(log, out=options.out / "run", force=True, gamma=GAMMA)
    n, seconds = run.answer.transitions, run.answer.seconds
    print(f"{n:,} transitions learned from in {seconds:.1f} s, {n / seconds:,.0f} a second.")
    print(run.verdict)

    process = exact_process()
    exact = lincat.true_returns(process, GAMMA)
    learned = run.predict(np.arange(ROOM + 1))
    print("waiting    mean  exact  5 % quantile  exact  CVaR 5 %  exact")
    for waiting in (0, 5, 10, 20):
        one, truth = learned[[waiting]].proper(), exact[[waiting]]
        print(
            f"{waiting:7}{one.mean()[0]:8.0f}{truth.mean()[0]:7.0f}"
            f"{one.quantile(0.05)[0]:14.0f}{truth.quantile(0.05)[0]:7.0f}"
            f"{one.cvar(0.05)[0]:10.0f}{truth.cvar(0.05)[0]:7.0f}"
        )
    distance = float(lincat.wasserstein(learned, exact, weights=process.stationary))
    spread = float(process.stationary @ exact.std())
    print(f"All states: W1 {distance:.1f}, {distance / spread:.2%} of a standard deviation.")
    print(f"Page: lincat report {run.path}")


if __name__ == "__main__":
    main()
