"""The verdict: what it looks at, and that one failure is enough."""

import msgspec
import numpy as np
import pytest

import lincat
from lincat.inference.verdict import Diagnosis, judge

FINE = Diagnosis(
    mean_error=0.01, sd_error=0.02, cvar_error=0.03, negative_mass=0.0, coarser=1.0, off_grid=0.0
)


def found(shift=0.0, spread=1.0, n=4000, seed=0):
    """Held-out returns of two normal states, and predictions that are off by so much."""
    grid = lincat.Grid(-12.0, 14.0, 520)
    rng = np.random.default_rng(seed)
    state = rng.integers(2, size=n)
    returns = 2.0 * state + rng.normal(size=n)
    bells = [np.exp(-0.5 * ((grid.atoms - 2.0 * s - shift) / spread) ** 2) for s in range(2)]
    pmf = np.array([bell / bell.sum() for bell in bells])
    predicted = lincat.ReturnDistribution.from_pmf(pmf[state], grid)
    return lincat.validate(
        predicted, returns, method="held_out", description=f"{n} returns, held out"
    )


def failed(verdict):
    return {check.code for check in verdict.checks if not check.passed}


def test_figures_that_hold_are_trusted():
    verdict = judge(FINE, found(shift=0.06))
    assert verdict.trusted is True
    assert verdict.sentence == "The figures agree with 4000 returns, held out."
    assert failed(verdict) == set()
    assert {"precision", "precision_sd", "precision_cvar", "signed", "grid", "off_grid"} <= {
        check.code for check in verdict.checks
    }
    assert {"mean", "below_quantile", "w1", "cvar", "skill"} <= {
        check.code for check in verdict.checks
    }


def test_of_few_states_of_the_headline_nothing_is_said():
    codes = {check.code for check in judge(FINE, None).checks}
    known = Diagnosis(**{**FINE.__dict__, "asked_error": 0.19})
    assert "precision_asked" not in codes
    assert failed(judge(known, None)) == set()


@pytest.mark.parametrize(
    ("change", "code", "help"),
    [
        ({"mean_error": 0.9}, "precision", "more rows help"),
        ({"mean_error": None}, "precision", "fewer features, help"),
        ({"sd_error": 0.9}, "precision_sd", "more rows help"),
        ({"cvar_error": 0.3}, "precision_cvar", "more rows help"),
        ({"cvar_error": None}, "precision_cvar", "fewer features, help"),
        ({"asked_error": 0.3}, "precision_asked", "more rows near there help"),
        ({"unresolved": 0.3}, "unresolved", "--features"),
        ({"negative_mass": 0.3}, "signed", "--features"),
        ({"coarser": 9.0}, "grid", "--intervals"),
        ({"off_grid": 0.1}, "off_grid", "--low and --high"),
    ],
)
def test_what_a_solution_knows_of_itself_can_be_enough(change, code, help):
    worse = Diagnosis(**{**FINE.__dict__, **change})
    for validation in (None, found()):
        verdict = judge(worse, validation)
        assert verdict.trusted is False
        assert code in failed(verdict)
        assert verdict.sentence.startswith("Not to be trusted: ")
        assert help in verdict.sentence


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"shift": 1.5}, {"mean", "w1", "below_quantile"}),
        ({"spread": 0.3}, {"below_quantile"}),
        ({"spread": 3.0}, {"cvar"}),
    ],
)
@pytest.mark.parametrize("diagnosis", [None, FINE])
def test_returns_that_disagree_fail_it(options, codes, diagnosis):
    verdict = judge(diagnosis, found(**options))
    assert verdict.trusted is False
    assert codes <= failed(verdict)
    assert "4000 returns, held out" in verdict.sentence


def test_noise_is_no_reason():
    """Right predictions and few returns: the verdict does not fail by accident."""
    ended = [judge(FINE, found(n=100, seed=seed)).trusted for seed in range(40)]
    assert ended.count(False) <= 2


def test_without_returns_nothing_is_trusted():
    assert judge(None, None).trusted is None
    verdict = judge(FINE, None)
    assert verdict.trusted is None
    assert verdict.sentence.startswith("Not checked. The figures are precise enough")


def test_it_comes_back_from_json():
    verdict = judge(FINE, found(shift=1.5))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=type(verdict)) == verdict


def changed(validation, **changes):
    groups = tuple(msgspec.structs.replace(group, **changes) for group in validation.groups)
    return msgspec.structs.replace(validation, groups=groups)


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"skill": -0.04}, set()),
        ({"skill": -0.06, "mean_error_se": 1e-9}, {"skill"}),
        ({"w1_worst": 0.1, "w1_typical": 0.01}, set()),
        ({"w1_worst": 2.0}, {"states"}),
        ({"w1_typical": 2.0}, {"typical"}),
    ],
)
def test_each_check_has_its_limit(changes, codes):
    assert failed(judge(FINE, changed(found(), **changes))) == codes


def test_errors_beyond_all_returns_are_told_as_they_are():
    """Of returns that hardly differ nobody wants to hear that a mean is 5,000 of them off."""
    grid = lincat.Grid(-12.0, 14.0, 26_000)
    returns = 1.0 + 0.002 * np.random.default_rng(0).normal(size=500)
    pmf = (np.abs(grid.atoms - 5.0) < 1e-9)[None].astype(float)
    predicted = lincat.ReturnDistribution.from_pmf(np.repeat(pmf, 500, axis=0), grid)
    sentence = judge(FINE, lincat.validate(predicted, returns, description="some")).sentence
    assert "means are off by +4, where returns have a standard deviation of 0.0021; " in sentence
    assert "W1 is 4, where returns have a standard deviation of 0.0021; " in sentence
    assert sentence.count("some") == 1  # what they were held against
    assert "standard deviations" in judge(FINE, found(shift=0.5)).sentence


def test_what_several_failures_have_in_common_is_said_once():
    poor = Diagnosis(0.3, 0.4, None, 0.0, 3.0, 0.0, asked_error=0.5)
    assert judge(poor, None).sentence == (
        "Not to be trusted: means are known to 0.3 of a standard deviation only; standard "
        "deviations are known to 0.4 of a standard deviation only; more rows help; it cannot be "
        "told how well CVaR is known; more rows, or fewer features, help; in one of thirty states "
        "that the headline speaks of, means are known to 0.5 of a standard deviation only; more "
        "rows near there help; the grid is 3.0 times coarser than the returns ask for; raise "
        "--intervals."
    )
    texts = [check.text for check in judge(poor, None).checks if not check.passed]
    assert texts[0].endswith("only; more rows help")  # in a list each says all


@pytest.mark.parametrize("change", [{"unresolved": 0.3}, {"negative_mass": 0.04}])
def test_returns_of_single_states_say_more_than_a_solution_of_itself(change):
    """What distributions may be off by is seen where each state has returns of its own."""
    doubtful = Diagnosis(**{**FINE.__dict__, **change})
    assert len(failed(judge(doubtful, found()))) == 1
    assert failed(judge(doubtful, changed(found(), w1_worst=0.1, w1_typical=0.01))) == set()
