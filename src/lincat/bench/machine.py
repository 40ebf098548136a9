"""What a run was made on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_L2 = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
_CPUINFO = Path("/proc/cpuinfo")


def describe() -> dict[str, str]:
    """Return processor, cores and versions, in words."""
    cache = second_level_cache()
    return {
        "processor": _processor() + ("" if cache is None else f", {cache // 1024} KiB L2"),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "packages": ", ".join(
            f"{name} {_version(name)}" for name in ("lincat", "numpy", "numba", "jax", "torch")
        ),
        "compiler": _compiler(),
    }


def load_average() -> str:
    """Return how busy the machine was in the last minute: the cores that were asked for."""
    return f"{os.getloadavg()[0]:.1f}"


def second_level_cache() -> int | None:
    """Return the bytes of the second-level cache of a core, if the system tells."""
    try:
        text = _L2.read_text().strip()
        return int(text.removesuffix("K")) * 1024
    except (OSError, ValueError):
        return None


def _processor() -> str:
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        lines = []
    found = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    if "model name" not in found:
        return platform.processor() or platform.machine()
    family = f"family {found.get('cpu family', '?')}, model {found.get('model', '?')}"
    return f"{found['model name']} ({family})"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _compiler() -> str:
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        return "none"
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.splitlines()[0] if said.stdout else compiler
