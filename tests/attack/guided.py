"""The second half of ``make fuzz``, where atheris is installed: inputs that are led by branches.

    python -m tests.attack.guided --inputs 10000
    python -m tests.attack.guided --target log.csv --inputs 5000 --seed 7

Damage is that of ``tests/attack/mutations.py``; but an input that reached a branch which none had
reached before is kept, and damaged again, so that faults behind two conditions are found too. Each
parser is attacked in a process of its own; ``tests/attack/fuzz.py`` says how an input may end.
"""

import argparse
import importlib
import importlib.util
import json
import os
import pkgutil
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

KERNELS = "lincat.kernels"  # compiled from bytecode, which has to stay as it is


def import_watched(atheris):
    """Import all of lincat, so that its branches are seen; return the module of targets."""
    for module in pkgutil.iter_modules(importlib.import_module(KERNELS).__path__):
        importlib.import_module(f"{KERNELS}.{module.name}")
    with atheris.instrument_imports(include=["lincat"]):
        package = importlib.import_module("lincat")
        for module in pkgutil.walk_packages(package.__path__, "lincat."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return importlib.import_module("tests.attack.fuzz")


def child(atheris, fuzz, target, inputs, seed, corpus, out):
    """Attack one parser; write a line of JSON for each input that went wrong. Does not return."""
    warnings.simplefilter("ignore")
    fuzz.signal.signal(fuzz.signal.SIGPROF, fuzz._hang)
    (Path(corpus) / "whole").write_bytes(target.content)
    target.file.write_bytes(target.content)
    target.use(target.file, np.random.default_rng(0))

    def damaged(data, most, number):
        rng = np.random.default_rng(number)
        try:
            return target.mutate(rng, data)[:most]
        except Exception:  # damaged before: no longer JSON, or whatever its damage needs
            return atheris.Mutate(data, most)

    def one_input(data):
        given = replace(target, mutate=lambda rng, content: data)
        wrong = fuzz.attempt(given, 0, seed)
        if wrong is not None:
            out.write(json.dumps({"wrong": wrong, "input": data.hex()}) + "\n")
            out.flush()

    options = [f"-runs={inputs}", f"-seed={seed + 1}", "-rss_limit_mb=0", "-timeout=120"]
    options += [
        "-mutate_depth=1",
        "-verbosity=0",
        f"-max_len={4 * len(target.content)}",
        "-len_control=0",
    ]
    atheris.Setup([sys.argv[0], *options, corpus], one_input, custom_mutator=damaged)
    atheris.Fuzz()


def attack(atheris, fuzz, target, inputs, seed, corpus):
    """Attack one parser in a forked process; yield what was wrong, once for each place.

    Inputs that are worth to be damaged again are kept in the folder ``corpus``.
    """
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            child(atheris, fuzz, target, inputs, seed, corpus, out)
        os._exit(0)
    os.close(write)
    seen = set()
    with os.fdopen(read) as lines:
        for line in lines:
            record = json.loads(line)
            if record["wrong"] not in seen:
                seen.add(record["wrong"])
                yield record["wrong"], bytes.fromhex(record["input"])
    _, status = os.waitpid(process, 0)
    if status:
        yield f"crash, status {status}", target.file.read_bytes()


def main():
    """Attack all, and say how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that went wrong")
    asked, _ = parser.parse_known_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed (pip install 'lincat[fuzz]'): nothing was led by branches")
        return
    atheris = importlib.import_module("atheris")
    fuzz = import_watched(atheris)
    from tests.attack.targets import all_targets

    begun, inputs, found = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as corpora:
        targets = [x for x in all_targets(Path(folder)) if asked.target in (None, x.name)]
        total = sum(x.weight for x in targets)
        for target in targets:
            share = max(1, round(asked.inputs * target.weight / total))
            inputs += share
            print(f"{target.name}: {share} inputs", flush=True)
            corpus = tempfile.mkdtemp(dir=corpora)
            for what, data in attack(atheris, fuzz, target, share, asked.seed, corpus):
                found += 1
                print(f"    {what}", flush=True)
                if asked.keep is not None:
                    asked.keep.mkdir(parents=True, exist_ok=True)
                    (asked.keep / f"{found}-{target.file.name}").write_bytes(data)
    print(
        f"{found} faults of {inputs:,} inputs led by branches (atheris) for {len(targets)} "
        f"parsers, {time.monotonic() - begun:.0f} s"
    )
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
