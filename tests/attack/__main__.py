"""``python -m tests.attack [NAME ...]``: the attacks that ``make test`` holds off, all or some.

A name is that of a file, ``code`` for test_code.py. What takes longer has commands of its own:
``python -m tests.attack.fuzz``, ``guided``, ``cost``, ``bits``, ``soak``, ``mutants``.
"""

import sys
from pathlib import Path

import pytest

_FILES = {file.stem.removeprefix("test_"): file for file in Path(__file__).parent.glob("test_*.py")}


def main(names):
    unknown = [name for name in names if name not in _FILES]
    if unknown:
        known = ", ".join(sorted(_FILES))
        print(f"expected some of {known}, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    return pytest.main(["-q", *(str(_FILES[name]) for name in names or sorted(_FILES))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
