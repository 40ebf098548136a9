"""The command on tiny sizes, and its sections."""

import pytest

from lincat.evidence.__main__ import main
from lincat.evidence.document import with_section
from lincat.evidence.pictures import CLAIMS, drawn


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


def test_the_claims_say_what_the_pictures_show():
    rows = CLAIMS["mean_preservation"]()
    assert max(row["gap"] for row in rows if row["algorithm"] == "Linear-CTD") < 1e-12
    assert min(row["gap"] for row in rows if row["algorithm"] == "SSGD-PMF") > 1e-3
    rows = CLAIMS["metric"]()
    last = {row["algorithm"]: row["error"] for row in rows}
    assert last["Linear-CTD"] < 0.01 * last["SSGD-PMF"]
    assert "SSGD-PMF" in drawn("metric", rows).to_json()


def test_what_cannot_be_done_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["nonsense", "--out", str(tmp_path)])
    assert "expected bounds" in capsys.readouterr().err
    with pytest.raises(ValueError, match="a page with the marks"):
        with_section("nothing", "bounds", "section")
