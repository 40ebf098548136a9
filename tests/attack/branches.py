"""The last step of ``make branches``: its figures for each package, and whether the bars hold.

    coverage json -o branches.json && python -m tests.attack.branches branches.json

The bars: 95 % of all branches; and every branch of what guards files and arguments.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

BAR = 95.0
WHOLE = ("_arguments", "_files", "_imports", "_json", "_parameters", "_seals", "_tensors")
WHOLE += ("runs/binding", "runs/checkpoints", "runs/config", "runs/folder", "runs/lock")


def share(part, whole):
    """Per cent; all of nothing."""
    return 100.0 * part / whole if whole else 100.0


def counts(files):
    """(branches, branches that ran, lines, lines that ran) of each package."""
    found = defaultdict(lambda: [0, 0, 0, 0])
    for name, file in files.items():
        inside = name.split("lincat/", 1)[1]
        package = inside.split("/")[0] if "/" in inside else "lincat"
        total = file["summary"]
        keys = ("num_branches", "covered_branches", "num_statements", "covered_lines")
        found[package] = [a + total[key] for a, key in zip(found[package], keys, strict=True)]
    return found


def main():
    """Print the table, and what is missing where nothing may be."""
    files = json.loads(Path(sys.argv[1]).read_text())["files"]
    packages = counts(files)
    print("| package | branches | of them run | lines run |\n|---|---:|---:|---:|")
    for name, (n, ran, lines, ran_lines) in sorted(packages.items()):
        print(f"| {name} | {n} | {share(ran, n):.1f} % | {share(ran_lines, lines):.1f} % |")
    open_ = []
    for name, file in files.items():
        inside = name.split("lincat/", 1)[1].removesuffix(".py")
        if inside in WHOLE and (file["missing_lines"] or file["missing_branches"]):
            open_.append(inside)
            print(f"{inside}: lines {file['missing_lines']}, {file['missing_branches']}")
    n, ran, lines, ran_lines = map(sum, zip(*packages.values(), strict=True))
    print(
        f"{share(ran, n):.1f} % of {n:,} branches and {share(ran_lines, lines):.1f} % of {lines:,} "
        f"lines; {len(WHOLE) - len(open_)} of {len(WHOLE)} guards of files and arguments whole"
    )
    sys.exit(bool(open_) or share(ran, n) < BAR)


if __name__ == "__main__":
    main()
