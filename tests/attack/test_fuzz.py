"""A small `make fuzz`: each parser sees some damaged files."""

import subprocess
import sys

import pytest

from tests.attack import fuzz
from tests.attack.targets import Target


def test_no_damaged_file_gives_a_traceback():
    command = [sys.executable, "-m", "tests.attack.fuzz", "--inputs", "600", "--seed", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "\n0 tracebacks and 0 hangs over 5 s of " in ended.stdout


def _use(what):
    def use(file, rng):
        if file.read_bytes() == b"whole":
            return
        if what == "crash":
            fuzz.os.abort()
        if what == "traceback":
            raise KeyError
        while what == "hang":
            pass
        _ = b"x" * 2**29 if what == "memory" else None

    return use


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("crash", "crash"),
        ("traceback", "KeyError"),
        ("hang", "hang"),
        ("memory", "MB"),
        ("fine", ""),
    ],
)
def test_what_goes_wrong_is_seen(tmp_path, what, words, monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 1.0)
    monkeypatch.setattr(fuzz, "MEGABYTES", 300.0)
    target = Target("x", tmp_path / "x", b"whole", lambda rng, content: b"damaged", _use(what))
    records = list(fuzz.attack(target, 0, 2, 0))
    assert [record["number"] for record in records] == [0, 1]
    assert words in (records[0]["wrong"] or "")
    assert (records[0]["wrong"] is None) == (what == "fine")
