"""The source distribution holds what the repository does: packagers build and test from it."""

import pathlib
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parent.parent


def test_it_holds_every_file_that_the_repository_keeps():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no repository: there is nothing to compare with")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    # Each begins with a slash: without, a name is meant at any depth.
    assert sorted(included) == sorted({f"/{path.split('/')[0]}" for path in listed})
    ignored = subprocess.run(
        ["git", "ls-files", "--ignored", "--cached", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert ignored == ""  # what .gitignore names is left out, whoever keeps it
