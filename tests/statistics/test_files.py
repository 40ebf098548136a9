"""Files of statistics: identity, continuing, tampering."""

import json

import numpy as np
import pytest

import lincat
from lincat._version import __version__
from lincat.statistics.files import save_bytes
from tests import packed
from tests.statistics.test_statistics import assert_equal, stream

KEY = "lincat statistics"


@pytest.mark.parametrize("kind", ["dense", "sparse", "states"])
@pytest.mark.parametrize("rewards", ["few", "many"])
@pytest.mark.parametrize("n", [40_000, 40])
def test_statistics_come_back_and_continue(tmp_path, kind, rewards, n):
    d, path = 70, tmp_path / "s.safetensors"
    t, truncated = stream(n, d, 1, rewards, kind, given=True, weighted=True)
    more, cut = stream(9_000, d, 2, rewards, kind)
    statistics = lincat.Statistics(d, max_blocks=6).update(t, truncated)
    statistics.save(path)
    back = lincat.Statistics.load(path)
    assert save_bytes(back) == path.read_bytes()
    for x in (statistics, back):
        x.update(more, cut)
    assert save_bytes(back) == save_bytes(statistics)
    assert_equal(back.totals(), statistics.totals())
    for name in ("count", "weight", "reward_low", "reward_high", "largest_norm", "n_blocks"):
        assert getattr(back, name) == getattr(statistics, name)


def test_empty_statistics_are_kept_with_their_settings(tmp_path):
    path = tmp_path / "s.safetensors"
    lincat.Statistics(max_blocks=3, nodes=[0.0, 1.0, 4.0], memory_limit=10**6).save(path)
    back = lincat.Statistics.load(path)
    assert (back.count, back.max_blocks, back.memory_limit) == (0, 3, 10**6)
    assert back.nodes_.tolist() == [0.0, 1.0, 4.0]
    assert not back.exact_rewards


def test_a_flipped_bit_anywhere_is_noticed(tmp_path):
    path = tmp_path / "s.safetensors"
    t, truncated = stream(3, 1, 1)
    content = save_bytes(lincat.Statistics().update(t, truncated))
    for i in range(0, len(content), 3):
        broken = bytearray(content)
        broken[i] ^= 1 << i % 8
        packed.refused(lincat.Statistics.load, path, bytes(broken))


def test_changed_files_are_refused_by_name(tmp_path):
    path = tmp_path / "s.safetensors"
    t, truncated = stream(40_000, 2, 1)
    content = save_bytes(lincat.Statistics().update(t, truncated))
    assert packed.header_of(content, KEY)["lincat"] == __version__

    def scaled(arrays):
        arrays["Sigma"] = arrays["Sigma"] * 1.0000001

    def other_count(header):
        header["state"]["count"] += 1

    def later_format(header):
        header["format"] = 99

    changed = packed.rewritten(content, KEY, change_arrays=scaled, sign=False)
    packed.refused(lincat.Statistics.load, path, changed, "checksum: .*changed or damaged")
    changed = packed.rewritten(content, KEY, change_header=other_count, sign=False)
    packed.refused(lincat.Statistics.load, path, changed, "checksum")
    changed = packed.rewritten(content, KEY, change_header=later_format)
    packed.refused(lincat.Statistics.load, path, changed, "format: expected version 2")
    packed.refused(lincat.Statistics.load, path, content[: len(content) // 2])
    packed.refused(lincat.Statistics.load, path, b"")
    packed.refused(lincat.Statistics.load, path, json.dumps({"a": 1}).encode())


def test_a_learner_is_not_statistics(tmp_path):
    path = tmp_path / "model.safetensors"
    model = lincat.LinearTD(gamma=0.5, step_size=0.1).partial_fit(np.eye(1), [1.0], np.eye(1))
    model.save(path)
    with pytest.raises(lincat.InvalidInputError, match="expected a file of statistics"):
        lincat.Statistics.load(path)
