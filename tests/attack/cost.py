"""What an answer costs once the plan is chosen: CPU seconds and memory, of problems and of bombs.

    python -m tests.attack.cost
    python -m tests.attack.cost --rows 2000 --only chain constant

Behind the choice of the plan are the sums, the grid, the solution, its errors and the checks. Each
run is measured in a process of its own, after a run of 100 rows there: kernels are loaded by then,
and its peak is the one that memory is counted from. What the choice of the plan has freed is given
back to the system first: it is no part of what comes behind. Nor is an environment that is played
to check an answer: that is somebody else's program. Bombs are small logs whose answer once took
half a minute and gigabytes: what is certain (rounding looked like chance, so that the grid was to
be as fine as it), a discount next to 1, payoffs far from where most returns lie, records that all
break off at one age.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

import lincat
from lincat.runs import validation
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.given import Given
from lincat.runs.loop import EvaluationRun
from lincat.runs.sources import open_source
from lincat.statistics.totals import Totals
from lincat.truth.problems import PROBLEMS, problem_named

SECONDS, MEGABYTES = 3.0, 300.0  # the bars
ROWS = (2_000, 20_000)
_FEW = 100  # rows of the run that memory is counted from
_ADDRESSES = 8 << 30  # bytes that a process may ask for: a bomb ends as a MemoryError
_LIMIT = 600  # seconds of a process, after which it hangs


def ids(rng, rows):
    """Two of them."""
    return np.array(["a", "b"])[rng.integers(0, 2, rows)]


def constant(rows, seed, reward=7.7):
    """One reward, and no end: every return is the same."""
    rng = np.random.default_rng(seed)
    return {"observation": ids(rng, rows), "reward": np.full(rows, reward)}


def chain_of_certain(rows, seed):
    """Returns that are certain, and others in each state."""
    rng, at = np.random.default_rng(seed), np.arange(rows) % 7
    reward = 0.1 + 7.7 * rng.random(7)[at]
    return {
        "observation": at.astype(str),
        "reward": reward,
        "terminated": at == 6,
        "episode": np.arange(rows) // 7,
    }


def two_payoffs(rows, seed):
    """Short episodes, which pay 1, or once in a hundred times 1,000."""
    rng = np.random.default_rng(seed)
    last = rng.random(rows) < 0.4
    return {
        "observation": ids(rng, rows),
        "reward": np.where(last, np.where(rng.random(rows) < 0.01, 1000.0, 1.0), 0.0),
        "terminated": last,
        "episode": np.cumsum(last) - last,
    }


def jackpot(rows, seed):
    """No end, small rewards, and a very large one now and then."""
    rng = np.random.default_rng(seed)
    large = rng.random(rows) < 0.002
    return {"observation": ids(rng, rows), "reward": np.where(large, 5e3, rng.integers(0, 3, rows))}


def watched(rows, seed, *, plans=9, months=60, levels=6, churn=0.02):
    """Customers by plan, half-year and level of use, which wanders; records break off at one age.

    Ids lead back to where they came from, so that no order of them solves for one after another.
    """
    rng = np.random.default_rng(seed)
    spend = np.round(np.linspace(5.0, 150.0, 30), 2)
    found = []
    for customer in range(rows):
        plan, level = int(rng.integers(plans)), int(rng.integers(levels))
        left = rng.random(months) < churn
        for age in range(int(left.argmax()) + 1 if left.any() else months):
            of = min(int(rng.integers(20)) + plan * 10 // plans, 29)
            found.append((f"{plan} {age // 6} {level}", spend[of], bool(left[age]), customer, age))
            level = int(np.clip(level + rng.integers(-1, 2), 0, levels - 1))
        if len(found) >= rows:
            break
    names = ("observation", "reward", "terminated", "episode", "step")
    return {
        name: np.array(x) for name, x in zip(names, zip(*found[:rows], strict=True), strict=True)
    }


def few_states(rewards, gamma, high, *, intervals=12_000):
    """Totals of two states whose rewards differ, and a grid for them."""
    shares = np.ones((len(rewards), 2))
    shares[1::2, 0] = 2.0
    if max(rewards) >= 1000:
        shares[-1] = 0.01  # a payoff that is rare, and far from the others
    shares *= 1000.0 / shares.sum(axis=0)
    cross = shares[:, :, None] * np.array([[0.9, 0.1], [0.02, 0.98]])
    G = len(rewards)
    given = (np.array(rewards, float), np.ones(G, int), np.full(G, np.nan))
    totals = Totals(*given, cross, shares, 1000.0 * np.eye(2), count=2_000, weight=2_000.0)
    return totals, lincat.Grid(0.0, high, intervals), gamma


#: (a log by rows and seed, gamma, rows)
BOMBS = {
    "constant": (constant, 0.99, 4_000),
    "constant, gamma next to 1": (constant, 1.0 - 1e-6, 4_000),
    "certain": (chain_of_certain, 1.0 - 1e-6, 4_000),
    "two payoffs": (two_payoffs, 0.99, 2_000),
    "jackpot": (jackpot, 0.99, 4_000),
    "jackpot, gamma 0.5": (jackpot, 0.5, 4_000),
    "watched 0": (watched, 0.99, 2_000),
    "watched 1": (lambda rows, _: watched(rows, 1), 0.99, 2_000),
}


def cases(names=()):
    """(name, rows) of everything that is measured."""
    found = [(name, rows) for name, (_, _, rows) in BOMBS.items()]
    found += [(problem.name, rows) for problem in PROBLEMS for rows in ROWS]
    return [case for case in found if not names or case[0] in names]


def opened_run(name, rows, folder):
    """The run of a case, not yet begun."""
    given = Given()
    if name in BOMBS:
        make, gamma, _ = BOMBS[name]
        config, given = EvaluationConfig(source=["<dict>"], gamma=gamma), Given(make(rows, 0))
    else:
        problem = problem_named(name)
        gamma, place = problem.gamma, folder.with_suffix(".parquet")
        if problem.environment is None:
            problem.write_log(place, rows, 0)
            config = EvaluationConfig(source=[str(place)], gamma=gamma)
        else:
            source, policy = problem.environment.name, problem.environment.policy
            config = EvaluationConfig(source=[source], policy=policy, steps=rows, gamma=gamma)
    source = open_source(config, given)
    return EvaluationRun(RunFolder.create(folder, config), source)


def measured(run):
    """(CPU seconds, peak in MB) of a run behind the choice of its plan, but for rollouts."""
    played, rollouts = [], validation.rollouts

    def timed(*args, **options):
        begun = time.process_time()
        found = rollouts(*args, **options)
        played.append(time.process_time() - begun)
        return found

    begun = time.process_time()
    with Watch() as watch, mock.patch.object(validation, "rollouts", timed):
        for progress in run.run():
            if progress.doing == "preparing":
                give_back()
                watch.peak, begun = 0.0, time.process_time()
    return time.process_time() - begun - sum(played), watch.peak


def give_back():
    """Return to the system what was freed and is kept for what may be asked for next."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


