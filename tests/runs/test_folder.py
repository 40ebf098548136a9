"""The run folder: what is refused, what is cleared, what survives, what is pruned."""

from pathlib import Path

import msgspec
import pytest

import lincat
from lincat._seals import JSON, TOML
from lincat.runs.checkpoints import Intact
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import MetricsRow, RunFolder
from lincat.runs.shown import ShownStates

CONFIG = EvaluationConfig(source=["paper"], steps=2000)


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run", CONFIG)


def names(path):
    return sorted(p.name for p in path.iterdir())


def test_a_new_folder_holds_the_settings_and_versions(folder):
    assert names(folder.path) == ["checkpoints", "config.toml", "lock", "versions.json"]
    assert folder.config == CONFIG
    assert folder.versions["lincat"] == lincat.__version__
    assert {"python", "platform", "numpy", "numba", "pyarrow", "gymnasium"} <= set(folder.versions)
    assert not folder.finished
    assert folder.checkpoints.newest() is None
    assert folder.metrics() == []
    assert RunFolder.open(folder.path).config == CONFIG


def test_a_folder_with_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(lincat.InvalidInputError, match="--out: expected a new or empty folder"):
        RunFolder.create(tmp_path, CONFIG)
    assert names(tmp_path) == ["thesis.tex"]


def test_a_run_is_refused_and_left_alone(folder):
    folder.append_metrics(MetricsRow(transitions=1))
    with pytest.raises(lincat.InvalidInputError, match="--force"):
        RunFolder.create(folder.path, EvaluationConfig(source=["other"]))
    assert folder.config == CONFIG
    assert len(folder.metrics()) == 1


def full(folder):
    """Everything that a run writes, and some that it does not."""
    folder.checkpoints.write(5, {"model.safetensors": b"x"})
    folder.append_metrics(MetricsRow(transitions=5))
    files = (folder.states_file, folder.result_file, folder.report_file)
    for file in (*files, folder.model_file, folder.features_file):
        file.write_bytes(b"x")
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / "checkpoints" / "best").mkdir()
    (folder.path / "checkpoints" / "best" / "net.pt").write_text("mine")
    (folder.path / "checkpoints" / "5").mkdir()


MINE = ["checkpoints", "checkpoints/5", "checkpoints/best", "checkpoints/best/net.pt", "notes.txt"]


def everything(path):
    return sorted(str(p.relative_to(path)) for p in path.rglob("*"))


def test_force_clears_what_runs_write_and_nothing_else(folder):
    full(folder)
    folder.release()
    other = EvaluationConfig(source=["uniform_coin"])
    new = RunFolder.create(folder.path, other, force=True)
    assert everything(folder.path) == sorted([*MINE, "config.toml", "lock", "versions.json"])
    assert new.config == other
    assert new.checkpoints.newest() is None
    assert not new.finished


def test_force_leaves_no_checkpoint_of_a_run_that_lost_its_settings(folder):
    folder.checkpoints.write(5, {"a": b"x"})
    folder.config_file.unlink()
    folder.release()
    assert RunFolder.create(folder.path, CONFIG, force=True).checkpoints.newest() is None


def test_discarding_leaves_what_is_not_ours(folder):
    full(folder)
    folder.discard()
    assert everything(folder.path) == MINE


def test_discarding_a_new_run_leaves_nothing(folder):
    folder.discard()
    assert not folder.path.exists()


def test_a_run_that_fails_is_discarded_unless_something_was_learned(tmp_path):
    def failing(error, checkpoint):
        folder = RunFolder.create(tmp_path / "fails", CONFIG, force=True)
        if checkpoint:
            folder.checkpoints.write(7, {})
        with pytest.raises(type(error)), folder.kept_if_learned():
            raise error
        return folder.path.exists()

    assert not failing(lincat.InvalidInputError("bad row"), checkpoint=False)
    assert not failing(RuntimeError("broken environment"), checkpoint=False)
    assert failing(lincat.InvalidInputError("bad row"), checkpoint=True)
    assert failing(lincat.DivergenceError(1, 1.0, 1.0, 1.0), checkpoint=False)


