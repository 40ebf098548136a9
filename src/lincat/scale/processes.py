"""Processes of this machine that share work; one that dies is replaced.

They are new programs, not forks of this one (which may have threads), and do not import the user's
main module: a script needs no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from lincat._arguments import check_integer, fail
from lincat.scale.pool import Job, pickled
from lincat.scale.worker import receive, send

_ATTEMPTS = 5  # at a piece whose process dies each time
#: One thread for each process: they share the cores already.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Processes:
    r"""So many processes, which are there while there is work.

    Attributes
    ----------
    pids : set of int
        The processes at work.

    Examples
    --------
    >>> from lincat.scale.processes import Processes
    >>> sorted(Processes(2).results(bytes, [2, 1]))
    [(1, b'\x00'), (2, b'\x00\x00')]
    """

    notes = ()

    def __init__(self, number: int) -> None:
        self.number = check_integer(number, "workers", low=1)
        self.pids: set[int] = set()

    @property
    def description(self) -> str:
        """How many."""
        return f"{self.number} processes"

    def results(self, job: Job, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces as they are done; an error of the job is raised, and ends the rest."""
        content = pickled(job)
        tasks: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in numbers:
            tasks.put(number)
        answers: queue.SimpleQueue[tuple[int, bool, Any]] = queue.SimpleQueue()
        servants = [
            _Servant(content, tasks, answers, self.pids)
            for _ in range(min(self.number, len(numbers)))
        ]
        for servant in servants:
            servant.start()
        try:
            for _ in numbers:
                number, good, answer = answers.get()
                if not good:
                    raise answer
                yield number, answer
        finally:
            for servant in servants:
                servant.end()

    def close(self) -> None:
        """Do nothing: processes end with the work."""


class _Servant(threading.Thread):
    """Looks after one process: gives it numbers, and replaces it when it dies."""

    def __init__(
        self,
        content: bytes,
        tasks: queue.SimpleQueue[int],
        answers: queue.SimpleQueue[tuple[int, bool, Any]],
        pids: set[int],
    ) -> None:
        super().__init__(name="lincat-servant", daemon=True)
        self._content, self._tasks, self._answers, self._pids = content, tasks, answers, pids
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._alone = threading.Lock()

    def run(self) -> None:
        while not self._ended:
            try:
                number = self._tasks.get_nowait()
            except queue.Empty:
                break
            good, answer = self._done(number)
            self._answers.put((number, good, answer))
        self.end()

    def _done(self, number: int) -> tuple[bool, Any]:
        for _ in range(_ATTEMPTS):
            try:
                process = self._at_work()
                assert process.stdin is not None
                assert process.stdout is not None
                send(process.stdin, number)
                answer: tuple[bool, Any] = receive(process.stdout)
                return answer
            except (EOFError, OSError, ValueError):  # it died, or its pipes were closed
                self._stop_process()
                if self._ended:
                    break
        remedy = "is there enough memory? fewer --workers need less"
        return False, fail("workers", "processes that live", f"{_ATTEMPTS} that died", remedy)

    def _at_work(self) -> subprocess.Popen[bytes]:
        with self._alone:
            if self._ended:
                raise EOFError
            if self._process is not None:
                return self._process
            found, here = _places()
            path = os.pathsep.join(found)
            environment = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(_ONE_THREAD, "1")}
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lincat.scale.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            self._pids.add(process.pid)
        assert process.stdin is not None
        send(process.stdin, here)
        send(process.stdin, self._content)
        return process

    def _stop_process(self) -> None:
        with self._alone:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        self._pids.discard(process.pid)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was not written yet has nowhere to go
                    stream.close()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._ended = True
        self._stop_process()


def _places() -> tuple[list[str], list[str]]:
    """Where a process finds what this one finds: from its start, and once Python and lincat run.

    The current folder comes late and last, wherever it is here, and -P keeps Python from putting it
    first: beside logs there may be a queue.py. It comes at all only if this process looks there,
    for features of the user's.
    """
    here = os.getcwd()
    found = [x for x in dict.fromkeys(sys.path) if os.path.abspath(x) != here]  # "" is here too
    return found, [here] if len(found) < len(set(sys.path)) else []
