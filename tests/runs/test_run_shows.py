"""What a run says of itself in Python: text, notebooks, frames, pictures."""

import numpy as np
import pytest

import lincat
from lincat import InvalidInputError

P = np.array([[0.5, 0.5, 0.0], [0.0, 0.6, 0.4], [0.7, 0.0, 0.3]])
WALK = lincat.MarkovRewardProcess.from_matrices(P, [1.0, 0.0, 2.0]).sample(20_000, seed=1)
NAMES = np.array(["low", "mid", "high"], dtype=object)
COLUMNS = {
    "state": NAMES[WALK.state],
    "reward": WALK.reward,
    "next_state": NAMES[WALK.next_state],
}


@pytest.fixture(scope="module")
def run():
    return lincat.evaluate(COLUMNS, gamma=0.5, intervals=100, below=1.0)


@pytest.fixture(scope="module")
def points():
    log = {"obs_x": WALK.state / 2.0, "obs_y": -1.0 * WALK.state, "reward": WALK.reward}
    log |= {"next_obs_x": WALK.next_state / 2.0, "next_obs_y": -1.0 * WALK.next_state}
    features = lincat.Fourier(order=2)
    return lincat.evaluate(log, gamma=0.5, intervals=60, features=features, validate=0)


def test_a_summary_holds_figures_intervals_and_the_verdict(run):
    text = str(run.summary())
    assert run.verdict in " ".join(text.split())
    assert f"{run.returns.mean()[0]:.5g} ±" in text
    assert "Gamma:        0.5" in text
    assert "P(G<1)" in text
    assert "cvar0.2" in str(run.summary(level=0.2))
    assert repr(run.summary()) == text
    assert run.names[0] in run._repr_html_()
    assert max(map(len, text.splitlines())) < 200


def test_text_says_where_it_is(run):
    text = repr(run)
    assert f"Run of dict, gamma 0.5, in {run.path} (temporary)" in text
    assert text.endswith(run.verdict)


def test_frames_have_the_states_names_and_intervals(run):
    frame = run.summary_frame(library="pyarrow")
    assert frame["state"].to_pylist() == run.names
    np.testing.assert_allclose(frame["mean"], run.returns.mean())
    low, high = run.answer.interval("mean")
    np.testing.assert_allclose(frame["mean_low"], low)
    np.testing.assert_allclose(frame["mean_high"], high)
    assert run.returns.names == tuple(run.names)


def test_observations_come_in_frames_and_answers_in_the_same_library(run):
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name)
        asked = library.DataFrame({"other": [1, 2], "state": ["mid", "low"]})
        found = run.predict(asked)
        np.testing.assert_array_equal(found.mean(), run.predict(["mid", "low"]).mean())
        assert found.names == ("mid", "low")
        assert isinstance(found.summary_frame(), library.DataFrame)
        assert isinstance(run.predict_quantiles(asked), library.DataFrame)


def test_columns_of_points_are_found_by_name_wherever_they_stand(points):
    straight = points.predict([[0.0, 0.0], [0.5, -1.0]]).mean()
    frame = {"obs_y": [0.0, -1.0], "note": ["a", "b"], "obs_x": [0.0, 0.5]}
    np.testing.assert_array_equal(points.predict(frame).mean(), straight)
    with pytest.raises(InvalidInputError, match="obs_x"):
        points.predict({"obs_y": [0.0], "z": [1.0]}).mean()


def test_forecasts(run):
    quantiles = run.predict_quantiles(["mid", "low"], alpha=[0.1, 0.5])
    assert list(getattr(quantiles, "column_names", quantiles)) == ["q0.1", "q0.5"]
    dist = run.predict(["mid", "low"])
    np.testing.assert_allclose(quantiles["q0.1"], dist.quantile(0.1))
    ends = run.predict_interval(["mid", "low"], coverage=0.8)
    np.testing.assert_allclose(ends["lower"], dist.quantile(0.1))
    np.testing.assert_allclose(ends["upper"], dist.quantile(0.9))
    several = run.predict_interval(["mid"], coverage=[0.5, 0.9])
    names = list(getattr(several, "column_names", several))
    assert names == ["lower0.5", "upper0.5", "lower0.9", "upper0.9"]


def test_pictures(run):
    chart = run.plot().to_dict()
    assert run.verdict in chart["title"]["subtitle"]
    states = {row["state"] for row in next(iter(chart["datasets"].values()))}
    assert states == set(run.names)
    checked = run.validation.plot("all").to_dict()
    assert run.validation.description in checked["title"]["subtitle"]
    heights = next(data for data in checked["datasets"].values() if "height" in data[0])
    np.testing.assert_allclose([row["height"] for row in heights], run.validation["all"].pit)
    with pytest.raises(InvalidInputError, match="group: expected one of all"):
        run.validation.plot("nobody")


def test_models_show_themselves(run):
    text = repr(run.model)
    assert text.startswith(f"Model: CategoricalLSTD, gamma 0.5, {run.answer.transitions:,} trans")
    assert run.model.features.describe() in text
    assert text.endswith("100 intervals")
    assert run.model.features.describe() in run.model._repr_html_()


def test_validations_show_themselves(run):
    text = repr(run.validation)
    assert run.validation.description in text
    assert f"{run.validation['all'].w1:.5g}" in text
    assert f"{run.validation['all'].w1:.5g}" in run.validation._repr_html_()
    assert run.validation.to_frame(library="pyarrow")["group"][0].as_py() == "all"