@pytest.mark.parametrize("place", ["/proc/nowhere/run", "{file}/run", "{file}", "/dev/null/run"])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path, place):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(lincat.InvalidInputError, match="--out: expected a folder that can be"):
        RunFolder.create(Path(place.format(file=file)), CONFIG)
    with pytest.raises(lincat.InvalidInputError, match="--out: expected"):
        RunFolder.create(Path(place.format(file=file)), CONFIG, force=True)
    assert file.read_text() == "mine"


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lincat.runs.folder.write_atomically", full_disk)
    with pytest.raises(lincat.InvalidInputError, match=r"--out: .* \(No space left on device\)"):
        RunFolder.create(tmp_path / "run", CONFIG)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_opening_what_is_no_run_is_one_line(tmp_path, make):
    make(tmp_path / "run")
    with pytest.raises(lincat.InvalidInputError, match="expected the folder of a run"):
        RunFolder.open(tmp_path / "run")


# ------------------------------------------------------------------------------------- metrics


def test_metrics_are_rows_in_order(folder):
    for n in (1, 2, 3):
        folder.append_metrics(MetricsRow(transitions=n))
    folder.forget_metrics_after(2)
    assert [row.transitions for row in folder.metrics()] == [1, 2]
    folder.forget_metrics()
    folder.forget_metrics()
    assert folder.metrics() == []


def test_a_last_row_that_was_cut_off_is_forgotten(folder):
    folder.append_metrics(MetricsRow(transitions=1))
    with folder.metrics_file.open("a") as file:
        file.write('{"transitions": 2, "mea')
    assert [row.transitions for row in folder.metrics()] == [1]
    folder.forget_metrics_after(10)
    folder.append_metrics(MetricsRow(transitions=3))
    assert [row.transitions for row in folder.metrics()] == [1, 3]


def test_a_damaged_row_is_not_taken_for_one_that_was_cut_off(folder):
    for n in (1, 2, 3):
        folder.append_metrics(MetricsRow(transitions=n))
    folder.metrics_file.write_bytes(folder.metrics_file.read_bytes().replace(b":2,", b":4,"))
    with pytest.raises(lincat.InvalidInputError, match=r"metrics\.jsonl, line 2: expected a row"):
        folder.metrics()


# --------------------------------------------------------------------------------- checkpoints


def test_the_newest_two_checkpoints_are_kept(folder):
    for n in (9, 100, 1_000_000, 20):
        folder.checkpoints.write(n, {"a": str(n).encode()})
    kept = names(folder.path / "checkpoints")
    assert kept == ["000000000100", "000001000000"]
    assert (folder.checkpoints.newest() / "a").read_text() == "1000000"


def test_a_checkpoint_is_replaced_whole(folder):
    folder.checkpoints.write(5, {"a": b"old", "b": b"old"})
    folder.checkpoints.write(5, {"a": b"new"})
    assert names(folder.checkpoints.newest()) == ["SHA256SUMS", "a"]
    assert (folder.checkpoints.newest() / "a").read_bytes() == b"new"


def test_a_checkpoint_that_was_not_finished_does_not_count(folder, monkeypatch):
    folder.checkpoints.write(5, {"a": b"x"})

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lincat.runs.checkpoints.os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.checkpoints.write(6, {"a": b"y"})
    assert folder.checkpoints.newest().name.endswith("005")
    folder.checkpoints.write(6, {"a": b"z"})
    assert (folder.checkpoints.newest() / "a").read_bytes() == b"z"


def test_damaged_checkpoints_are_passed_over(folder):
    for n in (5, 6):
        folder.checkpoints.write(n, {"a": b"x", "b": b"y"})
    older, newest = sorted(folder.checkpoints.path.iterdir())
    assert folder.checkpoints.intact() == Intact(newest)
    (newest / "b").unlink()
    assert folder.checkpoints.intact() == Intact(older, (newest,))
    assert folder.checkpoints.intact().word.endswith("the one before is used, after 5 transitions.")
    (older / "SHA256SUMS").write_text("")
    with pytest.raises(lincat.InvalidInputError, match=r"expected a checkpoint .* got damaged"):
        folder.checkpoints.intact()


def test_what_killed_processes_left_is_swept(folder):
    """Of ours: files of others, however hidden, stay."""
    draft = folder.checkpoints.path / ".000000000009.4711"
    draft.mkdir()
    (draft / "model.safetensors").write_bytes(b"half")
    (folder.path / ".result.json.k3j_x9ab").write_bytes(b"half")
    (folder.path / ".mine").write_text("mine")
    folder.parts.mkdir()
    for name in ("0123456789ab-000003", ".0123456789ab-000004.m58m3fcw", ".mine"):
        (folder.parts / name).write_bytes(b"half")
    folder.checkpoints.write(5, {"a": b"x"})
    folder.sweep()
    assert names(folder.checkpoints.path) == ["000000000005"]
    assert names(folder.parts) == [".mine", "0123456789ab-000003"]
    kept = [".mine", "checkpoints", "config.toml", "lock", "parts", "versions.json"]
    assert names(folder.path) == kept


