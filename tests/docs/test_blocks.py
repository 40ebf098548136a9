"""Blocks of the documentation that are no commands are what they say; doctests run anyway."""

import ast
import json
import re
import shutil
import subprocess
import tomllib

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, same


def test_every_other_block_is_what_it_says():
    for page in PAGES:
        for info, body in blocks(page):
            if info == "python" and ">>>" not in body:
                ast.parse(body)
            elif info == "toml":
                tomllib.loads(body)
            elif info == "json":
                json.loads(body)


def test_systemd_accepts_the_units(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    units = [body for info, body in blocks(ROOT / "docs" / "production.md") if info == "ini"]
    names = [re.match(r"# /etc/systemd/system/(\S+)", unit)[1] for unit in units]
    for name, unit in zip(names, units, strict=True):
        (tmp_path / name).write_text(unit.replace("/usr/local/bin/lincat", "/bin/true"))
    places = [f"./{name}" for name in names]
    done = subprocess.run(
        ["systemd-analyze", "verify", *places], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_are_compared_as_such():
    assert same("mean 34.9 ± 0.9, ...\nend", "mean 35.1 ± 1.0, and so on\n  end\n")
    assert not same("mean 34.9", "mean 3.49")
    assert not same("mean 34.9", "median 34.9")
