import sys

import pytest

import lincat
from lincat.cli import main as command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (lincat.InvalidInputError("x"), 2),
        (lincat.ConvergenceError("x"), 3),
        (lincat.DivergenceError(7, 3.0, 1.0, 0.25), 3),
    ],
)
def test_errors_of_ours_end_with_their_exit_code(monkeypatch, capsys, error, code):
    def fails(**_):
        raise error

    monkeypatch.setattr(command, "cli", fails)
    with pytest.raises(SystemExit) as stopped:
        command.main()
    assert stopped.value.code == code
    assert capsys.readouterr().err == f"Error: {error}\n"


def test_bugs_keep_their_traceback(monkeypatch):
    def fails(**_):
        raise KeyError("bug")

    monkeypatch.setattr(command, "cli", fails)
    with pytest.raises(KeyError):
        command.main()


def test_no_arguments_show_the_help(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lincat"])
    with pytest.raises(SystemExit):
        command.main()
    captured = capsys.readouterr()
    assert "solve" in captured.out + captured.err
