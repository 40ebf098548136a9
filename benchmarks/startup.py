"""Starting up: CPU seconds (user and system) of a fresh interpreter, median of several."""

import os
import subprocess
import sys
from statistics import median

REPEATS = 9


def cpu_seconds(*command):
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def rows():
    commands = {
        "import lincat, CPU seconds": ([sys.executable, "-c", "import lincat"], 0.5),
        "lincat --help, CPU seconds": ([sys.executable, "-m", "lincat", "--help"], 0.3),
    }
    return [
        {
            "what": what,
            "measured": median(cpu_seconds(*command) for _ in range(REPEATS)),
            "at_most": bar,
        }
        for what, (command, bar) in commands.items()
    ]
