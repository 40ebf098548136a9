"""A Dask cluster that does pieces of work, in the manner of Dask's other libraries: by a client.

Dask gives a task up that was on three workers which died, whoever killed them; here such a task is
begun again. A scheduler that is lost is an error: what was done by then is the caller's to keep.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from lincat._arguments import InvalidInputError, fail, reason
from lincat._version import __version__
from lincat.scale.pool import Job, pickled, run_piece

_SECONDS = 10.0  # for which a scheduler may be silent, and workers may be missing
_PATIENCE = 600.0  # for a piece that was done, and is done again
_NOTICED = 0.5  # after which a client knows that its scheduler is gone
_ATTEMPTS = 10  # at a piece whose workers die each time; Dask makes three or four of each


class Cluster:
    """The workers of a client, which stays open.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    notes : list of str
        What slows the workers down.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._own = client, False
        self.notes: list[str] = []
        try:
            self._check_workers()
        except InvalidInputError:
            raise
        except Exception as error:  # a connection can break in many ways
            raise _lost(address_of(client), error) from error

    @classmethod
    def at(cls, address: str) -> Cluster:
        """Connect to the scheduler at an address."""
        try:
            from distributed import Client
        except ImportError as error:
            got, remedy = f"none ({error})", "pip install 'lincat[dask]', or --workers N without it"
            raise fail("--scheduler", "Dask", got, remedy) from None
        if not address.rpartition(":")[2].isdigit():
            expected = "the address of a Dask scheduler, such as tcp://HOST:8786"
            raise fail("--scheduler", expected, address)
        try:
            client = Client(address, timeout=_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError, RuntimeError) as error:
            expected = f"a Dask scheduler at {address}"
            remedy = "start one (dask scheduler), or use --workers N"
            raise fail("--scheduler", expected, f"none ({reason(error)})", remedy) from None
        try:
            cluster = cls(client)
        except BaseException:
            client.close()
            raise
        cluster._own = True
        return cluster

    @property
    def address(self) -> str:
        """Where the scheduler is."""
        return address_of(self._client)

    @property
    def description(self) -> str:
        """Workers and scheduler."""
        n = len(self._client.scheduler_info(n_workers=-1)["workers"])
        return f"{n} Dask workers of {self.address}"

    def results(self, job: Job, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces as they are done; an error of the job is raised, and ends the rest."""
        from distributed import KilledWorker

        client = self._client
        # A task of its own, not scattered: it is made again where the worker that has it dies.
        content = client.submit(_kept, pickled(job), pure=False)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        under_way: dict[Any, int] = {}
        attempts = dict.fromkeys(numbers, 0)

        def begin(number: int) -> None:
            attempts[number] += 1
            future = client.submit(run_piece, content, number, pure=False, priority=-number)
            under_way[future] = number
            future.add_done_callback(done.put)

        try:
            for number in numbers:
                begin(number)
            while under_way:
                future = self._next(done)
                number = under_way.pop(future)
                outcome = _outcome(future)
                if isinstance(outcome, bytes):
                    yield number, outcome
                    continue
                if isinstance(outcome, CancelledError):  # the scheduler forgot, or is lost
                    time.sleep(_NOTICED)
                if client.status != "running":
                    raise _lost(self.address, outcome)
                if not isinstance(outcome, KilledWorker | CancelledError | OSError):
                    raise _of_worker(outcome)
                if attempts[number] == _ATTEMPTS:
                    remedy = "is there enough memory on the workers?"
                    raise fail("workers", "workers that live", reason(outcome), remedy)
                begin(number)
        finally:
            if client.status == "running":
                client.cancel([*under_way, content])

    def _next(self, done: queue.SimpleQueue[Any]) -> Any:
        """Wait for a future, as long as there is a scheduler."""
        silent = None
        while True:
            try:
                return done.get(timeout=0.5)
            except queue.Empty:
                now = time.monotonic()
                if self._client.status == "running":
                    silent = None
                elif silent is None:
                    silent = now
                elif now - silent > _SECONDS:
                    raise _lost(self.address, None) from None

    def close(self) -> None:
        """Close the client, if it was opened here."""
        if self._own:
            self._client.close()

    def _check_workers(self) -> None:
        client = self._client
        try:
            client.wait_for_workers(1, timeout=_SECONDS)
        except TimeoutError:
            remedy = f"start some (dask worker {address_of(client)})"
            raise fail("--scheduler", "a scheduler with workers", "none", remedy) from None
        found = client.run(_probe(), on_error="ignore")  # one may be dying
        for worker, (version, _) in found.items():
            if version != __version__:
                got = f"{'none' if version is None else f'lincat {version}'} on {worker}"
                remedy = f"pip install 'lincat[dask]=={__version__}' there"
                raise fail("workers", f"lincat {__version__} on each", got, remedy)
        if any(trims for _, trims in found.values()):
            self.notes.append(
                "The Dask workers give memory back at once (MALLOC_TRIM_THRESHOLD_), which slows "
                "sums down by up to a third; docs/scale.md shows how to turn that off."
            )


def _probe() -> Any:
    """A function that workers without lincat can run too: it is sent whole, not by its name."""

    def look() -> tuple[str | None, bool]:
        import os

        trims = "MALLOC_TRIM_THRESHOLD_" in os.environ
        try:
            from lincat._version import __version__ as version
        except ImportError:
            return None, trims
        return version, trims

    return look


def _kept(content: bytes) -> bytes:
    return content


def _outcome(future: Any) -> bytes | BaseException:
    """What was done, or what went wrong."""
    try:
        # Where the worker that has it died meanwhile, Dask does it again.
        content: bytes = future.result(timeout=_PATIENCE)
    except Exception as error:
        return error
    return content


def _of_worker(error: BaseException) -> BaseException:
    """What went wrong on a worker; a user's module that is not there is bad input."""
    if isinstance(error, ImportError):
        remedy = "install it there, or upload it (client.upload_file)"
        return fail("workers", "what the features need", reason(error), remedy)
    return error


def _lost(address: str, error: BaseException | None) -> InvalidInputError:
    why = "" if error is None else f" ({reason(error)})"
    return fail("--scheduler", f"a Dask scheduler at {address}", f"it was lost{why}")


def address_of(client: Any) -> str:
    """Return where the scheduler of a client is."""
    return str(client.scheduler.address)
