"""What a run says at its end, and what it warns of."""

from types import SimpleNamespace

import numpy as np
import pytest

import lincat
from lincat.runs.conclude import _clipped
from lincat.runs.config import EvaluationConfig
from tests.runs.logs import run_whole, write_names, write_points


def result_with(tmp_path, source="frozen_lake", **options):
    options = {"steps": 4000, "intervals": 20, "validate": 0, "passes": 1, **options}
    return run_whole(tmp_path / "run", EvaluationConfig(source=[source], **options)).answer


def about(result, word):
    return [caution.text for caution in result.warnings if word in caution.text]


@pytest.mark.parametrize("learner", ["auto", "linear_ctd"])
def test_mass_off_the_grid_is_told_with_a_remedy_that_helps(tmp_path, learner):
    file = write_points(tmp_path / "log.parquet")
    options = {"gamma": 0.8, "features": "scaling", "steps": None, "learner": learner}
    narrow = result_with(tmp_path / "a", file, low=-0.5, high=0.5, **options)
    (text,) = about(narrow, "of the mass")
    assert "below the grid [-0.5, 0.5]" in text
    assert "without --low and --high" in text
    wide = result_with(tmp_path / "b", file, **options)
    assert about(wide, "of the mass") == []


def test_a_grid_in_units_of_each_state_is_told_as_such():
    learner = SimpleNamespace(clipped_mass_=np.array([2e-4, 0.0]), grid_=lincat.Grid(-6.5, 6.0, 50))
    model = SimpleNamespace(learner=learner, scale=object())
    text = _clipped(model, EvaluationConfig(source=["log.csv"]))
    assert "6.5 standard deviations below the mean of each state and 6 above" in text


@pytest.mark.parametrize("learner", ["auto", "linear_ctd", "softmax_ctd"])
@pytest.mark.parametrize("given", [{}, {"low": 0.0, "high": 1.0}])
def test_a_given_grid_that_is_too_coarse_is_told_with_the_numbers(tmp_path, learner, given):
    options = {"gamma": 0.9, "learner": learner}
    coarse = result_with(tmp_path / "a", intervals=3, **options, **given)
    assert coarse.grid.intervals == 3
    (text,) = about(coarse, "too large")
    assert "with 3 intervals makes standard deviations" in text
    assert "K (1 − gamma) = 0.3 is below 1" in text
    assert about(result_with(tmp_path / "b", intervals=None, **options), "too large") == []
    if given:
        fine = result_with(tmp_path / "c", intervals=60, **options, **given)
        assert (fine.grid.low, fine.grid.high, fine.grid.intervals) == (0.0, 1.0, 60)
        assert about(fine, "too large") == []


def test_a_widening_of_more_than_a_tenth_is_told_for_streams_too(tmp_path):
    file = write_points(tmp_path / "log.parquet")
    options = {"gamma": 0.8, "steps": None, "low": -100.0, "high": 100.0, "intervals": 60}
    for learner in ("auto", "linear_ctd"):
        (text,) = about(result_with(tmp_path / learner, file, learner=learner, **options), "large")
        assert "The grid [-100, 100] with 60 intervals makes standard deviations" in text
        assert "is below 1" not in text
        assert "raise --intervals, or leave the grid to lincat" in text


def test_a_large_step_size_is_told(tmp_path):
    def told(folder, step_size):
        result = result_with(tmp_path / folder, step_size=step_size, learner="linear_ctd")
        return len(about(result, "step size"))

    assert [told("a", 1.2), told("b", 0.01), told("c", "auto")] == [1, 0, 0]
    assert told("d", 1) == 1  # an integer is a step size too


def test_features_that_never_fire_are_counted(tmp_path):
    file = tmp_path / "log.csv"
    rows = "".join(f"{t % 2},0,{1 - t % 2},0,1\n" for t in range(600))
    file.write_text("obs_0,obs_1,next_obs_0,next_obs_1,reward\n" + rows)
    options = {"gamma": 0.5, "features": "identity", "steps": None}
    assert about(result_with(tmp_path / "a", str(file), **options), "1 of 2 features never fire")


