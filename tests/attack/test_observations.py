"""Every way to give observations, to every kind of run: the same figures, or one line of error."""

import functools
from types import SimpleNamespace

import gymnasium
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import lincat


def _walk(rows, seed=0):
    """A walk on ten places that ends now and then, and what it gains."""
    rng = np.random.default_rng(seed)
    place = np.cumsum(rng.choice([-1, 1], rows)) % 10
    return place, place + rng.normal(size=rows), rng.random(rows) < 0.05


def _points(rows, columns=("x", "y")):
    rng = np.random.default_rng(1)
    x = np.zeros((rows, len(columns)))
    for t in range(1, rows):
        x[t] = 0.8 * x[t - 1] + 0.3 * rng.normal(size=len(columns))
    log = {name: x[:, j] for j, name in enumerate(columns)}
    return {**log, "reward": x[:, 0] ** 2 + rng.normal(size=rows), "done": rng.random(rows) < 0.1}


class Doubled:
    """Other people's features."""

    def transform(self, X):
        X = np.asarray(X, dtype=float)
        return np.hstack([np.ones((len(X), 1)), X])


def _table(names=None, far=1.0, gamma=0.9, **options):
    """A table; with means that lie far apart it is about a potential."""
    place, reward, done = _walk(2_000)
    state = place if names is None else np.array(list(names), dtype=object)[place]
    log = {"state": state, "reward": far * place + reward, "done": done}
    return lincat.evaluate(log, gamma=gamma, **options)


def _mixed():
    place, reward, done = _walk(2_000)
    load = 0.1 * place + np.random.default_rng(2).random(len(place))
    log = {"site": np.array(["north", "south"], object)[place % 2], "load": load}
    return lincat.evaluate({**log, "reward": reward, "done": done}, gamma=0.9, intervals=60)


_few = {"gamma": 0.9, "intervals": 60}
_RUNS = {
    "ids": _table,
    "ids about a potential": lambda: _table(far=1e4, gamma=0.0, intervals=60),
    "ids, step by step": lambda: _table(learner="linear_ctd"),
    "ids, of sums": lambda: lincat.evaluate(
        lincat.stats(dict(zip(("state", "reward", "done"), _walk(2_000), strict=True))), gamma=0.9
    ),
    "texts": lambda: _table("abcdefghij"),
    "texts about a potential": lambda: _table("abcdefghij", far=1e4, gamma=0.0, intervals=60),
    "a number": lambda: lincat.evaluate(_points(2_000, ("x",)), **_few),
    "numbers": lambda: lincat.evaluate(_points(2_000), features="fourier", **_few),
    "numbers about a potential": lambda: lincat.evaluate(_points(2_000), **_few),
    "numbers, of sums": lambda: lincat.evaluate(lincat.stats(_points(2_000)), **_few),
    "a transformer": lambda: lincat.evaluate(_points(2_000), features=Doubled(), **_few),
    "features": lambda: lincat.evaluate(_points(2_000), features=lincat.Fourier(order=2), **_few),
    "mixed": _mixed,
    "an environment of states": lambda: lincat.evaluate(
        lambda: gymnasium.make("FrozenLake-v1"), steps=3_000, validate=0, **_few
    ),
    "an environment of numbers": lambda: lincat.evaluate(
        "gym:CartPole-v1", steps=1_500, validate=0, features="fourier", **_few
    ),
    "a process": lambda: lincat.evaluate(lincat.catalog.frozen_lake(), steps=3_000),
}


@functools.cache
def _run(kind):
    return _RUNS[kind]()


def _states(run):
    """Two states that it knows, as rows of cells."""
    some = [member[0] for member in run.shown.members[1:3]]
    rows = [x.tolist() if isinstance(x, np.generic | np.ndarray) else x for x in some]
    rows = [list(x) if isinstance(x, tuple | list) else [x] for x in rows]
    kind = run.shown.members[0]
    names = kind.dtype.names or run.answer.observation_names
    return SimpleNamespace(rows=rows, names=list(names), alone=len(rows[0]) == 1)


def _columns(states):
    cells = zip(*states.rows, strict=True)
    return {name: list(column) for name, column in zip(states.names, cells, strict=True)}


_ROWS = {
    "lists": lambda s: s.rows,
    "tuples": lambda s: [tuple(row) for row in s.rows],
    "tuple of tuples": lambda s: tuple(tuple(row) for row in s.rows),
    "array of objects": lambda s: np.array(s.rows, dtype=object),
    "rows with names": lambda s: [dict(zip(s.names, row, strict=True)) for row in s.rows],
    "dict": _columns,
    "dict of arrays": lambda s: {name: np.array(x) for name, x in _columns(s).items()},
    "pandas": lambda s: pandas.DataFrame(_columns(s)),
    "pandas, another index": lambda s: pandas.DataFrame(_columns(s), index=[7, 3]),
    "polars": lambda s: polars.DataFrame(_columns(s)),
    "arrow": lambda s: pyarrow.table(_columns(s)),
}
_ALONE = {
    "list": lambda s: [row[0] for row in s.rows],
    "tuple": lambda s: tuple(row[0] for row in s.rows),
    "iterator": lambda s: iter([row[0] for row in s.rows]),
    "flat array": lambda s: np.array([row[0] for row in s.rows]),
    "flat array of objects": lambda s: np.array([row[0] for row in s.rows], dtype=object),
    "pandas series": lambda s: pandas.Series([row[0] for row in s.rows], index=[7, 3]),
    "polars series": lambda s: polars.Series([row[0] for row in s.rows]),
    "arrow array": lambda s: pyarrow.array([row[0] for row in s.rows]),
    "arrow column": lambda s: pyarrow.chunked_array([[row[0]] for row in s.rows]),
}


@pytest.mark.parametrize("kind", _RUNS)
def test_observations_are_the_same_however_they_are_given(kind):
    run = _run(kind)
    states = _states(run)
    shown = run.shown.members
    wanted = run.predict(np.concatenate([shown[1][:1], shown[2][:1]])).mean()
    ways = {**_ROWS, **(_ALONE if states.alone else {})}
    for name, way in ways.items():
        assert run.predict(way(states)).mean() == pytest.approx(wanted, rel=1e-12), name


@pytest.mark.parametrize("kind", _RUNS)
def test_what_is_no_list_of_observations_is_an_error_of_one_line(kind):
    run = _run(kind)
    states = _states(run)
    for given in (states.rows[0][0], 3.5, "x", None, object(), [[]], [None], [object()], [{}]):
        with pytest.raises(lincat.InvalidInputError) as error:
            run.predict(given)
        assert "\n" not in str(error.value)


def test_the_runs_are_of_every_kind():
    about = {kind: _run(kind).model.potential is not None for kind in _RUNS}
    assert about["ids about a potential"]
    assert about["texts about a potential"]
    assert about["numbers about a potential"]
    assert not about["ids, of sums"]
    assert _run("numbers about a potential").model.scale is not None
    assert _run("mixed").shown.members[0].dtype.names == ("site", "load")
