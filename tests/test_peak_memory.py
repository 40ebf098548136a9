"""Every run of the tests ends with how much memory a worker took, and fails if that is too much."""

import subprocess
import sys

import pytest

ROWS = """
def test_of_a_hundred_megabytes():
    assert len(bytearray(10**8)) == 10**8

def test_of_nothing():
    pass
"""


def run(folder, workers, limit):
    (folder / "conftest.py").write_text(
        f"from tests import peak_memory\npeak_memory.LIMIT = {limit}"
    )
    (folder / "test_rows.py").write_text(ROWS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.peak_memory", "-n", str(workers)]
    found = subprocess.run(
        [*command, "--rootdir", folder, folder], capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout.strip().splitlines()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_line_before_the_last_says_how_much_memory_was_taken(workers, tmp_path):
    code, (*_, told, last) = run(tmp_path, workers, 2**40)
    assert code == 0
    assert last.startswith("2 passed")
    assert told.startswith("peak memory of a worker: 0.")
    assert "test_rows.py::test_of_a_hundred_megabytes +0." in told
    assert "test_of_nothing" not in told


@pytest.mark.parametrize("workers", [0, 2])
def test_a_worker_that_takes_too_much_fails_the_run(workers, tmp_path):
    code, (*_, told, last) = run(tmp_path, workers, 2**26)
    assert code == 1
    assert last.startswith("2 passed")
    assert told == "FAILED: a worker may take 0.06 GB"
