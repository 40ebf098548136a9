"""Held-out scoring, on a market that does not change."""

import numpy as np
import pytest

from lincat.truth.electricity import ELECTRICITY, read_electricity, run_electricity
from lincat.truth.run import Cell, read_rows

SCRIPT = """
import numpy as np

GAMMA = 0.9
OBSERVATION = ["a", "b"]


def read_prices(wheel):
    print("not to be seen")
    return np.arange("2021-01-01", "2025-01-01", dtype="datetime64[h]"), None


def run_battery(times, prices):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, len(times)))
    return {"time": times, "a": a, "b": b, "cash": a + rng.standard_normal(len(times))}
"""


def test_what_does_not_change_is_predicted(tmp_path, capsys):
    script = tmp_path / "example.py"
    script.write_text(SCRIPT, encoding="utf-8")
    held_out = read_electricity(script, tmp_path / "a.whl")
    assert capsys.readouterr().out == ""
    assert len(held_out.log) == 2 * 365 * 24 - 1
    assert held_out.returns.std() == pytest.approx(np.sqrt(13 / 12 / (1 - 0.81)), rel=0.2)
    cell = Cell(ELECTRICITY, 2000, 0, "neighbours")
    row = run_electricity(held_out, cell, tmp_path)
    assert row.right
    assert row.w1 < 0.3
    assert run_electricity(held_out, cell, tmp_path) == row
    assert read_rows([cell], tmp_path) == [row]
    ours = run_electricity(held_out, Cell(ELECTRICITY, 2000, 0), tmp_path)
    assert ours.method == "lincat"
    assert ours.w1 is not None
