"""The pages in a real Chromium; `visit` fails where a page errs or asks for anything else."""

import re

import msgspec
import numpy as np
import pytest

import lincat
from lincat.core.summary import visible_range
from lincat.inference.answer import Caution
from lincat.report.answer_page import comparison_page, evaluation_page
from lincat.report.cautions import cautions
from lincat.report.numbers import show_given, show_number, show_share
from tests.report import samples


@pytest.fixture(scope="module")
def html():
    return evaluation_page(samples.learned())


def table(page, key):
    """The full numbers of one column of the table of risks, by state."""
    rows = page.locator("#risk tbody tr").all()
    return {
        row.get_attribute("data-name"): float(
            row.locator(f"td[data-key={key}]").get_attribute("data-value")
        )
        for row in rows
    }


def settle(page):
    """Wait for the drawing that a control asked for."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def set_level(page, percent):
    page.locator("#level").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        percent,
    )
    settle(page)


def names_of(locator):
    return locator.evaluate_all("parts => parts.map(part => part.dataset.name)")


def test_everything_is_drawn(visit, html):
    page, sample = visit(html), samples.learned()
    assert names_of(page.locator("#ridges .ridge")) == list(sample.state_names)
    assert page.locator("#cdf path.line").count() == len(sample.state_names)
    assert page.locator("#cdf path.band").count() == 0  # of what is learned step by step
    assert page.locator("#curve-mean path.line").count() == len(sample.state_names)
    assert page.locator("#curve-cvar-0 path.line").count() == len(sample.state_names)
    assert page.locator("#pit rect.bar").count() == 20
    groups = len(sample.validation.groups)
    assert page.locator("#coverage circle.dot").count() == groups * 3
    assert page.locator("#compared path.line").count() == 2
    assert page.locator("#scores tbody tr").count() == groups
    assert page.locator(".warnings li").count() == len(cautions(sample))
    checks, *rest = page.locator("summary").all_inner_texts()
    assert checks.startswith("What was checked: ")
    assert rest == ["Configuration", "Versions"]


def test_intervals_are_drawn_and_are_those_of_the_answer(visit):
    sample = samples.solved()
    page = visit(evaluation_page(sample, level=0.07))
    n = page.locator("#ridges .ridge").count()
    assert page.locator("#ridges .whisker").count() == 2 * n
    assert page.locator("#cdf path.band").count() == n
    names = names_of(page.locator("#ridges .ridge"))
    chosen = [sample.state_names.index(name) for name in names]
    asked = {
        "mean": ("mean",),
        "sd": ("std",),
        "q05": ("quantile", 0.05),
        "q50": ("quantile", 0.5),
        "q95": ("quantile", 0.95),
        "cvar": ("cvar", 0.07),
        "below": ("probability_below", -1.0),
    }
    for key, question in asked.items():
        cells = page.locator(f"#risk td[data-key={key}]")
        ends = cells.evaluate_all("cells => cells.map(cell => cell.dataset.ends)")
        found = np.array([[float(x) for x in one.split()] for one in ends]).T
        expected = [end[chosen] for end in sample.interval(*question)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=2e-5)  # bands have 5 digits
        assert cells.first.locator("small.interval").count() == 1
    assert "±" in page.locator("#risk td[data-key=mean]").first.inner_text()


def test_distributions_are_measured_as_python_measures_them(visit):
    rng = np.random.default_rng(0)
    pmf = rng.dirichlet(np.full(41, 0.2), size=6)
    pmf[1] = np.eye(41)[7]
    grid = lincat.Grid(-3.0, 7.0, 40)
    dist = lincat.ReturnDistribution.from_pmf(pmf, grid)
    page = visit(evaluation_page(samples.plain(dist)))
    levels = [0.005, 0.05, 0.1, 1 / 3, 0.5, *dist.cdf_values[0, 5:9].tolist()]
    levels = [u for u in levels if u > 0.0]
    points = [-4.0, -3.0, -2.75, -1.1, 0.3, 2.0, 6.99, 7.0, 8.0]
    script = """([levels, points]) => lincat.distributions[0].map(distribution => ({
        quantile: levels.map(u => lincat.quantile(distribution, u)),
        cvar: levels.map(u => lincat.cvar(distribution, u)),
        below: points.map(x => lincat.probabilityBelow(distribution, x)),
        cdf: points.map(x => lincat.cdfAt(distribution, x)),
        std: lincat.std(distribution), mean: distribution.mean}))"""
    found = page.evaluate(script, [levels, points])

    def column(key):
        return np.array([distribution[key] for distribution in found])

    np.testing.assert_allclose(column("quantile"), dist.quantile(levels), rtol=0, atol=1e-12)
    np.testing.assert_allclose(column("cvar"), dist.cvar(levels), rtol=0, atol=1e-9)
    np.testing.assert_allclose(column("below"), dist.probability_below(points), rtol=0, atol=1e-12)
    np.testing.assert_allclose(column("cdf"), dist.cdf(points), rtol=0, atol=1e-12)
    np.testing.assert_allclose(column("std"), dist.std(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(column("mean"), dist.mean(), rtol=0, atol=1e-12)


def test_numbers_are_written_as_python_writes_them(visit, html):
    ranges = [(0.0, 20.0), (-2e6, 5e5), (0.0, 4e-6), (-1e9, 3e9), (0.0, 1.0), (999.0, 1000.5)]
    shares = [u * (high - low) + low for low, high in ranges for u in (0.0, 0.0123, 0.5, 0.99999)]
    cases = [(x, ends) for ends in ranges for x in shares]
    page = visit(html)
    found = page.evaluate("cases => cases.map(([x, ends]) => lincat.showNumber(x, ends))", cases)
    assert [text.replace("\u00a0", " ") for text in found] == [
        show_number(x, *ends) for x, ends in cases
    ]


def test_leaving_a_state_out_takes_its_ridge_its_line_and_its_row(visit, html):
    page = visit(html)
    gone = samples.learned().state_names[3]
    page.get_by_role("checkbox", name=gone, exact=True).uncheck()
    left = [name for name in samples.learned().state_names if name != gone]
    assert names_of(page.locator("#ridges .ridge")) == left
    assert names_of(page.locator("#risk tbody tr")) == left
    assert page.locator("#cdf path.line").count() == len(left)
    page.get_by_role("button", name="none").click()
    assert page.locator("#ridges .ridge").count() == 0
    assert "Choose at least one state" in page.locator("#ridges").inner_text()
    page.get_by_role("button", name="all").click()
    assert page.locator("#ridges .ridge").count() == len(left) + 1


def test_slider_moves_the_level_of_everything(visit, html):
    page, sample = visit(html), samples.learned()
    before = page.locator("#ridges .tail").first.get_attribute("d")
    set_level(page, 20)
    proper = sample.returns.proper()
    found = table(page, "cvar")
    expected = dict(zip(sample.state_names, proper.cvar(0.2), strict=True))
    assert found == pytest.approx(expected, abs=1e-9)
    shown = page.locator("#risk tbody tr").first.locator("td[data-key=cvar]").inner_text()
    assert shown == show_number(expected["start"], *visible_range(sample.returns))
    assert page.locator("output").inner_text() == "20\u00a0%"
    assert "Mean of the worst\u00a020\u00a0%" in page.locator("#risk thead").inner_text()
    assert page.locator("#cdf .guide-text").text_content() == "worst 20\u00a0%"
    assert page.locator("#ridges .tail").first.get_attribute("d") != before
    assert page.locator("#level").get_attribute("aria-valuetext") == "20\u00a0%"


def test_threshold_box_moves_the_chance_below(visit, html):
    page, sample = visit(html), samples.learned()
    proper = sample.returns.proper()
    for threshold in (sample.threshold, 4.25):
        page.locator("#threshold").fill(str(threshold))
        settle(page)
        expected = dict(zip(sample.state_names, proper.probability_below(threshold), strict=True))
        assert table(page, "below") == pytest.approx(expected, abs=1e-12)
        heading = page.locator("#risk thead").inner_text()
        assert f"Chance below\u00a0{show_given(threshold)}" in heading
    page.locator("#threshold").fill("")
    settle(page)
    assert page.locator("td[data-key=below]").first.inner_text() == "–"
    assert page.locator("#cdf .guide.threshold").count() == 0


def test_keyboard_does_all_that_the_mouse_does(visit, html):
    page, sample = visit(html), samples.learned()
    page.locator("#level").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    expected = dict(zip(sample.state_names, sample.returns.proper().cvar(0.055), strict=True))
    assert table(page, "cvar") == pytest.approx(expected, abs=1e-9)
    page.get_by_role("checkbox", name="start").focus()
    page.keyboard.press("Space")
    assert "start" not in names_of(page.locator("#risk tbody tr"))
    page.locator("#cdf").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "Return at most" in page.locator(".readout").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator(".readout").is_visible()
    page.get_by_role("button", name="Mean", exact=True).focus()
    page.keyboard.press("Enter")
    means = list(table(page, "mean").values())
    assert means == sorted(means)
    page.keyboard.press("Enter")
    assert list(table(page, "mean").values()) == means[::-1]


def test_pointing_reads_off_the_chances(visit):
    sample = samples.solved()
    page = visit(evaluation_page(sample))
    chart = page.locator("#cdf")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.4 * box["height"])
    text = page.locator(".readout").inner_text().replace("\u00a0", " ")
    at = float(re.match(r"Return at most (−?[\d.]+)", text)[1].replace("−", "-"))
    atom = sample.returns.grid.atoms[np.abs(sample.returns.grid.atoms - at).argmin()]
    chance = float(sample.returns.proper().cdf(atom)[0])
    shown = float(re.search(r"start\s+([\d.]+) %", text)[1])
    assert shown == pytest.approx(100.0 * chance, abs=0.06)
    assert "–" in text  # the band
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] - 60)
    assert not page.locator(".readout").is_visible()


def test_pointing_at_a_ridge_brings_its_state_out_everywhere(visit):
    page = visit(evaluation_page(samples.solved()))
    page.locator("#ridges .ridge[data-name='place 1'] .catch").hover()
    assert "Standard deviation" in page.locator(".readout").inner_text()
    assert page.locator("#risk tr.bright").get_attribute("data-name") == "place 1"
    assert page.locator("#cdf path.band.bright").is_visible()
    assert not page.locator("#cdf path.band:not(.bright)").first.is_visible()


def test_groups_of_the_validation_can_be_chosen(visit, html):
    page = visit(html)
    bars = "bars => bars.map(bar => bar.getAttribute('height'))"
    before = page.locator("#pit rect.bar").evaluate_all(bars)
    page.get_by_role("radio", name="place 1", exact=True).check()
    assert page.locator("#pit rect.bar").evaluate_all(bars) != before


@pytest.mark.parametrize("sample", ["learned", "many", "huge", "compared", "lake"])
def test_phone_has_no_sideways_scrolling(visit, sample):
    if sample == "compared":
        page_html = comparison_page(*samples.compared(), threshold=3.0)
    else:
        evaluation = {
            "learned": samples.learned,
            "many": lambda: samples.plain(samples.bells(-50.0, 150.0, 24)),
            "huge": lambda: samples.plain(samples.bells(-1e9, 3e9, 4), threshold=0.0),
            "lake": samples.lake,
        }[sample]()
        page_html = evaluation_page(evaluation)
    page = visit(page_html, width=360, height=740, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    outside = page.evaluate(
        "[...document.querySelectorAll('section > *, .control > *, .chip')]"
        ".filter(e => e.getBoundingClientRect().right > 361).map(e => e.className)"
    )
    assert outside == []


def luminance(colour):
    red, green, blue = (int(c) / 255 for c in re.findall(r"\d+", colour)[:3])
    parts = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    )
    return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(visit, html, scheme):
    page = visit(html, color_scheme=scheme)
    style = "(e, key) => getComputedStyle(e)[key]"
    behind = page.locator("section").nth(2).evaluate(style, "backgroundColor")
    assert (luminance(behind) < 0.05) == (scheme == "dark")
    for place in ("svg .tick", "svg .ridge-name", "svg .axis-title", ".note", "#risk td"):
        text = page.locator(place).first
        key = "fill" if place.startswith("svg") else "color"
        assert contrast(text.evaluate(style, key), behind) >= 4.5, place
    for line in page.locator("#cdf path.line").all():
        assert contrast(line.evaluate(style, "stroke"), behind) >= 3.0


def test_paper_shows_everything_and_no_controls(visit, html):
    page = visit(html, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert not page.locator(".controls").is_visible()
    assert not page.locator(".dock").is_visible()
    assert page.locator(".versions").is_visible()
    style = "e => getComputedStyle(e).backgroundColor"
    assert luminance(page.locator("body").evaluate(style)) == 1.0
    assert page.pdf().startswith(b"%PDF")


def test_names_are_text_whatever_they_hold(visit):
    evil = "</script><img src=x onerror=alert(1)>"
    sample = samples.with_names(samples.learned(), [evil, *samples.learned().state_names[1:]])
    groups = sample.validation.groups
    groups = (msgspec.structs.replace(groups[0], group=evil), *groups[1:])
    validation = msgspec.structs.replace(sample.validation, description=evil, groups=groups)
    texts = dict.fromkeys(("source", "learner", "features", "config"), evil)
    spoiled = msgspec.structs.replace(
        sample,
        **texts,
        validation=validation,
        warnings=(Caution(evil, evil),),
        versions={evil: evil},
    )
    page = visit(evaluation_page(spoiled, command=evil))
    assert page.locator("h1").inner_text() == evil
    assert page.locator("img").count() == 0
    assert names_of(page.locator("#ridges .ridge"))[0] == evil
    page.locator("#ridges .catch").first.hover()
    assert evil in page.locator(".readout").inner_text()


@pytest.mark.parametrize("n", [1, 24, 200])
def test_few_and_many_states(visit, n):
    page = visit(evaluation_page(samples.plain(samples.bells(0.0, 10.0, n))))
    assert page.locator("#ridges .ridge").count() == min(n, 8)
    assert page.locator("#chips input").count() == min(n, 24)
    assert page.locator(".controls").is_visible() == (n > 1)
    assert page.get_by_text("24 of 200 shown here").count() == (n == 200)
    if n > 1:
        page.get_by_role("button", name="all").click()
        strokes = page.locator("#cdf path.line").evaluate_all(
            "lines => lines.map(l => getComputedStyle(l)).map(s => s.stroke + s.strokeDasharray)"
        )
        assert len(set(strokes)) == 24


def test_an_atom_that_holds_nearly_everything_is_a_needle(visit):
    page = visit(evaluation_page(samples.lake()))
    first = page.locator("#ridges .ridge").first
    assert first.locator(".needle").count() == 1
    mass = float(samples.lake().returns.pmf[0, 0])
    assert first.locator(".needle-text").text_content() == f"{100 * mass:.0f}\u00a0% at 0"


def test_signed_distributions_are_warned_of_and_mended(visit):
    signed = samples.signed()
    page = visit(evaluation_page(signed))
    assert show_share(float(signed.returns.negative_mass.max())) in page.locator(
        ".warnings"
    ).inner_text().replace("\u00a0", " ")
    proper = signed.returns.proper()
    for key, values in (("cvar", proper.cvar(0.05)), ("mean", proper.mean()), ("sd", proper.std())):
        expected = dict(zip(signed.state_names, values, strict=True))
        assert table(page, key) == pytest.approx(expected, abs=1e-9)


def test_runs_are_laid_over_each_other(visit):
    answers, runs = samples.compared()
    names = answers[0].state_names
    page = visit(comparison_page(answers, runs, threshold=3.0, command="lincat compare a b c"))
    assert page.locator("#cdf path.line").count() == 3
    assert page.locator("#risk tbody tr").count() == 3 * len(names)
    cells = page.locator("#risk td[data-key=cvar]").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.value))"
    )
    expected = np.stack([answer.returns.proper().cvar(0.05) for answer in answers], axis=1).ravel()
    np.testing.assert_allclose(cells, expected, atol=1e-9)
    before = page.locator("#cdf path.line").first.get_attribute("d")
    page.get_by_role("radio", name="place 1", exact=True).check()
    assert page.locator("#cdf path.line").first.get_attribute("d") != before
    assert page.locator("[data-text=facet]").first.inner_text() == "place 1"
    page.get_by_role("checkbox", name="slow").uncheck()
    assert page.locator("#cdf path.line").count() == 2
    groups = sum(len(answer.validation.groups) for answer in answers if answer.validation)
    assert page.locator("#scores tbody tr").count() == groups
    assert page.locator("#coverage circle.dot").count() == groups * 3


def test_without_scripts_the_summary_and_the_table_are_there(visit, html):
    page = visit(html, java_script_enabled=False)
    assert "From the start state the mean return is" in page.locator(".lead").inner_text()
    assert page.locator("noscript table tbody tr, noscript tr").count() >= len(
        samples.learned().state_names
    )


def test_checks_unfold_and_failed_ones_are_open(visit):
    passed = visit(evaluation_page(samples.learned()))
    table = passed.locator(".checks table")
    assert not table.is_visible()
    passed.locator(".checks summary").click()
    assert table.is_visible()
    failed = visit(evaluation_page(samples.solved(rows=300)))
    assert failed.locator(".checks table").is_visible()
    assert failed.locator(".lead.failed").inner_text().startswith("Not to be trusted: ")


def test_nothing_is_said_of_a_threshold_outside_of_a_grid_that_lost_mass(visit):
    answer = samples.plain(samples.bells(0.0, 10.0, 2), warnings=(Caution("off_grid", "Lost."),))
    for threshold, known in ((-1.0, False), (0.0, False), (5.0, True), (11.0, False)):
        page = visit(evaluation_page(answer, threshold=threshold))
        cell = page.locator("#risk tbody tr").first.locator("[data-key=below]")
        assert (cell.get_attribute("data-value") != "") == known
