"""Scales: the units in which returns about a potential are learned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat._files import write_atomically
from lincat.data.steps import Steps
from lincat.runs.model import Model
from lincat.runs.potential import Potential
from lincat.runs.scale import Scale, _nodes_for, _uniform
from tests import packed

GAMMA, RIDGE = 0.8, 1e-6


def steps(n, seed=0, *, noise=1.0):
    """A number that moves freely in [0, 1]; rewards whose spread is 1 + 4 times the number."""
    rng = np.random.default_rng(seed)
    x = rng.random((n + 1, 1))
    reward = 3.0 * x[:-1, 0] + noise * (1.0 + 4.0 * x[:-1, 0]) * rng.normal(size=n)
    no = np.zeros(n, bool)
    return Steps(x[:-1], reward, x[1:], rng.random(n) < 0.01, no)


def fitted(data):
    about, units = (lincat.Smooth(bumps=8, seed=s).fit(data.observation) for s in (1, 2))
    potential = Potential.fit(about, [data], GAMMA, ridge=RIDGE)
    return potential, Scale.fit(units, data, potential, GAMMA, ridge=RIDGE)


def test_is_the_standard_deviation_of_the_return():
    """In closed form: states follow each other freely, and one step in a hundred ends all.

    With m = E V, M = E Var G and a = 0.99 the chance to go on,
    Var G(x) = (1 + 4x)² + gamma² (a (M + Var V + m²) − a² m²), and M is its mean.
    """
    _, scale = fitted(steps(60_000))
    x, a = np.array([0.1, 0.5, 0.9]), 0.99
    m = 1.5 / (1.0 - GAMMA * a)
    constant = GAMMA**2 * (a * (9.0 / 12.0 + m**2) - a**2 * m**2)
    M = (1.0 + 4.0 + 16.0 / 3.0 + constant) / (1.0 - GAMMA**2 * a)
    variance = (1.0 + 4.0 * x) ** 2 + GAMMA**2 * a * M + constant
    np.testing.assert_allclose(scale.values(x[:, None]), np.sqrt(variance), rtol=0.04)


def test_no_state_is_certain_and_nothing_but_chance_has_a_scale():
    data = steps(5_000)
    _, scale = fitted(data)
    assert scale.values(data.observation).min() >= scale.least > 0.0
    flat = Steps(
        data.observation,
        np.zeros(5_000),
        *(getattr(data, name) for name in ("next_observation", "terminated", "truncated")),
    )
    assert fitted(flat)[1] is None


def test_what_rounding_leaves_of_a_certain_return_has_no_scale():
    x = np.random.default_rng(0).random((501, 1))
    no = np.zeros(500, bool)
    potential, scale = fitted(Steps(x[:-1], np.ones(500), x[1:], no, no))
    assert potential.values(x) == pytest.approx(np.full(501, 5.0), rel=1e-6)
    assert scale is None


def test_discounts_are_rounded_to_nodes_and_kept_on_average():
    data = steps(20_000)
    potential, scale = fitted(data)
    model = Model(
        lincat.Smooth(bumps=4).fit(data.observation),
        lincat.CategoricalLSTD(gamma=GAMMA),
        potential,
        scale,
    )
    made = model.transitions(data)
    here, there = scale.both_values(data)
    exact = np.where(data.terminated, 0.0, GAMMA * there / here)
    assert exact.max() > 1.0
    assert set(made.discount) <= {0.0, *scale.nodes}
    assert ((made.discount == 0.0) == data.terminated).all()
    gap = np.diff(scale.nodes).max()
    assert np.abs(made.discount - exact).max() <= gap
    assert (made.discount - exact).mean() == pytest.approx(0.0, abs=4.0 * gap / np.sqrt(len(data)))
    value, value_next = potential.both_values(data)
    error = data.reward + np.where(data.terminated, 0.0, GAMMA) * value_next - value
    np.testing.assert_allclose(made.reward, error / here)
    # The same row is rounded the same way, wherever a batch begins.
    np.testing.assert_array_equal(model.transitions(data[7:50]).discount, made.discount[7:50])


def test_discounts_that_differ_by_rounding_alone_are_two_nodes():
    # So do those of gamma = 1e-320, too small for numbers between them.
    for ends in ([0.9, np.nextafter(0.9, 1.0)], [0.9, 0.9], [1e-320, 3e-320]):
        np.testing.assert_array_equal(_nodes_for(np.array(ends * 50)), np.unique(ends))


@pytest.mark.parametrize("gamma", [GAMMA, 1.3])
def test_contracts_where_second_moments_are_finite(gamma):
    """The radius of Σ⁻¹ Σ E b² phi phi'ᵀ, one row after the other, b one of the nodes about it."""
    data = steps(500)
    features = lincat.Smooth(bumps=6).fit(data.observation)
    _, scale = fitted(data)
    here, there = scale.both_values(data)
    b = np.where(data.terminated, 0.0, gamma * there / here)
    Sigma, ahead = 0.0, 0.0
    for x, y, by in zip(data.observation, data.next_observation, b, strict=True):
        phi, phi_next = (features.transform(z[None])[0] for z in (x, y))
        above = next((x for x in scale.nodes[1:] if x >= by), scale.nodes[-1])
        below = scale.nodes[scale.nodes < above][-1]
        up = (by - below) / (above - below)
        squared = (up * above**2 + (1.0 - up) * below**2) * (by > 0.0)
        Sigma, ahead = Sigma + np.outer(phi, phi), ahead + squared * np.outer(phi, phi_next)
    Sigma += 1e-6 * np.trace(Sigma) / len(Sigma) * np.eye(len(Sigma))
    radius = np.abs(np.linalg.eigvals(np.linalg.inv(Sigma) @ ahead)).max()
    assert scale.contracts(features, data, gamma, ridge=1e-6) == (radius < (1 + GAMMA**2) / 2)
    assert (radius < (1 + GAMMA**2) / 2) == (gamma < 1.0)


