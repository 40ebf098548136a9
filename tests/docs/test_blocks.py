"""Blocks of the documentation that are no commands are what they say; doctests run anyway."""

import ast
import json
import tomllib

from tests.docs.pages import PAGES, blocks, same


def test_every_other_block_is_what_it_says():
    for page in PAGES:
        for info, body in blocks(page):
            if info == "python" and ">>>" not in body:
                ast.parse(body)
            elif info == "toml":
                tomllib.loads(body)
            elif info == "json":
                json.loads(body)


def test_numbers_are_compared_as_such():
    assert same("mean 34.9 ± 0.9, ...\nend", "mean 35.1 ± 1.0, and so on\n  end\n")
    assert not same("mean 34.9", "mean 3.49")
    assert not same("mean 34.9", "median 34.9")
