"""Reading ahead on a second thread, so that reading and learning overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")
_END = object()


def prefetched(
    items: Iterable[_T], depth: int = 2, *, stop: threading.Event | None = None
) -> Generator[_T, None, None]:
    """Yield the items in order, while a thread takes up to ``depth`` of them ahead of time.

    An error of the items is raised where it would have been met. The thread ends with the iterator,
    also when that is closed early. Once ``stop`` is set, nothing more is waited for.

    Examples
    --------
    >>> from lincat.runs.prefetch import prefetched
    >>> list(prefetched(iter(range(5)), depth=2))
    [0, 1, 2, 3, 4]
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(maxsize=depth)
    closed = threading.Event()

    def offer(item: tuple[Any, BaseException | None]) -> bool:
        while not closed.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not offer((item, None)):
                    return
            offer((_END, None))
        except BaseException as error:
            offer((_END, error))

    thread = threading.Thread(target=read, name="lincat-reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item, error = ready.get(timeout=0.1)
            except queue.Empty:
                if stop is not None and stop.is_set():
                    return
                continue
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        closed.set()
        thread.join(timeout=1.0)  # not for ever: it may be waiting for a stream that is silent
