"""Two runs at once: what is said where other work, or a single core, made it no measurement."""

import pytest

from lincat.bench import cores
from lincat.bench.settings import Settings


def section(monkeypatch, others, available=2):
    speeds = iter([1.8, 1.9, 1.7, 2.0, 1.6, 1.5, 1.8, 1.9] * 4)
    shares = iter(others * 32)
    monkeypatch.setattr(cores, "_round", lambda runs, pool: (next(speeds), next(shares)))
    monkeypatch.setattr(cores, "_cores", lambda: available)
    return cores.section(Settings(quick=True, rounds=4), lambda text: None)


def test_only_rounds_with_idle_cores_count(monkeypatch):
    found = section(monkeypatch, [0.9, 0.0])
    (row,), (bar,) = found.rows, found.bars
    assert row["idle rounds"] * 2 == row["rounds"]
    assert bar.measured == row["with idle cores"]


@pytest.mark.parametrize(
    ("others", "available", "said"),
    [([0.9], 2, "other work kept the cores busy"), ([0.0], 1, "only one core here")],
)
def test_without_two_idle_cores_there_is_no_figure(monkeypatch, others, available, said):
    (bar,) = section(monkeypatch, others, available).bars
    assert bar.measured is None
    assert said in repr(bar)


def test_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "_STAT", tmp_path / "none")
    assert cores._busy() == 0.0
    monkeypatch.delattr(cores.os, "sched_getaffinity")
    monkeypatch.setattr(cores.os, "cpu_count", lambda: None)
    assert cores._cores() == 1
