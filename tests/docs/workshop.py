"""A folder with what the documentation's commands speak of: logs, policies, runs."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import scipy.signal

import lincat
from tests.cli.command import lincat_here
from tests.docs.pages import ROOT, blocks

# Runs that pages ask about without having made them, and how they come about.
_RUNS = {
    "log": "log.csv --gamma 0.99",
    "one": "log.csv --gamma 0.9",
    "two": "april.csv --gamma 0.9",
    "careful": "log.csv --gamma 0.9",
    "bold": "april.csv --gamma 0.9",
    "cartpole-v1": "gym:CartPole-v1 --policy balance --gamma 0.95",
    "cartpole-v1-2": "gym:CartPole-v1 --policy random --gamma 0.95",
    "noisy": "gym:CartPole-v1 --policy balance --gamma 0.95",
    "lean": "gym:CartPole-v1 --policy mine:lean --gamma 0.95",
}
# What the documentation leaves to a user's machine.
_PROGRAMS = {
    "kafkacat": "cat steps.jsonl",
    "tail": 'shift; cat "$@"',  # tail -f has no end
    "lincat": f'exec {shlex.quote(sys.executable)} -m lincat "$@"',
    "python": f'exec {shlex.quote(sys.executable)} "$@"',
}


class Workshop:
    """A folder in which commands run as a page shows them, with a few steps each."""

    def __init__(self, folder, kept):
        self.folder = folder
        self._kept = kept  # runs that several pages ask about
        _furnish(folder)

    def furnish_from(self, page):
        """Write the files that a page shows with their names."""
        for info, body in blocks(page):
            if info.startswith("{code-block}") and body.startswith(":caption: "):
                caption, _, code = body.partition("\n")
                (self.folder / caption.removeprefix(":caption: ")).write_text(code.lstrip("\n"))

    def lincat(self, words, *, stdin=b"", exactly=False):
        """Run ``lincat WORDS`` in this process, exactly so or smaller; return how it ended."""
        longer = words[0] != "resume" or {"--steps", "--append"} & set(words)
        for path in map(pathlib.PurePath, words):
            if words[0] != "evaluate" and path.parent.name == "runs":
                # A run that continues is bound to the files that it began with, here.
                kept = self.folder / "begun" if words[0] == "resume" else self._kept
                self._bring(path.name, kept, finished=bool(longer))
        if words[0] == "resume" and "--append" in words:
            self._grow()
        if any("**" in word for word in words):  # beside CSV files, with which it cannot be read
            (self.folder / "logs" / "2024").mkdir(exist_ok=True)
            shutil.copy(self.folder / "log.parquet", self.folder / "logs" / "2024" / "log.parquet")
        if words[0] in ("merge", "evaluate"):
            before = zip(words[1:], words, strict=False)
            _sum_up(word for word, last in before if word.endswith(".stats") and last != "--out")
        return lincat_here(*words, *([] if exactly else _fewer(words)), stdin=stdin)

    def shell(self, text):
        """Run any other command; return what it prints."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            check=True,
        )
        return done.stdout

    def _bring(self, name, folder, *, finished=True):
        place, kept = self.folder / "runs" / name, folder / name
        if name not in _RUNS or (place.exists() and finished):
            return
        if not kept.exists():
            words = ["evaluate", *shlex.split(_RUNS[name]), "--out", kept, "--quiet"]
            ended = lincat_here(*words, *(_fewer(words) if name != "log" else []))
            assert ended.code == 0, ended.err
        shutil.copytree(kept, place, dirs_exist_ok=True)
        if not finished:  # as a crash just before its end would leave it
            (place / "result.json").unlink()

    def _grow(self):
        """Add some rows to all logs."""
        head, *rows = (self.folder / "april.csv").read_text().splitlines(keepends=True)
        logs = self.folder / "logs"
        night = len(list(logs.iterdir()))
        new = rows[1000 * night : 1000 * (night + 1)]
        with open(self.folder / "log.csv", "a") as log:
            log.writelines(new)
        (logs / f"more-{night}.csv").write_text("".join([head, *new]))


