"""``python -m lincat.coverage``: count how often intervals hold, and write docs/coverage.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lincat._files import write_atomically
from lincat.coverage.cases import CASES
from lincat.coverage.document import as_document, bar_rows, misses
from lincat.coverage.run import cells_of, missing_from, read_rows, run
from lincat.coverage.settings import KINDS, OUT, SIZES, Settings


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lincat.coverage",
        description="How often intervals hold, on processes whose fixed points are known.",
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="ROWS")
    parser.add_argument("--runs", type=int, default=500, help="logs for each cell")
    parser.add_argument("--out", type=Path, default=OUT, help="rows; those there stay")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page there")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run what is missing, say each row on standard error, and print or write the document."""
    options = _options(argv)
    settings = Settings(
        tuple(options.cases), tuple(options.kinds), tuple(options.sizes), options.runs
    )
    cells = cells_of(settings)
    missing = len(missing_from(cells, options.out))
    for done, row in enumerate(run(cells, options.out, processes=options.processes), start=1):
        found = ", ".join(f"{c.figure} {c.coverage:.3f}" for c in row.counted)
        missed = misses(row)
        words = f" MISSED: {', '.join(missed)}" if missed else ""
        place = f"{done}/{missing} {row.case}, {row.kind}, {row.rows:,} rows"
        print(f"{place}: {found};{words}", file=sys.stderr, flush=True)
    rows = read_rows(cells, options.out)
    text = as_document(rows, settings)
    if options.write is None:
        print(text)
    else:
        write_atomically(options.write, text)
        for line in bar_rows(rows):
            print(f"{line['bar']}: {'; '.join(str(x) for x in list(line.values())[:-1] if x)}")


if __name__ == "__main__":
    main()
