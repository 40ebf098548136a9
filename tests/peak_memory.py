"""A pytest plugin: how much memory the tests took at most, said at the end of every run.

Suites grow unnoticed, until they are killed on a machine that others use too. What a worker takes
itself is bounded; what its children do (commands, pools) is told.
"""

import resource
import sys

import pytest

LIMIT = 2 * 2**30  # bytes of a worker: two of them leave half of a small machine to others
_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def peak(who):
    return resource.getrusage(who).ru_maxrss * _UNIT


class Peaks:
    """Of this process while it runs tests, and of the workers that it was told of."""

    def __init__(self, config):
        self.config = config
        self.found = []  # (own, of children, by how much single tests raised it)
        self.raised = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        before = peak(resource.RUSAGE_SELF)
        result = yield
        self.raised[item.nodeid] = peak(resource.RUSAGE_SELF) - before
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        output = getattr(node, "workeroutput", None) or {}  # one that crashed says nothing
        if "peaks" in output:
            self.found.append(output["peaks"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        most = sorted(self.raised.items(), key=lambda raised: -raised[1])[:3]
        mine = [peak(resource.RUSAGE_SELF), peak(resource.RUSAGE_CHILDREN), most]
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["peaks"] = mine
            return
        if self.raised:
            self.found.append(mine)
        if session.exitstatus == 0 and any(own > LIMIT for own, _, _ in self.found):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter):
        result = yield
        if self.found:
            own, _, most = max(self.found)
            children = max(found[1] for found in self.found)
            tests = ", ".join(f"{name} +{_size(by)}" for name, by in most if by > 0.01 * own)
            text = f"peak memory of a worker: {_size(own)}"
            text += f" ({tests})" if tests else ""
            terminalreporter.write_line(
                f"{text}; of a process that tests started: {_size(children)}"
            )
            if own > LIMIT:
                terminalreporter.write_line(f"FAILED: a worker may take {_size(LIMIT)}", red=True)
        return result


def _size(size):
    return f"{size / 2**30:.2f} GB"


def pytest_configure(config):
    if not config.pluginmanager.has_plugin("peaks"):
        config.pluginmanager.register(Peaks(config), "peaks")
