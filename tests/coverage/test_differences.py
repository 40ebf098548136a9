"""The small version of the study of differences."""

import msgspec
import numpy as np

from lincat.core.differences import FIGURES
from lincat.coverage.differences import as_document, main, missed, run_pair
from lincat.coverage.pairs import PAIRS, pair_named, pair_truth


def test_true_differences_are_known():
    for name in PAIRS:
        a, b = pair_truth(name)
        same = np.abs(a.cdf_values - b.cdf_values).max() < 1e-9
        assert same == name.endswith("equal")
    worse = pair_truth("one log, worse")
    assert (worse[0].mean() > worse[1].mean()).all()


def test_rows_of_one_log_are_shared():
    for name in PAIRS:
        one, two = pair_named(name).logs(500, seed=1)
        assert np.array_equal(one.reward, two.reward) == name.startswith("one log")


def test_a_small_study(tmp_path, capsys):
    arguments = ["--pairs", "one log, worse", "--sizes", "3000", "--runs", "3"]
    main([*arguments, "--out", str(tmp_path)])
    first = capsys.readouterr()
    main([*arguments, "--out", str(tmp_path)])  # what is there is not run again
    assert capsys.readouterr().out == first.out
    assert "one log, worse" in first.out
    row = run_pair("one log, worse", 3000, 3)
    assert row.paired
    assert row.false_dominance == (0.0, 0.0)
    assert row.a_wins == (1.0, 1.0)
    assert row.width[0] < 1.0
    assert len(row.coverage) == len(FIGURES)
    assert as_document([row]) == first.out.rstrip("\n") + "\n"
    page = tmp_path / "page.md"
    main([*arguments, "--out", str(tmp_path), "--write", str(page)])
    assert page.read_text(encoding="utf-8") == as_document([row])
    assert capsys.readouterr().out == ""


def test_what_misses_a_bar_is_named():
    row = run_pair("paper, equal", 2000, 2)
    row = msgspec.structs.replace(
        row,
        runs=500,
        coverage=(0.95, 0.8, 0.95, 0.95),
        coverage_se=(0.01,) * 4,
        false_dominance=(0.1, 0.04),
    )
    assert missed(row) == ["quantile", "dominance 1"]
    assert "**80.0%**" in as_document([row])


def test_what_is_true_is_no_false_dominance():
    row = run_pair("episodes, calmer", 3000, 2)
    # Nowhere better to first order; safer and at least as good from the last state.
    assert row.a_wins == row.b_wins[:1] * 2 == (0.0, 0.0)
    equal = run_pair("paper, equal", 2000, 2)
    for a, b, wrong in zip(equal.a_wins, equal.b_wins, equal.false_dominance, strict=True):
        assert wrong == a + b
