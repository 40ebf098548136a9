"""``python -m lincat.truth``: run the problems of known truth, and write docs/truth.md."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from lincat._files import write_atomically
from lincat.truth.document import as_document
from lincat.truth.electricity import ELECTRICITY, read_electricity, run_electricity
from lincat.truth.problems import FURTHER, PROBLEMS, problem_named
from lincat.truth.run import METHODS, OURS, Row, cells_of, read_rows, run
from lincat.truth.settings import QUICK_PROBLEMS, SIZES, Settings

_EXAMPLE = Path("examples/electricity.py")  # of the checkout that this runs in


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lincat.truth",
        description="Problems of known truth, with nothing given but gamma, beside the rivals.",
    )
    parser.add_argument("--quick", action="store_true", help="three problems, 2,000 rows")
    further = ", ".join(problem.name for problem in FURTHER)
    parser.add_argument(
        "--problems", nargs="+", metavar="NAME", help=f"all by default; also {further}"
    )
    parser.add_argument("--sizes", nargs="+", type=int, metavar="ROWS", help="of the logs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="SEED")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("truth"), help="rows; those there stay")
    parser.add_argument("--again", action="store_true", help="run lincat again, not the rivals")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--electricity", type=Path, metavar="WHEEL", help="also examples/electricity.py, held out"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="docs/truth.md, say")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run what is missing, say each row on standard error, and print or write the document."""
    options = _options(argv)
    every = QUICK_PROBLEMS if options.quick else tuple(p.name for p in PROBLEMS)
    settings = Settings(
        problems=tuple(problem_named(name).name for name in options.problems or every),
        sizes=tuple(options.sizes or (SIZES[:1] if options.quick else SIZES)),
        seeds=tuple(options.seeds),
    )
    cells = cells_of(settings, options.methods)
    market = cells_of(replace(settings, problems=(ELECTRICITY,), seeds=(0,)), options.methods)
    if options.again:
        for cell in (*cells, *market):
            if cell.method == OURS:
                cell.file(options.out).unlink(missing_ok=True)
    missing = sum(not cell.file(options.out).exists() for cell in cells)
    for done, row in enumerate(run(cells, options.out, processes=options.processes), start=1):
        _say(f"{done}/{missing}", row)
    if options.electricity is not None:
        held_out = read_electricity(_EXAMPLE, options.electricity)
        for cell in market:
            _say("held out", run_electricity(held_out, cell, options.out))
    rows = read_rows(cells, options.out)
    text = as_document(rows, settings, held_out=read_rows(market, options.out))
    if options.write is None:
        print(text)
    else:
        write_atomically(options.write, text)


def _say(which: str, row: Row) -> None:
    state = "refused" if row.w1 is None else "right" if row.right else "wrong"
    error = "" if row.w1 is None else f"W1 {row.w1:.3g} sd, "
    print(
        f"{which} {row.problem}, {row.rows:,} rows, seed {row.seed}, {row.method}: "
        f"{state}, {error}{row.seconds:.1f} s",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    main()
