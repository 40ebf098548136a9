import base64
import dataclasses
import hashlib
import itertools
import json
import re
from importlib.resources import files

import numpy as np
import pytest

import lincat
from lincat.report.comparison import comparison_page
from lincat.report.evaluation import evaluation_page, summary_text
from tests.report import samples


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html)[1])


def test_page_is_one_file_that_can_reach_nothing():
    html = evaluation_page(samples.learned())
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert not re.search(r'(src|href)="(?!data:)', html)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for element in ("style", "script"):
        text = re.search(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert len(html) < 150_000


def test_data_are_the_proper_distributions_and_the_means_as_learned():
    signed = samples.signed()
    data = data_of(evaluation_page(signed))
    distributions = data["distributions"][0]
    np.testing.assert_array_equal(
        [distribution["cdf"] for distribution in distributions], signed.dist.proper().cdf_values
    )
    np.testing.assert_array_equal(
        [distribution["mean"] for distribution in distributions], signed.dist.mean()
    )


def test_order_of_the_page():
    sample = dataclasses.replace(samples.learned(), warnings=["Beware"])
    html = evaluation_page(sample)
    first, second, third = summary_text(sample).splitlines()
    places = [
        html.index(text)
        for text in (
            "<h1>",
            first,
            second.replace(" %", "\u00a0%"),
            third.split(":")[0],
            "Beware",
            'id="chips"',
            'id="level"',
            'id="ridges"',
            'id="cdf"',
            'id="risk"',
            'id="curve-mean"',
            'id="pit"',
            'id="coverage"',
            'id="compared"',
            'id="scores"',
            "lincat evaluate random_process",
            "[learner]",
            f"<dd>{np.__version__}</dd>",
        )
    ]
    assert places == sorted(places)


def test_parts_without_data_are_left_out():
    html = evaluation_page(samples.plain(samples.bells(0.0, 1.0, 2)))
    ids = set(re.findall(r'id="([a-z-]+)"', html))
    assert {"ridges", "cdf", "risk"} <= ids
    assert not ids & {"curve-mean", "curve-mass", "pit", "scores", "warnings-heading", "groups"}
    assert "Run it again" not in html


def test_masses_and_step_sizes_are_drawn_where_they_say_something():
    def rows(**columns):
        return [
            {"transitions": 10 * (i + 1), **{key: values[i] for key, values in columns.items()}}
            for i in range(2)
        ]

    dist = samples.bells(0.0, 1.0, 1)
    quiet = rows(clipped=[0.0, 0.0], negative=[0.0, 1e-15], step_size=[0.1, 0.1])
    data = data_of(evaluation_page(samples.plain(dist, curves=quiet)))
    assert data["ticks"]["masses"] == []
    assert data["ticks"]["step_size"] is None
    loud = rows(clipped=[0.0, 0.2], negative=[None, float("nan")], step_size=[0.1, 0.05])
    html = evaluation_page(samples.plain(dist, curves=loud))
    assert [m["name"] for m in data_of(html)["ticks"]["masses"]] == ["clipped mass"]
    assert data_of(html)["ticks"]["step_size"] == [0.1, 0.05]
    assert 'id="curve-mass"' in html
    assert 'id="curve-step"' in html


def test_validation_may_hold_less_and_more_than_expected():
    dist = samples.bells(0.0, 1.0, 2)
    rows = [{"group": 3, "w1": float("nan"), "new score": np.float64(2.0), "other": None}]
    html = evaluation_page(samples.plain(dist, validation={"rows": rows}))
    found = data_of(html)["validation"]["rows"]
    assert found == [{"group": 3, "w1": None, "new score": 2.0, "other": None}]
    assert 'id="pit"' not in html
    html = evaluation_page(samples.plain(dist, validation={"kind": "nothing", "rows": []}))
    assert "The validation left no scores" in html


def test_texts_cannot_become_markup():
    evil = "</script><img src=x onerror=alert(1)><!--"
    sample = dataclasses.replace(samples.learned(), title=evil, warnings=[evil], command=evil)
    html = evaluation_page(dataclasses.replace(sample, names=[evil] * len(sample.names)))
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert data_of(html)["series"][0]["name"] == evil


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ["start"]}, "names: expected 3 texts"),
        ({"observations": ["a"]}, "observations: expected 3 texts"),
        ({"bands": (np.zeros((3, 2)), np.ones((3, 2)))}, r"bands\[0\]: expected an array"),
        ({"level": 0.0}, "level: expected levels in"),
        ({"threshold": float("inf")}, "threshold: expected a finite number"),
        ({"validation": {"kind": "x"}}, "validation: expected a dict with a list of rows"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        samples.plain(samples.bells(0.0, 1.0, 3), **changes)


def test_comparisons_need_runs_on_the_same_states():
    runs, names = samples.compared()
    with pytest.raises(lincat.InvalidInputError, match="runs: expected 2 to 24 runs, got 1"):
        comparison_page(runs[:1], names)
    with pytest.raises(lincat.InvalidInputError, match="run fast: expected 3 distributions"):
        comparison_page(runs, names[:3])


def test_comparison_lays_runs_on_each_state():
    runs, names = samples.compared()
    data = data_of(comparison_page(runs, names))
    assert data["facets"] == list(names)
    assert [series["name"] for series in data["series"]] == ["fast", "slow", "other grid"]
    assert data["distributions"][2][2]["cdf"] == runs[2].dist.cdf_values[2].tolist()
    assert data["distributions"][0][2]["high"] == 12.0
    assert {row["run"] for row in data["validation"]["rows"]} == {"fast", "slow"}


# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision
# deficiency", 2009, severity 1: linear RGB as a person with the deficiency sees it.
_SEEN = {
    "all cones": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def cielab(rgb):
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(rgb, 0.0, 1.0) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", _SEEN)
@pytest.mark.parametrize("palette", [0, 1])
def test_colours_can_be_told_apart_by_everybody(sight, palette):
    css = files("lincat.report").joinpath("page.css").read_text()
    lines = [line for line in css.splitlines() if "--c0: #" in line]
    colours = re.findall(r"--c\d: #([0-9a-f]{6})", lines[palette])
    assert len(colours) == 6
    seen = []
    for colour in colours:
        srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)])
        linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
        seen.append(cielab(np.array(_SEEN[sight]) @ linear))
    # About 2 can be seen side by side; 15 is a different colour across a chart.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15.0