def _sum_up(names):
    """Make statistics that a command asks for, of a site each."""
    for seed, name in enumerate(names):
        if not pathlib.Path(name).exists():
            lincat.stats("frozen_lake", steps=2000, seed=seed, site=name, out=name)


def _site(seed):
    """A table of one site, by the hour."""
    n, rng = 4000, np.random.default_rng(seed)
    load = scipy.signal.lfilter([0.4], [1.0, -0.9], rng.normal(size=n))
    when = np.datetime64("2024-01-01", "us") + np.arange(n) * np.timedelta64(1, "h")
    return pa.table({"when": when, "load": load, "reward": load + rng.normal(size=n)})


def _fewer(words):
    """Options that make a run small: a few steps of what has no end, few atoms."""
    if words[0] == "resume" and "--steps" in words:
        return ["--steps", "3000"]  # the last word counts
    source = next((str(word) for word in words[1:2] if not word.startswith("--")), "")
    if words[0] != "evaluate" or "--require" in words or source == "logs/":
        return []  # what must hold takes what it takes
    fewer = ["--intervals", "100"]
    if (not source and "--config" not in words) or source.startswith("gym:"):
        fewer = [
            "--intervals",
            "20",
            "--steps",
            "2000",
            "--validate",
            "50",
            "--features",
            "scaling",
        ]
    elif source == "frozen_lake" or source.startswith("examples/"):
        fewer += ["--steps", "2000"]
    return fewer


def _furnish(folder):
    for place in ("runs", "logs", "bin"):
        (folder / place).mkdir()
    for name, line in _PROGRAMS.items():
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "examples" / "fair_coin.json", folder / "process.json")
    (folder / "mypolicy.py").write_text("def act(observation):\n    return 1\n")
    (folder / "mine.py").write_text(
        "def lean(observation):\n    return int(observation[2] + observation[3] > 0)\n"
    )
    for seed, site in enumerate(("north", "south")):
        pq.write_table(_site(seed), folder / f"{site}.parquet")
    log, april = _log(0), _log(1)
    pa.csv.write_csv(log, folder / "log.csv")
    pa.csv.write_csv(log, folder / "logs" / "march.csv")
    for name in ("april.csv", "march.csv", "later.csv"):
        pa.csv.write_csv(april, folder / name)
    for name, rows in (("log", 5000), ("steps", 5000), ("states", 5)):
        lines = (json.dumps(row) + "\n" for row in log[:rows].to_pylist())
        (folder / f"{name}.jsonl").write_text("".join(lines))
    (folder / "today.csv").write_text("obs_0,obs_1\n1,0\n-1,1\n")
    when = np.datetime64("2024-01-01T00", "s") + np.arange(600) * np.timedelta64(3600, "s")
    pa.csv.write_csv(log[:600].append_column("when", pa.array(when)), folder / "meter.csv")
    (folder / "bad.csv").write_text("state,reward\n0,1\n1,oops\n")
    paid = log[:5000].append_column("cash", log["reward"][:5000])
    pq.write_table(paid, folder / "log.parquet")
    for name in ("obs_0", "obs_1"):
        paid = paid.append_column(f"next_{name}", log[name][1:5001])
    pq.write_table(paid, folder / "transitions.parquet")
    place = np.arange(5000)
    episodes = log[:5000].append_column("episode", pa.array(place // 40))
    pa.csv.write_csv(episodes.append_column("step", pa.array(place % 40)), folder / "episodes.csv")


def _log(seed, rows=20_000):
    """Two whole numbers that wander, and a reward that follows the first."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(rows, 2))
    x = scipy.signal.lfilter([1.0], [1.0, -0.3], noise, axis=0).clip(-1.5, 1.5).round().astype(int)
    reward = (x[:, 0] + 3.0 * rng.normal(size=rows)).round(1)
    return pa.table({"obs_0": x[:, 0], "obs_1": x[:, 1], "reward": reward})
