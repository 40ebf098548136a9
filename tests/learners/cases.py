"""What the tests of learners share: streams with everything in them, and the naive comparison."""

import itertools

import numpy as np
import scipy.sparse

import lincat
from tests import naive

LEARNERS = {
    "td": lincat.LinearTD,
    "ctd": lincat.LinearCTD,
    "pmf": lincat.LinearPMF,
    "unnormalised": lincat.UnnormalisedCTD,
    "softmax": lincat.SoftmaxCTD,
}
KINDS = ("dense", "sparse", "states")
GAMMA = 0.8
GRID = lincat.Grid(-5.0, 5.0, 8)  # holds all returns of rewards in [-1, 1]
STATES = 6


def make(rule, **params):
    """A learner for the streams below."""
    params = {"gamma": GAMMA, "n_features": None, **params}
    if rule != "td":
        params = {"grid": GRID, **params}
    return LEARNERS[rule](**params)


def features(kind):
    """One row of features per state, with an intercept unless the kind is a table."""
    if kind == "states":
        return np.eye(STATES)
    problem = lincat.catalog.random_process(STATES, n_features=4, branching=2, seed=1)
    Phi = np.array(problem.Phi)
    if kind == "sparse":
        Phi[:, 1:][np.random.default_rng(2).random((STATES, 3)) < 0.4] = 0.0
    return Phi


def as_kind(kind, states):
    """Features of these states in the form that the kind asks for."""
    if kind == "states":
        return states
    rows = features(kind)[states]
    return scipy.sparse.csr_array(rows) if kind == "sparse" else rows


def stream(kind, n=1000, seed=0, *, everything=True):
    """A walk with few different rewards in [-1, 1]; everything: ends, discounts, weights."""
    process = lincat.catalog.random_process(STATES, branching=2, seed=1).process
    drawn = process.sample(n, seed=seed)
    rng = np.random.default_rng(seed)
    options = {}
    if everything:
        options = {
            "terminated": rng.random(n) < 0.05,
            "discount": rng.choice([GAMMA, GAMMA**2, GAMMA**3], size=n),
            "weight": rng.uniform(0.5, 1.5, size=n),
        }
    phi, phi_next = (as_kind(kind, s) for s in (drawn.state, drawn.next_state))
    return lincat.Transitions(phi, 2.0 * drawn.reward - 1.0, phi_next, **options)


def dense_rows(matrix):
    if scipy.sparse.issparse(matrix):
        return matrix.toarray()
    return np.eye(STATES)[matrix] if matrix.ndim == 1 else np.asarray(matrix, float)


def tuples(transitions):
    """The same stream as the naive versions take it."""
    weight = np.ones(len(transitions)) if transitions.weight is None else transitions.weight
    discount = transitions.discounts(GAMMA)
    phi, phi_next = dense_rows(transitions.phi), dense_rows(transitions.phi_next)
    columns = (phi, transitions.reward.tolist(), phi_next, discount.tolist(), weight)
    return list(zip(*columns, strict=True))


def initial(rule, data, grid=GRID):
    """The parameters that a learner starts from."""
    d, K = len(data[0][0]), grid.intervals
    if rule == "td":
        return np.zeros((d, 1))
    if rule != "unnormalised":
        return np.zeros((d, naive.rule_columns(K, rule)))
    # The uniform distribution, scaled by the best linear expression of a total mass of one.
    Phi = np.array([row[0] for row in data[:1000]])
    ones = np.linalg.lstsq(Phi, np.ones(len(Phi)), rcond=None)[0]
    return np.outer(ones, np.arange(1, K + 2) / (K + 1))


def parameters(model):
    """Current and averaged parameters, (d, columns), as copies."""
    if isinstance(model, lincat.LinearTD):
        return model.psi_[:, None].copy(), model.psi_mean_[:, None].copy()
    return model.Theta_.copy(), model.Theta_mean_.copy()


STEPS = ("constant", "decay", "auto")
AVERAGES = ("none", "full", "tail", "anytime")

# Every kind with every batch size (25 divides the length, 7 does not) and every schedule; the
# averages take turns.
OPTIONS = [
    (*case, AVERAGES[i % 4]) for i, case in enumerate(itertools.product(KINDS, (1, 25, 7), STEPS))
]


def check_equals_naive(rule, kind, batch, schedule, averaging, *, gradient_step=None, n=1100):
    """Learn the same stream twice, fast and naively, and compare everything to 1e-10."""
    K = GRID.intervals
    base = 0.3 / np.linalg.norm(naive.C_matrix(K) @ naive.C_matrix(K).T, 2)
    alpha = 0.3 if rule != "pmf" else base
    factor = 1.0
    params = {"averaging": "tail" if averaging == "anytime" else averaging}
    if gradient_step:
        factor = 2.0 * GRID.spacing
        alpha /= factor
        params["gradient_step"] = True
    naive_step, params["step_size"] = {
        "constant": (("constant", alpha), alpha),
        "decay": (("decay", alpha, 0.6), lincat.PolynomialDecay(alpha, 0.6)),
        "auto": (("auto",), "auto"),
    }[schedule]
    transitions = stream(kind, n)
    data = tuples(transitions)
    model = make(rule, n_features=STATES if kind == "states" else None, **params)
    learn = model.partial_fit if averaging == "anytime" else model.fit
    learn(transitions, batch_size=batch)

    grid = None if rule == "td" else GRID
    iterates = naive.learner_iterates(
        initial(rule, data), data, grid, rule, step_size=naive_step, batch=batch, factor=factor
    )
    assert model.n_seen_ == n
    assert model.n_updates_ == len(iterates)
    horizon = None if averaging == "anytime" else len(iterates)
    mean = naive.average(iterates, params["averaging"], horizon)
    current, averaged = parameters(model)
    assert np.abs(iterates[-1]).max() > 1e-3
    np.testing.assert_allclose(current, iterates[-1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(averaged, mean, rtol=0, atol=1e-10)
    return model, mean
