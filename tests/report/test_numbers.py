"""Numbers as people write them."""

import pytest

from lincat.report.numbers import show_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25 s"),
        (9.94, "9.9 s"),
        (10.0, "10 s"),
        (119.0, "119 s"),
        (120.0, "2 min"),
        (7199.0, "120 min"),
        (7200.0, "2.0 h"),
    ],
)
def test_durations(seconds, text):
    assert show_seconds(seconds) == text
