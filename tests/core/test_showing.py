"""What distributions say of themselves: text, notebooks, frames, pictures."""

import sys

import numpy as np
import pyarrow as pa
import pytest

import lincat
from lincat import Grid, InvalidInputError, ReturnDistribution
from lincat.core.frames import frame_of

GRID = Grid(-1.0, 4.0, intervals=50)


def _some(n, signed=False):
    pmf = np.random.default_rng(n).dirichlet(np.ones(51), size=n)
    if signed:
        pmf[:, 3] -= 0.05
        pmf[:, 4] += 0.05
    return ReturnDistribution.from_pmf(pmf, GRID)


def _with_errors():
    coin = lincat.catalog.uniform_coin().process.sample(5000, seed=1)
    model = lincat.CategoricalLSTD(gamma=0.5, n_features=1, intervals=40).fit(coin)
    return model.predict([0], confidence=0.95), model


def test_figures_of_a_frame_are_those_of_the_distribution():
    dist = _some(3).labelled(["a", "b", "c"])
    frame = dist.summary_frame(level=0.1, threshold=1.0, library="pyarrow")
    assert frame.column_names == [
        *("state", "mean", "std", "q0.1", "median", "q0.9", "cvar0.1", "P(G<1)")
    ]
    assert frame["state"].to_pylist() == ["a", "b", "c"]
    np.testing.assert_allclose(frame["mean"], dist.mean())
    np.testing.assert_allclose(frame["cvar0.1"], dist.cvar(0.1))
    np.testing.assert_allclose(frame["P(G<1)"], dist.probability_below(1.0))


def test_intervals_stand_beside_the_figures_where_they_are_known():
    dist, _ = _with_errors()
    frame = dist.summary_frame(library="pyarrow")
    np.testing.assert_allclose(frame["mean_low"], dist.interval("mean")[0])
    for name in ("mean", "std", "q0.05", "median", "q0.95", "cvar0.05"):
        low, high = frame[f"{name}_low"][0].as_py(), frame[f"{name}_high"][0].as_py()
        assert low <= frame[name][0].as_py() <= high
        assert low < high
    assert "±" in repr(dist)


def test_a_long_frame_holds_every_mass():
    dist = _some(2)
    frame = dist.to_frame(library="pyarrow")
    np.testing.assert_allclose(frame["probability"].to_numpy().reshape(2, 51), dist.pmf)
    np.testing.assert_allclose(frame["return"].to_numpy().reshape(2, 51)[1], GRID.atoms)
    np.testing.assert_allclose(frame["cdf"].to_numpy().reshape(2, 51)[:, -1], 1.0)


def test_names_and_library_stay_with_what_is_made_of_it():
    dist = _some(3, signed=True).labelled(["a", "b", "c"], frames="pyarrow")
    for made in (dist.proper(), dist.shifted([0.0, 1.0, 2.0]), dist[[0, 1, 2]]):
        assert made.names == ("a", "b", "c")
        assert isinstance(made.summary_frame(), pa.Table)
    assert dist[1:].names == ("b", "c")
    with pytest.raises(InvalidInputError, match="names: expected 3 names"):
        dist.labelled(["a"])


def test_the_library_of_frames(monkeypatch):
    columns = {"state": ["a", "b"], "mean": np.array([1.0, 2.0])}
    assert type(frame_of(columns, "pyarrow")).__name__ == "Table"
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name)
        made = frame_of(columns, name)
        assert isinstance(made, library.DataFrame)
        assert list(made["mean"]) == [1.0, 2.0]
    with pytest.raises(InvalidInputError, match="library: expected one of 'pandas'"):
        frame_of(columns, "excel")


def test_without_pandas_it_is_arrow(monkeypatch):
    monkeypatch.setattr("lincat.core.frames.find_spec", lambda name: None)
    assert isinstance(_some(1).summary_frame(), pa.Table)


@pytest.mark.parametrize("call", [lambda d: d.plot(), lambda d: d.to_frame(library="polars")])
def test_a_missing_package_is_named_with_its_remedy(call, monkeypatch):
    for name in ("altair", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidInputError, match=r"expected the package (\w+), .*pip install \1"):
        call(_some(1))


def test_text_and_html_show_figures_and_are_short():
    dist = _some(20)
    text, html = repr(dist), dist._repr_html_()
    assert text.startswith("ReturnDistribution of 20 states on [-1, 4], 50 intervals\nstate")
    assert text.endswith("(12 more)")
    assert f"{dist.mean()[7]:.5g}" in text
    assert f"{dist.mean()[7]:.5g}" in html
    assert "<b>" not in dist[:1].labelled(["<b>"])._repr_html_()
    empty = dist[:0]
    assert repr(empty) == "ReturnDistribution of 0 states on [-1, 4], 50 intervals"
    assert "0 states" in empty._repr_html_()


def test_prediction_intervals_hold_their_share():
    dist = _some(3)
    low, high = dist.prediction_interval([0.5, 0.9])
    assert low.shape == high.shape == (3, 2)
    for j, share in enumerate((0.5, 0.9)):
        for i in range(3):
            inside = dist.cdf(high[i, j])[i] - dist.probability_below(low[i, j])[i]
            assert inside >= share - 1e-9
    with pytest.raises(InvalidInputError, match="coverage: expected shares in"):
        dist.prediction_interval(1.5)


def test_learners_forecast():
    dist, model = _with_errors()
    np.testing.assert_array_equal(
        model.predict_quantiles([0], [0.1, 0.5]), dist.quantile([0.1, 0.5])
    )
    np.testing.assert_array_equal(model.predict_interval([0], 0.8), dist.prediction_interval(0.8))
    assert "5,000 transitions" in model._repr_html_()


def test_a_picture_shows_all_the_mass_in_bars_that_are_not_too_many():
    dist = ReturnDistribution(np.linspace(0.0, 1.0, 2000)[None], Grid(0.0, 1.0, 2000))
    chart = dist.labelled(["even"]).plot(title="Even").to_dict()
    rows = next(iter(chart["datasets"].values()))
    assert len(rows) <= 240
    assert sum(row["probability"] for row in rows) == pytest.approx(1.0)
    assert chart["title"]["text"] == "Even"
    widths = [row["probability"] / row["density"] for row in rows]
    assert sum(widths) == pytest.approx(1.0 + 1 / 2000)
