"""A full disk, a folder that is gone or cannot be written: one line, and nothing is lost."""

import errno
import resource
import shutil

import pytest

from lincat.runs import checkpoints, folder
from tests.cli.command import assert_one_line, lincat_here, lincat_process

SMALL = ("--warm-up", 500, "--intervals", 20, "--learner", "linear_ctd", "--quiet")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = lincat_here("evaluate", "frozen_lake", "--steps", 2000, "--out", "run", *SMALL)
    assert ended.code == 0, ended.err
    return tmp_path / "run"


def kept(run):
    names = ("config.toml", "model.safetensors", "result.json")
    return {name: (run / name).read_bytes() for name in names}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_resume_that_cannot_write_leaves_the_run_as_it_was(run, monkeypatch, number):
    before = kept(run)

    def fails(*_):
        raise OSError(number, "says the disk")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_atomically", fails)
        patch.setattr(folder, "write_atomically", fails)
        ended = lincat_here("resume", "run", "--steps", 4000)
    assert_one_line(ended, "run: expected a run folder that can be written, got says the disk")
    assert kept(run) == before
    assert lincat_here("resume", "run", "--steps", 4000, "--quiet").code == 0


def test_files_that_may_not_grow(tmp_path):
    """RLIMIT_FSIZE, as a quota does."""
    ended = lincat_process(
        *("evaluate", "frozen_lake", "--steps", 2000, "--out", tmp_path / "run", *SMALL),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert "File too large" in ended.stderr


def test_a_folder_that_is_gone_does_not_come_back(run, monkeypatch):
    write = checkpoints.Checkpoints.write

    def gone(self, *arguments):
        shutil.rmtree(run)
        return write(self, *arguments)

    monkeypatch.setattr(checkpoints.Checkpoints, "write", gone)
    ended = lincat_here("resume", "run", "--steps", 4000)
    assert_one_line(ended, "run: expected a run folder that can be written, got No such file")
    assert not run.exists()
