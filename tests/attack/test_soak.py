"""A small version of ``make soak``, and of ``make bits``."""

from tests.attack import bits, soak


def test_killed_runs_end_as_if_nothing_had_happened(tmp_path):
    found = soak.kill_kinds(tmp_path, 6, kinds=("process", "csv", "parquet"))
    for kills, runs, wrong in found.values():
        assert kills >= 1
        assert runs >= 1
        assert wrong == 0


def test_a_flipped_bit_is_never_another_answer(tmp_path):
    flips, refused, wrong = bits.flip_bits(tmp_path, 40)
    assert flips == 40
    assert refused > 20
    assert wrong == 0
