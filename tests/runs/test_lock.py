"""One run at a time: what happens where somebody else has the lock, or there are none."""

import fcntl
import gc
import os

import pytest

import lincat
from lincat.runs import lock
from lincat.runs.lock import Lock


def test_who_has_it_is_told_until_it_is_let_go(tmp_path):
    mine = Lock(tmp_path)
    with (tmp_path / "lock").open("w") as other:
        other.write("4711\n")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(lincat.InvalidInputError, match="process 4711 is learning"):
            mine.claim()
        other.truncate(0)
        with pytest.raises(lincat.InvalidInputError, match=r"process \? is learning"):
            mine.claim()
    mine.claim()
    mine.claim()  # once more changes nothing
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    mine.release()
    assert not (tmp_path / "lock").exists()
    mine.release()  # nor does letting go of nothing


def test_another_of_this_process_is_refused_until_the_first_is_forgotten(tmp_path):
    mine, other = Lock(tmp_path), Lock(tmp_path)
    mine.claim()
    with pytest.raises(lincat.InvalidInputError, match="another run of this process is learning"):
        other.claim()
    other.release()
    assert (tmp_path / "lock").exists()
    del mine
    gc.collect()
    assert not (tmp_path / "lock").exists()
    other.claim()
    assert (tmp_path / "lock").exists()


@pytest.mark.parametrize("locks", [None, fcntl])
def test_without_locks_none_is_taken(tmp_path, monkeypatch, locks):
    def unsupported(file, operation):
        raise OSError("no locks available")

    monkeypatch.setattr(lock, "fcntl", locks)
    monkeypatch.setattr(fcntl, "flock", unsupported)
    first, second = Lock(tmp_path), Lock(tmp_path)
    for one in (first, second):
        one.claim()
        one.release()


def test_a_file_that_was_removed_meanwhile_is_no_lock(tmp_path, monkeypatch):
    place, taken = tmp_path / "lock", []

    def flock(handle, operation):
        if not taken:
            place.unlink()  # by who had it before, after we opened it
        taken.append(os.fstat(handle).st_ino)

    monkeypatch.setattr(fcntl, "flock", flock)
    mine = Lock(tmp_path)
    mine.claim()
    assert len(taken) == 2
    assert place.stat().st_ino == taken[1]
    mine.release()


def test_links_are_refused_as_locks(tmp_path):
    (tmp_path / "mine").write_text("mine")
    for link in ("symlink_to", "hardlink_to"):
        getattr(tmp_path / "lock", link)(tmp_path / "mine")
        with pytest.raises(OSError, match="a link to another file"):
            Lock(tmp_path).claim()
        (tmp_path / "lock").unlink()
    assert (tmp_path / "mine").read_text() == "mine"
