"""Compiled code on disk: whatever happens to it, kernels give right answers."""

import os
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

from lincat.kernels import compiled

from ..cli.command import lincat_here

_SCRIPT = """
import numpy as np
from lincat.kernels import compiled
from lincat.kernels.guards import bad_entry
print(bad_entry(np.array([0, 1]), np.array([7]), 3), len(bad_entry.stats.cache_hits))
"""


def _begun(cache, **variables):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **variables}
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT], env=environment, text=True, stdout=subprocess.PIPE
    )


def _ended(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.split()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder that two processes filled at once."""
    folder = tmp_path_factory.mktemp("cache")
    both = [_begun(folder), _begun(folder)]
    assert [_ended(one)[0] for one in both] == ["0", "0"]
    return folder


def test_two_first_runs_at_once_leave_what_a_third_can_use(kept):
    assert _ended(_begun(kept)) == ["0", "1"]
    names = [file.name for file in kept.glob("lincat/kernels-*/*")]
    assert len(names) == 1
    assert names[0].startswith("guards.bad_entry-")


def test_another_processor_gets_code_of_its_own(kept):
    assert _ended(_begun(kept, NUMBA_CPU_NAME="generic")) == ["0", "0"]
    assert len(list(kept.glob("lincat/kernels-*/*"))) == 2
    assert _ended(_begun(kept)) == ["0", "1"]


def test_where_nothing_can_be_written_it_is_compiled_each_time():
    assert _ended(_begun("/dev/null")) == ["0", "0"]


def _plus_one(x):
    return x + 1.0


def _dispatcher(folder):
    with mock.patch.object(compiled, "FOLDER", folder):
        return compiled.njit(cache=True)(_plus_one)


def test_damaged_code_is_compiled_again_and_replaced(tmp_path):
    assert _dispatcher(tmp_path)(1.0) == 2.0
    (file,) = tmp_path.iterdir()
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    again = _dispatcher(tmp_path)
    assert again(1.0) == 2.0
    assert again.stats.cache_hits
    damaged = [b"", whole[:20], whole[:-1], b"\x80" * 100]
    for at in rng.integers(0, len(whole), 4).tolist():
        damaged.append(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    for content in damaged:
        file.write_bytes(content)
        function = _dispatcher(tmp_path)
        assert function(1.0) == 2.0
        assert not function.stats.cache_hits
        assert _dispatcher(tmp_path)(1.0) == 2.0
        assert len(list(tmp_path.iterdir())) == 1


def test_other_sources_are_looked_for_elsewhere(tmp_path, monkeypatch):
    """An upgrade, or an edit of a function that kernels inline."""
    for name in ("compiled.py", "a.py"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first = compiled.cache_folder()
    assert first == compiled.cache_folder()
    (tmp_path / "a.py").write_text("1")
    second = compiled.cache_folder()
    monkeypatch.setattr(compiled.numba, "__version__", "999")
    assert len({first, second, compiled.cache_folder()}) == 3
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "nowhere" / "compiled.py"))
    assert compiled.cache_folder() is None  # in an archive, say


def test_the_cache_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.user_cache() == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert compiled.user_cache() is None
    assert compiled.cache_folder() is None


def test_the_cache_is_cleared_by_a_flag(tmp_path, monkeypatch):
    folder = tmp_path / "lincat" / "kernels-0"
    monkeypatch.setattr(compiled, "FOLDER", folder)
    function = _dispatcher(folder)
    assert function(1.0) == 2.0
    assert folder.is_dir()
    other = tmp_path / "lincat" / "theirs"
    other.write_text("")
    ended = lincat_here("--clear-cache")
    assert ended.code == 0
    assert str(folder.parent) in ended.out
    assert not folder.exists()
    assert other.exists()
    monkeypatch.setattr(compiled.shutil, "rmtree", mock.Mock(side_effect=OSError(30, "no", "x")))
    folder.mkdir()
    ended = lincat_here("--clear-cache")
    assert (ended.code, ended.err) == (1, "Error: x: no\n")


def test_a_cache_can_be_switched_off_and_forgotten(tmp_path):
    function = _dispatcher(tmp_path)
    function._cache.disable()
    assert function(1.0) == 2.0
    assert not list(tmp_path.iterdir())
    function._cache.enable()
    assert function.stats.cache_path == str(tmp_path)
    assert function(np.float32(1.0)) == 2.0
    assert list(tmp_path.iterdir())
    function._cache.flush()
    assert not list(tmp_path.iterdir())
