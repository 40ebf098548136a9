"""One flipped bit somewhere in a run folder: an error, or the same answer; never another one.

    make bits
    python -m tests.attack.bits --flips 1000

A file of the folder is chosen by chance, each as often as any other, and a bit of it. Then the run
is asked in every way: predicted from, drawn, exported, and continued from its checkpoint. What each
says has to be what it said before, or one line and exit code 2.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

from tests.cli.command import lincat_here

_OPTIONS = ("--warm-up", 500, "--intervals", 20, "--quiet", "--learner", "linear_ctd")
_IGNORED = ("report.html", "lock")  # which nobody reads back


def ask(run: Path) -> list[tuple[str, object]]:
    """What each command says of a run; errors as their codes."""
    said: list[tuple[str, object]] = []
    for words in (
        ("predict", run, "--json"),
        ("report", run, "--json"),
        ("export", run, "--out", run.parent / "small", "--force", "--quiet"),
        ("resume", run, "--steps", 4000, "--json", "--quiet"),
    ):
        ended = lincat_here(*words)
        one = ended.err.startswith("Error: ") and len(ended.err.splitlines()) == 1
        if ended.code == 2 and one:
            said.append(("refused", None))
        elif ended.code:
            said.append(("traceback", ended.err))
        else:
            said.append(("answered", _plain(ended.out)))
    model = run / "model.safetensors"
    said.append(("answered", model.read_bytes() if said[-1][0] == "answered" else None))
    return said


def _plain(text: str) -> str:
    """Without seconds, which differ each time, and the word about a damaged checkpoint."""
    text = re.sub(r'"seconds": ?[0-9.e-]+', "", text)
    return re.sub(r'"The newest checkpoint is damaged[^"]*",? ?', "", text)


def flip_bits(folder: Path, flips: int, seed: int = 0) -> tuple[int, int, int]:
    """Return how many bits were flipped, how often that was noticed, and wrong answers."""
    made, rng = folder / "made", random.Random(seed)
    ended = lincat_here("evaluate", "frozen_lake", "--steps", 3000, "--out", made, *_OPTIONS)
    if ended.code:
        raise RuntimeError(ended.err)
    run = folder / "run"
    shutil.copytree(made, run)
    expected = ask(run)
    if any(kind != "answered" for kind, _ in expected):
        raise RuntimeError(f"an untouched run is not answered for: {expected}")
    files = sorted(p for p in made.rglob("*") if p.is_file() and p.name not in _IGNORED)
    noticed = wrong = 0
    for _ in range(flips):
        shutil.rmtree(run)
        shutil.copytree(made, run)
        file = run / rng.choice(files).relative_to(made)
        content = bytearray(file.read_bytes())
        bit = rng.randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        found = ask(run)
        noticed += any(kind == "refused" for kind, _ in found)
        for one, other in zip(found, expected, strict=True):
            if one[0] == "traceback" or (one[0] == "answered" and one[1] not in (None, other[1])):
                print(f"{file.name}, bit {bit}: {one[0]}", str(one[1])[:2000], file=sys.stderr)
                wrong += 1
                break
    return flips, noticed, wrong


def main() -> None:
    """Run it, and say what came out on the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lincat-bits-"))
    try:
        flips, noticed, wrong = flip_bits(folder, given.flips, given.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"flipped bits: {flips:,}; refused: {noticed:,}; silent wrong answers: {wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
