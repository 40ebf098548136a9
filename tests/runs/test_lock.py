"""One process at a time: what happens where somebody else has the lock, or there are none."""

import fcntl
import os

import pytest

import lincat
from lincat.runs import lock


def test_who_has_it_is_told_until_it_is_let_go(tmp_path):
    with (tmp_path / "lock").open("w") as other:
        other.write("4711\n")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(lincat.InvalidInputError, match="process 4711 is learning"):
            lock.claim(tmp_path)
        other.truncate(0)
        with pytest.raises(lincat.InvalidInputError, match=r"process \? is learning"):
            lock.claim(tmp_path)
    lock.claim(tmp_path)
    lock.claim(tmp_path)  # once more changes nothing
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock._release_all()
    assert not (tmp_path / "lock").exists()
    lock.release(tmp_path)  # nor does letting go of nothing


@pytest.mark.parametrize("locks", [None, fcntl])
def test_without_locks_none_is_taken(tmp_path, monkeypatch, locks):
    def unsupported(file, operation):
        raise OSError("no locks available")

    monkeypatch.setattr(lock, "fcntl", locks)
    monkeypatch.setattr(fcntl, "flock", unsupported)
    lock.claim(tmp_path)
    assert tmp_path.resolve() not in lock._held


def test_a_file_that_was_removed_meanwhile_is_no_lock(tmp_path, monkeypatch):
    place, taken = tmp_path / "lock", []

    def flock(file, operation):
        if not taken:
            place.unlink()  # by who had it before, after we opened it
        taken.append(os.fstat(file.fileno()).st_ino)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock.claim(tmp_path)
    assert len(taken) == 2
    assert place.stat().st_ino == taken[1]
    lock.release(tmp_path)