# -------------------------------------------------------------------------------------- result


def test_no_result_says_how_to_get_one(folder):
    with pytest.raises(lincat.InvalidInputError, match=r"lincat resume .* continues it"):
        folder.answer  # noqa: B018


@pytest.mark.parametrize("content", [b"{", b"\xff", b"", b"[1]", b"null"])
def test_a_broken_result_is_one_line(folder, content):
    folder.result_file.write_bytes(content)
    with pytest.raises(
        lincat.InvalidInputError, match=r"result\.json: expected the answer of a run"
    ):
        folder.answer  # noqa: B018
    folder.states_file.write_bytes(content)
    with pytest.raises(lincat.InvalidInputError, match=r"states\.json: expected the states"):
        folder.shown  # noqa: B018


def test_an_answer_of_another_version_is_told_to_be_one(folder):
    """Results had no format before there were answers."""
    old = '{"complete": true, "names": ["start"], "cdf": [[0.5]]}'
    folder.result_file.write_bytes(JSON.sealed(old))
    expected = "expected the answer of a run in format 1, got that of another version of lincat"
    with pytest.raises(lincat.InvalidInputError, match=f"{expected}; evaluate again"):
        folder.answer  # noqa: B018


@pytest.mark.parametrize(
    "content",
    [
        b"[1]",
        b'{"names": ["a"], "members": []}',
        b'{"names": ["a"], "members": [{}]}',
        b'{"names": ["a"], "members": [{"points": [[1.0], [2.0, 3.0]]}]}',
        b'{"names": ["a", "b"], "members": [{"points": [[1.0]]}, {"numbers": [1]}]}',
        b'{"names": ["a"], "members": [{"numbers": [1]}], "features": [[1.0], [2.0]]}',
        b"[" * 100_000,
    ],
)
def test_states_with_a_right_checksum_and_a_wrong_content_are_refused(content):
    with pytest.raises(lincat.InvalidInputError, match="the states of a run") as error:
        ShownStates.from_json(content, "states.json")
    assert "\n" not in str(error.value)


def test_a_checkpoint_that_cannot_be_written_leaves_no_draft(folder, monkeypatch):
    def full(place, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lincat.runs.checkpoints.write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        folder.checkpoints.write(1, {"model": b"x"})
    assert list(folder.checkpoints.path.iterdir()) == []


def test_a_checkpoint_that_cannot_be_read_is_no_intact_one(folder):
    folder.checkpoints.write(1, {"model": b"x"})
    assert folder.checkpoints.intact().word == ""
    (folder.checkpoints.newest() / "folder").mkdir()  # where a file should be
    with pytest.raises(lincat.InvalidInputError, match="damaged ones"):
        folder.checkpoints.intact()


def test_an_edited_configuration_of_an_unfinished_run_says_what_was_edited(folder):
    kept = folder.config_file.read_bytes()
    edited = kept.replace(b"seed = 0", b"seed = 3")
    assert edited != kept
    folder.config_file.write_bytes(edited)
    with pytest.raises(lincat.InvalidInputError, match="as lincat wrote it"):
        _ = folder.config  # nothing was kept that would tell
    text = TOML.opened(kept, "x", "x").decode()
    folder.checkpoints.write(1, {"progress.json": msgspec.json.encode({"config": text})})
    with pytest.raises(lincat.InvalidInputError, match="another: seed was 0 and is 3"):
        _ = folder.config


def test_sums_of_parts_are_forgotten_by_their_names(folder):
    folder.forget_parts()  # there are none
    folder.parts.mkdir()
    for name in ("0123456789ab-000001", ".0123456789ab-000002.12.draft", "yours.txt"):
        (folder.parts / name).touch()
    folder.forget_parts()
    assert [file.name for file in folder.parts.iterdir()] == ["yours.txt"]
    (folder.parts / "yours.txt").unlink()
    folder.forget_parts()
    assert not folder.parts.exists()


def test_a_file_that_is_gone_is_one_line(folder):
    folder.states_file.unlink(missing_ok=True)
    with pytest.raises(lincat.InvalidInputError, match="expected a file of a run, got No such"):
        _ = folder.shown


def test_a_run_that_is_continued_without_curves_gets_none(folder):
    folder.forget_metrics_after(10)
    assert not folder.metrics_file.exists()
