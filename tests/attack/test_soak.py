"""A small version of ``make soak``, and of ``make bits``."""

from tests.attack import bits, soak


def test_killed_runs_end_as_if_nothing_had_happened(tmp_path):
    kills, runs, wrong = soak.kill_runs(tmp_path, 8)
    assert kills >= 8
    assert runs > 0
    assert wrong == 0


def test_a_flipped_bit_is_never_another_answer(tmp_path):
    flips, refused, wrong = bits.flip_bits(tmp_path, 40)
    assert flips == 40
    assert refused > 20
    assert wrong == 0
