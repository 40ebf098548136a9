import os

import pytest

import lincat
from lincat import _files


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    _files.write_atomically(path, "one")
    _files.write_atomically(path, b"two")
    assert path.read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_files._umask()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    _files.write_atomically(path, "one")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        _files.write_atomically(path, "two")
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_folders_are_new_or_empty_unless_forced(tmp_path):
    assert _files.new_folder(tmp_path / "x" / "y", "--out", force=False).is_dir()
    (tmp_path / "x" / "file").write_text("")
    with pytest.raises(lincat.InvalidInputError, match="--out: expected a new or empty folder"):
        _files.new_folder(tmp_path / "x", "--out", force=False)
    assert _files.new_folder(tmp_path / "x", "--out", force=True) == tmp_path / "x"
    with pytest.raises(lincat.InvalidInputError, match="a folder that can be written"):
        _files.new_folder(tmp_path / "x" / "file" / "deeper", "--out", force=False)
