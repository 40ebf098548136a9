import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.learners.schedules import auto_steps, schedule_from, stable_step
from tests import naive
from tests.learners import cases
from tests.strategies import finite_floats


@given(finite_floats(1e-6, 10.0), finite_floats(0.0, 1.0), st.integers(0, 10**6))
@settings(max_examples=30)
def test_polynomial_decay_is_its_formula(initial, power, done):
    steps = lincat.PolynomialDecay(initial, power).steps(done, 5)
    expected = [initial / (done + j) ** power for j in range(1, 6)]
    np.testing.assert_allclose(steps, expected, rtol=1e-13)


def test_decay_does_not_depend_on_where_a_chunk_begins():
    decay = lincat.PolynomialDecay(0.7, 0.6)
    whole = decay.steps(0, 100)
    pieces = [decay.steps(begin, 1) for begin in range(100)]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))


def test_a_number_is_a_constant_schedule():
    np.testing.assert_array_equal(schedule_from(0.3).steps(10, 3), [0.3, 0.3, 0.3])
    assert schedule_from("auto") is None
    decay = lincat.PolynomialDecay(1.0, power=0.5)
    assert schedule_from(decay) is decay


@pytest.mark.parametrize(
    "bad", [0.0, -1.0, np.nan, np.inf, "fast", None, [0.1], np.array([0.1, 0.2]), {}]
)
def test_bad_step_sizes_are_named_in_one_line(bad):
    model = cases.make("ctd", step_size=bad)  # nothing is checked here
    message = "^step_size: expected a number above 0, 'auto' or a PolynomialDecay, got "
    with pytest.raises(lincat.InvalidInputError, match=message) as error:
        model.fit(cases.stream("dense", 5))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("initial", "power", "message"),
    [
        (0.0, 0.5, "initial: expected a finite number above 0"),
        (-1.0, 0.5, "initial: expected"),
        (np.nan, 0.5, "initial: expected"),
        (1.0, 1.5, r"power: expected a number in \[0, 1\], got 1.5"),
        (1.0, -0.1, "power: expected"),
    ],
)
def test_bad_decays_are_named(initial, power, message):
    with pytest.raises(lincat.InvalidInputError, match=f"^{message}"):
        lincat.PolynomialDecay(initial, power)


def test_automatic_steps_are_a_quarter_of_the_stable_one_and_decay():
    norms = np.array([1.0, 2.0, 2.0])
    got = auto_steps(norms, 3.0, 500, 1000.0)
    expected = [
        0.25 * stable_step(R, 3.0) * (1 + t / 1000) ** -0.6
        for R, t in zip(norms, (500, 501, 502), strict=True)
    ]
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_automatic_steps_are_zero_while_no_feature_was_seen():
    steps = auto_steps(np.array([0.0, 1.0]), 1.0, 0, 1000.0)
    assert steps[0] == 0.0
    assert steps[1] == pytest.approx(0.25 * 1.001**-0.6, rel=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", cases.LEARNERS)
def test_a_first_state_without_features_does_no_harm(rule, dtype):
    t = cases.stream("dense", 50, everything=False)
    phi = t.phi.copy()
    phi[0] = 0.0
    model = cases.make(rule, dtype=dtype).fit(phi, t.reward, t.phi_next)
    current, averaged = cases.parameters(model)
    assert np.isfinite(current).all()
    assert np.isfinite(averaged).all()
    assert model.n_seen_ == 50


@pytest.mark.parametrize("rule", cases.LEARNERS)
def test_automatic_steps_scale_with_the_features(rule):
    """Features 2^5 times as long give parameters 2^5 times as short: the same predictions."""
    t = cases.stream("dense", 500)
    rest = (t.terminated, t.discount, t.weight)
    longer = lincat.Transitions(32.0 * t.phi, t.reward, 32.0 * t.phi_next, *rest)
    short, long = (cases.parameters(cases.make(rule).fit(x))[1] for x in (t, longer))
    np.testing.assert_allclose(32.0 * long, short, rtol=0, atol=1e-11)


@pytest.mark.parametrize("intervals", [1, 5, 60])
def test_curvature_of_the_masses_is_the_norm_of_the_papers_matrix(intervals):
    """‖C Cᵀ‖, Lemma spectra_of_CTC."""
    model = cases.make("pmf", grid=lincat.Grid(-5.0, 5.0, intervals)).fit(cases.stream("dense", 5))
    C = naive.C_matrix(intervals)
    assert model._curvature() == pytest.approx(np.linalg.norm(C @ C.T, 2), rel=1e-12)


@pytest.mark.parametrize("rule", cases.LEARNERS)
@pytest.mark.parametrize("seed", range(3))
def test_automatic_steps_are_stable_on_random_processes(rule, seed):
    problem = lincat.catalog.random_process(10, n_features=4, gamma=0.95, seed=seed)
    drawn = problem.process.sample(20_000, seed=seed)
    Phi = 3.0 * np.asarray(problem.Phi)
    options = {} if rule == "td" else {"grid": problem.grid(20)}
    model = cases.make(rule, gamma=problem.gamma, **options)
    model.fit(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
    assert np.isfinite(cases.parameters(model)[0]).all()
