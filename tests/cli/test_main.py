import io
import sys

import pytest

import lincat
from lincat.cli import main as command
from lincat.cli.progress import _short
from lincat.cli.streams import usable_streams
from tests.cli.command import assert_one_line, lincat_here


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


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "Error: not enough memory: for these sizes"),
        (OSError(28, "No space left on device", "a.csv"), "Error: a.csv: No space left on device"),
        (OSError(5, "Input/output error"), "Error: a file: Input/output error"),
    ],
)
def test_what_the_machine_lacks_is_one_line(monkeypatch, error, said):
    def fails(**_):
        raise error

    monkeypatch.setattr(command, "cli", fails)
    ended = lincat_here("solve", "paper")
    assert (ended.code, ended.err, ended.out) == (2, said + "\n", "")


def test_what_is_our_fault_keeps_its_traceback(monkeypatch):
    def fails(**_):
        raise KeyError("x")

    monkeypatch.setattr(command, "cli", fails)
    with pytest.raises(KeyError):
        lincat_here("solve", "paper")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("frozen_lake", "--steps", "many"), "'many' is not a number"),
        (("frozen_lake", "--steps", "1.5"), "'1.5' is not a whole number"),
        (("frozen_lake", "--env-option", "x"), "--env-option: expected KEY=VALUE, got 'x'"),
    ],
)
def test_options_that_cannot_be_are_one_line(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert_one_line(lincat_here("evaluate", *arguments), said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("pace", "text"), [(950.0, "950"), (1500.0, "1.5k"), (2e6, "2M"), (999.6, "1000")]
)
def test_paces_are_short(pace, text):
    assert _short(pace) == text


def test_no_standard_output_at_all_is_none_to_write_to(monkeypatch):
    """As services start programs (``>&- 2>&-``): Python has None there."""
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setattr(sys, "argv", ["lincat", "solve", "paper", "--intervals", "5"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert not ended.value.code
    monkeypatch.setattr(sys, "argv", ["lincat", "solve", "nothing"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    sys.stdout.close()  # which a process leaves to its end
    sys.stderr.close()
    assert ended.value.code == 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_that_lack_a_letter_are_shown_another(monkeypatch, encoding):
    """What was learned is not lost to a traceback because of a line in a table."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["lincat", "solve", "paper", "--intervals", "5"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert not ended.value.code
    out.flush()
    text = out.buffer.getvalue().decode(encoding)
    assert "mean" in text
    assert "----" in text
    assert "\\u2500" not in text


def test_letters_without_a_likeness_are_written_as_numbers(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    usable_streams()
    print("Zürich ± 日", flush=True)
    assert out.buffer.getvalue() == rb"Z\xfcrich +- \u65e5" + b"\n"


def test_warnings_of_others_are_shown_without_their_colours(capsys):
    """Gymnasium colours its warnings; as text that is a row of escape codes."""
    command._show_warning("\x1b[33mWARN: Taxi-v3 is out of date.\x1b[0m")
    assert capsys.readouterr().err == "Warning: WARN: Taxi-v3 is out of date.\n"
