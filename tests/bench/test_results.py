import json

import msgspec

from lincat.bench.page import bars_table, page, table, updated
from lincat.bench.results import Bar, Result, worst

ROWS = [{"case": "a", "C": 2.0}, {"case": "b", "C": 0.5, "JAX": 1234.5}]


def test_a_bar_holds_or_does_not_or_was_not_measured():
    assert Bar("x", 2.0, ">=", 2.0).holds is True
    assert Bar("x", 2.1, "<=", 2.0).holds is False
    assert Bar("x", None, "<=", 2.0).holds is None


def test_a_verdict_within_the_scatter_of_runs_says_so():
    assert Bar("x", 2.0, ">=", 1.0).verdict == "yes"
    assert Bar("x", 1.02, ">=", 1.0).verdict == "yes, on the line"
    assert Bar("x", 0.98, ">=", 1.0).verdict == "NO, on the line"
    assert Bar("x", 0.5, ">=", 1.0).verdict == "NO"


def test_the_worst_row_is_judged_and_named():
    assert worst("x", ROWS, "C", ">=", 1.0) == Bar("x", 0.5, ">=", 1.0, "b")
    assert worst("x", ROWS, "C", "<=", 1.0) == Bar("x", 2.0, "<=", 1.0, "a")
    assert worst("x", ROWS, "JAX", ">=", 1.0).where == "b"
    assert worst("x", ROWS, "torch", ">=", 1.0).holds is None


def test_results_survive_json():
    result = Result("title", ROWS, [Bar("x", 2.0, ">=", 1.0)], ["note"])
    assert msgspec.json.decode(json.dumps(result.as_dict()), type=Result) == result


def test_tables_leave_missing_columns_empty():
    assert table(ROWS).splitlines() == [
        "| case |   C |   JAX |",
        "| ---- | --: | ----: |",
        "| a    |   2 |       |",
        "| b    | 0.5 | 1,234 |",
    ]


def test_the_page_has_every_bar_every_section_and_its_command():
    bars = [Bar("fast", 0.5, ">=", 1.0), Bar("small", None, "<=", 1.0)]
    text = page([Result("Title", ROWS, bars, ["A note."])], {"cores": "2"}, "lincat bench")
    assert "`lincat bench`" in text
    assert bars_table(bars) in text
    assert "NO" in text
    assert "not measured" in text
    assert "## Title" in text
    assert "A note." in text


def test_sections_of_a_page_are_replaced_and_others_stay():
    kept, old = Bar("kept", 1.0, ">=", 0.5, "a b"), Bar("old", 1.0, "<=", 2.0)
    results = [Result("First", ROWS, [kept], ["A note."]), Result("Second", ROWS, [old])]
    text = page(results, {"cores": "2"}, "lincat bench")
    new = Result("Second", [{"case": "c", "x": 7.0}], [Bar("old", 3.0, "<=", 2.0)], ["New."])
    changed = updated(text, [new], "Made by hand.")
    assert changed.count("## ") == text.count("## ") == 3
    assert bars_table([kept, *new.bars]) in changed
    assert changed.index("A note.") < changed.index("## Second") < changed.index("New.")
    assert changed.endswith("New.\n\nMade by hand.\n")
    assert changed.startswith(text[: text.index("## Bars")])
    third = updated(changed, [Result("Third", ROWS)], "Likewise.")
    assert third.startswith(changed[: changed.index("## Bars")])
    assert third.endswith(f"## Third\n\n{table(ROWS)}\n\nLikewise.\n")
