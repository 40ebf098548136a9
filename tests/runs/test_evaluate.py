"""lincat.evaluate: what it takes, and what it leaves behind where it fails."""

import numpy as np
import pytest

import lincat
from tests.runs.logs import write_names


def test_paths_and_several_of_them(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for seed, path in enumerate(paths):
        write_names(path, rows=500, seed=seed)
    run = lincat.evaluate(paths, out=tmp_path / "run", gamma=0.5, validate=0)
    assert run.answer.transitions == 1000
    assert run.validation is None
    assert run.predict(np.array(["place 0"], object)).mean().shape == (1,)
    with pytest.raises(lincat.InvalidInputError, match="ids that were seen before"):
        run.predict(np.array(["nowhere"], object))


def test_it_refuses_to_overwrite_unless_forced(tmp_path):
    lincat.evaluate("frozen_lake", out=tmp_path, steps=500)
    with pytest.raises(lincat.InvalidInputError, match="new or empty folder"):
        lincat.evaluate("frozen_lake", out=tmp_path, steps=600)
    assert lincat.read_run(tmp_path).answer.transitions == 500
    lincat.evaluate("frozen_lake", out=tmp_path, steps=600, force=True)
    assert lincat.read_run(tmp_path).answer.transitions == 600


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("absent.csv", {}),
        ("nope", {}),
        ("gym:Nope-v0", {}),
        ("gym:CartPole-v1", {"policy": "nope"}),
        ("frozen_lake", {"features": "nope"}),
        ("frozen_lake", {"features": "tiles", "feature_options": {"colour": 1}}),
        ("paper", {"gamma": 1.0}),
        ("frozen_lake", {"colour": 1}),
        ("{log}", {"validate": 10_000}),
        ("{log}", {"columns": {"reward": "cash"}}),
    ],
)
def test_what_fails_leaves_nothing_behind(tmp_path, source, options):
    source = source.format(log=write_names(tmp_path / "log.csv", rows=200))
    with pytest.raises(lincat.InvalidInputError) as caught:
        lincat.evaluate(source, out=tmp_path / "run", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_source_that_is_missing_does_not_cost_the_run_before(tmp_path):
    lincat.evaluate("frozen_lake", out=tmp_path, steps=500)
    with pytest.raises(lincat.InvalidInputError):
        lincat.evaluate("absent.csv", out=tmp_path, force=True)
    assert lincat.read_run(tmp_path).answer.transitions == 500