def test_a_scale_that_varies_too_sharply_is_raised_until_it_contracts():
    """States that are certain beside others: discounts of 5, rounded up to 10 where most are 1."""
    rng = np.random.default_rng(0)
    x = np.empty(4000)
    x[0] = 0.0
    for t in range(1, 4000):
        x[t] = 0.7 * x[t - 1] + rng.normal()
    no = np.zeros(3999, bool)
    reward = np.exp(0.9 * x[:-1]) * rng.normal(size=3999)
    data = Steps(x[:-1, None], reward, x[1:, None], no, no)
    features = lincat.Smooth(bumps=6).fit(data.observation)
    V = Potential.fit(features, [data], 0.9, ridge=1e-3)
    plain = Scale.fit(features, data, V, 0.9, ridge=1e-3)
    assert not plain.contracts(features, data, 0.9, ridge=1e-3)
    raised = plain.contracting(features, data, 0.9, ridge=1e-3)
    assert raised.least > plain.least
    assert raised.nodes[-1] < plain.nodes[-1]
    assert raised.contracts(features, data, 0.9, ridge=1e-3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_uniform_numbers_depend_on_the_row_alone(values):
    x = np.array(values)
    u = _uniform(x, x + 1.0)
    assert ((u >= 0.0) & (u < 1.0)).all()
    np.testing.assert_array_equal(u[-1:], _uniform(x[-1:], x[-1:] + 1.0))


def test_uniform_numbers_look_uniform():
    u = _uniform(np.arange(10_000.0), np.ones(10_000))
    share = np.bincount((u * 10).astype(int), minlength=10) / 10_000
    np.testing.assert_allclose(share, 0.1, atol=0.012)
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.03


def test_a_model_in_units_knows_narrow_and_wide_states():
    """Against 100,000 simulated returns from each of two states."""
    data = steps(40_000)
    potential, scale = fitted(data)
    features = lincat.Smooth(bumps=4).fit(data.observation)
    learner = lincat.CategoricalLSTD(gamma=GAMMA, n_features=features.n_features_)
    model = Model(features, learner, potential, scale)
    learner.fit(model.transitions(data))
    x = np.array([[0.05], [0.95]])
    found = model.predict(x, confidence=0.95)
    rng, n = np.random.default_rng(7), 100_000
    for i in range(2):
        state, alive, total = np.full(n, x[i, 0]), np.ones(n), np.zeros(n)
        for t in range(40):
            reward = 3.0 * state + (1.0 + 4.0 * state) * rng.normal(size=n)
            total += alive * GAMMA**t * reward
            alive *= rng.random(n) >= 0.01
            state = rng.random(n)
        assert found.mean()[i] == pytest.approx(total.mean(), abs=0.25)
        assert found.std()[i] == pytest.approx(total.std(), rel=0.04)
        assert found.quantile(0.05)[i] == pytest.approx(np.quantile(total, 0.05), abs=0.6)
    low, high = found.interval("mean")
    assert (low < found.mean()).all()
    assert (found.mean() < high).all()


def test_files_bring_it_back_and_others_are_refused(tmp_path):
    data = steps(2_000)
    potential, scale = fitted(data)
    path, features = tmp_path / "scale.safetensors", scale.second.features
    content = scale.save_bytes()
    path.write_bytes(content)
    back = Scale.read(path, features)
    np.testing.assert_array_equal(back.values(data.observation), scale.values(data.observation))
    np.testing.assert_array_equal(back.nodes, scale.nodes)
    assert back.large == scale.large == np.quantile(scale.values(data.observation), 0.9)
    assert back.save_bytes() == content
    packed.refused(lambda p: Scale.read(p, features), path, content[:40])

    learner = lincat.CategoricalLSTD(gamma=GAMMA)
    model = Model(lincat.Smooth(bumps=4).fit(data.observation), learner, potential, scale)
    learner.fit(model.transitions(data))
    for name, file in model.files().items():
        write_atomically(tmp_path / name, file)
    again = Model.read(tmp_path).predict(data.observation[:3])
    np.testing.assert_array_equal(again.cdf_values, model.predict(data.observation[:3]).cdf_values)


def test_streams_refuse_discounts_above_one():
    data = steps(300)
    potential, scale = fitted(data)
    features = lincat.Smooth(bumps=4).fit(data.observation)
    stream = lincat.LinearCTD(gamma=GAMMA, grid=lincat.Grid(-9.0, 9.0, 20))
    made = Model(features, stream, potential, scale).transitions(data)
    with pytest.raises(lincat.InvalidInputError, match=r"discount: expected discounts in \[0, 1\]"):
        stream.partial_fit(made)
