import csv
import io

import numpy as np
import pytest
from rich.console import Console

import lincat
from lincat._rows import html_table
from lincat.report import tables

GRID = lincat.Grid(0.0, 4.0, 4)
DISTRIBUTIONS = lincat.ReturnDistribution.from_pmf(
    [[0.1, 0.2, 0.3, 0.2, 0.2], [0.0, 0.0, 1.0, 0.0, 0.0]], GRID
)


def test_summary_holds_the_figures_of_each_state():
    first, second = tables.summary_rows(DISTRIBUTIONS, ["a", "b"], level=0.1, threshold=2.0)
    assert list(first) == ["state", "mean", "std", "q0.1", "median", "q0.9", "cvar0.1", "P(G<2)"]
    assert first["mean"] == pytest.approx(2.2)
    assert first["P(G<2)"] == pytest.approx(0.3)
    assert second["state"] == "b"
    assert second["std"] == pytest.approx(0.0, abs=1e-9)


def test_summary_of_signed_distributions_says_how_negative_they_are():
    signed = lincat.ReturnDistribution([-0.5, 1.5, 1.0, 1.0], GRID)
    (row,) = tables.summary_rows(signed, ["a"])
    assert row["negative"] == pytest.approx(1.0)
    assert row["mean"] == pytest.approx(signed.mean()[0])
    assert row["std"] == pytest.approx(signed.proper().std()[0])


def test_masses_by_atom():
    rows = tables.mass_rows(DISTRIBUTIONS, ["a", "b"])
    assert [row["return"] for row in rows] == GRID.atoms.tolist()
    np.testing.assert_allclose([row["a"] for row in rows], DISTRIBUTIONS.pmf[0])


def test_csv_reads_back_to_the_last_digit():
    rows = tables.mass_rows(DISTRIBUTIONS, ["a", "b"])
    read = list(csv.DictReader(io.StringIO(tables.as_csv(rows))))
    assert [float(row["a"]) for row in read] == [row["a"] for row in rows]


def test_sparkline_shows_the_shape():
    assert tables.sparkline(np.array([0.0, 0.25, 0.5])) == " ▄█"
    assert len(tables.sparkline(np.full(100, 0.01))) == 16
    assert tables.sparkline(np.array([0.0, 0.001, 0.999])) == " ▁█"  # small is not nothing
    assert tables.sparkline(np.zeros(2)) == "  "


def test_table_rounds_what_rounding_left_over_to_zero():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(tables.rich_table([{"name": "x", "value": 1e-17}], zero_below=1e-12))
    text = console.export_text()
    assert "1e-17" not in text
    assert "0" in text


def test_markdown_and_latex():
    rows = [{"K²": 3, "a_b": None, "text": "1|2"}, {"K²": 40, "a_b": 0.123456, "text": "5 %"}]
    assert tables.as_markdown(rows) == (
        "| K² | a_b | text |\n| ---: | ---: | --- |\n| 3 | - | 1\\|2 |\n| 40 | 0.12346 | 5 % |\n"
    )
    assert tables.as_latex(rows) == (
        "\\begin{tabular}{rrl}\nK$^2$ & a\\_b & text \\\\\n\\hline\n"
        "3 & - & 1|2 \\\\\n40 & 0.12346 & 5 \\% \\\\\n\\end{tabular}\n"
    )
    html = html_table(rows)
    assert '<th class="right">K²</th><th class="right">a_b</th><th class="left">text</th>' in html
    assert '<td class="right">40</td><td class="right">0.12346</td>' in html
