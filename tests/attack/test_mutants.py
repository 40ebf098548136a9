"""Small versions of ``make mutants`` and of the second half of ``make fuzz``."""

import importlib.util
import subprocess
import sys
import textwrap

import pytest

from tests.attack import mutants

CODE = """
    def clipped(x, most=1.0):
        \"\"\"A number.\"\"\"
        if x > most and most is not None:
            return most
        return [-x, f"{x + 1}"][0]
"""


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "small.py"
    file.write_text(textwrap.dedent(CODE))
    spec = importlib.util.spec_from_file_location("small", file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made, file


def test_every_fault_is_one_that_somebody_can_see(module):
    small, file = module
    found = {str(site).partition(": ")[2]: site for site in mutants.sites(file)}
    assert set(found) == {
        "x > most and most is not None -> x > most or most is not None",
        "x > most -> x >= most",
        "most is not None -> most is None",
        "return most -> return None",
        "return [-x, f'{x + 1}'][0] -> return None",
        "-x -> x",
        "0 -> 1",
    }
    functions = mutants._functions(file)
    function, code = found["-x -> x"].changed(functions)
    assert function is small.clipped
    before, function.__code__ = function.__code__, code
    assert (small.clipped(0.5), small.clipped(2.0)) == (0.5, 1.0)
    function.__code__ = before
    assert small.clipped(0.5) == -0.5


def test_inputs_are_led_by_branches_where_atheris_is():
    options = ["--target", "policy.json", "--inputs", "200"]
    command = [sys.executable, "-m", "tests.attack.guided", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    installed = importlib.util.find_spec("atheris") is not None
    said = "0 faults of 200 inputs led by" if installed else "atheris is not installed"
    assert said in ended.stdout.splitlines()[-1]
