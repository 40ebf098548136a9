"""lincat predict: what it writes is what the model says, in every format."""

import csv
import io
import json

import numpy as np
import pytest

import lincat
from lincat.inference.intervals import shown_interval
from tests.cli.command import assert_one_line, lincat_here, lincat_process
from tests.runs.logs import write_names, write_points


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run on points, one on names, one on a finite process."""
    folder = tmp_path_factory.mktemp("predict")
    points = write_points(folder / "points.parquet", rows=2000)
    names = write_names(folder / "names.csv", rows=2000)
    for source, out in ((points, "points"), (names, "names"), ("frozen_lake", "lake")):
        options = ["--steps", 2000, "--gamma", 0.8, "--intervals", 10, "--level", 0.1]
        ended = lincat_here("evaluate", source, *options, "--out", folder / out)
        assert ended.code == 0, ended.err
    return folder


def predict(*arguments):
    return lincat_here("predict", *arguments)


def rows_of(binary, form):
    if form == "json":
        return json.loads(binary, parse_constant=pytest.fail)
    if form == "parquet":
        import pyarrow.parquet as pq

        return pq.read_table(io.BytesIO(binary)).to_pylist()
    return list(csv.DictReader(io.StringIO(binary.decode())))


POINTS = np.array([[0.0, 0.0], [1.0, -0.5], [-2.0, 0.25]])


def write_states(path):
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq

    rows = [{"obs_1": y, "extra": "x", "obs_0": x} for x, y in POINTS.tolist()]
    if path.suffix == ".csv":
        text = "".join(f"{y},x,{x}\n" for x, y in POINTS.tolist())
        path.write_text("obs_1,extra,obs_0\n" + text)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        pyarrow.feather.write_feather(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet", "feather"])
def test_every_format_in_and_out_holds_what_the_model_says(runs, tmp_path, form, ending):
    states = write_states(tmp_path / f"states.{ending}")
    out = tmp_path / f"risk.{form}"
    ended = predict(
        *(runs / "points", "--states", states, "--out", out),
        *("--quantile", 0.25, "--quantile", 0.5, "--below", 0.5, "--masses"),
    )
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines()[0] == f"Written: {out}, 3 states"
    rows = rows_of(out.read_bytes(), form)
    run = lincat.read_run(runs / "points")
    proper, learned = run.predict(POINTS, confidence=0.95), run.model.predict(POINTS)
    figures = {
        "mean": (proper.mean(), "mean", None),
        "std": (proper.std(), "std", None),
        "q0.25": (proper.quantile(0.25), "quantile", 0.25),
        "q0.5": (proper.quantile(0.5), "quantile", 0.5),
        "cvar0.1": (proper.cvar(0.1), "cvar", 0.1),
        "below0.5": (proper.probability_below(0.5), "probability_below", 0.5),
    }
    expected = {}
    for name, (values, measure, argument) in figures.items():
        low, high = shown_interval(proper, measure, argument)
        expected |= {name: values, f"{name}_low": low, f"{name}_high": high}
    expected["negative_mass"] = learned.negative_mass
    # What the file has is passed on, as it stands there.
    for j, name in ((1, "obs_1"), (0, "obs_0")):
        assert [float(row.pop(name)) for row in rows] == POINTS[:, j].tolist()
    assert {row.pop("extra") for row in rows} == {"x"}
    assert {row.pop("reason") for row in rows} == {""}
    assert list(rows[0])[: len(expected)] == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], values)
    assert {float(row.pop("confidence")) for row in rows} == {0.95}
    masses = np.array([[float(x) for x in list(row.values())[len(expected) :]] for row in rows])
    np.testing.assert_array_equal(masses, proper.pmf)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0)
    atoms = [float(name[2:-1]) for name in list(rows[0])[len(expected) :]]
    np.testing.assert_allclose(atoms, proper.grid.atoms, atol=1e-9)


def test_another_confidence_gives_other_intervals(runs):
    wide, narrow = (
        json.loads(predict(runs / "names", "--confidence", share, "--json").out)
        for share in (0.99, 0.5)
    )
    for one, other in zip(wide, narrow, strict=True):
        assert (one["confidence"], other["confidence"]) == (0.99, 0.5)
        assert one["mean_low"] < other["mean_low"] < one["mean"] == other["mean"]


def test_many_states_have_intervals_only_where_asked_for(runs, tmp_path):
    (tmp_path / "states.csv").write_text("state\n" + "place 0\n" * 1001)
    ended = predict(runs / "names", "--states", tmp_path / "states.csv", "--json")
    assert "mean_low" not in json.loads(ended.out)[0]
    assert ended.err.startswith(
        "No intervals of 1,001 states, as they take a while: --confidence gives them.\n"
    )


def test_a_run_without_intervals_says_why(tmp_path):
    log = write_names(tmp_path / "log.csv", rows=2000)
    options = ["--gamma", 0.8, "--learner", "softmax_ctd", "--out", tmp_path / "run"]
    assert lincat_here("evaluate", log, *options).code == 0
    ended = predict(tmp_path / "run", "--json")
    assert ended.err.startswith("No intervals: this learner settles elsewhere")
    assert "mean_low" not in json.loads(ended.out)[0]
    assert_one_line(predict(tmp_path / "run", "--confidence", 0.9), "confidence: expected")


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_standard_output_is_the_same_as_the_file(runs, tmp_path, form):
    ended = predict(runs / "names", "--format", form, "--quiet")
    assert (ended.code, ended.err) == (0, "")
    assert predict(runs / "names", "--out", tmp_path / f"a.{form}").code == 0
    assert (tmp_path / f"a.{form}").read_bytes() == ended.binary
    run = lincat.read_run(runs / "names")
    rows = rows_of(ended.binary, form)
    assert [row["state"] for row in rows] == run.names
    np.testing.assert_allclose([float(row["mean"]) for row in rows], run.returns.mean())


def test_the_format_given_wins_over_the_ending(runs, tmp_path):
    assert predict(runs / "names", "--format", "json", "--out", tmp_path / "a.csv").code == 0
    assert len(json.loads((tmp_path / "a.csv").read_text())) > 1


def test_names_of_states(runs, tmp_path):
    (tmp_path / "states.csv").write_text("state\nplace 0\nplace 1\nplace 0\n")
    rows = rows_of(
        predict(runs / "names", "--states", tmp_path / "states.csv", "--format", "json").binary,
        "json",
    )
    assert [row["state"] for row in rows] == ["place 0", "place 1", "place 0"]
    distribution = lincat.read_run(runs / "names").predict(np.array(["place 0", "place 1"], object))
    assert [row["mean"] for row in rows] == [*distribution.mean(), distribution.mean()[0]]


def test_numbers_of_states(runs, tmp_path):
    (tmp_path / "states.json").write_text("[0, 14, 3]")
    ended = predict(runs / "lake", "--states", tmp_path / "states.json", "--format", "json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)
    assert [row["state"] for row in rows] == [0, 14, 3]
    distribution = lincat.read_run(runs / "lake").predict([0, 14, 3])
    assert [row["mean"] for row in rows] == distribution.mean().tolist()


def test_whole_numbers_are_points_where_points_were_learned_from(tmp_path):
    rows = "".join(f"{t % 7 / 2},{t % 3}\n" for t in range(300))
    (tmp_path / "log.csv").write_text("mean,reward\n" + rows)
    (tmp_path / "ask.csv").write_text("mean\n1\n2\n")
    run = tmp_path / "run"
    options = ["--column", "observation=mean", "--gamma", 0.5, "--features", "scaling"]
    assert lincat_here("evaluate", tmp_path / "log.csv", *options, "--out", run).code == 0
    ended = predict(run, "--states", tmp_path / "ask.csv", "--json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)
    assert [row["observed mean"] for row in rows] == [1.0, 2.0]
    distribution = lincat.read_run(run).predict(np.array([[1.0], [2.0]]))
    assert [row["mean"] for row in rows] == distribution.mean().tolist()


def test_columns_that_the_run_was_told_of(tmp_path):
    (tmp_path / "log.csv").write_text("where,reward\n" + "a,1\nb,0\n" * 200)
    (tmp_path / "ask.csv").write_text("when,where\n1,b\n")
    run = tmp_path / "run"
    ended = lincat_here(
        *("evaluate", tmp_path / "log.csv", "--column", "observation=where", "--gamma", 0.5),
        *("--out", run),
    )
    assert ended.code == 0, ended.err
    (row,) = rows_of(predict(run, "--states", tmp_path / "ask.csv").binary, "csv")
    assert (row["when"], row["where"], row["reason"]) == ("1", "b", "")


@pytest.mark.parametrize(
    ("run", "name", "content", "message"),
    [
        ("names", "a.csv", "colour\nred\n", "a.csv, observation: expected columns state, as the"),
        ("names", "a.csv", "", "a.csv"),
        ("names", "a.csv", "state\n", "a.csv: expected observations, got none"),
        ("names", "absent.csv", None, "absent.csv"),
        ("names", "a.txt", "state\nx\n", "a.txt"),
        ("points", "a.csv", "obs_0\n1.5\n", "observation: expected columns obs_0, obs_1, as"),
        ("points", "a.csv", "state\nplace 0\n", "observation: expected columns obs_0, obs_1"),
        ("points", "a.json", "[]", "a.json: expected a JSON list of observations"),
        ("points", "a.json", "{", "a.json"),
        ("points", "a.json", "[{}]", "a.json"),
        ("points", "a.parquet", "junk", "a.parquet"),
    ],
)
def test_files_without_states_are_one_line(runs, tmp_path, run, name, content, message):
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    assert_one_line(predict(runs / run, "--states", file), message)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--quantile", "0"],
        ["--quantile", "1.5"],
        ["--quantile", "nan"],
        ["--level", "0"],
        ["--format", "xml"],
        ["--out", "absent/folder/risk.csv"],
        ["--below", "much"],
    ],
)
def test_bad_options_exit_with_two(runs, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    ended = predict(runs / "names", *arguments)
    assert ended.code == 2, ended.out
    assert "Error: " in ended.err
    assert ended.out == ""


def test_nothing_is_said_of_thresholds_outside_a_grid_that_lost_mass(runs, tmp_path):
    options = ["--gamma", 0.8, "--low", -0.5, "--high", 0.5, "--intervals", 10, "--validate", 0]
    out = tmp_path / "run"
    assert lincat_here("evaluate", runs / "names.csv", *options, "--out", out).code == 0

    def below(run, threshold):
        found = predict(run, "--below", threshold, "--format", "json")
        return [row[f"below{threshold:g}"] for row in rows_of(found.binary, "json")]

    assert set(below(out, -1.0)) == {None}
    assert None not in below(out, 0.1)
    assert None not in below(runs / "names", -1e3)  # a grid that holds everything


def test_a_threshold_that_is_no_number(runs):
    for text in ("nan", "inf"):
        assert_one_line(predict(runs / "names", "--below", text), "expected")


def test_files_that_were_tampered_with_are_one_line(runs, tmp_path):
    import shutil

    run = tmp_path / "run"
    shutil.copytree(runs / "names", run)
    (run / "model.safetensors").write_bytes(b"\x00" * 50)
    assert_one_line(predict(run), "model.safetensors")
    (run / "features.safetensors").unlink()
    assert_one_line(predict(run), "features.safetensors")
    (run / "config.toml").unlink()
    assert_one_line(predict(run), "expected the folder of a run")


def test_features_that_run_code_need_trust(tmp_path):
    points = write_points(tmp_path / "points.parquet", rows=500)
    run = tmp_path / "run"
    features = "sklearn.preprocessing:StandardScaler"
    assert (
        lincat_here("evaluate", points, "--gamma", 0.5, "--features", features, "--out", run).code
        == 0
    )
    assert_one_line(predict(run), "trust")
    assert predict(run, "--trust-code").code == 0


def test_a_process_of_its_own(runs):
    ended = lincat_process("predict", runs / "names", "--format", "json", "--quiet")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(json.loads(ended.stdout)) == len(lincat.read_run(runs / "names").names)
    assert "Examples:" in predict("--help").out


def test_an_environments_states_are_read_by_number_or_by_name(tmp_path):
    steps = ["--steps", 2000, "--n-envs", 4, "--gamma", 0.9, "--intervals", 10]
    assert lincat_here("evaluate", "gym:CartPole-v1", *steps, "--out", tmp_path / "run").code == 0
    (tmp_path / "given.csv").write_text("obs_0,obs_1,obs_2,obs_3\n0.1,0.2,0.03,0.4\n")
    names = "pole angle,cart position,pole angular velocity,cart velocity"
    (tmp_path / "named.csv").write_text(f"{names}\n0.03,0.1,0.4,0.2\n")
    first, second = (
        rows_of(predict(tmp_path / "run", "--states", tmp_path / x).binary, "csv")[0]
        for x in ("given.csv", "named.csv")
    )
    assert first["mean"] == second["mean"] != ""


@pytest.mark.parametrize(
    ("run", "content", "reason"),
    [
        ("names", "state\nplace 0\nnowhere\n", "'nowhere' was never seen"),
        ("names", 'state\nplace 0\n""\n', "state: expected an id, got nothing"),
        ("points", "obs_0,obs_1\n1,1\n1,x\n", "obs_1: expected a finite number, got 'x'"),
        ("points", "obs_0,obs_1\n1,1\n1,NaN\n", "obs_1: expected a finite number, got 'NaN'"),
        ("points", "[[1, 2], [3]]", "observation: expected a list of 2 finite numbers, got [3]"),
        ("points", "[[1, 2], [1, null]]", "observation: expected a list of 2 finite numbers, got"),
        ("lake", "[0, 16]", "16 was never seen"),
        ("lake", "[0, -1]", "-1 was never seen"),
        ("lake", '[0, "a"]', "'a' was never seen"),
        ("lake", "[0, 0.5]", "0.5 was never seen"),
        ("lake", "[0, null]", "state: expected an id, got nothing"),
    ],
)
def test_a_row_that_cannot_be_answered_has_a_reason(runs, tmp_path, run, content, reason):
    file = tmp_path / ("a.json" if content.startswith("[") else "a.csv")
    file.write_text(content)
    ended = predict(runs / run, "--states", file, "--format", "json")
    assert ended.code == 0, ended.err
    good, bad = json.loads(ended.out)
    assert good["reason"] == ""
    assert np.isfinite(good["mean"])
    assert bad["reason"].startswith(reason), bad["reason"]
    assert {bad[name] for name in ("mean", "std", "q0.5", "mean_low", "negative_mass")} == {None}


def test_nothing_may_be_answered(runs, tmp_path):
    (tmp_path / "a.csv").write_text("state\nnowhere\n")
    (row,) = rows_of(predict(runs / "names", "--states", tmp_path / "a.csv").binary, "csv")
    assert (row["mean"], row["reason"]) == ("", "'nowhere' was never seen")


def test_columns_are_found_by_name_wherever_they_stand(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{y:.3f},{x:.3f}\n" for x, y in rng.normal(size=(500, 2))]
    (tmp_path / "log.csv").write_text("height,width,reward\n" + "".join(lines))
    run = tmp_path / "run"
    assert lincat_here("evaluate", tmp_path / "log.csv", "--gamma", 0.5, "--out", run).code == 0
    files = {
        "as learned.csv": "height,width\n1,-2\n",
        "swapped.csv": "width,height\n-2,1\n",
        "other.csv": "w,h\n-2,1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    asked = [tmp_path / name for name in files]
    first, second = (predict(run, "--states", file, "--json") for file in asked[:2])
    assert json.loads(first.out)[0]["mean"] == json.loads(second.out)[0]["mean"]
    ended = predict(run, "--states", asked[2])
    assert_one_line(ended, "expected columns height, width, as the run observed, got only w, h")
    named = predict(run, "--states", asked[2], "--column", "observation=h,w", "--json")
    (row,) = json.loads(named.out)
    assert row["mean"] == json.loads(first.out)[0]["mean"]
    assert (row["w"], row["h"]) == (-2, 1)
    assert_one_line(predict(run, "--states", asked[2], "--column", "reward=w"), "--column")
    assert_one_line(predict(run, "--states", asked[2], "--column", "observation=a"), "a column 'a'")


@pytest.mark.parametrize("learned", ["csv", "parquet"])
def test_ids_do_not_depend_on_the_format(tmp_path, learned):
    import pyarrow as pa
    import pyarrow.parquet as pq

    state = [8, 9] * 150
    (tmp_path / "log.csv").write_text("state,reward\n" + "".join(f"{s},{s}\n" for s in state))
    texts = pa.table({"state": [str(s) for s in state], "reward": [float(s) for s in state]})
    pq.write_table(texts, tmp_path / "log.parquet")
    (tmp_path / "ask.csv").write_text("state\n8\n9\n")
    pq.write_table(pa.table({"state": ["8", "9"]}), tmp_path / "texts.parquet")
    pq.write_table(pa.table({"state": [8, 9]}), tmp_path / "numbers.parquet")
    pq.write_table(pa.table({"state": [8.0, 9.0]}), tmp_path / "floats.parquet")
    run = tmp_path / "run"
    log = tmp_path / f"log.{learned}"
    assert lincat_here("evaluate", log, "--gamma", 0.5, "--out", run).code == 0
    for name in ("ask.csv", "texts.parquet", "numbers.parquet", "floats.parquet"):
        rows = json.loads(predict(run, "--states", tmp_path / name, "--json").out)
        assert [row["reason"] for row in rows] == ["", ""]
        assert rows[0]["mean"] < rows[1]["mean"]


def test_texts_and_numbers_are_asked_about_as_they_were_learned_from(tmp_path):
    rng = np.random.default_rng(1)
    lines = [f"{'ab'[i % 2]},{x:.3f},{i % 2 + x:.3f}\n" for i, x in enumerate(rng.normal(size=600))]
    (tmp_path / "log.csv").write_text("site,load,reward\n" + "".join(lines))
    run = tmp_path / "run"
    assert lincat_here("evaluate", tmp_path / "log.csv", "--gamma", 0.5, "--out", run).code == 0
    (tmp_path / "a.csv").write_text("load,who,site\n0.5,ann,a\n0.5,bob,c\n,cid,b\nx,dan,b\n,eve,\n")
    rows = json.loads(predict(run, "--states", tmp_path / "a.csv", "--json").out)
    assert [row["who"] for row in rows] == ["ann", "bob", "cid", "dan", "eve"]
    assert [row["reason"] for row in rows] == [
        "",
        "site 'c' was never seen",
        "load missing was never seen",
        "load: expected a finite number, got 'x'",
        "site: expected something in site, load, got nothing",
    ]
    assert [row["mean"] is None for row in rows] == [False, False, False, True, True]


def test_columns_beside_the_observations_are_passed_on(runs, tmp_path):
    (tmp_path / "a.csv").write_text("obs_0,obs_1,obs_2,reason\n1,2,3,why\n")
    (tmp_path / "b.csv").write_text("obs_0,obs_1\n1,2\n")
    more, few = (
        rows_of(predict(runs / "points", "--states", tmp_path / f"{x}.csv").binary, "csv")[0]
        for x in "ab"
    )
    assert (more.pop("obs_2"), more.pop("observed reason")) == ("3", "why")
    assert more == few


def test_lines_are_answered_as_they_come(runs):
    lines = [
        b'{"obs_1": -0.5, "id": 7, "obs_0": 1.0}',
        b"oops",
        b"[1.0, -0.5]",
        b'{"obs_1": -0.5}',
        b"",
        b"[1.0]",
    ]
    ended = lincat_process(
        *("predict", runs / "points", "--follow", "--below", 0, "--quiet"),
        input=b"\n".join(lines).decode(),
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(rows) == 5
    mean = lincat.read_run(runs / "points").predict(POINTS[1:2]).mean()[0]
    assert [row["mean"] for row in rows] == [pytest.approx(mean), None, rows[0]["mean"], None, None]
    assert (rows[0]["id"], rows[0]["reason"], rows[2]["reason"]) == (7, "", "")
    assert rows[1]["reason"].startswith("expected JSON, got 'oops'")
    assert rows[3]["reason"] == "obs_0: expected a finite number, got nothing"
    assert 0.0 <= rows[0]["below0"] <= 1.0


def test_a_run_that_is_not_to_be_trusted_is_said_to_be_so(runs, tmp_path):
    """Figures that a page withholds as its headline are no headline elsewhere."""
    failed, out = runs / "points", tmp_path / "risk.csv"
    assert lincat.read_run(failed).trusted is False  # 2,000 rows, 10 intervals
    sentence = lincat.read_run(failed).answer.verdict.sentence
    said = predict(failed, "--out", out)
    assert (said.code, said.err.splitlines()[-1]) == (0, f"{failed}: {sentence}")
    assert out.exists()
    assert sentence not in predict(failed, "--quiet").err
    for more in ((), ("--quiet",), ("--follow",)):
        refused = predict(failed, "--require", "--out", tmp_path / "none.csv", *more)
        assert (refused.code, refused.out) == (4, "")
        assert (sentence in refused.err) == ("--quiet" not in more)
    assert not (tmp_path / "none.csv").exists()


def test_a_run_that_is_trusted_is_answered_with_require(runs, tmp_path):
    ended = lincat_here("evaluate", "frozen_lake", "--steps", 100_000, "--out", tmp_path / "run")
    assert (ended.code, lincat.read_run(tmp_path / "run").trusted) == (0, True)
    answered = predict(tmp_path / "run", "--require")
    assert (answered.code, "trusted" in answered.err) == (0, False)
