from importlib import import_module

import pytest

from lincat.bench.run import SECTIONS
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
