"""What is held out: how much, from where, and the same again when a run goes on."""

import math

import numpy as np
import pytest

import lincat
from lincat.data.steps import joined
from lincat.runs.config import EvaluationConfig
from lincat.runs.holding_out import held_out_rows, hold_out_of, spread_hold_out
from lincat.runs.sources import open_source
from tests.runs.logs import write_points


def opened(*source, **options):
    return open_source(EvaluationConfig(source=list(source), **options))


@pytest.mark.parametrize("gamma", [0.0, 0.001, 0.5, 0.9, 0.99])
def test_enough_is_held_out_for_all_returns_to_be_known(tmp_path, gamma):
    found = opened(write_points(tmp_path / "log.parquet", rows=100), gamma=gamma)
    assert held_out_rows(0, found) == 0
    rows = held_out_rows(40, found)
    assert rows >= 40
    never, no = np.ones(rows), np.zeros(rows, bool)
    _, usable = lincat.returns_to_go(never, no, no, gamma, tolerance=1e-2)
    assert usable.sum() >= 40


def test_nothing_is_held_out_of_what_can_be_had_anew():
    assert held_out_rows(500, opened("frozen_lake")) == 0
    assert held_out_rows(500, opened("gym:CartPole-v1")) == 0


def test_by_default_a_tenth_of_every_part_is_held_out(tmp_path):
    found = opened(write_points(tmp_path / "log.parquet", rows=12_000), gamma=0.9)
    held = spread_hold_out(None, found)
    steps = joined(list(found.source.batches()))
    list(held.passing([steps]))
    rest = math.ceil(math.log(1e-2) / math.log(0.9))
    parts = 240 // rest  # 2 % of the rows may be held out for the sake of returns from others
    assert held.rows == 1200 + parts * rest
    assert len(held.kept) == held.rows - (12_000 - len(steps))


def test_the_middle_where_parts_would_be_short(tmp_path):
    few = opened(write_points(tmp_path / "few.parquet", rows=400), gamma=0.9)
    begin, end = spread_hold_out(None, few).edges
    assert (end - begin, begin) == (40 + 44, (400 - 84) // 2)
    fewer = opened(write_points(tmp_path / "fewer.parquet", rows=200), gamma=0.9)
    assert spread_hold_out(None, fewer) is None  # 20 + 44 of them are more than three tenths
    assert held_out_rows(None, fewer) == 0


def test_the_last_rows_where_they_were_asked_for(tmp_path):
    many = opened(write_points(tmp_path / "many.parquet", rows=12_000), gamma=0.9)
    assert spread_hold_out(100, many) is None
    assert spread_hold_out(None, opened("frozen_lake")) is None


def test_with_a_window_the_last_rows_are_held_out(tmp_path):
    log = write_points(tmp_path / "log.parquet", rows=12_000)
    for window, spread in ((None, True), (2000, False)):
        config = EvaluationConfig(source=[log], gamma=0.9, window=window)
        held = hold_out_of(config, open_source(config))
        assert hasattr(held, "edges") == spread
