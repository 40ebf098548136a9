"""A script as users write them: it runs, mypy is content, and mypy finds a wrong keyword."""

import pathlib
import runpy

import pytest

SCRIPT = pathlib.Path(__file__).with_name("user_script.py")


def _mypy(text, tmp_path):
    api = pytest.importorskip("mypy.api")
    file = tmp_path / "script.py"
    file.write_text(text)
    # The package's own configuration is strict, and what `make lint` found out is kept.
    return api.run([str(file)])


def test_it_runs(capsys):
    runpy.run_path(str(SCRIPT))
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_mypy_finds_no_false_errors(tmp_path):
    said, _, code = _mypy(SCRIPT.read_text(), tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("right", "wrong", "error"),
    [
        ("gamma=0.9", "gama=0.9", 'Unexpected keyword argument "gama" for "evaluate"'),
        ("steps=500", 'steps="500"', 'Argument "steps" to "evaluate" has incompatible type'),
        ("n_features=3)", "n_feature=3)", 'Unexpected keyword argument "n_feature"'),
        ("level=0.1)", "levle=0.1)", 'Unexpected keyword argument "levle" for "report"'),
        (".cvar(0.1)", ".cvra(0.1)", '"ReturnDistribution" has no attribute "cvra"'),
    ],
)
def test_mypy_finds_what_is_wrong(right, wrong, error, tmp_path):
    text = SCRIPT.read_text()
    assert right in text
    said, _, code = _mypy(text.replace(right, wrong), tmp_path)
    assert code == 1
    assert error in said
