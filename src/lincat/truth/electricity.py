"""The electricity example, whose truth nobody knows: learned to 2022, scored on 2023 and 2024.

There is one return from each hour, so that what is compared is all of them together: the mean of
the predicted distributions over the hours of the later years, and the returns that came.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow
import pyarrow.parquet

import lincat
from lincat._typing import FloatArray
from lincat.truth.known import Known
from lincat.truth.rivals import RIVALS
from lincat.truth.run import NO_VERDICT, OURS, Cell, Row, keep, row_of
from lincat.truth.scores import Prediction
from lincat.truth.simulation import Log, known_returns

ELECTRICITY = "electricity"
_LAST_YEAR = 2022
_EVERY = 24 * 7 + 1  # hours from one that is scored to the next: all hours and days take turns
_RESIDUAL = 0.001  # what a return that came may lack


@dataclass(frozen=True)
class HeldOut:
    """A log to learn from, and what came after it."""

    gamma: float
    log: Log
    observation: FloatArray  # (n, 5): later hours
    returns: FloatArray  # (n,): what came from them on


def read_electricity(script: Path, wheel: Path) -> HeldOut:
    """Return the battery's log by examples/electricity.py, from the wheel that holds the prices."""
    example = runpy.run_path(str(script))
    with contextlib.redirect_stdout(io.StringIO()):  # the example tells what it reads
        battery = example["run_battery"](*example["read_prices"](wheel))
    observation = np.stack([battery[name] for name in example["OBSERVATION"]], axis=1)
    year = battery["time"].astype("datetime64[Y]").astype(int) + 1970
    early, later = (
        _record(observation[part], battery["cash"][part])
        for part in (year <= _LAST_YEAR, year > _LAST_YEAR)
    )
    gamma = float(example["GAMMA"])
    returns, _, whole = known_returns(later, gamma, _RESIDUAL)
    chosen = np.flatnonzero(whole)[::_EVERY]
    return HeldOut(gamma, early, later.observation[chosen], returns[chosen])


def run_electricity(held_out: HeldOut, cell: Cell, folder: Path) -> Row:
    """Learn from the last hours before the later years, and score those; rows are kept."""
    file = cell.file(folder)
    if file.exists():
        return msgspec.json.decode(file.read_bytes(), type=Row)
    gamma, log = held_out.gamma, _last(held_out.log, cell.rows)
    verdict = NO_VERDICT
    started = time.perf_counter()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as scratch:
        warnings.simplefilter("ignore")  # what lincat has to say of a run is read from the run
        if cell.method == OURS:
            path = Path(scratch) / "log.parquet"
            _write(log, path)
            run = lincat.evaluate(path, out=Path(scratch) / "run", gamma=gamma)
            found = Prediction.of_distribution(run.predict(held_out.observation))
            verdict = run.answer.verdict
        else:
            found = RIVALS[cell.method](log, held_out.observation, gamma=gamma, ids=False)
    returns = np.sort(held_out.returns)[None, :]
    # As uncertain as the shorter of the two: what is learned from, and what is scored.
    share = cell.rows / min(len(log), _EVERY * len(held_out.returns))
    rows_a_return = np.array([share * (1.0 + gamma) / (1.0 - gamma)])
    truth = Known(np.zeros((1, 1)), returns, float(returns.std()), rows_a_return)
    seconds = time.perf_counter() - started
    row = row_of(cell, _together(found), truth, verdict, seconds)
    keep(row, file)
    return row


def _record(observation: FloatArray, reward: FloatArray) -> Log:
    """One record that breaks off; its last hour is only what follows the one before."""
    n = len(reward) - 1
    last = np.arange(n) == n - 1
    return Log(observation[:-1], reward[:-1], observation[1:], np.zeros(n, bool), last)


def _last(log: Log, rows: int) -> Log:
    return Log(
        log.observation[-rows:],
        log.reward[-rows:],
        log.following[-rows:],
        log.terminated[-rows:],
        log.last[-rows:],
    )


def _write(log: Log, path: Path) -> None:
    columns = {f"obs_{i}": column for i, column in enumerate(log.observation.T)}
    table = pyarrow.table({"step": log.step, **columns, "reward": log.reward})
    pyarrow.parquet.write_table(table, path)


def _together(found: Prediction) -> Prediction:
    """The mean of the predicted distributions, as that of a single probe."""
    atoms, masses = np.concatenate(found.atoms), np.concatenate(found.masses) / len(found.atoms)
    order = np.argsort(atoms, kind="stable")
    return Prediction.of_samples([atoms[order]], [masses[order]])
