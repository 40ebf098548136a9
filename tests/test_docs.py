"""What the documentation shows: the tutorial runs whole, and every command is one that there is."""

import ast
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

import click
import pytest

from lincat.cli.main import cli

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
_NUMBER = r"[-−]?\d[\d,]*(?:\.\d+)?"
# Words that stand for others.
_WORDS = {"COMMAND", "...", "RUN", "FILE"}


def _blocks(page):
    return [(found["info"].strip(), found["body"]) for found in _BLOCK.finditer(page.read_text())]


def _commands():
    """All lines of blocks that call lincat, with or without a prompt."""
    for page in PAGES:
        for info, body in _blocks(page):
            if info in ("", "console", "sh", "bash", "shell"):
                for line in body.replace("\\\n", " ").splitlines():
                    if found := re.search(r"(?:^\$ |^|\| )(lincat .*)", line):
                        yield pytest.param(page.relative_to(ROOT), found[1], id=found[1])


@pytest.mark.parametrize(("page", "text"), list(_commands()))
def test_every_command_is_one_that_there_is(page, text):
    words = shlex.split(text, comments=True)[1:]
    ends = [i for i, word in enumerate(words) if word in ("|", ">", ">>", "&&", ";", "<")]
    words = words[: min(ends, default=len(words))]
    if words[0].startswith("-") or _WORDS & set(words):
        return
    context = click.Context(cli, info_name="lincat")
    command = cli.get_command(context, words[0])
    assert command is not None, f"{page}: {text}"
    # Parsed as it would be, but not run: values of options are checked.
    try:
        command.make_context(words[0], words[1:], parent=context)
    except click.exceptions.Exit:  # --help
        pass
    except click.BadParameter as error:
        if "does not exist" not in str(error):
            pytest.fail(f"{page}: {text}: {error}")


def test_every_other_block_is_what_it_says():
    for page in PAGES:
        for info, body in _blocks(page):
            if info == "python" and ">>>" not in body:  # doctests run by themselves
                ast.parse(body)
            elif info == "toml":
                tomllib.loads(body)
            elif info == "json":
                json.loads(body)


def _same(expected, got):
    """Whether a text is the one expected: "..." is anything, numbers are about the same."""
    words = re.split(rf"(\.\.\.|\s+|{_NUMBER})", expected.strip())
    pattern = "".join(
        ".*?"
        if word == "..."
        else r"\s+"
        if word.isspace()
        else f"({_NUMBER})"
        if re.fullmatch(_NUMBER, word)
        else re.escape(word)
        for word in words
    )
    found = re.fullmatch(rf"\s*{pattern}\s*", got, re.S)
    if found is None:
        return False
    numbers = [word for word in words if re.fullmatch(_NUMBER, word)]
    return [_number(x) for x in found.groups()] == pytest.approx(
        [_number(x) for x in numbers], rel=0.2, abs=2.0
    )


def _number(text):
    return float(text.replace(",", "").replace("−", "-"))


def test_numbers_are_compared_as_such():
    assert _same("mean 34.9 ± 0.9, ...\nend", "mean 35.1 ± 1.0, and so on\n  end\n")
    assert not _same("mean 34.9", "mean 3.49")
    assert not _same("mean 34.9", "median 34.9")


def test_the_tutorial_runs_and_prints_what_it_says(tmp_path):
    folder = pathlib.Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    for info, body in _blocks(ROOT / "docs" / "tutorial.md"):
        if info.startswith("{code-block}"):
            caption, _, code = body.partition("\n")
            (tmp_path / caption.removeprefix(":caption: ")).write_text(code)
        elif info == "console":
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                command = re.sub(r"^lincat ", f"{sys.executable} -m lincat ", command)
                done = subprocess.run(
                    command,
                    shell=True,
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stderr
                if not _same(expected, done.stdout):
                    pytest.fail(f"{command}\nexpected:\n{expected}\ngot:\n{done.stdout}")
