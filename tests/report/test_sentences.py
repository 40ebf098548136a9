import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.core.summary import visible_range
from lincat.inference.answer import Verdict
from lincat.report.numbers import show_given, show_number, show_share
from lincat.report.sentences import (
    comparison_sentence,
    one_run_in,
    summary_sentence,
    threshold_sentence,
    trust_sentence,
)
from tests.report.samples import bells, lake


def distribution(pmf, low=0.0, high=None):
    high = float(len(pmf) - 1) if high is None else high
    return lincat.ReturnDistribution.from_pmf([pmf], lincat.Grid(low, high, len(pmf) - 1))


def test_summary_gives_mean_quantile_and_tail():
    dist = bells(0.0, 40.0, 3)
    ends = visible_range(dist[[1]])
    mean, q, tail = (
        show_number(float(x[1]), *ends, fine=False)
        for x in (dist.mean(), dist.quantile(0.1), dist.cvar(0.1))
    )
    assert summary_sentence(dist, "left", state=1, level=0.1) == (
        f"From state left the mean return is {mean}, but one run in ten ends below {q}, "
        f"and those average {tail}."
    )


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (0.5, "one run in two"),
        (0.1, "one run in ten"),
        (0.05, "one run in twenty"),
        (0.01, "one run in a hundred"),
        (0.005, "one run in two hundred"),
        (0.053, "5.3 % of runs"),
        (0.07, "7 % of runs"),
    ],
)
def test_level_is_spoken(level, words):
    assert one_run_in(level)[0] == words
    dist = bells(0.0, 40.0, 1, intervals=2000)
    verb = "end" if "%" in words else "ends"
    assert f"but {words} {verb} below " in summary_sentence(dist, level=level)


def test_one_value_that_many_runs_end_at_is_said():
    text = summary_sentence(lake().returns)
    assert "but 98.6 % of runs end at 0 or below, and the worst 5 % of runs average 0." in text


def test_a_sure_return_is_said_to_be_sure():
    assert (
        summary_sentence(distribution([0, 0, 1, 0]))
        == "From the start state every run returns 2.00."
    )


def test_no_run_ends_below_where_none_does():
    text = summary_sentence(distribution([0.0, 0.03, 0.97]), level=0.2)
    assert text.endswith("and no run returns more than 2.00.")


def test_signed_distributions_are_spoken_of_as_their_nearest_proper_ones():
    grid = lincat.Grid(0.0, 4.0, 4)
    signed = lincat.ReturnDistribution([-0.1, 0.6, 0.4, 1.1], grid)
    assert "average 1.00" in summary_sentence(signed)
    assert f"mean return is {signed.mean()[0]:.2f}" in summary_sentence(signed)


def test_chance_below_a_threshold():
    dist = distribution([0.034, 0.466, 0.5], -1.0, 1.0)
    assert threshold_sentence(dist, 0.0) == "The chance to end below 0 is 3.4 %."
    assert threshold_sentence(dist, -1.0, "door") == (
        "The chance to end below −1 from state door is 0 %."
    )
    with pytest.raises(lincat.InvalidInputError, match="threshold"):
        threshold_sentence(dist, float("nan"))


