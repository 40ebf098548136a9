"""Starting up: CPU seconds (user and system) of a fresh interpreter, median of several."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from statistics import median

from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings

_COMMANDS = {
    "import lincat, CPU seconds": (("-c", "import lincat"), 0.5),
    "lincat --help, CPU seconds": (("-m", "lincat", "--help"), 0.3),
}


def section(settings: Settings, progress: Callable[[str], None]) -> Result:
    """Measure the import and the help page."""
    result = Result("Starting up")
    for what, (arguments, limit) in _COMMANDS.items():
        progress(what)
        repeats = 1 if settings.quick else min(settings.rounds, 9)
        seconds = median(_cpu_seconds(sys.executable, *arguments) for _ in range(repeats))
        result.rows.append({"what": what, "seconds": seconds})
        result.bars.append(Bar(what, seconds, "<=", limit))
    return result


def _cpu_seconds(*command: str) -> float:
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system
