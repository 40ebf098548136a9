"""Times in logs: what the calendar says of them, and as the order of steps."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lincat
from lincat.data.steps import joined
from lincat.tables.columns import Columns
from lincat.tables.file_source import FileSource
from lincat.tables.times import angles, is_time, times_of, usual_gap
from tests.cli.command import assert_one_line, lincat_here

MOMENTS = [
    datetime.datetime(2024, 2, 29, 6, 30),
    datetime.datetime(2023, 12, 31, 23, 59, 59),
    datetime.datetime(1969, 7, 20, 20, 17),
]


def naive_angle(moment, part):
    """By the standard library."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    hour = (moment - day) / datetime.timedelta(days=1)
    if part == "hour":
        return 2 * np.pi * hour
    if part == "weekday":
        return 2 * np.pi * moment.weekday() / 7
    first, after = (datetime.datetime(moment.year + k, 1, 1) for k in (0, 1))
    return 2 * np.pi * ((moment - first) / (after - first))


FORMS = {
    "texts": lambda: [x.isoformat() for x in MOMENTS],
    "texts in a zone": lambda: [x.isoformat(" ") + "+02:00" for x in MOMENTS],
    "texts of CSV": lambda: pa.array([x.isoformat() + ".123456789Z" for x in MOMENTS]),
    "seconds": lambda: [x.replace(tzinfo=datetime.UTC).timestamp() for x in MOMENTS],
    "timestamps": lambda: pa.array(MOMENTS, pa.timestamp("ns")),
    "a zone": lambda: pa.array([x.astimezone() for x in MOMENTS], pa.timestamp("us", "UTC")),
}


@pytest.mark.parametrize("part", ["hour", "weekday", "season"])
@pytest.mark.parametrize("form", FORMS)
def test_the_calendar_is_that_of_the_standard_library(form, part):
    got = angles(times_of(FORMS[form]()), part)
    expected = [naive_angle(x, part) for x in MOMENTS]
    np.testing.assert_allclose(np.cos(got - expected), 1.0, atol=1e-9)


def test_dates_milliseconds_and_what_is_no_time():
    dates = times_of(pa.array([datetime.date(2024, 1, 1)]))
    assert angles(dates, "hour").tolist() == [0.0]
    milliseconds = times_of([1_700_000_000_000, 1_700_000_000])
    assert milliseconds.micros[0] == milliseconds.micros[1]
    wrong = times_of(["2024-02-30", "soon", None, "", "2024-01-01"])
    assert (wrong.bad.tolist(), wrong.missing.tolist()) == (
        [True, True, False, False, False],
        [False, False, True, True, False],
    )
    np.testing.assert_array_equal(angles(wrong, "hour"), [np.inf, np.inf, np.nan, np.nan, 0.0])
    assert is_time(["2024-01-01", None])
    assert not is_time(["north", "2024-01-01", "south"])
    assert not is_time([1.0, 2.0])


def test_a_zone_gives_the_clock_and_steps_go_on_when_clocks_change():
    hours = pa.array(np.arange(4) * 3_600_000_000 + 1_711_839_600_000_000, pa.timestamp("us"))
    berlin = hours.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Europe/Berlin"))
    clock = angles(times_of(berlin), "hour") / (2 * np.pi) * 24
    np.testing.assert_allclose(clock, [0, 1, 3, 4])  # 31 March 2024
    assert usual_gap(times_of(berlin, clock=False).micros) == 3_600_000_000


def write_hours(path, rows, keep=lambda t: True):
    """Rewards that depend on the hour alone."""
    start = datetime.datetime(2024, 1, 1)
    moments = [start + datetime.timedelta(hours=t) for t in range(rows) if keep(t)]
    rng = np.random.default_rng(0)
    reward = [float(x.hour < 12) + 0.1 * rng.normal() for x in moments]
    lines = [f"{x.isoformat()},{r:.3f}" for x, r in zip(moments, reward, strict=True)]
    path.write_text("\n".join(["when,reward", *lines]) + "\n")
    return path


def test_a_gap_in_time_breaks_the_record(tmp_path):
    file = write_hours(tmp_path / "log.csv", 100, keep=lambda t: t not in (40, 41))
    columns = Columns(calendar="when.hour", step="when")
    steps = joined(list(FileSource(file, columns=columns).batches()))
    assert steps.observation.shape == (96, 2)  # 98 rows, two of which only end a record
    assert np.flatnonzero(steps.truncated).tolist() == [38, 95]
    assert FileSource(file, columns=columns).notes == [
        "Columns: observed calendar of when; reward; step when, every 1 h."
    ]


