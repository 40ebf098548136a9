"""The notebooks in examples/ run, and show what is stored in them."""

import json
import pathlib
import re
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


@pytest.fixture
def run_notebooks(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import run_notebooks

    yield run_notebooks
    sys.modules.pop("run_notebooks")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_notebook_runs_and_shows_what_it_stores(file, run_notebooks):
    pytest.importorskip("pandas")
    stored = json.loads(file.read_text(encoding="utf-8"))
    done = run_notebooks.executed(stored)
    for before, now in zip(stored["cells"], done["cells"], strict=True):
        assert before["source"] == now["source"]
        if now["cell_type"] == "code":
            kinds = [sorted(output.get("data", [])) for output in now["outputs"]]
            assert [sorted(output.get("data", [])) for output in before["outputs"]] == kinds
    last = [cell for cell in done["cells"] if cell["cell_type"] == "code"][-1]
    said = "".join(last["outputs"][0]["text"])
    assert re.search(r"A new one earns 1[01]\.\d more: repair it\.", said)  # 10.66 in truth


def test_a_cell_that_fails_is_an_error(run_notebooks):
    with pytest.raises(ZeroDivisionError):
        run_notebooks.run_cell("1 / 0", {})
