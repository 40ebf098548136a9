"""Potentials: the V about which returns are learned."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.data.steps import Steps
from lincat.runs.potential import Potential, nearest_alike
from tests import naive, packed

RIDGE = 1e-8


def steps(n, seed=0, *, record=False, everything=True):
    """A walk of two numbers with a quadratic cost."""
    rng = np.random.default_rng(seed)
    points = np.zeros((n + 1, 2))
    for i in range(n):
        points[i + 1] = 0.8 * points[i] + rng.normal(size=2)
    reward = -(points[:-1] ** 2).sum(axis=1)
    no = np.zeros(n, bool)
    if record:
        return Steps(points[:-1], reward, points[1:], no, no, record=points)
    options = {"discount": rng.uniform(0.5, 0.9, n), "weight": rng.uniform(0.5, 2.0, n)}
    ends = rng.random(n) < 0.05
    return Steps(points[:-1], reward, points[1:], ends, no, **(options if everything else {}))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(200, 600), st.booleans())
def test_equals_least_squares_of_all_parts(seed, n, sparse):
    data = steps(n, seed)
    form = lincat.Nearby(bumps=6, neighbours=3) if sparse else lincat.Scaling()
    features = form.fit(data.observation)
    found = Potential.fit(features, [data[:50], data[50:]], 0.9, ridge=RIDGE)
    phi, phi_next = (features.transform(x) for x in (data.observation, data.next_observation))
    phi, phi_next = (x.toarray() if sparse else x for x in (phi, phi_next))
    value, _ = naive.moments_of_transitions(
        phi, data.reward, phi_next, data.discounts(0.9), data.weight
    )
    scale = np.abs(value).max()
    np.testing.assert_allclose(found.values(data.observation), phi @ value, atol=1e-4 * scale)


def test_linear_dynamics_and_quadratic_costs_have_a_quadratic_value():
    """E G = −gamma-weighted sums of squares: V(x) = a − |x|²/(1 − .64 gamma), in closed form."""
    gamma, data = 0.9, steps(60_000, record=True)
    features = lincat.Smooth(bumps=4).fit(data.observation[:5000])
    potential = Potential.fit(features, [data], gamma, ridge=RIDGE)
    x = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, -2.0]])
    b = -1.0 / (1.0 - 0.64 * gamma)
    a = gamma * 2.0 * b / (1.0 - gamma)
    np.testing.assert_allclose(potential.values(x), a + b * (x**2).sum(axis=1), rtol=0.05)


@pytest.mark.parametrize("record", [False, True])
def test_both_values_are_those_of_each_end(record):
    data = steps(300, record=record)
    potential = Potential.fit(
        lincat.Smooth(bumps=8).fit(data.observation), [data], 0.9, ridge=RIDGE
    )
    here, there = potential.both_values(data)
    np.testing.assert_array_equal(here, potential.values(data.observation))
    np.testing.assert_array_equal(there, potential.values(data.next_observation))


def test_long_parts_are_summed_piece_by_piece():
    data = steps(20_000, everything=False)
    features = lincat.Scaling().fit(data.observation)
    whole = Potential.fit(features, [data], 0.9, ridge=RIDGE)
    pieces = [data[i : i + 999] for i in range(0, 20_000, 999)]
    parts = Potential.fit(features, pieces, 0.9, ridge=RIDGE)
    np.testing.assert_allclose(whole.weights, parts.weights, rtol=1e-8)


def test_a_ridge_draws_towards_the_mean_of_all():
    data = steps(2000, everything=False)
    features = lincat.Smooth(bumps=8).fit(data.observation)
    flat = Potential.fit(features, [data], 0.9, ridge=1e6)
    lost = (1.0 - data.discounts(0.9)).sum()
    assert flat.offset == pytest.approx(data.reward.sum() / lost)
    np.testing.assert_allclose(flat.values(data.observation), flat.offset, rtol=1e-3)


def test_files_bring_it_back_and_others_are_refused(tmp_path):
    data, path = steps(300), tmp_path / "potential.safetensors"
    features = lincat.Smooth(bumps=8).fit(data.observation)
    potential = Potential.fit(features, [data], 0.9, ridge=RIDGE)
    content = potential.save_bytes()
    path.write_bytes(content)
    back = Potential.read(path, features)
    np.testing.assert_array_equal(back.weights, potential.weights)
    assert back.save_bytes() == content

    other = lincat.Smooth(bumps=9).fit(data.observation)
    packed.refused(lambda p: Potential.read(p, other), path, content, "weights: expected an array")
    packed.refused(lambda p: Potential.read(p, features), path, content[:40])

    def broken(arrays):
        arrays["weights"] = arrays["weights"] * np.nan

    changed = packed.rewritten(content, "lincat potential", change_arrays=broken)
    packed.refused(lambda p: Potential.read(p, features), path, changed, "weights: expected finite")


def test_errors_are_as_large_as_values_of_other_logs_vary():
    """Standard errors of V at three places, one of which hardly any row comes near."""
    places = np.array([[0.0, 0.0], [1.0, -1.0], [4.0, 4.0]])
    features = lincat.Smooth(bumps=6).fit(steps(20_000, 99).observation)
    values, errors = [], []
    for seed in range(60):
        data = steps(2_000, seed, everything=False)
        fitted = Potential.fit(features, [data], 0.9, ridge=RIDGE)
        known = fitted.with_errors(data, 0.9, ridge=RIDGE)
        np.testing.assert_array_equal(known.weights, fitted.weights)
        values.append(known.values(places))
        errors.append(known.standard_errors(places))
    spread, told = np.std(values, axis=0), np.sqrt(np.mean(np.square(errors), axis=0))
    np.testing.assert_allclose(told / spread, 1.0, atol=0.3)
    assert told[2] > 3.0 * told[0]


def test_of_a_potential_that_does_not_know_its_errors_none_are_told():
    data = steps(300)
    potential = Potential.fit(lincat.Scaling().fit(data.observation), [data], 0.9, ridge=RIDGE)
    np.testing.assert_array_equal(potential.standard_errors(data.observation[:3]), np.zeros(3))


@pytest.mark.parametrize("sparse", [False, True])
def test_errors_solve_the_same_equation_by_blocks(sparse):
    """A⁻¹ Σ_b w_jb Σ_t phi (r + δ V' − V), written out."""
    data = steps(640, 3)
    form = lincat.Nearby(bumps=6, neighbours=3) if sparse else lincat.Smooth(bumps=4)
    features = form.fit(data.observation)
    known = Potential.fit(features, [data], 0.9, ridge=1e-3).with_errors(data, 0.9, ridge=1e-3)
    phi, phi_next = (features.transform(x) for x in (data.observation, data.next_observation))
    phi, phi_next = (x.toarray() if sparse else x for x in (phi, phi_next))
    weight, discount = data.weight, data.discounts(0.9)
    A, Sigma = np.zeros((2, phi.shape[1], phi.shape[1]))
    scores = np.zeros((32, phi.shape[1]))
    errors = known.errors(data, 0.9)
    for t in range(640):
        A += weight[t] * np.outer(phi[t], phi[t] - discount[t] * phi_next[t])
        Sigma += weight[t] * np.outer(phi[t], phi[t])
        scores[t // 20] += weight[t] * phi[t] * errors[t]
    A += 1e-3 * np.trace(Sigma) / len(A) * np.eye(len(A))
    waves = [np.sqrt(2.0) * np.cos(np.pi * j * (np.arange(32) + 0.5) / 32) for j in range(1, 9)]
    expected = [np.linalg.solve(A, wave @ scores) for wave in waves]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(known.directions, expected, atol=1e-8 * scale)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("record", [False, True])
def test_fitted_with_errors_is_fitted_and_then_told_of_them(sparse, record):
    data = steps(9_000, 5, record=record)
    form = lincat.Nearby(bumps=30, neighbours=5) if sparse else lincat.Smooth(bumps=8)
    features = form.fit(data.observation)
    expected = Potential.fit(features, [data], 0.9, ridge=1e-3).with_errors(data, 0.9, ridge=1e-3)
    found = Potential.fit_with_errors(features, data, 0.9, ridge=1e-3)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9)
    scale = np.abs(expected.directions).max()
    np.testing.assert_allclose(found.directions, expected.directions, atol=1e-9 * scale)
    for one, other in zip(found.both_values(data), expected.both_values(data), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    errors = found.standard_errors(data.observation[:50])
    assert found.mean_square(data.observation[:50]) == pytest.approx(np.mean(errors**2))


def test_errors_are_kept_in_files_and_others_are_refused(tmp_path):
    data, path = steps(300), tmp_path / "potential.safetensors"
    features = lincat.Smooth(bumps=8).fit(data.observation)
    potential = Potential.fit(features, [data], 0.9, ridge=RIDGE)
    known = potential.with_errors(data, 0.9, ridge=RIDGE)
    content = known.save_bytes()
    path.write_bytes(content)
    for back in (Potential.read(path, features), pickle.loads(pickle.dumps(known))):
        np.testing.assert_array_equal(back.directions, known.directions)
        assert back.alike == known.alike != 0.0
        assert back.spread == known.spread == np.std(known.values(data.observation))
    for name, change, text in (
        ("directions", lambda a: a[:, 1:].copy(), "directions: expected an array"),
        ("directions", lambda a: a[:0], "directions: expected at least one"),
        ("directions", lambda a: a * np.nan, "directions: expected finite"),
        ("spread", lambda a: -a, "spread: expected"),
        ("spread", lambda a: a[:0], "spread: expected an array"),
        ("alike", lambda a: a + 2.0, "alike: expected"),
    ):

        def broken(arrays, name=name, change=change):
            arrays[name] = change(arrays[name])

        changed = packed.rewritten(content, "lincat potential", change_arrays=broken)
        packed.refused(lambda p: Potential.read(p, features), path, changed, text)


def ids(n, seed=0, *, states=6):
    """A walk of ids with rewards by state, ends and weights."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, states, n + 1)
    reward = 10.0 * state[:-1] + rng.normal(size=n)
    ends, no = rng.random(n) < 0.05, np.zeros(n, bool)
    weight = rng.uniform(0.5, 2.0, n)
    return Steps(state[:-1] * 7, reward, state[1:] * 7, ends, no, weight=weight)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.99))
def test_of_a_table_it_solves_the_equation_of_its_means(seed, gamma):
    """V(s) = mean of r + δ V(s') over the visits of s, weighted."""
    walk = ids(300, seed)
    table = lincat.Tabular().fit(walk.observation)
    V = Potential.of_table(table, walk, gamma)
    value, after = V.both_values(walk)
    target = walk.reward + gamma * ~walk.terminated * after
    for state in np.unique(walk.observation):
        at = walk.observation == state
        mean = np.average(target[at], weights=walk.weight[at])
        np.testing.assert_allclose(value[at], mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(V.errors(walk, gamma), target - value, rtol=1e-12)
    rows = table.transform(walk.observation)
    np.testing.assert_array_equal(V.of_rows(rows), value)


def test_an_id_that_a_table_does_not_know_is_worth_the_mean_of_all(tmp_path):
    walk = ids(300)
    table = lincat.Tabular().fit(walk.observation)
    V = Potential.of_table(table, walk, 0.9)
    assert V.spread == pytest.approx(np.std(V.values(walk.observation)))
    assert V.values(np.array([7, 999])).tolist() == [V.of_rows(table.lookup([7]))[0], V.offset]
    (tmp_path / "V").write_bytes(V.save_bytes())
    again = Potential.read(tmp_path / "V", table)
    np.testing.assert_array_equal(again.values(walk.observation), V.values(walk.observation))


def test_where_nothing_is_discounted_and_nothing_ends_a_table_has_none():
    state, no = np.zeros(5, dtype=np.int64), np.zeros(5, bool)
    walk = Steps(state, np.ones(5), state, no, no)
    assert Potential.of_table(lincat.Tabular().fit(state), walk, 1.0) is None


def test_errors_of_a_table_are_refused(tmp_path):
    data, path = ids(300), tmp_path / "potential.safetensors"
    table = lincat.Tabular().fit(data.observation)
    known = Potential.of_table(table, data, 0.9)
    known = Potential(table, known.weights, known.offset, np.ones((1, len(known.weights))))
    packed.refused(lambda p: Potential.read(p, table), path, known.save_bytes(), "none, of a table")


def test_errors_that_are_too_large_for_numbers_are_not_known():
    data = steps(300, everything=False)
    features = lincat.Scaling().fit(data.observation)
    large = Potential(features, np.full(features.n_features_, 1e308))
    with np.errstate(over="ignore", invalid="ignore"):
        assert large.with_errors(data, 0.9, ridge=RIDGE).directions is None


def test_weights_of_more_rows_than_a_table_has_are_refused(tmp_path):
    walk = ids(300)
    V = Potential.of_table(lincat.Tabular().fit(walk.observation), walk, 0.9)
    (tmp_path / "V").write_bytes(V.save_bytes())
    small = lincat.Tabular(n_states=2).fit([0, 1])
    with pytest.raises(lincat.InvalidInputError, match="weights: expected 1 to 2 numbers, got 6"):
        Potential.read(tmp_path / "V", small)


def test_values_of_the_last_steps_are_found_once(monkeypatch):
    data = steps(200)
    features = lincat.Smooth(bumps=8).fit(data.observation)
    potential = Potential.fit(features, [data], 0.9, ridge=RIDGE)
    first = potential.both_values(data)
    monkeypatch.setattr(type(features), "lookup", None)
    assert potential.both_values(data)[0] is first[0]
    other = pickle.loads(pickle.dumps(potential))  # what was kept does not go with it
    monkeypatch.undo()
    assert np.array_equal(other.both_values(data[:5])[1], first[1][:5])


@pytest.mark.parametrize("kind", ["points", "ids", "few", "constant"])
def test_what_features_miss_is_alike_where_states_are_near(kind):
    rng = np.random.default_rng(0)
    x = rng.random((50 if kind == "few" else 3000, 2))
    smooth, chance = np.sin(4.0 * x[:, 0]) * x[:, 1], rng.standard_t(2, len(x))
    if kind == "ids":
        x = np.arange(len(x))
    if kind == "constant":
        smooth = np.ones(len(x))
    found = nearest_alike(x, smooth)
    if kind == "points":
        assert found > 0.95
        assert abs(nearest_alike(x, chance)) < 0.06
        assert 0.3 < nearest_alike(x, smooth + 0.4 * rng.standard_normal(len(x))) < 0.7
        assert nearest_alike(rng.random((3000, 9)), smooth) == 0.0  # nothing is near
    else:
        assert found == 0.0


def test_td_errors_of_certain_steps_are_alike():
    """A number that falls by a tenth; V of few bumps, with noise and without."""
    x = np.random.default_rng(0).uniform(0.1, 10.0, (3000, 1))
    no = np.zeros(3000, bool)
    few = lincat.Smooth(bumps=3).fit(x)
    alike = []
    for noise in (0.0, 5.0):
        reward = np.sin(x[:, 0]) + noise * np.random.default_rng(1).standard_normal(3000)
        data = Steps(x, reward, 0.9 * x, no, no)
        fitted = Potential.fit(few, [data], 0.9, ridge=RIDGE)
        alike.append(fitted.with_errors(data, 0.9, ridge=RIDGE).alike)
    assert alike[0] > 0.95
    assert abs(alike[1]) < 0.1
