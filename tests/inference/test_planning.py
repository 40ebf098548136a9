"""Plans: what decides each number, checked where it can be computed otherwise."""

import math

import numpy as np
import pytest

import lincat
from lincat.inference.planning import plan_model, plan_problem, plan_setting
from lincat.learners.schedules import auto_step


@pytest.fixture(scope="module")
def paper():
    return lincat.catalog.paper()


def need(plan, way):
    (found,) = [need for need in plan.needs if need.way.startswith(way)]
    return found


def test_the_least_falls_with_the_square_of_the_error_and_grows_with_confidence(paper):
    some = plan_problem(paper, error=0.1, intervals=16)
    fewer = plan_problem(paper, error=0.2, intervals=16)
    surer = plan_problem(paper, error=0.1, confidence=0.99, intervals=16)
    assert some.least == pytest.approx(4 * fewer.least, rel=0.01)
    assert surer.least > 1.3 * some.least
    assert some.transitions == math.ceil(3.6 * some.least) or some.transitions > 3.6 * some.least


def test_the_least_is_that_of_a_mean_where_there_is_one_atom_interval():
    """K = 1: the CDF is one number, W1 the error of the mean, whose limit is a normal one."""
    coin = lincat.catalog.uniform_coin()
    found = plan_problem(coin, error=0.01, intervals=1, walk=False)
    sd = 0.5 / (1 - coin.gamma)  # of √N times the error of the mean
    expected = (1.96 * sd / 0.01) ** 2
    assert found.least == pytest.approx(expected, rel=0.06)  # 2,000 draws


def test_steps_are_those_of_auto(paper):
    found = plan_problem(paper, error=0.1)
    largest = (paper.Phi**2).sum(axis=1).max()
    ending = (1 - paper.gamma) * paper.process.stationary @ (paper.Phi**2).sum(axis=1)
    place = {"largest": largest, "ending": ending, "n_features": 3}
    assert found.step_size == pytest.approx(auto_step(0, **place))
    assert found.last_step == pytest.approx(auto_step(found.transitions, **place))
    model = lincat.LinearCTD(grid=paper.grid(8), gamma=paper.gamma)
    drawn = paper.process.sample(4000, seed=0)
    model.fit(paper.Phi[drawn.state], drawn.reward, paper.Phi[drawn.next_state])
    assert found.step_size == pytest.approx(0.75 * model.stable_step_)


def test_more_intervals_for_smaller_errors(paper):
    coarse, fine = (plan_problem(paper, error=e).intervals for e in (0.5, 0.02))
    assert coarse < fine
    assert plan_problem(paper, error=0.02).approximation <= 0.005


def test_a_target_below_the_approximation_error_is_told():
    chain = lincat.catalog.boyan_chain()
    found = plan_problem(chain, error=0.01)
    assert any("more transitions will not help" in note for note in found.notes)


def test_a_sample_and_the_process_agree():
    problem = lincat.catalog.random_process(8, n_features=3, gamma=0.8, seed=2)
    exact = plan_problem(problem, error=0.1, intervals=40)
    seen = problem.process.sample(30_000, seed=3)
    model = lincat.CategoricalLSTD(gamma=0.8, grid=problem.grid(40))
    model.fit(problem.Phi[seen.state], seen.reward, problem.Phi[seen.next_state])
    found = plan_model(model, error=0.1)
    assert found.least == pytest.approx(exact.least, rel=0.6)
    assert found.step_size == pytest.approx(exact.step_size, rel=0.01)
    assert need(found, "Linear").transitions == found.transitions
    assert "Estimated from 30,000 transitions." in found.notes


def test_constants_alone_give_the_theorem():
    setting = lincat.Setting(0.9, 40, lambda_min=0.1, norm_V1=5.0, norm_V2=10.0)
    found = plan_setting(setting, error=0.5, confidence=0.9)
    bound = lincat.bounds.whp_sample_size(setting, error=0.5, delta=0.1, step=found.step_size)
    assert bound.violations == ()
    assert found.transitions == math.ceil(bound.value)
    longer = lincat.Setting(0.9, 40, 0.4, 5.0, 5.0, max_squared_norm=4.0)
    again = plan_setting(longer, error=0.5, confidence=0.9)
    assert again.transitions == pytest.approx(found.transitions, rel=1e-9)
    assert again.step_size == pytest.approx(found.step_size / 4, rel=1e-9)


def test_a_plan_reaches_its_target():
    """A small version of what `make evidence` shows with 200 runs on six processes."""
    problem = lincat.catalog.paper()
    found = plan_problem(problem, error=0.1, confidence=0.9)
    grid = found.grid
    star = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
    exact = lincat.ReturnDistribution(lincat.cdf_from_theta(problem.Phi, star), grid)
    reached = []
    for seed in range(30):
        drawn = problem.process.sample(found.transitions, seed=seed)
        model = lincat.LinearCTD(grid=grid, gamma=problem.gamma)
        model.fit(problem.Phi[drawn.state], drawn.reward, problem.Phi[drawn.next_state])
        away = lincat.wasserstein(
            model.predict(problem.Phi), exact, weights=problem.process.stationary
        )
        reached.append(away <= 0.1)
    assert np.mean(reached) >= 0.9


@pytest.mark.parametrize("wrong", [{"error": 0.0}, {"error": 1.0, "confidence": 1.0}])
def test_nonsense_is_refused(paper, wrong):
    with pytest.raises(lincat.InvalidInputError):
        plan_problem(paper, **wrong)
