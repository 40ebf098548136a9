import numpy as np

import lincat
from lincat.core.figures import ridgelines
from lincat.report import figures


def distributions(n):
    pmf = np.random.default_rng(0).dirichlet(np.ones(6), size=n)
    return lincat.ReturnDistribution.from_pmf(pmf, lincat.Grid(-1.0, 4.0, 5))


def values(chart):
    return chart.to_dict()["datasets"].popitem()[1]


def test_ridgelines_show_every_mass_of_every_state():
    dist = distributions(3)
    rows = values(ridgelines(dist, ["a", "b", "c"], title="t"))
    assert len(rows) == 3 * 6
    np.testing.assert_allclose([row["probability"] for row in rows], dist.pmf.ravel())
    np.testing.assert_allclose(
        [rows[0]["mean"], rows[0]["tail"]], [dist.mean()[0], dist.cvar(0.05)[0]]
    )


def test_many_states_are_thinned_and_it_is_said():
    names = [str(i) for i in range(200)]
    chart = ridgelines(distributions(200), names, title="t")
    shown = {row["state"] for row in values(chart)}
    assert len(shown) == 24
    assert {"0", "199"} <= shown
    assert "24 of 200 states" in chart.to_json()


def test_files_are_whole_and_need_no_network(tmp_path):
    chart = ridgelines(distributions(2), ["a", "b"], title="Returns")
    svg, png, html = figures.save_figure(chart, tmp_path, "returns")
    assert svg.read_text().startswith("<svg")
    assert "Returns" in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")
    page = html.read_text()
    assert "<script src=" not in page
    assert "cdn." not in page
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "returns.html",
        "returns.png",
        "returns.svg",
    ]
