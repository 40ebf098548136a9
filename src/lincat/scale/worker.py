"""A process that does pieces of work: through standard input come folders, a job, then numbers.

``python -m lincat.scale.worker``, as :mod:`lincat.scale.processes` starts it. Messages are pickles,
each after its length. The process ends when its standard input does, so with whoever started it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import IO, Any

from lincat.scale.pool import run_piece

_LENGTH = 8


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message."""
    content = pickle.dumps(message, protocol=5)
    stream.write(len(content).to_bytes(_LENGTH, "little"))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message; EOFError if there is no whole one."""
    length = int.from_bytes(_read(stream, _LENGTH), "little")
    return pickle.loads(_read(stream, length))


def _read(stream: IO[bytes], n: int) -> bytes:
    content = stream.read(n)
    if len(content) < n:
        raise EOFError
    return content


def main() -> None:
    """Answer each number with (True, bytes) or (False, error), until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's features print must not look like an answer
    asked: IO[bytes] = sys.stdin.buffer
    try:
        sys.path += receive(asked)  # where the user's own modules are
        content = receive(asked)
        while True:
            number = receive(asked)
            try:
                answer: tuple[bool, Any] = True, run_piece(content, number)
            except Exception as error:
                answer = False, error
            send(answers, answer)
    except (EOFError, BrokenPipeError):  # who asked is gone, killed perhaps
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())  # where the rest may go


if __name__ == "__main__":
    main()
