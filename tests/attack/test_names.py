"""Names that no picture can hold: XML, and so SVG, forbids most control characters."""

import json
import os
import re
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

import lincat
from lincat._text import drawable, printable
from lincat.report.figures import curves, error_curves, save_figure
from tests.cli.command import lincat_here

# What a terminal may do something at, and what the standard leaves out.
NAMES = ["\x1b[31mred", "bell\x07", "nul\x00", "last\uffff", "\ufffebefore it", "form\x0cfeed"]


def in_child(work):
    """Do it where the drawing library may abort; return how that ended, 0 if well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_process_with_such_names_is_solved_and_drawn(tmp_path):
    file, n = tmp_path / "names.json", len(NAMES)
    given = {"gamma": 0.5, "transitions": np.full((n, n), 1.0 / n).tolist(), "states": NAMES}
    file.write_text(json.dumps({**given, "rewards": [1.0] * n, "name": "a\x1bname\uffff"}))

    def solved():
        words = ("solve", file, "--intervals", 20, "--out", tmp_path / "out", "--quiet")
        assert lincat_here(*words).code == 0

    assert in_child(solved) == 0
    picture = (tmp_path / "out" / "returns.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(picture)
    texts = re.sub(r"<[^>]*>", "\n", picture)
    for name in NAMES:
        assert printable(name) in texts
    assert json.loads((tmp_path / "out" / "answer.json").read_text())["name"] == "a\x1bname\uffff"


def charts():
    """Every kind of picture, with such names in all of its texts."""
    text = "".join(NAMES)
    cdf = np.tile(np.linspace(0.0, 1.0, 11)[:10], (len(NAMES), 1))
    returns = lincat.ReturnDistribution(cdf, lincat.Grid(0.0, 1.0, intervals=10))
    yield "ridges", returns.labelled(NAMES).plot(title=text)
    groups = [text] * 50 + ["other"] * 50
    found = lincat.validate(returns[[0] * 100], np.linspace(0.0, 1.0, 100), groups=groups)
    found = msgspec.structs.replace(found, description=text)
    yield "validation", found.plot(text)
    rows = [{"x": i + 1.0, "y": 1.0 / (i + 1.0), "s": name} for i in range(3) for name in NAMES]
    options = {"x": "x", "y": "y", "series": "s", "title": text, "subtitle": text}
    yield "curves", curves(rows, points=NAMES[:2], **options)
    yield "error curves", error_curves(rows, **options)


@pytest.mark.parametrize("name", ["ridges", "validation", "curves", "error curves"])
def test_every_picture_has_them_written_out(name, tmp_path):
    """Saved by us, and by who asked for the picture."""
    chart = dict(charts())[name]
    spec = json.dumps(chart.to_dict(), ensure_ascii=False)
    assert drawable(spec) == spec
    assert in_child(lambda: chart.save(str(tmp_path / "own.svg"))) == 0
    assert in_child(lambda: save_figure(chart, tmp_path, "ours", ("svg", "png"))) == 0
    for file in ("own.svg", "ours.svg"):
        picture = (tmp_path / file).read_text(encoding="utf-8")
        ElementTree.fromstring(picture)
        assert r"\x1b" in picture


def test_what_is_drawn_of_text_is_what_it_says():
    assert drawable("café γ = 0.9, 東京 🙂\tand\n") == "café γ = 0.9, 東京 🙂\tand\n"
    assert drawable({"a\x07": ["\ud800", 1.5, None, True]}) == {
        r"a\x07": [r"\ud800", 1.5, None, True]
    }
