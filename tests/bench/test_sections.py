from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from lincat.bench.run import SECTIONS, run_here, run_section
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


def test_a_section_in_this_process_keeps_to_one_core(monkeypatch):
    asked, ran = [], []
    monkeypatch.setattr("os.sched_setaffinity", lambda pid, cores: asked.append(len(cores)))
    module = import_module("lincat.bench.target")
    monkeypatch.setattr(module, "section", lambda *arguments: ran.append(arguments))
    run_here("target", Settings(quick=True), ran.append)
    monkeypatch.setattr(import_module("lincat.bench.startup"), "section", module.section)
    run_here("startup", Settings(quick=True), ran.append)
    assert asked == [1]  # comparing libraries asks for it, starting a program does not
    assert len(ran) == 2


def test_every_size_draws_what_it_says():
    """Full sizes take minutes to measure; what they draw is looked at on few rows."""
    from lincat.bench import batch, intervals

    for case in intervals._CASES:
        data = case.drawn(200, seed=1)
        assert (data.n_features or case.d) == case.d
        values = np.unique(data.reward)
        assert (len(values) == case.rewards) if case.rewards else len(values) == 200
        if case.kind == "walk":
            apart = np.abs(data.phi - data.phi_next)
            assert set(np.unique(np.minimum(apart, case.d - apart))) <= {0, 1}
    for case in batch._CASES:
        small = replace(case, rows=600)
        data = batch._data(small, seed=1)
        assert data.n_features == case.d
        distinct = len(np.unique(data.reward))
        assert distinct <= case.nodes if case.nodes <= 64 else distinct == 600
