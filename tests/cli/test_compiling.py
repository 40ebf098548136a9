"""Saying so when something is compiled, and only then."""

import subprocess
import sys

import numba
import pytest

from lincat.cli.compiling import announced


def test_compiling_is_announced_once_and_a_second_call_is_not():
    said = []
    first, second = numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2)
    with announced(lambda: said.append("now")):
        assert (first(1), second(1)) == (2, 3)
    assert said == ["now"]
    with announced(lambda: said.append("again")):
        assert (first(1), second(1)) == (2, 3)
    assert said == ["now"]
    numba.njit(lambda x: x + 3)(1)  # outside nobody listens
    assert said == ["now"]


def test_an_error_inside_is_passed_on_and_listening_ends():
    said = []
    with pytest.raises(ZeroDivisionError), announced(lambda: said.append("now")):
        raise ZeroDivisionError
    numba.njit(lambda x: x + 4)(1)
    assert said == []


def test_code_read_from_disk_is_not_announced(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "import numba\n\n\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
    )
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from kernel import twice\n"
        "from lincat.cli.compiling import announced\n"
        "with announced(lambda: print('compiling')):\n"
        "    print(twice(2))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert outputs == ["compiling\n4\n", "4\n"]
