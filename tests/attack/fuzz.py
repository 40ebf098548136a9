"""``make fuzz``: damaged files for every parser, and how each of them ends.

    python -m tests.attack.fuzz --inputs 100000
    python -m tests.attack.fuzz --target log.csv --inputs 5000 --first 1234

Each parser is attacked in a process of its own, so that a crash is seen and counted. An input may
give an answer, or an error of one line; it may not give a traceback, take more than 5 s, or 512 MB
of memory above what the undamaged file takes.
"""

import argparse
import faulthandler
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import lincat
from tests.attack.targets import all_targets

SECONDS, MEGABYTES = 5.0, 512.0
_FINE = (lincat.InvalidInputError, lincat.ConvergenceError, lincat.DivergenceError, MemoryError)


class HangError(BaseException):
    """Raised into whatever takes too long."""


def _hang(*_):
    raise HangError


def peak():
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def attempt(target, number, seed):
    """Try one input; return what was wrong with how it ended, or None."""
    rng = np.random.default_rng([seed, number])
    target.file.write_bytes(target.mutate(rng, target.content))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    begun = time.monotonic()
    try:
        target.use(target.file, rng)
    except _FINE as error:
        if "\n" in str(error) or len(str(error)) > 4000:
            return f"not one line: {str(error)[:200]!r}"
    except HangError:
        return f"hang in {traceback.extract_tb(sys.exc_info()[2])[-1]}"
    except BaseException as error:
        places = [f"{Path(x.filename).name}:{x.lineno}" for x in traceback.extract_tb(error.__traceback__)]
        return f"{type(error).__name__}: {str(error)[:200]} at {' '.join(places[-6:])}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    seconds = time.monotonic() - begun
    return f"hang of {seconds:.1f} s" if seconds > SECONDS else None


def child(folder, name, first, inputs, seed):
    """Attack one parser; print what was wrong, a line of JSON each, and how much memory it took."""
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(600, exit=True)
    signal.signal(signal.SIGALRM, _hang)
    (target,) = (x for x in all_targets(folder) if x.name == name)
    target.file.write_bytes(target.content)
    target.use(target.file, np.random.default_rng(0))
    before = peak()
    for number in range(first, first + inputs):
        wrong = attempt(target, number, seed)
        more = peak() - before
        if wrong is None and more > MEGABYTES:
            wrong, before = f"{more:.0f} MB", peak()
        print(json.dumps({"number": number, "wrong": wrong, "memory": more}), flush=True)
    target.file.write_bytes(target.content)


def attack(folder, target, first, inputs, seed):
    """Attack one parser in other processes; yield a record for each input."""
    number, end = first, first + inputs
    while number < end:
        target.file.write_bytes(target.content)  # whatever the last one left
        command = [sys.executable, "-m", "tests.attack.fuzz", "--child", str(folder)]
        command += ["--target", target.name, "--first", str(number)]
        command += ["--inputs", str(end - number), "--seed", str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for line in process.stdout:
                if line.startswith(b'{"number"'):
                    record = json.loads(line)
                    number = record["number"] + 1
                    yield record
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
        if process.returncode != 0:
            words = " | ".join(said[-3:])[:300]
            yield {"number": number, "wrong": f"crash {process.returncode} {words}", "memory": 0.0}
            number += 1


def main():
    """Attack all, and say how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target")
    parser.add_argument("--child", type=Path)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, asked.target, asked.first, asked.inputs, asked.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        targets = [x for x in all_targets(Path(folder)) if asked.target in (None, x.name)]
        total = sum(x.weight for x in targets)
        counts, memory, begun = {"inputs": 0, "tracebacks": 0, "hangs": 0}, 0.0, time.monotonic()
        for target in targets:
            share = max(1, round(asked.inputs * target.weight / total))
            started = time.monotonic()
            wrong = {}
            for record in attack(Path(folder), target, asked.first, share, asked.seed):
                counts["inputs"] += 1
                memory = max(memory, record["memory"])
                if record["wrong"] is not None:
                    kind = "hangs" if record["wrong"].startswith("hang") else "tracebacks"
                    counts[kind] += not record["wrong"].endswith(" MB")
                    wrong.setdefault(record["wrong"], record["number"])
            print(f"{target.name}: {share} inputs, {time.monotonic() - started:.1f} s")
            for what, number in sorted(wrong.items(), key=lambda item: item[1])[:20]:
                print(f"    input {number}: {what}")
    print(
        f"{counts['tracebacks']} tracebacks and {counts['hangs']} hangs over {SECONDS:g} s of "
        f"{counts['inputs']:,} damaged inputs for {len(targets)} parsers, "
        f"{memory:.0f} MB above the baseline, {time.monotonic() - begun:.0f} s"
    )
    sys.exit(bool(counts["tracebacks"] or counts["hangs"] or memory > MEGABYTES))


if __name__ == "__main__":
    main()
