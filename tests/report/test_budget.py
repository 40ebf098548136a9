import msgspec

from lincat.inference.budget import Budget, Extrapolated, Part
from lincat.report.answer_page import evaluation_page
from lincat.report.budget import budget_rows, budget_section
from tests.report import samples

PARTS = (
    Part(code="sampling", size=0.04, text="standard error", remedy="more data"),
    Part(code="features", size=None, text="<none>", remedy="richer features (--features)"),
    Part(code="grid", size=0.3, text="twice as many", remedy="a finer grid (--intervals)"),
)
BUDGET = Budget(
    parts=PARTS,
    next="grid",
    sentence="Spend on a finer grid (--intervals) next: errors, grid 0.3.",
    residual=0.5,
    order=3.9,
    extrapolated=(Extrapolated(state="a <b>", std=1.25, cvar=-2.5),),
)


def test_rows_are_sorted_and_what_is_unknown_comes_last():
    rows = budget_rows(BUDGET)
    assert [row["source of error"] for row in rows] == ["Grid", "Sampling", "Features"]
    assert [row["size"] for row in rows] == [0.3, 0.04, None]


def test_the_section():
    html = budget_section(BUDGET)
    assert "<code>--intervals</code>" in html
    assert html.count("<rect") == 2
    assert html.count("series c1") == 1  # what to spend on stands out
    assert "&lt;none&gt;" in html
    assert "a &lt;b&gt;" in html
    assert budget_section(None) == ""
    assert budget_section(Budget(parts=(), next="", sentence="Nothing.", residual=0.0)) == ""


def test_pages_and_files_carry_it():
    answer = samples.learned()
    assert "What to spend on next" not in evaluation_page(answer)
    answer = msgspec.structs.replace(answer, budget=BUDGET)
    assert "What to spend on next" in evaluation_page(answer)
    assert type(answer).from_json(answer.to_json()) == answer
