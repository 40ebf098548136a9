"""``python -m lincat.tuning``: compare step sizes, and write the table of docs/learners.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lincat._files import write_atomically
from lincat.tuning.document import as_section, with_section
from lincat.tuning.run import cells_of, missing_from, read_rows, run
from lincat.tuning.settings import Length, Settings


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lincat.tuning",
        description="The automatic step size beside the best constant one, on random processes.",
    )
    parser.add_argument("--quick", action="store_true", help="six processes, 2,000 transitions")
    parser.add_argument("--processes", type=int, help="how many")
    parser.add_argument("--seed", type=int, default=Settings.seed, help="of the processes")
    parser.add_argument("--out", type=Path, default=Path("tuning"), help="rows; those there stay")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this page")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run what is missing, say each row on standard error, and print or write the section."""
    options = _options(argv)
    settings = Settings(seed=options.seed)
    if options.quick:
        settings = Settings(options.seed, processes=6, lengths=(Length(2_000, 2),))
    if options.processes is not None:
        settings = Settings(options.seed, options.processes, settings.lengths)
    cells = cells_of(settings)
    missing = len(missing_from(cells, options.out))
    for done, rows in enumerate(run(cells, options.out), start=1):
        first = rows[0]
        found = ", ".join(
            f"{row.transitions:,}: {row.ratio(row.auto):.2f} and {row.ratio(row.warm):.2f}"
            for row in rows
        )
        place = f"{done}/{missing} {first.process}, {first.features}, {first.kind}, {first.gamma:g}"
        print(f"{place}; {found}", file=sys.stderr, flush=True)
    section = as_section(read_rows(cells, options.out), settings)
    if options.write is None:
        print(section)
    else:
        page = options.write.read_text(encoding="utf-8")
        write_atomically(options.write, with_section(page, section))


if __name__ == "__main__":
    main()
