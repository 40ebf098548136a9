"""What memory has room for."""

import pytest

import lincat
from lincat import _room


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(_room, "free_memory", lambda: 2**30)


@pytest.mark.usefixtures("small_machine")
def test_half_of_what_is_left_may_be_asked_for():
    _room.check_room(2**29 // 8, "intervals", "many")
    with pytest.raises(lincat.InvalidInputError, match=r"intervals: expected what memory has room"):
        _room.check_room(2**29 // 8 + 1, "intervals", "many")


def test_what_is_small_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(_room, "free_memory", lambda: 0)
    _room.check_room(1000, "intervals", 1000)


def test_a_limit_of_the_group_counts(tmp_path, monkeypatch):
    limit, used = tmp_path / "limit", tmp_path / "used"
    limit.write_text("1000\n")
    used.write_text("600\n")
    monkeypatch.setattr(_room, "_LIMIT_OF_A_GROUP", ((str(limit), str(used)),))
    assert _room.free_memory() == 400
    used.write_text("2000\n")
    assert _room.free_memory() == 0


def test_a_group_without_a_limit_has_none(tmp_path, monkeypatch):
    before = _room._of_machine()
    (tmp_path / "limit").write_text("max\n")
    files = (str(tmp_path / "limit"), str(tmp_path / "missing"))
    monkeypatch.setattr(_room, "_LIMIT_OF_A_GROUP", (files,))
    assert _room.free_memory() > before // 4
