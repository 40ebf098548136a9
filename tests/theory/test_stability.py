import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import ArpackNoConvergence

import lincat
from lincat.paper.settings import PUBLISHED
from tests import naive


def dense(problem, grid, rule):
    """Probabilities and update matrices of all outcomes, θ stacking the rows of Theta."""
    K, gamma = grid.intervals, problem.gamma
    behind = np.eye(K)
    if rule == "pmf":
        behind = naive.C_matrix(K) @ naive.C_matrix(K).T
    for p, s, r, s_next, discount in naive.expectation(problem.process, gamma):
        phi, phi_next = problem.Phi[s], problem.Phi[s_next]
        B = naive.bellman_matrix(grid, r, discount)
        row = behind @ (np.kron(phi, np.eye(K)) - np.kron(phi_next, B))
        yield p, np.kron(phi[:, None], row)


@pytest.mark.parametrize("K", PUBLISHED.brackets["ctd"])
def test_noise_free_threshold_lies_in_every_published_bracket(K):
    problem = lincat.catalog.paper()
    for rule in ("ctd", "pmf"):
        low, high = PUBLISHED.brackets[rule][K]
        alpha = lincat.max_step_size(
            problem.process,
            problem.Phi,
            problem.grid(K),
            0.75,
            25,
            rule=rule,
            notion="deterministic",
        )
        assert low <= alpha <= high


@pytest.mark.parametrize("rule", ["ctd", "pmf"])
@pytest.mark.parametrize("K", [6, 90])
def test_deterministic_limit_equals_all_eigenvalues(rule, K):
    problem = lincat.catalog.paper("unit_norm")
    grid = problem.grid(K)
    mean = sum(p * A for p, A in dense(problem, grid, rule))
    values = np.linalg.eigvals(mean)
    expected = (2 * values.real / np.abs(values) ** 2).min()
    found = lincat.max_step_size(
        problem.process, problem.Phi, grid, 0.75, rule=rule, notion="deterministic"
    )
    assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("rule", ["ctd", "pmf"])
@pytest.mark.parametrize("batch_size", [1, 25])
def test_mean_square_limit_equals_the_dense_second_moment_operator(rule, batch_size):
    problem = lincat.catalog.paper()
    grid = problem.grid(5)
    outcomes = list(dense(problem, grid, rule))
    mean = sum(p * A for p, A in outcomes)
    spread = sum(p * np.kron(A, A) for p, A in outcomes) - np.kron(mean, mean)

    def radius(alpha):
        one = np.eye(len(mean)) - alpha * mean
        operator = np.kron(one, one) + alpha**2 / batch_size * spread
        return np.abs(np.linalg.eigvals(operator)).max()

    found = lincat.max_step_size(problem.process, problem.Phi, grid, 0.75, batch_size, rule=rule)
    assert radius(found * 0.998) < 1.0 < radius(found * 1.002)


def test_almost_sure_limit_separates_runs_that_converge_from_runs_that_do_not():
    problem = lincat.catalog.paper()
    grid = problem.grid(30)
    for learner, rule in ((lincat.LinearCTD, "ctd"), (lincat.LinearPMF, "pmf")):
        limit = lincat.max_step_size(
            problem.process, problem.Phi, grid, 0.75, 25, rule=rule, notion="almost_sure"
        )
        rows = lincat.sweep(
            learner(grid=grid, gamma=0.75),
            problem,
            step_size=[limit * 0.97, limit * 1.03],
            updates=4000,
            batch_size=25,
            checkpoints=[4000],
        )
        assert [row["diverged"] for row in rows] == [False, True]


def test_the_three_notions_agree_to_about_one_per_cent():
    problem = lincat.catalog.paper()
    limits = [
        lincat.max_step_size(problem.process, problem.Phi, problem.grid(20), 0.75, 25, notion=n)
        for n in ("mean_square", "deterministic", "almost_sure")
    ]
    assert limits[0] <= limits[1]
    assert max(limits) / min(limits) < 1.02


def test_episodes_and_sparse_features():
    problem = lincat.catalog.random_walk(5)
    weights = problem.process.stationary > 0  # the ends are never left
    Phi = scipy.sparse.csr_array(np.eye(7)[:, weights])
    grid = problem.grid(8)
    alpha = lincat.max_step_size(problem.process, Phi, grid, 0.9, notion="deterministic")
    dense_alpha = lincat.max_step_size(
        problem.process, Phi.toarray(), grid, 0.9, notion="deterministic"
    )
    assert alpha == dense_alpha > 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "td"}, "rule: expected one of 'ctd', 'pmf'"),
        ({"notion": "sure"}, "notion: expected one of"),
        ({"batch_size": 0}, "batch_size: expected an integer of at least 1"),
    ],
)
def test_bad_input_is_named(options, message):
    problem = lincat.catalog.paper()
    with pytest.raises(lincat.InvalidInputError, match=message):
        lincat.max_step_size(problem.process, problem.Phi, problem.grid(5), 0.75, **options)


def test_a_second_moment_too_large_for_memory_is_refused():
    problem = lincat.catalog.random_process(100, n_features=60)
    with pytest.raises(lincat.InvalidInputError, match="use notion='almost_sure'"):
        lincat.max_step_size(problem.process, problem.Phi, problem.grid(100), 0.9)


def test_a_process_whose_mean_update_is_not_stable_is_refused():
    """No step converges where features say nothing of some states: an eigenvalue is zero."""
    problem = lincat.catalog.paper()
    Phi = np.column_stack([problem.Phi, -problem.Phi[:, 0]])
    with pytest.raises(lincat.InvalidInputError, match="a mean update that is stable"):
        lincat.max_step_size(problem.process, Phi, problem.grid(5), 0.75, notion="deterministic")


def test_eigenvalues_that_converged_are_used_where_others_did_not(monkeypatch):
    from lincat.theory import stability

    problem = lincat.catalog.paper()
    place = (problem.process, problem.Phi, problem.grid(100), problem.gamma, 25)
    whole = lincat.max_step_size(*place, notion="deterministic")
    exact, kept = stability.eigs, 1

    def some(operator, k, **options):
        values, vectors = exact(operator, k, **options)
        order = np.argsort(-np.abs(values))[:kept]
        raise ArpackNoConvergence("%s", values[order], vectors[:, order])

    monkeypatch.setattr(stability, "eigs", some)
    found = lincat.max_step_size(*place, notion="deterministic")
    assert found == pytest.approx(whole, rel=1e-6)
    kept = 0
    with pytest.raises(ArpackNoConvergence):
        lincat.max_step_size(*place, notion="deterministic")


def test_features_too_small_to_have_squares_are_refused():
    problem = lincat.catalog.paper()
    with pytest.raises(lincat.InvalidInputError, match="a mean update that is stable"):
        lincat.max_step_size(problem.process, 1e-170 * problem.Phi, problem.grid(5), 0.75)
