"""``python -m lincat.truth``: run the problems of known truth, and write docs/truth.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lincat._files import write_atomically
from lincat.truth.document import as_document
from lincat.truth.problems import PROBLEMS, problem_named
from lincat.truth.run import METHODS, OURS, cells_of, read_rows, run
from lincat.truth.settings import QUICK_PROBLEMS, SIZES, Settings


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lincat.truth",
        description="Problems of known truth, with nothing given but gamma, beside the rivals.",
    )
    parser.add_argument("--quick", action="store_true", help="three problems, 2,000 rows")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="all by default")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="ROWS", help="of the logs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="SEED")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, default=Path("truth"), help="rows; those there stay")
    parser.add_argument("--again", action="store_true", help="run lincat again, not the rivals")
    parser.add_argument("--processes", type=int, default=2)
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
    if options.again:
        for cell in cells:
            if cell.method == OURS:
                cell.file(options.out).unlink(missing_ok=True)
    missing = sum(not cell.file(options.out).exists() for cell in cells)
    for done, row in enumerate(run(cells, options.out, processes=options.processes), start=1):
        state = "refused" if row.w1 is None else "right" if row.right else "wrong"
        error = "" if row.w1 is None else f"W1 {row.w1:.3g} sd, "
        print(
            f"{done}/{missing} {row.problem}, {row.rows:,} rows, seed {row.seed}, {row.method}: "
            f"{state}, {error}{row.seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )
    text = as_document(read_rows(cells, options.out), settings)
    if options.write is None:
        print(text)
    else:
        write_atomically(options.write, text)


if __name__ == "__main__":
    main()