def test_times_that_are_irregular_only_give_the_order(tmp_path):
    when = [0, 5, 7, 7, 40, 2]
    lines = [f"{e},2024-01-01T00:{m:02d},x{m},1" for e, m in zip([1] * 5 + [2], when, strict=True)]
    file = tmp_path / "log.csv"
    file.write_text("\n".join(["episode,when,state,reward", *lines]) + "\n")
    steps = joined(list(FileSource(file, columns=Columns(step="when")).batches()))
    assert steps.terminated.tolist() == [False] * 4 + [True, True]
    file.write_text(file.read_text().replace("00:40", "00:03"))
    with pytest.raises(
        lincat.InvalidInputError, match="row 5: expected a step after that of row 4"
    ):
        list(FileSource(file, columns=Columns(step="when")).batches())


def test_steps_that_count_by_another_number(tmp_path):
    file = tmp_path / "log.csv"
    rows = [f"{t},{t % 3},1" for t in range(0, 300, 10) if t != 100]
    file.write_text("\n".join(["tick,state,reward", *rows]) + "\n")
    source = FileSource(file, columns=Columns(step="tick"))
    steps = joined(list(source.batches()))
    assert (len(steps), np.flatnonzero(steps.truncated).tolist()) == (27, [8, 26])
    assert source.notes == ["Columns: observed state; reward; step tick, every 10."]


def test_transitions_have_the_calendar_of_the_next_time_too():
    when = pa.array([x for x in MOMENTS])
    table = {"x": [1.0, 2.0, 3.0], "next_x": [2.0, 3.0, 4.0], "reward": [0.0] * 3}
    columns = Columns(calendar="when")
    frame = pa.table({**table, "when": when, "next_when": when})
    (steps,) = FileSource(frame, columns=columns).batches()
    np.testing.assert_array_equal(steps.observation[:, 1:], steps.next_observation[:, 1:])
    with pytest.raises(lincat.InvalidInputError, match="calendar: expected a column 'next_when'"):
        FileSource(pa.table({**table, "when": when}), columns=columns)


@pytest.fixture(scope="module")
def hours(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hours")
    write_hours(folder / "log.csv", 6000)
    options = ["--column", "calendar=when.hour", "--column", "step=when", "--gamma", 0.5]
    ended = lincat_here("evaluate", folder / "log.csv", *options, "--out", folder / "run")
    assert ended.code == 0, ended.err
    return folder


def test_the_hour_tells_what_follows_and_predict_reads_it_from_the_time(hours):
    run = lincat.read_run(hours / "run")
    states = hours / "states.csv"
    states.write_text("id,when\n1,2030-05-05T03:00\n2,2030-05-05T15:00\n3,late\n")
    ended = lincat_here("predict", hours / "run", "--states", states, "--json")
    rows = json.loads(ended.out)
    means = [row["mean"] for row in rows]
    assert means == [pytest.approx(2.0, abs=0.2), pytest.approx(0.0, abs=0.2), None]
    assert rows[2]["reason"].startswith("when.hour.cos: expected a finite number")
    assert rows[0]["when"] == "2030-05-05T03:00"
    lines = b'{"when": "2031-01-01T03:00"}\n{"when": 1893553200}\n'
    ended = lincat_here("predict", hours / "run", "--follow", stdin=lines)
    followed = [json.loads(line)["mean"] for line in ended.out.splitlines()]
    assert followed == [pytest.approx(means[0], abs=1e-6)] * 2
    frame = {"when": np.array(["2030-05-05T03:00"], "datetime64[s]")}
    assert run.predict(frame).mean() == pytest.approx(means[0], abs=1e-6)


def test_a_time_beside_texts_and_in_python(tmp_path):
    when = np.datetime64("2024-01-01", "s") + np.arange(400) * np.timedelta64(1, "h")
    site = np.array(["north", "south"] * 200)
    frame = {"when": when, "site": site, "reward": np.where(site == "north", 1.0, 0.0)}
    run = lincat.evaluate(
        frame,
        gamma=0.5,
        columns={"calendar": ("when.hour", "when.weekday")},
        validate=0,
        intervals=20,
    )
    assert run.answer.observation_names[0] == "site"
    assert any(note.startswith("Columns: observed site (all that") for note in run.answer.notes)
    pq.write_table(pa.table(frame), tmp_path / "log.parquet")
    ended = lincat_here("evaluate", tmp_path / "log.parquet", "--column", "observation=when")
    assert_one_line(ended, "to observe hour, weekday and season: --column calendar=when")
