"""``make fuzz``: damaged files for every parser, and how each of them ends.

    python -m tests.attack.fuzz --inputs 100000
    python -m tests.attack.fuzz --target log.csv --inputs 5000 --first 1234

Each parser is attacked in a process of its own, so that a crash is seen and counted. An input may
give an answer, or an error of one line; it may not give a traceback, take more than 5 s (of the
processor, which others may use too), or 512 MB of memory above what the undamaged file takes.
"""

import argparse
import faulthandler
import json
import os
import resource
import signal
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
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    begun = time.process_time()
    try:
        target.use(target.file, rng)
    except _FINE as error:
        if "\n" in str(error) or len(str(error)) > 4000:
            return f"not one line: {str(error)[:200]!r}"
    except HangError:
        return f"hang in {traceback.extract_tb(sys.exc_info()[2])[-1]}"
    except BaseException as error:
        found = traceback.extract_tb(error.__traceback__)
        places = [f"{Path(x.filename).name}:{x.lineno}" for x in found]
        return f"{type(error).__name__}: {str(error)[:200]} at {' '.join(places[-6:])}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    seconds = time.process_time() - begun
    return f"hang of {seconds:.1f} s" if seconds > SECONDS else None


def child(target, first, inputs, seed, out):
    """Attack one parser; write a line of JSON for each input: what was wrong, and memory taken."""
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(120, exit=True)
    signal.signal(signal.SIGPROF, _hang)
    target.file.write_bytes(target.content)  # whatever the last one left
    target.use(target.file, np.random.default_rng(0))
    before = peak()
    for number in range(first, first + inputs):
        faulthandler.dump_traceback_later(120, exit=True)  # stuck where no signal gets through
        wrong = attempt(target, number, seed)
        more = peak() - before
        if wrong is None and more > MEGABYTES:
            wrong, before = f"{more:.0f} MB", peak()
        out.write(json.dumps({"number": number, "wrong": wrong, "memory": more}) + "\n")
        out.flush()
    target.file.write_bytes(target.content)


def attack(target, first, inputs, seed):
    """Attack one parser in forked processes; yield a record for each input, crashes too."""
    number, end = first, first + inputs
    while number < end:
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                os.close(read)
                with os.fdopen(write, "w") as out:
                    child(target, number, end - number, seed, out)
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        with os.fdopen(read) as lines:
            for line in lines:
                record = json.loads(line)
                number = record["number"] + 1
                yield record
        _, status = os.waitpid(process, 0)
        if status:
            yield {"number": number, "wrong": f"crash, status {status}", "memory": 0.0}
            number += 1


def main():
    """Attack all, and say how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        targets = [x for x in all_targets(Path(folder)) if asked.target in (None, x.name)]
        total = sum(x.weight for x in targets)
        counts, memory, begun = {"inputs": 0, "tracebacks": 0, "hangs": 0}, 0.0, time.monotonic()
        for target in targets:
            share = max(1, round(asked.inputs * target.weight / total))
            started = time.monotonic()
            wrong, most = {}, 0.0
            for record in attack(target, asked.first, share, asked.seed):
                counts["inputs"] += 1
                most = max(most, record["memory"])
                memory = max(memory, most)
                if record["wrong"] is not None:
                    kind = "hangs" if record["wrong"].startswith("hang") else "tracebacks"
                    counts[kind] += not record["wrong"].endswith(" MB")
                    wrong.setdefault(record["wrong"], record["number"])
            seconds = time.monotonic() - started
            print(f"{target.name}: {share} inputs, {seconds:.1f} s, {most:.0f} MB", flush=True)
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
