"""Run sections, each in a process of its own.

So the libraries start with one thread, memory is that of one section, and a section that fails
takes nothing with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module

from lincat.bench.results import Bar, Result
from lincat.bench.settings import Settings

# In the order in which they run; those that compare libraries are held to one core.
SECTIONS = (
    "startup",
    "target",
    "scaling",
    "cores",
    "memory",
    "evaluate",
    "speed",
    "guards",
    "batches",
    "intervals",
    "batch",
    "reduced",
    "workers",
    "rows",
    "questions",
)
_ONE_CORE = ("target", "scaling", "speed", "guards", "batches", "intervals", "reduced", "questions")
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}


def run_section(name: str, settings: Settings, *, quiet: bool = False) -> Result:
    """Run one section in a new process; its progress goes to standard error, unless quiet."""
    import msgspec

    done = subprocess.run(
        [sys.executable, "-m", "lincat.bench", name, json.dumps(asdict(settings))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        env={**os.environ, **_ONE_THREAD},
        text=True,
        check=False,
    )
    if done.returncode != 0:
        failed = Bar("runs to its end", 0.0, ">=", 1.0, f"{name}: exit code {done.returncode}")
        return Result(name, bars=[failed], notes=[done.stderr or f"{name} failed, see above"])
    return msgspec.json.decode(done.stdout, type=Result)


def run_here(name: str, settings: Settings, progress: Callable[[str], None]) -> Result:
    """Run one section in this process."""
    if name in _ONE_CORE and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    result: Result = import_module(f"lincat.bench.{name}").section(settings, progress)
    return result