def test_features_that_others_explain_are_named_with_a_remedy(tmp_path):
    file = tmp_path / "log.csv"
    rows = "".join(f"{t % 2},{2 * (t % 2)},{1 - t % 2},{2 - 2 * (t % 2)},1\n" for t in range(600))
    file.write_text("obs_0,obs_1,next_obs_0,next_obs_1,reward\n" + rows)
    options = {"gamma": 0.5, "features": "identity", "steps": None}
    (text,) = about(result_with(tmp_path / "a", str(file), **options), "directions")
    assert text.startswith("The data reach 1 of 2 directions of the features; nothing is known")
    assert "features 0 and 1: use fewer features" in text


def test_an_equation_that_does_not_contract_is_named(tmp_path):
    file = tmp_path / "log.csv"  # Tsitsiklis and Van Roy: the value doubles on the way
    file.write_text("obs_0,next_obs_0,reward\n" + "1.0,2.0,1\n" * 300 + "1.0,2.0,0\n" * 300)
    options = {"gamma": 0.9, "features": "identity", "steps": None, "low": -9.0, "high": 9.0}
    (text,) = about(result_with(tmp_path / "a", str(file), **options), "no contraction")
    assert "spectral radius 1.8" in text


def test_rows_left_out_are_counted(tmp_path):
    file = tmp_path / "log.csv"
    text = "".join(f"{t % 3},{'oops' if t % 100 == 7 else 1}\n" for t in range(2000))
    file.write_text("state,reward\n" + text)
    options = {"gamma": 0.5, "steps": None}
    result = result_with(tmp_path / "a", str(file), on_bad_rows="skip", **options)
    assert about(result, "20 bad rows were left out")
    with pytest.raises(lincat.InvalidInputError, match="row 8, reward: expected a finite number"):
        result_with(tmp_path / "b", str(file), on_bad_rows="stop", **options)


def test_a_run_without_anything_wrong_has_no_warnings(tmp_path):
    result = result_with(tmp_path, "uniform_coin", steps=30_000)
    assert result.warnings == ()


def test_bands_hold_the_distribution(tmp_path):
    result = result_with(tmp_path, "uniform_coin", steps=30_000)
    low, high = np.array(result.bands.low), np.array(result.bands.high)
    cdf = np.array(result.cdf)
    assert low.shape == high.shape == cdf.shape
    assert (low <= cdf).all()
    assert (cdf <= high).all()
    assert result.bands.confidence == result.intervals.confidence == 0.95
    assert result.no_intervals == ""
    for measure, argument in (("mean", None), ("std", None), ("cvar", 0.05), ("quantile", 0.5)):
        low, high = result.interval(measure, argument)
        assert (low < high).all()
        assert np.isfinite(high - low).all()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"learner": "softmax_ctd"}, "settles elsewhere"),
        ({"learner": "linear_ctd", "features": "tiles"}, "sums of so many features"),
        ({"steps": 3}, "blocks of time"),
    ],
)
def test_no_bands_where_there_are_none(tmp_path, options, why):
    source = "frozen_lake"
    if "features" in options:
        source, options = write_points(tmp_path / "log.parquet"), {"gamma": 0.8, **options}
    result = result_with(tmp_path, source, **options)
    assert result.bands is None
    assert result.intervals is None
    assert result.no_intervals.startswith("No intervals: ")
    assert why in result.no_intervals


FIGURES = (("mean", None), ("std", None), ("cvar", 0.05), ("quantile", 0.5))


def test_step_by_step_intervals_reach_to_where_the_data_lead(tmp_path):
    # One small step leaves the estimate far from there.
    options = {"low": 0.0, "high": 2.0, "step_size": 1e-4, "steps": 8000}
    learned, solved = (
        result_with(tmp_path / learner, "uniform_coin", learner=learner, **options)
        for learner in ("linear_ctd", "lstd")
    )
    assert learned.no_intervals == ""
    for name, argument in FIGURES:
        low, high = learned.interval(name, argument)
        inner, outer = solved.interval(name, argument)
        assert (low <= inner + 1e-9).all()
        assert (high >= outer - 1e-9).all()
    low, high, cdf = (np.array(x) for x in (learned.bands.low, learned.bands.high, learned.cdf))
    assert (low <= np.minimum(cdf, np.array(solved.bands.low)) + 1e-9).all()
    assert (high >= np.maximum(cdf, np.array(solved.bands.high)) - 1e-9).all()
    for i, (low, high) in enumerate(zip(*learned.interval("mean"), strict=True)):
        mean = 2.0 * np.mean(1.0 - np.array(learned.cdf[i]))
        assert low + high == pytest.approx(2.0 * mean)


