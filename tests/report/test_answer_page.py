import base64
import hashlib
import itertools
import json
import re
from importlib.resources import files

import msgspec
import numpy as np
import pytest

import lincat
from lincat.inference.answer import Answer, Caution
from lincat.report.answer_page import (
    cautions,
    comparison_page,
    comparison_text,
    evaluation_page,
    summary_text,
)
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


def test_data_are_the_answer_itself():
    signed = samples.signed()
    data = data_of(evaluation_page(signed))
    assert msgspec.convert(data["answers"], list[Answer]) == [signed]
    learned = samples.learned()
    assert msgspec.convert(data_of(evaluation_page(learned))["answers"], list[Answer]) == [learned]
    solved = samples.solved()
    (shown,) = msgspec.convert(data_of(evaluation_page(solved))["answers"], list[Answer])
    assert msgspec.structs.replace(shown, bands=solved.bands) == solved
    np.testing.assert_allclose(shown.bands.low, np.clip(solved.bands.low, 0, 1), atol=1e-5)


def test_order_of_the_page():
    sample = msgspec.structs.replace(samples.learned(), warnings=(Caution("x", "Beware"),))
    html = evaluation_page(sample, command="lincat evaluate log.csv")
    first, second, third, fourth = summary_text(sample).splitlines()
    assert fourth.startswith("No intervals: ")
    places = [
        html.index(text)
        for text in (
            "<h1>",
            first,
            second.replace(" %", "\u00a0%"),
            third.split(":")[0],
            fourth.split(";")[0],
            "Beware",
            'id="chips"',
            'id="level"',
            'id="ridges"',
            'id="cdf"',
            'id="risk"',
            'id="curve-mean"',
            'id="curve-cvar-0"',
            'id="pit"',
            'id="coverage"',
            'id="compared"',
            'id="scores"',
            "lincat evaluate log.csv",
            "gamma = 0.8",
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


def test_masses_are_drawn_where_they_say_something():
    sample = samples.learned()
    m = len(sample.curves.transitions)

    def page_with(**columns):
        curves = msgspec.structs.replace(sample.curves, **columns)
        return evaluation_page(msgspec.structs.replace(sample, curves=curves))

    quiet = page_with(clipped=(0.0,) * m, negative_mass=(1e-15,) * m)
    assert 'id="curve-mass"' not in quiet
    assert "<h3>Clipped mass</h3>" in page_with(clipped=(0.2,) * m, negative_mass=(0.0,) * m)
    both = page_with(clipped=(0.2,) * m, negative_mass=(0.1,) * m)
    assert "<h3>Clipped mass and negative mass</h3>" in both


def headings(html):
    return re.findall(r"<h3>(Mean of the worst .*?)</h3>", html)


def test_curves_stand_under_the_level_of_their_record():
    html = evaluation_page(samples.learned(), level=0.01)
    assert headings(html) == ["Mean of the worst 5 %"]
    assert "Curves stay at the level that they were recorded at" in html
    assert "Curves stay" not in evaluation_page(samples.learned())
    html = comparison_page([samples.learned(), samples.learned(level=0.1)], ["a", "b"], level=0.01)
    assert headings(html) == ["Mean of the worst 5 %", "Mean of the worst 10 %"]


def test_what_was_compared_with_is_told_by_the_method_and_not_by_words():
    """An environment may be called Inexact-v0."""
    sample, described = samples.learned(), "400 rollouts of Inexact-v0"
    validation = msgspec.structs.replace(
        sample.validation, method="rollouts", description=described
    )
    sample = msgspec.structs.replace(sample, validation=validation)
    assert "80 % intervals held" in summary_text(sample)
    html = evaluation_page(sample)
    assert "Predicted and observed chance" in html
    assert "(DKW)" in html
    html = evaluation_page(samples.exact())
    assert "Predicted and exact chance" in html
    assert "(DKW)" not in html


def test_texts_cannot_become_markup():
    evil = "</script><img src=x onerror=alert(1)><!--"
    sample = samples.with_names(samples.learned(), [evil] * len(samples.learned().state_names))
    sample = msgspec.structs.replace(sample, source=evil, warnings=(Caution(evil, evil),))
    html = evaluation_page(sample, command=evil)
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert data_of(html)["answers"][0]["state_names"][0] == evil


def test_what_figures_themselves_give_rise_to_is_warned_of():
    codes = [caution.code for caution in cautions(samples.signed())]
    assert codes == ["negative_mass"]
    stopped = msgspec.structs.replace(samples.signed(), complete=False)
    assert [caution.code for caution in cautions(stopped)] == ["interrupted", "negative_mass"]
    assert cautions(samples.plain(samples.bells(0.0, 1.0, 2))) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0.0}, "level: expected levels in"),
        ({"threshold": float("inf")}, "threshold: expected a finite number"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        evaluation_page(samples.plain(samples.bells(0.0, 1.0, 3)), **options)


def test_comparisons_need_runs_on_the_same_states():
    answers, names = samples.compared()
    with pytest.raises(lincat.InvalidInputError, match="answers: expected those of 2 to 24 runs"):
        comparison_page(answers[:1], names[:1])
    with pytest.raises(lincat.InvalidInputError, match="runs: expected 3 names, got 2"):
        comparison_page(answers, names[:2])
    answers[1] = samples.lake()
    with pytest.raises(lincat.InvalidInputError, match="run slow: expected the states of the fi"):
        comparison_page(answers, names)


def test_comparison_holds_each_answer():
    answers, names = samples.compared()
    data = data_of(comparison_page(answers, names))
    assert data["runs"] == names
    assert [answer["cdf"] for answer in data["answers"]] == [
        [list(row) for row in answer.cdf] for answer in answers
    ]
    assert data["answers"][2]["grid"] == {"low": -5.0, "high": 7.0, "intervals": 40}


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


def test_a_verdict_that_failed_stands_for_the_headline():
    failed = samples.solved(rows=300)
    assert failed.verdict.trusted is False
    first, second = summary_text(failed).splitlines()
    assert first == failed.verdict.sentence
    assert second.startswith(("Checked against", "Figures and charts are shown"))
    html = evaluation_page(failed)
    assert '<p class="lead failed">Not to be trusted: ' in html
    assert "The chance to end below" not in html
    assert '<details class="checks" open>' in html
    assert html.count('<td class="left">failed</td>') == sum(
        not check.passed for check in failed.verdict.checks
    )


def test_a_verdict_that_passed_stands_under_the_headline():
    passed = msgspec.structs.replace(
        samples.solved(),
        verdict=msgspec.structs.replace(
            samples.solved().verdict, trusted=True, sentence="The figures agree with 9 returns."
        ),
    )
    lines = summary_text(passed).splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("The figures agree with 9 returns: 80 % intervals held")
    assert '<p class="lead">' in evaluation_page(passed)


def test_runs_that_observe_different_things_are_not_ranked():
    answers, names = samples.compared()
    assert "has the highest mean return" in comparison_text(answers, names)
    other = msgspec.structs.replace(answers[1], observation_names=("x", "y"))
    text = comparison_text([answers[0], other, answers[2]], names)
    assert (
        text
        == "No run is ranked, as they observe different things (run fast: state; run slow: x, y)."
    )
