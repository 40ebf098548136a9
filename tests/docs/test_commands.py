"""Every command that the documentation shows is run, in a folder with what it speaks of."""

import os
import re
import shlex

import click
import pytest

from lincat.cli.main import cli
from tests.docs.pages import PAGES, ROOT, Command, commands, same
from tests.docs.workshop import Workshop

# What is not run here, and why.
NOT_RUN = {
    r"^make (demo|test)$": "this is `make test`, and `make demo` is `lincat evaluate`",
    r"^pip install ": "needs the network",
    r"^lincat (reproduce|bench)\b": "takes minutes: tests/cli runs them at a small size",
    r" minari:": "downloads a data set: tests/environments has one of its own",
    r" --trust-pickle": "Stable-Baselines3 needs torch: tests/environments has a stand-in",
    r"^dask |--scheduler": "needs a cluster: tests/scale has one",
    r"--workers \d|resume runs/logs$": "a folder of Parquet files: tests/runs/test_in_parts.py",
    r"s3://": "needs the network: tests/tables/test_stores.py",
    r"zsh_source|fish_source": "other shells: the script for bash is run",
}
_LINE = re.compile(
    r"(?:(?P<left>.+?) \| )?(?P<env>(?:[A-Z_]+=\S+ )*)lincat(?P<words> .*?)?(?: 2>> (?P<log>\S+))?"
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def workshop(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Workshop(tmp_path, kept)


def _pages():
    for page in PAGES:
        found = list(commands(page))
        if found:
            yield pytest.param(page, found, id=str(page.relative_to(ROOT)))
    for name, command in sorted(cli.commands.items()):
        yield pytest.param(None, [Command(line) for line in _examples(command)], id=f"help-{name}")


def _examples(command):
    return re.findall(r"^ *((?:\w.* \| )?lincat .*)$", command.help.partition("Examples")[2], re.M)


@pytest.mark.parametrize(("page", "shown"), list(_pages()))
def test_every_command_runs(page, shown, workshop, monkeypatch):
    if page is not None:
        workshop.furnish_from(page)
    for command in shown:
        if any(re.search(pattern, command.text) for pattern in NOT_RUN):
            _parse(command.text)
            continue
        got = _run(command, workshop, monkeypatch)
        if command.expected and not same(command.expected, got):
            pytest.fail(f"{command.text}\nexpected:\n{command.expected}\ngot:\n{got}")


def _run(command, workshop, monkeypatch):
    """What it prints."""
    text = re.sub(r"^(?:\S+ ){5}cd \S+ && /\S+/(.*) \|\| .*", r"\1", command.text)  # of cron
    line = _LINE.fullmatch(text)
    if line is None or line["words"] is None:
        return workshop.shell(text).decode()
    given = b"" if line["left"] is None else workshop.shell(line["left"])
    with monkeypatch.context() as patch:
        for pair in line["env"].split():
            patch.setitem(os.environ, *pair.split("="))
        exactly = bool(command.expected)
        ended = workshop.lincat(shlex.split(line["words"]), stdin=given, exactly=exactly)
    wrong = (command.expected or "").startswith("Error: ")
    assert ended.code == (2 if wrong else 0), f"{text}\n{ended.err or ended.out}"
    return ended.err if wrong else ended.out


def _parse(text):
    """As the command line would, without running it: options and their values are checked."""
    line = _LINE.fullmatch(text)
    if line is None or (line["words"] or " |").startswith(" |"):
        return
    words = shlex.split(line["words"])
    context = click.Context(cli, info_name="lincat")
    command = cli.get_command(context, words[0])
    assert command is not None, text
    command.make_context(words[0], words[1:], parent=context)


def test_every_reason_not_to_run_a_command_is_needed():
    shown = [command.text for page in PAGES for command in commands(page)]
    for pattern in NOT_RUN:
        assert any(re.search(pattern, text) for text in shown), pattern
