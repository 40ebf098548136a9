"""lincat.compare: runs, models and distributions."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

import lincat
from tests.runs.logs import write_points

PROBLEM = lincat.catalog.paper()
PHI = np.asarray(PROBLEM.Phi)


def fitted(seed=0, *, cost=0.0, Phi=PHI, gamma=0.75, n=4000, **options):
    seen = PROBLEM.process.sample(n, seed=seed)
    model = lincat.CategoricalLSTD(gamma=gamma, grid=lincat.Grid(-2.0, 5.0, 35), **options)
    return model.fit(Phi[seen.state], seen.reward - cost, Phi[seen.next_state])


def test_models_of_the_same_rows_are_paired():
    table = np.eye(3)
    found = lincat.compare(fitted(), fitted(Phi=table), states=(PHI, table), threshold=1.0)
    assert found.paired
    assert [state.state for state in found.states] == ["0", "1", "2"]
    for state in found.states:  # the paper's features are exact: both say the same
        for one in state.differences:
            assert abs(one.difference) < 1e-8
            # The scale of log-odds is not quite symmetric.
            assert one.high - one.low < (0.005 if one.figure == "probability_below" else 1e-6)
        assert state.first_order.verdict == "not shown"
    other = lincat.compare(fitted(), fitted(1), states=PHI)
    assert not other.paired
    forced = lincat.compare(fitted(), fitted(1), states=PHI, paired=True)
    assert forced.paired
    assert forced.states != other.states


def test_a_cost_is_dominated():
    found = lincat.compare(fitted(cost=0.2), fitted(1), states=PHI, names=("dear", "cheap"))
    state = found["0"]
    assert state["mean"].clear
    assert state["mean"].difference == pytest.approx(-0.8, abs=0.2)
    assert state["mean"].low < -0.8 < state["mean"].high
    assert state.first_order.verdict == state.second_order.verdict == "B dominates"
    assert state.first_order.b_behind <= state.first_order.tolerance < state.first_order.a_behind
    assert msgspec.json.decode(found.to_json(), type=lincat.Comparison) == found
    with pytest.raises(lincat.InvalidInputError, match="state: expected one of 0, 1, 2, got 7"):
        found["7"]
    with pytest.raises(lincat.InvalidInputError, match="figure: expected one of mean"):
        state["median"]


def test_without_error_bars_there_are_differences_alone():
    found = lincat.compare(fitted().predict(PHI), fitted(1), states=PHI)
    one = found["0"]["mean"]
    assert (one.low, one.high, one.clear) == (None, None, False)
    assert one.difference == one.a - one.b
    assert found["0"].first_order.verdict == "not shown"


@pytest.mark.parametrize(
    ("b", "options", "message"),
    [
        (lambda: fitted(gamma=0.5), {"states": PHI}, "b: expected gamma 0.75, as A has, got 0.5"),
        (fitted, {}, "states: expected features or observations to compare in, got none"),
        (fitted, {"states": (PHI, PHI, PHI)}, "a tuple of 3"),
        (fitted, {"states": PHI, "confidence": 2}, "confidence: expected a number in"),
        (lambda: PHI, {"states": PHI}, "B: expected a run, a learner of distributions"),
        (fitted, {"states": (PHI, PHI[:1])}, "b: expected the 3 states of a, got 1"),
    ],
)
def test_errors_are_one_line(b, options, message):
    with pytest.raises(lincat.InvalidInputError) as error:
        lincat.compare(fitted(), b(), **options)
    assert message in str(error.value)


def test_runs_of_one_log(tmp_path):
    log = write_points(tmp_path / "log.parquet", rows=3000)
    options = {"gamma": 0.8, "intervals": 40, "validate": 200}
    one, two = (
        lincat.evaluate(log, out=tmp_path / name, features=name, **options)
        for name in ("fourier", "scaling")
    )
    found = lincat.compare(one, two)
    assert found.paired
    assert [state.state for state in found.states] == one.names
    bad = [name for name, run in (("A", one), ("B", two)) if run.trusted is False]
    assert list(found.failed) == bad
    if bad:
        assert {s.first_order.verdict for s in found.states} == {"not shown"}
    here = lincat.compare(one, two, states=[[0.0, 0.0]])
    expected = one.predict([[0.0, 0.0]]).mean() - two.predict([[0.0, 0.0]]).mean()
    assert here["0"]["mean"].difference == pytest.approx(float(expected[0]))
    of_models = lincat.compare(one.model, two.model, states=[[0.0, 0.0]])
    assert of_models.states == here.states or bad
    faster = lincat.evaluate(log, out=tmp_path / "faster", **{**options, "gamma": 0.5})
    with pytest.raises(lincat.InvalidInputError, match=r"gamma 0\.8, as A has, got 0\.5"):
        lincat.compare(one, faster)


def ids(names, seed, column="state"):
    rng = np.random.default_rng(seed)
    frame = {column: rng.choice(names, 400), "reward": rng.integers(0, 2, 400).astype(float)}
    return lincat.evaluate(frame, gamma=0.5, validate=0)


def test_runs_are_compared_in_the_states_that_both_know():
    one = ids(["a", "b", "c"], 0)
    found = lincat.compare(one, ids(["b", "c", "d"], 1))
    assert {state.state for state in found.states} == {"any state", "b", "c"}
    with pytest.raises(lincat.InvalidInputError, match="some that both have seen, got none in"):
        lincat.compare(one, ids(["x", "y"], 2))
    with pytest.raises(
        lincat.InvalidInputError, match=r"they observe different things \(run A: state"
    ):
        lincat.compare(one, ids(["a", "b"], 2, column="place"), states=["a"])


def nearly_certain(value, seed, n=3000):
    """A place that pays a value, give or take 0.004, beside one that pays anything; both end."""
    rng = np.random.default_rng(seed)
    state = np.arange(n) % 2
    near = value + np.where(rng.random(n) < 0.3, 0.004, -0.004)
    reward = np.where(state == 1, near, rng.random(n))
    grid = lincat.Grid(0.0, 1.0, 250)
    nodes = np.linspace(-0.02, 1.02, 27)
    model = lincat.CategoricalLSTD(gamma=0.9, grid=grid, n_features=2, nodes=nodes)
    model.fit(lincat.Transitions(state, reward, state, terminated=np.ones(n, bool)))
    return model.predict([1], confidence=0.95)


def test_differences_hold_where_nodes_move_both_sides():
    """Nodes are 0.04 apart, returns 0.008: what nodes make of them is no matter of chance."""
    values = (0.633, 0.347)
    truth = [
        lincat.ReturnDistribution(np.cumsum(masses)[None, :-1], lincat.Grid(0.0, 1.0, 250))
        for masses in (
            lincat.project([x - 0.004, x + 0.004], [0.7, 0.3], lincat.Grid(0.0, 1.0, 250))
            for x in values
        )
    ]
    questions = {"mean": (), "quantile": (0.05,), "cvar": (0.05,)}
    true = {
        name: np.subtract(*(_interpolated(dist, name, *given) for dist in truth))[0]
        for name, given in questions.items()
    }
    held, blind = [], []
    for seed in range(30):
        sides = [nearly_certain(x, seed + 100 * i) for i, x in enumerate(values)]
        without = [
            lincat.ReturnDistribution(x.cdf_values, x.grid, replace(x.uncertainty, moved=None))
            for x in sides
        ]
        for shares, pair in ((held, sides), (blind, without)):
            found = lincat.compare(*pair, states=[1])["0"]
            shares.append([found[name].low <= true[name] <= found[name].high for name in true])
    assert (np.mean(held, axis=0) >= 0.85).all()  # of 95 %, three standard errors
    assert np.mean(blind, axis=0)[0] >= 0.85  # nodes keep means
    assert (np.mean(blind, axis=0)[1:] <= 0.1).all()


def _interpolated(dist, name, *given):
    return getattr(dist, name)(*given, **({"interpolate": True} if name == "quantile" else {}))
