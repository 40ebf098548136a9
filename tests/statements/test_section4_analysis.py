"""Section analysis_linear_ctd: what can be said of its statements without running a learner."""

import numpy as np
import pytest
from hypothesis import given

import lincat
from tests.statements.cases import PROPERTY, cases


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_error_splits_into_approximation_and_estimation(case):
    """The triangle inequality that the section starts from, in W1,mu."""
    fine = lincat.Grid(case.grid.low, case.grid.high, 4 * case.K)
    truth = lincat.true_returns(case.process, case.gamma, fine)
    star, other = case.distribution(case.Theta_star), case.distribution(case.random_Theta())
    whole, approximation, estimation = (
        lincat.wasserstein(a, b, weights=case.mu)
        for a, b in ((truth, other), (truth, star), (star, other))
    )
    assert whole <= approximation + estimation + 1e-9


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_norms_in_the_bound_are_of_the_order_of_the_horizon(case):
    """Remark theory_match: ‖θ‖_V1 ≤ 1/(1 − gamma) where theta gives proper distributions."""
    # One-hot features, with which every distribution is within reach.
    cdf = np.sort(case.rng.random((case.S, case.K)), axis=1)
    dist = lincat.ReturnDistribution(cdf, case.grid)
    Theta = lincat.linear_projection(dist, case.process, np.eye(case.S))
    constants = lincat.error_constants(case.process, np.eye(case.S), case.grid, case.gamma, Theta)
    horizon = 1 / (1 - case.gamma)
    assert constants.norm_theta_Sigma / (np.sqrt(case.K) * (1 - case.gamma)) <= horizon


@PROPERTY
@given(case=cases(unit_rewards=True))
def test_plain_norm_is_bounded_by_the_weighted_one(case):
    """Used for Thm lp_error_linear_ctd: ‖θ*‖ ≤ λ_min^(−1/2) ‖θ*‖ in the norm of I ⊗ Sigma."""
    constants = lincat.error_constants(
        case.process, case.Phi, case.grid, case.gamma, case.Theta_star
    )
    assert constants.lambda_min == pytest.approx(case.lambda_min)
    assert constants.norm_theta <= constants.norm_theta_Sigma / np.sqrt(case.lambda_min) + 1e-9
