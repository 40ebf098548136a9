"""Runs that are killed, and runs whose writes fail: each has to end as if nothing had happened.

    make soak
    python -m tests.attack.soak --kills 1000 --transitions 1e8

Children are forked from a process in which everything is compiled. One in two is killed (SIGKILL)
at a random moment, the others inside a write: an audit hook counts what is done to the run folder
(files opened to write, renamed, removed, folders made), and kills at the chosen event. For errors
the same hook says that the disk is full. A killed run is resumed, and may be killed again.

Runs are of four kinds: a finite process and a CSV log step by step, a Parquet log by sums, and one
summed in parts by two other processes, which die with the one that is killed.

Time stands still in the children, so that results can be compared byte for byte.
"""

from __future__ import annotations

import argparse
import errno
import functools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from lincat.runs import loop
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.pools import open_pool
from lincat.runs.resuming import continued
from lincat.runs.sources import open_source
from lincat.tables.file_source import FileSource
from tests.cli.command import lincat_here
from tests.runs import logs
from tests.scale.logs import config_of, write_log

_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod")
_STILL = SimpleNamespace(perf_counter=lambda: 0.0)
_BATCH = 700
_FEW_ROWS = functools.partial(FileSource, batch_rows=_BATCH)
COMPARED = ("model.safetensors", "features.safetensors", "result.json", "metrics.jsonl")


def configuration(steps: int = 6000) -> EvaluationConfig:
    """A small run that writes everything that runs write, metrics among them."""
    return EvaluationConfig(
        source=["frozen_lake"], steps=steps, warm_up=500, intervals=20, learner="linear_ctd", seed=3
    )


#: What is killed, and its share of the kills; in parts, every run starts processes, which is slow.
KINDS = {"process": 0.55, "csv": 0.2, "parquet": 0.2, "parts": 0.05}


def configurations(folder: Path) -> dict[str, EvaluationConfig]:
    """A small run of each kind; their logs are written into the folder."""
    (folder / "parts").mkdir(parents=True)
    names = logs.write_names(folder / "log.csv", 3000)
    points = logs.write_points(folder / "log.parquet", 4000)
    small = functools.partial(EvaluationConfig, gamma=0.8, warm_up=700, intervals=20, n_states=2)
    return {
        "process": configuration(),
        "csv": small(source=[names], learner="linear_ctd", passes=1),
        "parquet": small(source=[points]),
        "parts": config_of(write_log(folder / "parts"), workers=2, n_states=2),
    }


def run(path: Path, config: EvaluationConfig) -> None:
    """Begin a run, or continue what is there, to the end; a checkpoint after every batch."""
    with (
        mock.patch.object(loop, "time", _STILL),
        mock.patch.object(loop, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0),
        mock.patch("lincat.processes.process_source._BATCH", _BATCH),
        mock.patch("lincat.runs.sources.FileSource", _FEW_ROWS),
        mock.patch("lincat._files.os.fsync"),  # the machine does not die, only we
    ):
        if (path / "config.toml").exists():
            going = continued(RunFolder.open(path))
        else:
            opened = open_source(config)
            folder = RunFolder.create(path, config, force=True)
            going = loop.EvaluationRun(folder, opened, pool=open_pool(config, opened))
        for _ in going.run():
            pass


def finished(path: Path) -> bool:
    """Whether a run came to its end."""
    return (path / "result.json").exists() and RunFolder.open(path).answer.complete


def contents(path: Path) -> dict[str, bytes]:
    """What has to be equal to the byte."""
    files = [path / name for name in COMPARED]
    return {file.name: file.read_bytes() for file in files if file.exists()}


def at_event(path: Path, number: int, act: object) -> list[int]:
    """Act at the so-manyth thing that is done to a folder; return the count, as it runs."""
    count, place = [0], str(path)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event not in _EVENTS or not str(arguments[0]).startswith(place):
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & 3):
            return
        count[0] += 1
        if count[0] == number:
            act()  # type: ignore[operator]

    sys.addaudithook(hook)
    return count


