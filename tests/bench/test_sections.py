from importlib import import_module

import pytest

from lincat.bench.run import SECTIONS, run_section
from lincat.bench.settings import Settings


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_runs_on_tiny_sizes(name):
    said = []
    module = import_module(f"lincat.bench.{name}")
    result = module.section(Settings(rounds=1, quick=True), said.append)
    assert said
    assert result.rows
    assert result.bars
    if name in ("speed", "batches"):
        assert all(row["NumPy good"] > 0.0 for row in result.rows)


def test_a_section_that_fails_is_a_bar_that_does_not_hold():
    result = run_section("none", Settings(quick=True), quiet=True)
    assert [bar.holds for bar in result.bars] == [False]
    assert "lincat.bench.none" in result.notes[0]
