"""``python -m lincat.evidence``: measure what the theorems say, and write docs/theory.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from threadpoolctl import threadpool_limits

from lincat._files import write_atomically
from lincat.evidence.barrier import BARRIERS, Mean, ratios
from lincat.evidence.document import (
    barrier_rows,
    barrier_section,
    bounds_section,
    plans_section,
    tails_rows,
    tails_section,
    with_section,
)
from lincat.evidence.looseness import (
    QUICK,
    Measured,
    Sizes,
    fitting_problems,
    held_out_problems,
    measure,
)
from lincat.evidence.pictures import CLAIMS, drawn
from lincat.evidence.plans import CASES, Reached, check_case, other_cases
from lincat.evidence.tails import Tail, tails
from lincat.report.figures import save_figure

PARTS = ("bounds", "barrier", "tails", "plans", "pictures")


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lincat.evidence",
        description="The paper's theorems beside what is measured: tables and pictures.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; or all")
    parser.add_argument("--quick", action="store_true", help="a small version of each")
    parser.add_argument("--out", type=Path, default=Path("evidence"), help="rows; those there stay")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put tables into this page")
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="put pictures there")
    options = parser.parse_args(argv)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"expected {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    return options


def main(argv: list[str] | None = None) -> None:
    """Measure what is missing, say what is done, and print or write the sections."""
    options = _options(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):
        for part in options.parts or PARTS:
            sections, pictures = _made(part, options.out, quick=options.quick)
            for name, section in sections.items():
                if options.write is None:
                    print(f"## {name}\n\n{section}\n")
                else:
                    page = options.write.read_text(encoding="utf-8")
                    write_atomically(options.write, with_section(page, name, section))
            for name, rows in pictures.items():
                folder = options.images or options.out
                save_figure(drawn(name, rows), folder, f"theory-{name}", ("svg",))


def _made(part: str, out: Path, *, quick: bool) -> tuple[dict[str, str], dict[str, Any]]:
    """The sections and the rows of pictures of one part."""
    if part == "bounds":
        sizes = QUICK if quick else Sizes()
        problems = fitting_problems(sizes.fitted), held_out_problems(sizes.held_out)
        catalog, held_out = (
            [
                row
                for problem in some
                for row in _kept(
                    out, f"bounds-{problem.name}", Measured, partial(measure, problem, sizes)
                )
            ]
            for some in problems
        )
        return {"bounds": bounds_section(catalog, held_out)}, {}
    if part == "barrier":
        seeds = range(4) if quick else range(100)
        found = {}
        for barrier in BARRIERS[:1] if quick else BARRIERS:
            named = _kept(out, f"barrier-{barrier.name}", _Named, partial(_named, barrier, seeds))
            found[barrier.name] = {row.name: Mean(row.mean, row.error) for row in named}
        return {"barrier": barrier_section(found)}, {
            "barrier": barrier_rows(found[BARRIERS[0].name])
        }
    if part == "tails":
        rows = _kept(out, "tails", Tail, lambda: tails(100 if quick else 4000))
        return {"tails": tails_section(rows)}, {"tails": tails_rows(rows)}
    if part == "plans":
        reached: list[Reached] = []
        for case in CASES[3:4] if quick else CASES:
            for sampled in (False, True):
                name = f"plans-{case.problem.name}-{'sample' if sampled else 'process'}"
                carried_out = partial(check_case, case, 10 if quick else 200, from_sample=sampled)
                reached += _kept(out, name, Reached, carried_out)
        others: list[Reached] = []
        for case in other_cases(1 if quick else 8):
            carried_out = partial(check_case, case, 10 if quick else 60, from_sample=True)
            others += _kept(out, f"plans-{case.problem.name}", Reached, carried_out)
        return {"plans": plans_section(reached, others)}, {}
    return {}, {name: rows() for name, rows in CLAIMS.items()}


class _Named(msgspec.Struct, frozen=True):
    name: str
    mean: float
    error: float


def _named(barrier: Any, seeds: range) -> list[_Named]:
    return [_Named(name, x.mean, x.error) for name, x in ratios(barrier, seeds).items()]


def _kept(out: Path, name: str, kind: type[Any], made: Callable[..., Any]) -> list[Any]:
    """Rows from a file of the folder, or made and kept there."""
    file = out / f"{name}.json"
    if not file.exists():
        rows = list(made())
        plain = [msgspec.to_builtins(row) if kind is _Named else asdict(row) for row in rows]
        write_atomically(file, msgspec.json.encode(plain) + b"\n")
        print(f"{name}: done", file=sys.stderr, flush=True)
    plain = msgspec.json.decode(file.read_bytes())
    return [msgspec.convert(row, kind) for row in plain]


if __name__ == "__main__":
    main()