class Watch:
    """Looks at the memory of this process, in MB, a hundred times a second."""

    def __enter__(self):
        self.peak, self._done = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def _look(self):
        while True:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.peak = max(self.peak, pages * resource.getpagesize() / 2.0**20)
            if self._done.wait(0.01):
                return


def measure_here(name, rows):
    """Measure one case in this process; a dict."""
    warnings.simplefilter("ignore")  # what a run has to say of its log is not looked at
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    with tempfile.TemporaryDirectory() as scratch, threadpool_limits(1):
        _, before = measured(opened_run(name, _FEW, Path(scratch) / "few"))
        try:
            run = opened_run(name, rows, Path(scratch) / "run")
            seconds, peak = measured(run)
        except Exception as error:
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}"[:200]}
        answer = run.folder.answer
    cdf = np.array(answer.cdf)
    atoms = answer.grid.atoms
    mass = np.diff(np.concatenate([np.zeros((len(cdf), 1)), cdf, np.ones((len(cdf), 1))], 1))
    mean = mass @ atoms
    sd = np.sqrt(np.maximum(mass @ atoms**2 - mean**2, 0.0))
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    quantiles = [[float(atoms[np.searchsorted(row, level)]) for level in levels] for row in cdf]
    return {
        "seconds": seconds,
        "megabytes": peak - before,
        "intervals": answer.grid.intervals,
        "trusted": answer.verdict.trusted,
        "sentence": answer.verdict.sentence,
        "mean": mean.tolist(),
        "sd": sd.tolist(),
        "quantiles": quantiles,
    }


def measure(name, rows):
    """Measure one case in a process of its own."""
    command = [sys.executable, "-m", "tests.attack.cost", "--here", "--only", name, str(rows)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT, env=os.environ
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {_LIMIT} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def broken(found):
    """Whether a case breaks a bar."""
    return "error" in found or found["seconds"] > SECONDS or found["megabytes"] > MEGABYTES


def main():
    """Print a row for each case; 1 if a bar is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    if args.here:
        print(json.dumps(measure_here(args.only[0], int(args.only[1]))))
        return
    print("| log | rows | K | CPU s | MB | trusted |\n|---|---:|---:|---:|---:|---|")
    failed, kept = 0, {}
    for name, rows in cases(args.only):
        found = kept[f"{name} {rows}"] = measure(name, rows)
        failed += broken(found)
        if "error" in found:
            print(f"| {name} | {rows:,} | {found['error']} |", flush=True)
            continue
        print(
            f"| {name} | {rows:,} | {found['intervals']:,} | {found['seconds']:.2f} "
            f"| {found['megabytes']:.0f} | {found['trusted']}{' BROKEN' * broken(found)} |",
            flush=True,
        )
    if args.keep:
        args.keep.write_text(json.dumps(kept))
    print(f"{failed} over {SECONDS:g} s or {MEGABYTES:g} MB")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