def in_child(work: object) -> int:
    """Run something in a forked process; return its process number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            work()  # type: ignore[operator]
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def events_of(path: Path, config: EvaluationConfig) -> int:
    """How many things a whole run does to its folder."""
    reading, writing = os.pipe()

    def work() -> None:
        count = at_event(path, 0, lambda: None)
        run(path, config)
        os.write(writing, str(count[0]).encode())

    os.waitpid(in_child(work), 0)
    return int(os.read(reading, 20))


def killed(path: Path, config: EvaluationConfig, rng: random.Random, moment: float, n: int) -> int:
    """Kill a run again and again, then let it end; return how often it was killed."""
    kills = 0
    while True:
        inside = rng.random() < 0.5
        # Later attempts have less left to do: some get through, and end it.
        number = rng.randrange(1, n + 1)

        def work(inside: bool = inside, number: int = number) -> None:
            if inside:
                at_event(path, number, lambda: os.kill(os.getpid(), signal.SIGKILL))
            run(path, config)

        child = in_child(work)
        if not inside:
            time.sleep(rng.random() * moment)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            kills += 1
        elif os.WEXITSTATUS(status):
            raise RuntimeError(f"{path}: could not be continued")
        if finished(path):
            return kills


def kill_kinds(
    folder: Path, kills: int, seed: int = 0, kinds: Collection[str] = tuple(KINDS)
) -> dict[str, tuple[int, int, int]]:
    """Kill runs of these kinds; return what :func:`kill_runs` does of each."""
    found, made = {}, configurations(folder / "logs")
    for kind in kinds:
        config = made[kind]
        count = max(round(kills * KINDS[kind] / sum(KINDS[x] for x in kinds)), 1)
        found[kind] = kill_runs(folder / kind, config, count, seed)
        count, runs, wrong = found[kind]
        print(f"{kind}: {count} kills in {runs} runs, {wrong} not equal", flush=True)
    return found


def kill_runs(
    folder: Path, config: EvaluationConfig, kills: int, seed: int = 0
) -> tuple[int, int, int]:
    """Return how many kills there were, runs, and runs that ended otherwise than untouched."""
    rng = random.Random(seed)
    folder.mkdir()
    whole = folder / "whole"
    run(whole, config)
    n = events_of(folder / "counted", config)
    begun = time.perf_counter()
    os.waitpid(in_child(lambda: run(folder / "timed", config)), 0)
    moment = 1.2 * (time.perf_counter() - begun)
    done = runs = wrong = 0
    while done < kills:
        path = folder / f"run-{runs}"
        done += killed(path, config, rng, moment, n)
        left = [x.name for x in path.rglob(".*")]
        wrong += contents(path) != contents(whole) or bool(left)
        runs += 1
        shutil.rmtree(path)
    return done, runs, wrong


def failing_writes(folder: Path) -> tuple[int, int]:
    """Say "no space" at each write of a run; return how many there are, and how many ended badly.

    Well is: one line, exit code 2, and a folder from which the run ends as if nothing happened.
    """
    config = configuration(3000)
    whole = folder / "whole-short"
    run(whole, config)
    n = events_of(folder / "counted-short", config)
    bad = 0
    for number in range(1, n + 1):
        path = folder / "full"

        def full() -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")

        def work(path: Path = path, number: int = number, full: object = full) -> None:
            options = ["--steps", 3000, "--warm-up", 500, "--intervals", 20, "--seed", 3]
            options += ["--learner", "linear_ctd", "--quiet", "--json", "--out", path]
            at_event(path, number, full)
            with (
                mock.patch.object(loop, "time", _STILL),
                mock.patch.object(loop, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0),
                mock.patch("lincat.processes.process_source._BATCH", _BATCH),
            ):
                ended = lincat_here("evaluate", "frozen_lake", *options)
            line = ended.err.startswith("Error: ") and len(ended.err.splitlines()) == 1
            # What is only tidied up, and the page, may fail without an end.
            os._exit(0 if ended.code == 0 or (ended.code == 2 and line) else 7)

        _, status = os.waitpid(in_child(work), 0)
        wrong = os.WEXITSTATUS(status) != 0
        if not finished_or_none(path):
            os.waitpid(in_child(lambda path=path: run(path, config)), 0)  # type: ignore[misc]
        wrong |= (path / "config.toml").exists() and contents(path) != contents(whole)
        if wrong:
            print(f"write {number}: status {status}, {sorted(contents(path))}", file=sys.stderr)
        bad += wrong
        shutil.rmtree(path, ignore_errors=True)
    return n, bad


def finished_or_none(path: Path) -> bool:
    """Whether there is nothing left to do in a folder."""
    return not (path / "config.toml").exists() or finished(path)


def long_run(folder: Path, transitions: int) -> float:
    """Learn from so many transitions in one run; return how many a second."""
    begun = time.perf_counter()
    options = (
        "--steps",
        transitions,
        "--learner",
        "linear_ctd",
        "--quiet",
        "--out",
        folder / "long",
    )
    ended = lincat_here("evaluate", "frozen_lake", "--validate", 1, *options)
    if ended.code:
        raise RuntimeError(ended.err)
    return transitions / (time.perf_counter() - begun)


def main() -> None:
    """Run it all, and say what came out on the last lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--transitions", type=float, default=1e8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(KINDS), help="kill runs of this kind, and no more")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lincat-soak-"))
    try:
        kinds = list(KINDS) if given.kind is None else [given.kind]
        found = kill_kinds(folder, given.kills, given.seed, kinds)
        kills, runs, wrong = (sum(one) for one in zip(*found.values(), strict=True))
        whole = given.kind is None
        writes, bad = failing_writes(folder) if whole else (0, 0)
        long = int(given.transitions) if whole else 0
        speed = long_run(folder, long) if long else 0.0
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    parts = ", ".join(f"{kind} {one[0]}" for kind, one in found.items())
    print(f"kills: {kills:,} ({parts})")
    print(f"killed runs: {runs:,}; not equal to the byte at the end: {wrong}")
    if whole:
        print(f"writes that failed: {writes:,}; not one line with exit 2, or work lost: {bad}")
    if long:
        print(f"transitions in one run: {long:,}, {speed / 1e6:.1f} million/s")
    sys.exit(1 if wrong or bad else 0)


if __name__ == "__main__":
    main()
