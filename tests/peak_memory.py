"""A pytest plugin: how much memory the tests took at most, said at the end of every run.

Suites grow unnoticed, until they are killed on a machine that others use too. What a test has freed
is given back to the system before the next one: else a worker keeps what its tests took in turn.
"""

import ctypes
import gc
import resource
import sys
from pathlib import Path

import pytest

# Bytes of a worker. The aim is two gigabytes, so that two of them leave a small machine to others;
# trials of plans take more than that by themselves, and three are what is reached.
LIMIT = 4 * 2**30
_STATUS = Path("/proc/self/status")


_MUCH = 2**28  # bytes after which it is looked at what can be given back


def in_memory(now="VmRSS:"):
    """The bytes that this process has in memory now, where the system says so."""
    if not _STATUS.exists():
        return None
    words = _STATUS.read_text().split()
    return int(words[words.index(now) + 1]) * 1024


def peak():
    """The most bytes that this process has had in memory."""
    # What rusage says begins with the peak of whoever started the process.
    if (found := in_memory("VmHWM:")) is not None:
        return found
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Peaks:
    """Of this process while it runs tests, and of the workers that it was told of."""

    def __init__(self, config):
        self.config = config
        self.found = []  # (peak, by how much single tests raised it)
        self.raised = {}
        self.kept = in_memory()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        before = peak()
        result = yield
        self.raised[item.nodeid] = peak() - before
        if self.kept is not None and in_memory() - self.kept > _MUCH:
            gc.collect()
            if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
                trim(0)
            self.kept = in_memory()
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        output = getattr(node, "workeroutput", None) or {}  # one that crashed says nothing
        if "peaks" in output:
            self.found.append(output["peaks"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        most = sorted(self.raised.items(), key=lambda raised: -raised[1])[:3]
        mine = [peak(), most]
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["peaks"] = mine
            return
        if self.raised:
            self.found.append(mine)
        if session.exitstatus == 0 and any(own > LIMIT for own, _ in self.found):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter):
        result = yield
        if self.found:
            own, most = max(self.found)
            tests = ", ".join(f"{name} +{_size(by)}" for name, by in most if by > 0.01 * own)
            text = f"peak memory of a worker: {_size(own)}"
            text += f" ({tests})" if tests else ""
            terminalreporter.write_line(text)
            if own > LIMIT:
                terminalreporter.write_line(f"FAILED: a worker may take {_size(LIMIT)}", red=True)
        return result


def _size(size):
    return f"{size / 2**30:.2f} GB"


def pytest_configure(config):
    if not config.pluginmanager.has_plugin("peaks"):
        config.pluginmanager.register(Peaks(config), "peaks")
