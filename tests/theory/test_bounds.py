"""Every bound is the paper's display; it moves as it should, and names what it assumes."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lincat
from lincat.theory.lemmas import (
    approximation_bound,
    exponential_stability,
    loss_from_pmf_residual,
    loss_from_residual,
    stability_pmf,
)
from lincat.theory.universal import UNIVERSAL
from tests import naive

bounds = lincat.bounds
PROPERTY = settings(max_examples=40, deadline=None, derandomize=True, database=None)
SETTINGS = st.builds(
    lincat.Setting,
    gamma=st.floats(0.1, 0.98),
    intervals=st.integers(50, 200),
    lambda_min=st.floats(1e-3, 1.0),
    norm_V1=st.floats(0.1, 20.0),
    norm_V2=st.floats(0.1, 50.0),
    C_A=st.floats(0.5, 4.0),
    trace_Sigma_e=st.floats(0.1, 30.0),
    mixing_time=st.floats(1.0, 50.0),
    unit=st.sampled_from([1.0, 0.3, 12.0]),
)
SHARES, SIZES = st.floats(0.01, 0.99), st.integers(10, 10**7)


@PROPERTY
@given(SETTINGS, SHARES, SIZES, st.floats(2.5, 12.0))
def test_errors_are_the_displays(s, share, T, p):
    alpha = share * bounds.largest_step(s)
    place = (s.gamma, s.lambda_min, s.norm_V1, s.norm_V2)
    found = bounds.l2_error(s, step=alpha, transitions=T)
    assert found.total == pytest.approx(s.unit * naive.l2_bound(*place, alpha, T), rel=1e-9)
    assert found.value == pytest.approx(UNIVERSAL[found.label] * found.total)
    assert found.violations == ()
    found = bounds.l2_error_td(s, step=alpha, transitions=T)
    assert found.total == pytest.approx(s.unit * naive.l2_bound(*place, alpha, T), rel=1e-9)
    found = bounds.lp_error(s, step=alpha, transitions=T, p=p)
    assert found.total == pytest.approx(s.unit * naive.lp_bound(*place, alpha, T, p), rel=1e-9)
    a = (1 - s.gamma**0.5) * s.lambda_min / 2
    start = s.norm_V2 * s.intervals**0.5 * (1 - s.gamma)
    expected = naive.residual_bound(a, s.C_A, s.trace_Sigma_e, start, alpha, T)
    found = bounds.residual_error(s, step=alpha, transitions=T)
    assert found.total == pytest.approx(expected, rel=1e-9)
    alpha /= s.intervals**2
    expected = naive.pmf_bound(s.gamma, s.intervals, *place[1:], alpha, T)
    found = bounds.l2_error_pmf(s, step=alpha, transitions=T)
    assert found.total == pytest.approx(s.unit * expected, rel=1e-9)
    assert found.violations == ()


@PROPERTY
@given(SETTINGS, SHARES, st.floats(1e-3, 0.9), st.floats(1e-3, 0.4))
def test_sample_sizes_are_the_displays(s, share, error, delta):
    alpha = share * bounds.largest_step(s)
    place = (s.gamma, s.lambda_min, s.norm_V1, s.norm_V2, alpha, error)
    T = bounds.sample_size(s, error=s.unit * error, step=alpha).total
    assert naive.sample_size_holds(*place, T * (1 + 1e-9))
    assert not naive.sample_size_holds(*place, T * (1 - 1e-6))
    found = bounds.whp_sample_size(s, error=s.unit * error, delta=delta, step=alpha)
    assert found.total == pytest.approx(naive.whp_size(*place, delta), rel=1e-9)
    walk = bounds.markov_sample_size(s, error=s.unit * error, delta=delta, step=alpha)
    slower = s.mixing_time * max(math.log(walk.total / delta), 1.0)
    assert walk.total == pytest.approx(found.total * slower, rel=1e-6)


@PROPERTY
@given(SETTINGS, SHARES, SIZES)
def test_errors_fall_with_transitions_and_with_lambda(s, share, T):
    alpha = share * bounds.largest_step(s)
    for bound in (bounds.l2_error, bounds.residual_error):
        now = bound(s, step=alpha, transitions=T).total
        assert bound(s, step=alpha, transitions=2 * T).total < now
        easier = replace(s, lambda_min=min(2 * s.lambda_min, 1.0), norm_V1=s.norm_V1 / 2)
        assert bound(easier, step=alpha, transitions=T).total <= now
    error = bounds.l2_error(s, step=alpha, transitions=T).total
    # The corollary follows from the theorem with the constant 8: 1 − √gamma >= (1 − gamma)/2 makes
    # the start decay at a rate of at least alpha (1 − gamma) λ/8.
    needed = math.ceil(8 * bounds.sample_size(s, error=error, step=alpha).total)
    assert bounds.l2_error(s, step=alpha, transitions=needed).total <= error


def test_the_two_regimes_of_the_step():
    """ε⁻² λ⁻² at the largest step, (ε⁻² + λ⁻¹) λ⁻¹ at the instance's own: orders, not constants."""
    base = lincat.Setting(0.75, 30, lambda_min=1e-6, norm_V1=1.0, norm_V2=2.0)

    def grows(step, error):
        sizes = [
            bounds.sample_size(x, error=error, step=step(x)).total
            for x in (base, replace(base, lambda_min=1e-7))
        ]
        return sizes[1] / sizes[0]

    assert grows(bounds.largest_step, 1e-3) == pytest.approx(100.0, rel=0.2)
    assert grows(bounds.instance_step, 1e-7) == pytest.approx(10.0, rel=0.2)
    assert grows(bounds.instance_step, 0.9) > 30.0  # behind the barrier
    assert bounds.sample_size_td(base, error=1e-3).terms[1].value == pytest.approx(3.2e13)