def test_rows_that_come_again_do_not_narrow_intervals(tmp_path):
    file = write_names(tmp_path / "log.csv", rows=4000)
    options = {"gamma": 0.8, "learner": "linear_ctd", "low": -10.0, "high": 10.0, "steps": None}
    runs = [
        run_whole(
            tmp_path / str(passes),
            EvaluationConfig(source=[file], validate=0, passes=passes, **options),
        )
        for passes in (1, 3)
    ]
    once, often = (run.answer for run in runs)
    assert often.transitions == 3 * once.transitions
    counts = [lincat.read_run(run.path).model.learner.statistics_.count for run in runs]
    assert counts == [once.transitions] * 2


def test_a_newton_step_that_is_not_there_is_no_reason_to_fail(tmp_path):
    # At gamma = 1 episodes must end, which none does.
    file = tmp_path / "log.csv"
    file.write_text("state,reward\n" + "a,1\nb,0\n" * 500)
    options = {"gamma": 1.0, "learner": "linear_ctd", "low": 0.0, "high": 4.0, "steps": None}
    result = result_with(tmp_path, str(file), episode_end="truncated", **options)
    assert result.no_intervals.startswith("No intervals: gamma: expected")
    assert result.bands is None


def test_data_that_depend_on_each_other_for_long_get_a_word(tmp_path):
    # A regime of 2,000 rows that the one id cannot show.
    rng = np.random.default_rng(0)
    reward = np.repeat(rng.choice([-1.0, 1.0], size=10), 2000) + rng.normal(size=20_000)
    text = "".join(f"a,{r:.3f}\n" for r in reward)
    (tmp_path / "log.csv").write_text("state,reward\n" + text)
    result = result_with(tmp_path / "run", str(tmp_path / "log.csv"), gamma=0.5, steps=None)
    assert "dependent" in [caution.code for caution in result.warnings]
    few = result_with(tmp_path / "few", str(tmp_path / "log.csv"), gamma=0.5, steps=800)
    assert "short" in [caution.code for caution in few.warnings]


def test_no_bands_after_a_handful_of_steps(tmp_path):
    file = write_names(tmp_path / "log.csv", rows=100)
    result = result_with(tmp_path, file, gamma=0.5, steps=3, learner="linear_ctd")
    assert result.bands is None
    assert result.transitions == 3
    assert np.isfinite(result.cdf).all()


def test_a_single_row_is_a_run(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("state,next_state,reward,terminated\na,b,3,true\n")
    result = result_with(tmp_path, str(file), gamma=0.9, steps=None)
    assert result.transitions == 1
    assert result.state_names == ("any state", "a")
    assert np.isfinite(result.cdf).all()


def test_rewards_that_are_all_the_same_are_a_run(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("state,reward\n" + "a,0\n" * 300)
    result = result_with(tmp_path, str(file), gamma=0.9, steps=None)
    assert np.isfinite(result.returns.mean()).all()


def test_batch_solutions_have_an_error_budget(tmp_path):
    log = write_names(tmp_path / "log.csv", rows=3000)
    run = lincat.evaluate(log, out=tmp_path / "run", gamma=0.8, intervals=30, validate=200)
    budget = run.answer.budget
    codes = {part.code for part in budget.parts}
    assert codes == {"sampling", "thin", "grid", "features", "off_grid", "drift"}
    assert budget.next in codes
    assert budget["features"].size is not None  # held out
    assert budget["off_grid"].size < 1e-6
    shown = [one.state for one in budget.extrapolated]
    assert set(shown) <= set(run.names)
    assert lincat.read_run(run.path).answer.budget == budget
