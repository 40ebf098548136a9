import re

import numpy as np

import lincat
from lincat.core.uncertainty import Uncertainty
from lincat.report.answer_page import comparison_text
from lincat.report.differences import certainty_sentence, difference_rows, differences_section
from tests.report import samples

GRID = lincat.Grid(0.0, 10.0, 20)


def side(mean, size=0.002, n=2):
    x = GRID.atoms[:-1]
    cdf = np.tile(1.0 / (1.0 + np.exp(-(x - mean) / 0.7)), (n, 1))
    rng = np.random.default_rng(int(100 * mean))
    directions = size * rng.normal(size=(8, n, 1)) * (cdf * (1 - cdf))[None] * 4
    return lincat.ReturnDistribution(cdf, GRID, Uncertainty(directions, 0.95, np.zeros(n, bool)))


def compared(a, b, **options):
    from lincat.inference.comparison import compare_distributions

    names = ["start", 'odd <"&> state']
    options = {"paired": False, "names": ("one", "two"), "threshold": 4.0, **options}
    return compare_distributions(a, b, names, **options)


def test_certainty_in_words():
    clear = certainty_sentence(compared(side(6.0), side(5.0)))
    assert re.fullmatch(
        r"From the start state the means differ, run one is higher by 0\.9\d* to 1\.0\d* \(95 %\); "
        r"the averages over the worst 5 % of runs differ, run one is higher by [\d.]+ to [\d.]+ "
        r"\(95 %\)\. Run one is at least as good at every return \(stochastic dominance\)\.",
        clear,
    ), clear
    unclear = certainty_sentence(compared(side(5.0, 0.05), side(5.02, 0.05)))
    assert "the means cannot be told apart (one − two is between −" in unclear
    assert "dominance" not in unclear
    other = certainty_sentence(compared(side(5.0), side(6.0)))
    assert "run two is higher by" in other
    assert certainty_sentence(compared(side(5.0), side(6.0), failed=["two"])) == ""


def test_rows_and_section():
    found = compared(side(6.0), side(5.0), paired=True)
    rows = difference_rows([found])
    assert [row["state"] for row in rows] == ["start", 'odd <"&> state']
    assert list(rows[0]) == [
        "state", "difference", "dominance", "mean", "q0.05", "cvar0.05", "P(G<4)",
    ]  # fmt: skip
    assert re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", rows[0]["mean"])
    assert rows[0]["dominance"] == "one dominates"
    html = differences_section([found])
    assert "the same rows, so that errors they share cancel" in html
    assert html.count("<svg") == 2
    assert '<"&>' not in html
    several = differences_section([found, compared(side(6.0), side(5.5))])
    assert "rows of their own, or the same rows" in several
    assert several.count("<circle") == 8
    without = compared(side(6.0), lincat.ReturnDistribution(side(5.0).cdf_values, GRID))
    assert "<svg" not in differences_section([without])
    assert difference_rows([without])[0]["dominance"] == "not shown"
    assert differences_section([]) == ""


def test_a_text_ranks_with_certainty():
    answers, names = samples.compared()
    found = compared(side(6.0), side(5.0))
    text = comparison_text(answers, names, comparisons=[found])
    assert text.endswith("(stochastic dominance).")
    assert "has the highest mean return" in text
