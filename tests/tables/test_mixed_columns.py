"""Logs with texts among numbers, and with cells that are missing."""

import numpy as np
import pytest

from lincat import InvalidInputError
from lincat.data.mixed import rows_of
from lincat.data.steps import joined
from lincat.tables.columns import Columns
from lincat.tables.file_source import FileSource
from tests.tables.cases import FORMATS, write

LOG = {
    "site": ["a", "b", None, "a"],
    "queue": [3, 2, 1, 0],
    "load": [0.5, None, 1.5, 2.5],
    "reward": [1.0, 2.0, 3.0, 4.0],
}
ROWS = [("a", 3.0, 0.5), ("b", 2.0, None), (None, 1.0, 1.5), ("a", 0.0, 2.5)]


def steps_of(file, **options):
    source = FileSource(file, **options)
    return source, joined(list(source.batches()))


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("batch_rows", [1, 100])
@pytest.mark.parametrize("missing", ["auto", "indicator"])
def test_missing_cells_are_kept_in_a_frame(tmp_path, ending, batch_rows, missing):
    file = write(tmp_path / "log", LOG, ending)
    source, steps = steps_of(file, missing=missing, batch_rows=batch_rows)
    assert rows_of(steps.observation) == ROWS[:-1]
    assert rows_of(steps.next_observation) == ROWS[1:]
    assert not steps.truncated[:-1].any()
    assert source.missing_cells == {"site": 1, "load": 1}
    assert source.space.names == ("site", "queue", "load")
    assert source.notes == [
        "Columns: observed site, queue, load (all that are nothing else); reward.",
        f"Missing: {', '.join(f'{x} in 1 rows' for x in source.missing_cells)}, which were kept "
        "(--missing).",
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_rows_with_missing_cells_are_left_out_or_stop(tmp_path, ending):
    file = write(tmp_path / "log", LOG, ending)
    for options in ({"missing": "skip"}, {"on_bad_rows": "skip", "missing": "auto"}):
        source = FileSource(file, **options)
        with pytest.raises(InvalidInputError, match=r"one step, got none \(2 bad rows\)"):
            list(source.batches())
    with pytest.raises(InvalidInputError, match="row 2, load: expected a finite number, got not"):
        list(FileSource(file, missing="stop").batches())


@pytest.mark.parametrize("ending", FORMATS)
def test_numbers_alone_may_be_missing_too(tmp_path, ending):
    columns = {"obs_0": [0.5, None, 1.5], "obs_1": [1.0, 2.0, 3.0], "reward": [1.0, 2.0, 3.0]}
    file = write(tmp_path / "log", columns, ending)
    _, steps = steps_of(file, missing="auto")
    assert rows_of(steps.observation) == [(0.5, 1.0), (None, 2.0)]
    source = FileSource(file, missing="skip")
    with pytest.raises(InvalidInputError, match=r"got none \(1 bad rows\)"):
        list(source.batches())


def test_what_is_missing_late_is_an_error_that_names_the_option(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("obs_0,obs_1,reward\n" + "1,2,3\n" * 9000 + "1,,3\n" + "1,2,3\n")
    with pytest.raises(InvalidInputError, match=r"row 9001, obs_1: .*missing = indicator"):
        list(FileSource(file, missing="auto").batches())
    _, steps = steps_of(file, missing="indicator")
    assert rows_of(steps.observation[-1:]) == [(1.0, None)]


def test_words_for_nothing(tmp_path):
    file = tmp_path / "log.csv"
    cells = ["1.5", "NA", "nan", "NULL", "", "None", "2.5"]
    file.write_text("obs_0,obs_1,reward\n" + "".join(f"{x},1,0\n" for x in cells))
    _, steps = steps_of(file, missing="auto")
    assert [row[0] for row in rows_of(steps.observation)] == [1.5, *[None] * 5]


def test_transitions_with_missing_cells_follow_each_other(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text('x,y,next_x,next_y,reward\na,,b,1,0\nb,1,c,"",0\nc,,a,2,0\n')
    _, steps = steps_of(file, missing="auto")
    assert rows_of(steps.next_observation) == [("b", 1.0), ("c", None), ("a", 2.0)]
    assert steps.truncated.tolist() == [False, False, True]


def test_several_columns_are_ids_if_told(tmp_path):
    file = write(tmp_path / "log", {"x": ["a", "b"], "y": [1, 2], "reward": [0, 0]}, "csv")
    columns = Columns(observation=("x", "y"), kind="ids")
    _, steps = steps_of(file, columns=columns)
    assert steps.observation.tolist() == [("a", "1")]


def test_other_words_are_bad_rows(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("site,load,reward\na,1,0\nb,inf,0\na,2,0\nb,3,0\n")
    with pytest.raises(InvalidInputError, match="row 2, load: expected a finite number, got 'inf'"):
        list(FileSource(file, missing="auto").batches())
    source, steps = steps_of(file, missing="auto", on_bad_rows="skip")
    assert source.skipped_rows == 1
    assert np.isfinite(steps.observation["load"]).all()
