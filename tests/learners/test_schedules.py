import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.learners.schedules import Seen, next_steps, schedule_from, stable_step
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


def automatic(norms, discounts, *, batch=1, pieces=1, near=False, before=0, slowest=0.0):
    """Steps of "auto" for a stream that is cut into pieces, and what is remembered of it."""
    seen, steps, done = Seen(near=near, slowest=slowest), [], 0
    for part in np.array_split(np.arange(len(norms)), pieces):
        options = {"batch_size": batch, "n_features": 3, "curvature": 0.5, "slowness": 2.0}
        options["before"] = before
        found = next_steps("auto", seen, norms[part], discounts[part], done=done, **options)
        steps.append(found.step)
        seen, done = found.seen, done - (-len(part) // batch)
    return np.concatenate(steps), seen


@given(st.integers(1, 5), st.booleans(), st.integers(0, 500), st.sampled_from([0, 0.01]), st.data())
@settings(max_examples=30, deadline=None)
def test_automatic_steps_are_their_formula(batch, near, before, slowest, data):
    n = batch * data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    norms, discounts = 1.0 + rng.random(n), rng.random(n)
    known = {"near": near, "before": before, "slowest": slowest}
    got, seen = automatic(norms, discounts, batch=batch, **known)
    rule = {
        "curvature": 0.5,
        "slowness": 2.0,
        "d": 3,
        **known,
    }
    expected = naive.step_sizes(("auto",), norms, discounts, batch, **rule)
    np.testing.assert_allclose(got, np.repeat(expected, batch) / batch, rtol=1e-12)
    assert got.max() * batch <= stable_step(norms.min(), 0.5)  # what is shown to be stable
    assert seen.largest == norms.max()
    assert seen.ended == pytest.approx((norms * (1 - discounts)).sum() / batch)


def test_automatic_steps_do_not_depend_on_where_a_chunk_begins():
    rng = np.random.default_rng(0)
    norms, discounts = rng.random(300), rng.random(300)
    for batch in (1, 5):
        whole, seen = automatic(norms, discounts, batch=batch)
        cut, seen_in_pieces = automatic(norms, discounts, batch=batch, pieces=12)
        np.testing.assert_array_equal(cut, whole)
        assert seen_in_pieces == seen


def test_automatic_steps_are_zero_while_no_feature_was_seen():
    steps, _ = automatic(np.array([0.0, 1.0, 1.0]), np.full(3, 0.5))
    assert steps[0] == 0.0
    assert 0.0 < steps[2] < steps[1] < 1.5


def test_automatic_steps_wait_for_a_first_end_where_nothing_is_discounted():
    steps, _ = automatic(np.ones(20), np.repeat([1.0, 0.0], 10))
    np.testing.assert_array_equal(steps[:10], 1.5)
    assert (np.diff(steps[9:]) < 0.0).all()


def test_a_start_near_the_goal_takes_half_the_steps_also_after_a_file(tmp_path):
    t = cases.stream("dense", 200)
    data = cases.tuples(t)
    start = np.random.default_rng(0).normal(size=cases.initial("ctd", data).shape)
    expected = naive.learner_iterates(start, data, cases.GRID, "ctd", near=True)[-1]
    model = cases.make("ctd", averaging="none").start_at(cases.GRID, start).partial_fit(t[:120])
    model.save(tmp_path / "half")
    after = lincat.load(tmp_path / "half").partial_fit(t[120:])
    np.testing.assert_allclose(after.Theta_, expected, rtol=0, atol=1e-10)


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
