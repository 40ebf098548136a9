"""The command line, in this process: what main() prints, and with which code it ends."""

import contextlib
import html
import io
import subprocess
import sys
import warnings
from dataclasses import dataclass
from unittest import mock

from lincat.cli.main import main


@dataclass
class Ended:
    """How a command ended."""

    code: int
    binary: bytes
    err: str

    @property
    def out(self):
        return self.binary.decode()


def lincat_here(*arguments, stdin=b""):
    """Run ``lincat ARGUMENTS``; much faster than in a process of its own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    code = 0
    with (
        mock.patch.object(sys, "argv", ["lincat", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", given),
        mock.patch.object(warnings, "showwarning", warnings.showwarning),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    for stream in (out, err):
        stream.flush()
    return Ended(code, out.buffer.getvalue(), err.buffer.getvalue().decode())


def lincat_process(*arguments, **options):
    """Run it in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "lincat", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def assert_one_line(ended, message, code=2):
    """Check that it ended as bad input should: one line on stderr, nothing on stdout."""
    assert ended.code == code, ended.err
    assert message in ended.err
    assert ended.err.startswith("Error: ")
    assert len(ended.err.splitlines()) == 1
    assert ended.out == ""


def page_text(path):
    """What a page says, with plain blanks between its words."""
    return " ".join(html.unescape(path.read_text(encoding="utf-8")).split())
