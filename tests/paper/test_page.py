import json
import re

from lincat.paper.page import Section, as_html
from lincat.report.figures import beside, curves, save_figure

ROWS = [
    {"x": x, "y": x * factor, "kind": kind, "not drawn": "secret"}
    for kind, factor in (("one", 1.0), ("two", 2.0))
    for x in (1, 10, 100)
]


def chart(**options):
    return curves(ROWS, x="x", y="y", series="kind", title="T", **options)


def test_curves_are_lines_on_the_axes_asked_for():
    spec = chart(log="y", y_title="size").to_dict()
    assert len(spec["layer"]) == 1
    encoding = spec["layer"][0]["encoding"]
    assert "type" not in encoding["x"]["scale"]
    assert encoding["y"]["scale"]["type"] == "log"
    assert encoding["y"]["title"] == "size"
    assert "secret" not in json.dumps(spec)


def test_some_series_are_points():
    layers = chart(points=["two"]).to_dict()["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["line", "point"]
    layers = chart(points=["one", "two"]).to_dict()["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["point"]


def test_figures_are_saved_in_the_forms_asked_for(tmp_path):
    files = save_figure(beside(chart(), chart(log="xy")), tmp_path, "pair", ("svg", "png"))
    assert {file.name for file in files} == {"pair.svg", "pair.png"}
    assert (tmp_path / "pair.svg").read_text(encoding="utf-8").startswith("<svg")


def test_page_holds_text_tables_and_figures_and_needs_no_network():
    sections = [
        Section("Only <words>", "a & b"),
        Section("A table", rows=[{"name": "<i>", "value": 1.5}, {"name": "b", "value": None}]),
        Section("A figure", figure=chart()),
    ]
    page = as_html("Title </script>", "Mind & this", sections)
    assert "<h2>Only &lt;words&gt;</h2>" in page
    assert "a &amp; b" in page
    assert '<td class="left">&lt;i&gt;</td><td class="right">1.5</td>' in page
    assert '<td class="right">-</td>' in page
    assert '<p class="notice">Mind &amp; this</p>' in page
    assert page.count("</script>") == 2
    figures = json.loads(re.search(r"const figures = (.*);\n", page).group(1))
    assert list(figures) == ["figure2"]
    outside_scripts = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=", outside_scripts)


def test_data_cannot_end_the_script():
    rows = [{"x": 1, "y": 1.0, "kind": "</script><b>"}]
    figure = curves(rows, x="x", y="y", series="kind", title="T")
    page = as_html("T", "", [Section("F", figure=figure)])
    assert "</script><b>" not in page