def test_assumptions_that_do_not_hold_are_named():
    s = lincat.Setting(0.9, 5, lambda_min=0.1, norm_V1=1.0, norm_V2=1.0, max_squared_norm=2.0)
    found = bounds.l2_error(s, step=1.0, transitions=100).violations
    assert [text.split(" is ")[0] for text in found] == ["K = 5", "the step 1", "‖phi‖²"]
    assert replace(s, intervals=10).violations(1e-6, 1.0) == ("‖phi‖² is up to 2, above 1",)
    assert replace(s, intervals=10).unit_norm().violations(1e-6, 1.0) == ()
    late = bounds.whp_sample_size(s.unit_norm(), error=0.1, delta=0.1, step=1e-2).violations
    assert any("step" in text for text in late)
    for wrong in ({"gamma": 1.0}, {"lambda_min": 0.0}, {"intervals": 0}, {"unit": -1.0}):
        with pytest.raises(lincat.InvalidInputError):
            replace(s, **wrong)


def test_scaling_features_changes_no_answer():
    """Features twice as long with a quarter of the step learn the same."""
    problem = lincat.catalog.random_process(5, n_features=3, gamma=0.7, seed=4)
    found = []
    for factor in (1.0, 2.0):
        place = (problem.process, factor * problem.Phi, problem.grid(10), problem.gamma)
        constants = lincat.error_constants(*place, lincat.solve_categorical(*place))
        found.append(lincat.Setting.of(constants).unit_norm())
    for name, value in vars(found[0]).items():
        assert getattr(found[1], name) == pytest.approx(value, rel=1e-9), name


def test_lemmas():
    s = lincat.Setting(0.25, 16, lambda_min=0.25, norm_V1=1.0, norm_V2=1.0, unit=2.0)
    stable = exponential_stability(s, p=4)
    assert stable.rate == pytest.approx(0.0625)
    assert stable.limit == pytest.approx(0.5 / 152)
    assert stability_pmf(s, p=4).limit == pytest.approx(stable.limit / 256)
    assert stable.contraction(0.001, 10) == pytest.approx((1 - 0.0000625) ** 10)
    assert loss_from_residual(s, 3.0) == pytest.approx(2 * 2 * 3.0 / (4 * 0.75**2 * 0.5))
    assert loss_from_pmf_residual(s, 3.0) == pytest.approx(4 * loss_from_residual(s, 3.0))
    assert approximation_bound(0.5, 8, 0.5) == pytest.approx(math.sqrt(2.0))
    with pytest.raises(lincat.InvalidInputError, match="p: "):
        exponential_stability(s, p=1.0)
