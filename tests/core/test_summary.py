"""What a picture shows of a grid, and of many states."""

import numpy as np
import pytest

import lincat
from lincat.core.figures import ridgelines
from lincat.core.summary import shown_states, visible_range

GRID = lincat.Grid(0.0, 20.0, 40)


def at(*places, grid=GRID):
    """All mass at one point, for each state."""
    return lincat.ReturnDistribution((grid.atoms[:-1] >= np.array(places)[:, None]) * 1.0, grid)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([10.0], (9.0, 11.0)),  # two atoms more on both sides
        ([5.0, 10.0], (4.0, 11.0)),
        ([0.0, 10.0], (0.0, 11.0)),
        ([2.0, 17.0], (1.0, 18.0)),  # 17 of 20 would be 0.85
    ],
)
def test_the_visible_range_has_a_margin_of_two_atoms(places, expected):
    whole = expected[1] - expected[0] > 0.8 * 20.0
    assert visible_range(at(*places)) == ((0.0, 20.0) if whole else expected)


def test_the_margin_is_a_part_of_what_is_seen_and_of_the_coarser_grid():
    fine = lincat.Grid(0.0, 200.0, 2000)
    low, high = visible_range(at(50.0, 100.0, grid=fine))
    assert (low, high) == pytest.approx((48.0, 102.0))  # 4 % of 50
    assert visible_range(at(50.0, grid=fine), at(10.0)) == pytest.approx((8.4, 51.6))
    assert visible_range(at(10.0, grid=fine), at(10.0)) == (9.0, 11.0)


def test_few_of_many_states_are_spread_evenly():
    assert shown_states(24) == list(range(24))
    some = shown_states(47)
    assert (len(some), some[0], some[-1]) == (24, 0, 46)
    assert set(np.diff(some)) == {2}


def test_a_picture_of_many_states_says_how_many_it_shows():
    chart = at(*np.linspace(0.0, 20.0, 30)).plot().to_dict()
    assert chart["title"]["subtitle"][-1].endswith("; 24 of 30 states")
    (rows,) = chart["datasets"].values() if "datasets" in chart else [chart["data"]["values"]]
    for row in rows:
        assert row["return"] == pytest.approx((row["left"] + row["right"]) / 2.0)
        assert row["density"] * (row["right"] - row["left"]) == pytest.approx(row["probability"])


def test_a_picture_of_few_states_has_a_subtitle_and_only_bars_with_something_in_them():
    note = ridgelines(at(10.0, 12.0), ["a", "b"], title="T", subtitle="Below").to_dict()
    assert note["title"]["subtitle"][0] == "Below"
    assert "states" not in note["title"]["subtitle"][-1]
    assert len(at(10.0).plot().to_dict()["title"]["subtitle"]) == 1
    (rows,) = note["datasets"].values()
    assert min(row["left"] for row in rows) >= 8.5
    assert max(row["right"] for row in rows) <= 13.5