def checked(coverage, **options):
    """A validation by 400 returns of which so many lie within the 80 % intervals."""
    dist = distribution([0.1, 0.8, 0.1])[np.zeros(400, int)]
    inside = round(400 * coverage)
    y = np.repeat(
        [1.0, 0.0, 2.0], [inside, (400 - inside) // 2, 400 - inside - (400 - inside) // 2]
    )
    return lincat.validate(dist, y, levels=[0.5, 0.8], **options)


def test_trust_names_what_it_was_checked_against():
    text = trust_sentence(checked(0.8, description="400 rollouts"), width=1.0)
    assert text == "Checked against 400 rollouts: 80 % intervals held 80 % of them."
    text = trust_sentence(checked(0.6), width=1.0)
    assert text.startswith("Checked against 400 returns: 80 % intervals held 60 % of them")
    assert text.endswith(": the distributions are somewhat too narrow.")
    assert "too wide" in trust_sentence(checked(0.99), width=1.0)
    fine = Verdict(trusted=True, sentence="The figures agree with 400 returns.", checks=())
    assert trust_sentence(checked(0.8), width=1.0, verdict=fine) == (
        "The figures agree with 400 returns: 80 % intervals held 80 % of them."
    )
    assert trust_sentence(checked(0.7), width=1.0, verdict=fine) == (
        "The figures agree with 400 returns, but 80 % intervals held 70 % of them: the "
        "distributions are somewhat too narrow."
    )
    assert trust_sentence(None, width=1.0, confidence=0.9) == (
        "Not checked. --validate N has the figures checked against N returns. "
        "± and bands are sampling error at 90 %, not that of features or grid."
    )


def test_figures_have_their_margins():
    dist = distribution(np.full(101, 1 / 101))
    width = dist.grid.high - dist.grid.low
    margins = {"mean": 0.05, "quantile": 0.02, "cvar": 0.0001, "probability_below": 0.01}

    def interval(measure, argument):
        value = dist.mean() if argument is None else getattr(dist, measure)(argument)
        reach = margins[measure] * (1.0 if measure == "probability_below" else width)
        return value - reach, value + reach

    plain, found = summary_sentence(dist), summary_sentence(dist, interval=interval)
    assert found.count("±") == 2  # CVaR is known to all digits that are shown
    assert re.sub(" ± [0-9.]+(?=[, ])", "", found) == plain
    middle = float(dist.mean()[0])
    text = threshold_sentence(dist, middle, interval=interval)
    assert re.search(r"is (49|50) % \(between (48|49) % and (50|51) %\)\.$", text)


def verdict(trusted):
    return Verdict(trusted=trusted, sentence="The verdict.")


def test_the_verdict_says_so_before_the_numbers():
    found = checked(0.8)
    passed = trust_sentence(found, verdict(True), width=1.0)
    assert passed == "The verdict: 80 % intervals held 80 % of them."
    failed = trust_sentence(found, verdict(False), width=1.0)
    assert failed.startswith("Checked against 400 returns: ")
    assert "as they were learned" in trust_sentence(None, verdict(False), width=1.0)
    assert trust_sentence(None, verdict(None), width=1.0).startswith("The verdict. --validate N")


def test_a_threshold_outside_of_a_grid_that_lost_mass():
    dist = distribution([0.5, 0.5])
    low, high = dist.grid.low, dist.grid.high
    for outside in (low - 1.0, low, high + 0.1):
        assert "is not known" in threshold_sentence(dist, outside, lost=True)
        assert "is not known" not in threshold_sentence(dist, outside)
    assert "is not known" not in threshold_sentence(dist, high, lost=True)


def test_runs_that_failed_are_not_ranked():
    good, bad = distribution([0, 0, 0.5, 0.5]), distribution([0.5, 0.5, 0, 0])
    text = comparison_sentence(["a", "b", "c"], [bad, bad, good], "start", failed=["c"])
    assert "run a has the highest mean return" in text
    assert text.endswith("The figures of run c are not to be trusted, and not ranked.")
    text = comparison_sentence(["a", "b", "c"], [bad, bad, good], "start", failed=["a", "b"])
    assert text == "No run is ranked: the figures of runs a and b are not to be trusted."


def test_trust_in_an_exact_answer_is_a_distance():
    dist = distribution([0.1, 0.8, 0.1])
    exact = lincat.validate(dist, [0.0, 1.0, 2.0], weights=[[0.1, 0.7, 0.2]])
    assert trust_sentence(exact, width=4.0) == (
        "Checked against the exact answer for 1 states: the distributions are off by 2.5 % of the "
        "grid's width (W1)."
    )


def test_words_say_nothing_about_the_method():
    text = trust_sentence(checked(0.8, method="rollouts", description="Inexact-v0"), width=1.0)
    assert text == "Checked against Inexact-v0: 80 % intervals held 80 % of them."


def test_one_run_may_win_on_both_counts():
    good, bad = distribution([0, 0, 0.5, 0.5]), distribution([0.5, 0.5, 0, 0])
    text = comparison_sentence(["bad", "good"], [bad, good], "start")
    assert "run good has the highest mean return" in text
    assert "and the best average over the worst 5 % of runs" in text


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.floats(0.0, 1.0))
def test_numbers_are_right_to_a_hundredth_of_their_range(low, width, share):
    low, high = min(low, low + width), max(low, low + width)
    value = low + share * (high - low)
    text = show_number(value, low, high).replace(",", "").replace("−", "-")
    mantissa, _, power = text.partition(" × 10")
    power = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    size = max(abs(low), abs(high))
    width = high - low or size  # a single number has three digits
    allowed = max(0.02 * width, 1e-9 * size, 5e-13)
    assert float(mantissa) * 10.0**power == pytest.approx(value, abs=allowed)


@given(st.floats(0.0, 1.0))
def test_shares_are_right_to_the_digits_shown(share):
    text = show_share(share)
    number = float(text.split()[-2])
    if text.startswith(("less", "more")):
        assert min(share, 1.0 - share) < 1e-4
    else:
        assert number == pytest.approx(100.0 * share, abs=0.5)
        assert (number in (0.0, 100.0)) == (min(share, 1.0 - share) < 1e-10)


def test_given_numbers_stay_as_they_were_given():
    assert [show_given(x) for x in (0.0, -0.25, 12500.0, 2.5e-7, -3e9)] == [
        "0",
        "−0.25",
        "12,500",
        "2.5 × 10⁻⁷",
        "−3 × 10⁹",
    ]


def test_the_visible_range_holds_the_mass_and_not_much_more():
    dist = bells(0.0, 10.0, 2)
    wide = lincat.ReturnDistribution(
        np.pad(dist.cdf_values, ((0, 0), (0, 320)), constant_values=1.0),
        lincat.Grid(0.0, 50.0, 400),
    )
    low, high = visible_range(wide)
    assert low >= 0.0
    assert high < 12.0
    assert float((wide.cdf(high) - wide.probability_below(low)).min()) > 0.999
    assert visible_range(dist) == (0.0, 10.0)
