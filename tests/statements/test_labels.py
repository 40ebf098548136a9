"""docs/paper.md has one row for every label of the paper, and what it names exists."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import lincat

ROOT = Path(__file__).parents[2]
LABELS = (Path(__file__).parent / "labels.txt").read_text(encoding="utf-8").split()
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
HEADER = ["label", "what it says", "in lincat", "tests"]


def rows():
    """The cells of every row of the tables that map the paper, headers left out."""
    out, inside = [], False
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells == HEADER:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            out.append(cells)
    return out


@cache
def functions_of(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_labels_are_listed_once():
    assert len(LABELS) == len(set(LABELS)) == 118


def test_every_label_has_exactly_one_row():
    counted = Counter(cells[0].strip("`") for cells in rows() if cells[0].startswith("`"))
    assert {label: counted[label] for label in LABELS} == dict.fromkeys(LABELS, 1)
    assert set(counted) == set(LABELS)  # rows for unlabelled statements carry no backticks


def test_no_cell_is_empty():
    for cells in rows():
        assert len(cells) == len(HEADER), cells
        assert all(cells), cells


def test_every_function_named_exists():
    names = re.findall(r"`(lincat(?:\.\w+)+)`", PAGE)
    assert len(names) == PAGE.count("`lincat.") > 0
    for name in set(names):
        found = lincat
        for part in name.split(".")[1:]:
            found = getattr(found, part)


def test_every_test_named_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) == PAGE.count("`tests/")
    for path, function in named:
        assert (ROOT / path).is_file(), path
        assert not function or function in functions_of(path), f"{path}::{function}"


def test_nothing_is_only_planned():
    assert "planned" not in PAGE
