"""The command on tiny sizes, and its sections."""

import json

import pytest

from lincat.evidence import claims
from lincat.evidence.__main__ import main
from lincat.evidence.document import with_section
from lincat.evidence.pictures import CLAIMS, drawn
from lincat.theory.universal import UNIVERSAL


def test_sections_and_pictures_of_a_small_run(tmp_path, capsys):
    page = tmp_path / "page.md"
    marks = "".join(
        f"<!-- Begin {name}: make evidence -->\nold\n<!-- End {name} -->\n"
        for name in ("barrier", "tails")
    )
    page.write_text(f"before\n{marks}after\n")
    words = ["barrier", "tails", "--quick", "--out", str(tmp_path / "rows")]
    main([*words, "--write", str(page), "--images", str(tmp_path)])
    text = page.read_text()
    assert "VarianceReducedCTD" in text
    assert "for each unit of log(1/delta)" in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert {file.name for file in tmp_path.glob("*.svg")} == {
        "theory-barrier.svg",
        "theory-tails.svg",
    }
    main([*words])  # from the rows that are there
    assert "VarianceReducedCTD" in capsys.readouterr().out


def test_every_bound_has_a_row_that_says_how_loose_it_is(tmp_path, capsys):
    main(["bounds", "--quick", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "Fitted on 5 processes, tried on 2 others" in out
    rows = [line.split("|") for line in out.splitlines() if line.startswith("| `")]
    assert len(rows) == len(UNIVERSAL)
    for row in rows:
        covered, _, all_of_them = row[5].strip().partition(" of ")
        assert covered == all_of_them, row  # no constant of the library is too small
        assert float(row[7]) > 1.0, row


def test_the_table_of_plans_says_which_did_not_hold(tmp_path, capsys):
    def reached(process, share, transitions):
        return {
            "process": process,
            "planned_from": "a sample",
            "learner": "LinearCTD",
            "transitions": transitions,
            "least": 100,
            "share": share,
            "runs": 10,
        }

    kept = {
        "boyan_chain-process": [
            reached("boyan_chain", 1.0, 900),
            reached("boyan_chain", 1.0, 1100),
        ],
        "boyan_chain-sample": [reached("boyan_chain", 0.9, 200)],
        "random 4000": [reached("random 4000", 0.9, 150), reached("random 4000", 1.0, 420)],
    }
    for name, rows in kept.items():
        (tmp_path / f"plans-{name}.json").write_text(json.dumps(rows))
    main(["plans", "--quick", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    # More than ten times the least does not hold, nor does a share below 95 %.
    assert "10 runs each: 1 of 3 plans hold." in out
    assert [line.split("|")[7].strip() for line in out.splitlines() if "boyan" in line] == [
        "yes",
        "NO",
        "NO",
    ]
    assert "1 of 2 reached the target" in out
    assert "at most 4.2 times the least (LinearCTD, random 4000)" in out


def test_the_claims_say_what_the_pictures_show():
    rows = CLAIMS["mean_preservation"]()
    assert max(row["gap"] for row in rows if row["algorithm"] == "Linear-CTD") < 1e-12
    assert min(row["gap"] for row in rows if row["algorithm"] == "SSGD-PMF") > 1e-3
    rows = CLAIMS["metric"]()
    last = {row["algorithm"]: row["error"] for row in rows}
    assert last["Linear-CTD"] < 0.01 * last["SSGD-PMF"]
    assert "SSGD-PMF" in drawn("metric", rows).to_json()


def test_the_largest_step_shrinks_with_k_for_pmf_alone():
    step = {(row["algorithm"], row["K"]): row["step"] for row in claims.largest_steps((8, 32))}
    assert step["Linear-CTD", 32] > 0.8 * step["Linear-CTD", 8]
    assert step["SSGD-PMF", 32] < 0.1 * step["SSGD-PMF", 8]


def test_errors_fall_towards_the_least_possible():
    rows = claims.rates(runs=4, lengths=(256, 4096))
    error = {(row["learner"], row["T"]): row["error"] for row in rows}
    assert error["least possible", 4096] == pytest.approx(error["least possible", 256] / 4.0)
    for learner in ("LinearCTD, auto", "VarianceReducedCTD", "CategoricalLSTD"):
        assert error[learner, 4096] < 0.5 * error[learner, 256]
        assert error[learner, 4096] < 3.0 * error["least possible", 4096]


def test_a_walk_costs_more_only_where_features_blur_the_states():
    rows = claims.mixing(runs=1, transitions=100)
    limit = {name: [] for name in ("a table", "two features")}
    for row in rows:
        name, _, kind = row["features"].partition(", ")
        if kind == "limit":
            limit[name].append(row["walk over independent"])
        else:
            assert row["walk over independent"] > 0.0
    assert limit["a table"] == pytest.approx([1.0] * 5)
    assert limit["two features"] == sorted(limit["two features"])
    assert limit["two features"][-1] > 30.0


def test_what_cannot_be_done_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["nonsense", "--out", str(tmp_path)])
    assert "expected bounds" in capsys.readouterr().err
    with pytest.raises(ValueError, match="a page with the marks"):
        with_section("nothing", "bounds", "section")
