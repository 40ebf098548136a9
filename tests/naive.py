"""Slow, obvious versions, written straight from the paper, that the fast ones are tested against.

Notation as in the paper: K intervals, atoms x_0..x_K, C lower-triangular ones, g_jk(r), G(r),
G̃(r), and for users' grids the same with atoms anywhere on the line. Mass pushed beyond an end of
the grid stays at that end.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
from scipy import stats


def C_matrix(K):
    """Eq. (def_C): C = [1{i >= j}]."""
    return np.array([[1.0 if i >= j else 0.0 for j in range(K)] for i in range(K)])


def g(grid, reward, discount):
    """g_{j,k}(r), all j, k in 0..K (Thm linear_cate_TD_equation), exact until the last rounding."""
    K = grid.intervals
    low, high = Fraction(grid.low), Fraction(grid.high)
    spacing = (high - low) / K
    table = np.zeros((K + 1, K + 1))
    for j in range(K + 1):
        pushed = Fraction(reward) + Fraction(discount) * (low + j * spacing)
        position = min(max((pushed - low) / spacing, Fraction(0)), Fraction(K))
        for k in {math.floor(position), math.ceil(position)}:  # all others are further than 1
            table[j, k] = float(1 - abs(position - k))
    return table


def G(grid, reward, discount):
    """G(r) = [g_0(r), ..., g_{K-1}(r)]: column j is g_j without its last entry."""
    K = grid.intervals
    return g(grid, reward, discount)[:K, :K].T


def G_tilde(grid, reward, discount):
    """G̃(r) = G(r) − 1ᵀ ⊗ g_K(r)."""
    K = grid.intervals
    return G(grid, reward, discount) - g(grid, reward, discount)[K, :K][:, None]


def bellman_matrix(grid, reward, discount):
    """B(r) = C G̃(r) C⁻¹."""
    C = C_matrix(grid.intervals)
    return C @ G_tilde(grid, reward, discount) @ np.linalg.inv(C)


def bellman_offset(grid, reward, discount):
    """b(r) = C (Σ_j g_j(r) − 1) / (K + 1), from Eq. (bt)."""
    K = grid.intervals
    return C_matrix(K) @ (g(grid, reward, discount)[:, :K].sum(axis=0) - 1.0) / (K + 1)


def bellman_target(cdf_next, reward, discount, grid):
    """CDF of the projection of r + δX for one distribution: push every atom, split it, sum up."""
    pmf = np.diff(cdf_next, prepend=0.0, append=1.0)
    return np.cumsum(pmf @ g(grid, reward, discount))[:-1]


def project(atoms, masses, grid):
    """Eq. (categorical_prob), atom by atom, with atoms outside moved to the ends."""
    out = np.zeros(grid.intervals + 1)
    for x, mass in zip(atoms, masses, strict=True):
        x = min(max(x, grid.low), grid.high)
        for k, x_k in enumerate(grid.atoms):
            out[k] += mass * max(0.0, 1.0 - abs(x - x_k) / grid.spacing)
    return out


def cvar(atoms, pmf, level):
    """Mean of the worst ``level`` of the mass, atom by atom from below."""
    left, total = level, 0.0
    for x, p in sorted(zip(atoms, pmf, strict=True)):
        take = min(p, left)
        total += take * x
        left -= take
    return total / level


def expectation(process, gamma):
    """Yield (p, s, r, s', discount) of each outcome under the stationary distribution."""
    rows = zip(
        process.state,
        process.reward,
        process.next_state,
        process.terminated,
        process.probability,
        strict=True,
    )
    for s, r, s_next, terminated, p in rows:
        yield process.stationary[s] * p, s, r, s_next, 0.0 if terminated else gamma


def system(process, Phi, grid, gamma):
    """Ā and b̄ of the vectorised Linear-CTD, as dense matrices (Section proof_outline)."""
    K, d = grid.intervals, Phi.shape[1]
    A, b = np.zeros((d * K, d * K)), np.zeros(d * K)
    for p, s, r, s_next, discount in expectation(process, gamma):
        B = bellman_matrix(grid, r, discount)
        A += p * np.kron(np.eye(K), np.outer(Phi[s], Phi[s]))
        A -= p * np.kron(B, np.outer(Phi[s], Phi[s_next]))
        b += p * np.kron(bellman_offset(grid, r, discount), Phi[s])
    return A, b


def solve_categorical(process, Phi, grid, gamma):
    """Theta* by a dense solve of Ā θ = b̄; θ stacks the columns of Theta."""
    A, b = system(process, Phi, grid, gamma)
    return np.linalg.solve(A, b).reshape(grid.intervals, Phi.shape[1]).T


def solve_value(process, Phi, gamma):
    """psi* from Eq. (linear_TD_equation)."""
    d = Phi.shape[1]
    A, b = np.zeros((d, d)), np.zeros(d)
    for p, s, r, s_next, discount in expectation(process, gamma):
        A += p * np.outer(Phi[s], Phi[s] - discount * Phi[s_next])
        b += p * r * Phi[s]
    return np.linalg.solve(A, b)


def return_by_enumeration(process, gamma, state, horizon):
    """All (return, probability) pairs of paths of at most ``horizon`` steps from a state."""
    paths = [(0.0, 1.0, 1.0, state)]
    for _ in range(horizon):
        longer = []
        for total, weight, p, s in paths:
            if s is None:
                longer.append((total, weight, p, None))
                continue
            for j in range(process.offsets[s], process.offsets[s + 1]):
                end = process.terminated[j]
                longer.append(
                    (
                        total + weight * process.reward[j],
                        weight * gamma,
                        p * process.probability[j],
                        None if end else process.next_state[j],
                    )
                )
        paths = longer
    return [(total, p) for total, _, p, _ in paths]


def nearest_proper_cdf(values, step):
    """The best increasing sequence on a lattice in [0, 1], by trying them all."""
    levels = np.arange(0.0, 1.0 + step / 2, step)
    candidates = itertools.combinations_with_replacement(levels, len(values))
    return min(candidates, key=lambda c: sum((a - b) ** 2 for a, b in zip(c, values, strict=True)))


def step_distance(atoms, masses, other_atoms, other_masses, power):
    """∫ |F − G|^power dx of two discrete signed distributions of equal mass, from jump to jump."""
    points = sorted({*map(float, atoms), *map(float, other_atoms)})
    total = 0.0
    for left, right in itertools.pairwise(points):
        F = sum(m for x, m in zip(atoms, masses, strict=True) if x <= left)
        G = sum(m for x, m in zip(other_atoms, other_masses, strict=True) if x <= left)
        total += abs(F - G) ** power * (right - left)
    return total


def transition_system(phi, reward, phi_next, discount, grid):
    """A_t and b_t of one transition, dense (Section proof_outline, Eq. (bt))."""
    K = grid.intervals
    A = np.kron(np.eye(K), np.outer(phi, phi))
    A -= np.kron(bellman_matrix(grid, reward, discount), np.outer(phi, phi_next))
    return A, np.kron(bellman_offset(grid, reward, discount), phi)


def nearest_theta(distributions, Phi, weights, grid):
    """Argmin of ℓ2,mu over Theta by least squares on every piece between two jumps.

    ``distributions`` holds one (atoms, masses) pair per state, anywhere inside the grid's range.
    """
    K, d = grid.intervals, Phi.shape[1]
    rows, right = [], []
    for phi, weight, (atoms, masses) in zip(Phi, weights, distributions, strict=True):
        points = sorted({*map(float, atoms), *map(float, grid.atoms)})
        for a, b in itertools.pairwise(points):
            middle = (a + b) / 2
            k = min(int((middle - grid.low) / grid.spacing), K - 1)
            F = sum(m for x, m in zip(atoms, masses, strict=True) if x <= a)
            scale = np.sqrt(weight * (b - a))
            rows.append(scale * np.kron(np.eye(K)[k], phi))
            right.append(scale * (F - (k + 1) / (K + 1)))
    theta, *_ = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)
    return theta.reshape(K, d).T


def linear_td_update(psi, phi, reward, phi_next, discount, step_size):
    """Eq. (linear_TD)."""
    return psi - step_size * phi * ((phi - discount * phi_next) @ psi - reward)


def linear_ctd_update(Theta, phi, reward, phi_next, discount, grid, step_size):
    """Eq. (linear_CTD), with the matrices written out."""
    B = bellman_matrix(grid, reward, discount)
    bracket = phi @ Theta - phi_next @ Theta @ B.T - bellman_offset(grid, reward, discount)
    return Theta - step_size * np.outer(phi, bracket)


def linear_ctd_update_pmf(W, phi, reward, phi_next, discount, grid, step_size):
    """Eq. (linear_CTD_PMF_represent): Linear-CTD on the parameters of the masses."""
    K = grid.intervals
    G_sum = g(grid, reward, discount)[:, :K].sum(axis=0)
    bracket = phi @ W - phi_next @ W @ G_tilde(grid, reward, discount).T - (G_sum - 1.0) / (K + 1)
    return W - step_size * np.outer(phi, bracket)


def ssgd_pmf_update(W, phi, reward, phi_next, discount, grid, step_size):
    """Eq. (ssgd_pmf), without its factor 2·iota."""
    C = C_matrix(grid.intervals)
    change = linear_ctd_update_pmf(W, phi, reward, phi_next, discount, grid, 1.0) - W
    return W + step_size * change @ C.T @ C


def ssgd_pmf_update_theta(Theta, phi, reward, phi_next, discount, grid, step_size):
    """Eq. (linear_CTD_PMF_THETA)."""
    C = C_matrix(grid.intervals)
    change = linear_ctd_update(Theta, phi, reward, phi_next, discount, grid, 1.0) - Theta
    return Theta + step_size * change @ C @ C.T


def categorical_td_update(pmf, state, reward, next_state, discount, grid, step_size):
    """Eq. (ctd_update_rule): the table of masses (S, K + 1) after one transition."""
    out = pmf.copy()
    pushed = reward + discount * grid.atoms
    target = project(pushed, pmf[next_state], grid)
    out[state] -= step_size * (pmf[state] - target)
    return out


# ------------------------------------------------------------------- rules, in grid units
# Position u stands for the return low + u * spacing, so a transition is (rho, delta) alone.

RULES = ("ctd", "pmf", "unnormalised", "softmax")


def rule_columns(K, rule):
    return K if rule in ("ctd", "pmf") else K + 1


def projection_matrix(rho, delta, K):
    """G (K+1, K+1): atom m of the next state, moved to rho + delta m, split over its neighbours."""
    position = np.clip(rho + delta * np.arange(K + 1), 0.0, K)
    return np.maximum(0.0, 1.0 - np.abs(position[:, None] - np.arange(K + 1)))


def rule_pmf(Theta, phi, K, rule):
    """The K + 1 masses of a state under a rule's parameters."""
    z = phi @ Theta
    if rule in ("ctd", "pmf"):
        return np.diff(z + np.arange(1, K + 1) / (K + 1), prepend=0.0, append=1.0)
    if rule == "unnormalised":
        return np.diff(z, prepend=0.0)
    p = np.exp(z - z.max())
    return p / p.sum()


def next_pmf(Theta, phi_next, delta, K, rule):
    """The masses that are pushed; at the end of an episode a mass of one, anywhere."""
    return np.eye(K + 1)[0] if delta == 0.0 else rule_pmf(Theta, phi_next, K, rule)


def rule_direction(Theta, phi, phi_next, delta, G, K, rule):
    """What multiplies -step phi, given the matrix G of the projection."""
    pmf = rule_pmf(Theta, phi, K, rule)
    target = next_pmf(Theta, phi_next, delta, K, rule) @ G
    if rule == "softmax":
        return pmf - target
    error = np.cumsum(pmf - target)
    if rule == "unnormalised":
        return error
    C = C_matrix(K)
    return error[:K] if rule == "ctd" else error[:K] @ C @ C.T


def mass_outside(Theta, phi_next, rho, delta, K, rule):
    """Mass pushed below position 0 and above position K."""
    pmf = next_pmf(Theta, phi_next, delta, K, rule)
    position = rho + delta * np.arange(K + 1)
    return np.array([pmf[position < -1e-9].sum(), pmf[position > K + 1e-9].sum()])


def rule_updates(Theta, phi, phi_next, rho, delta, step, K, rule, batch=1, start=0):
    """Final parameters, mean of the iterates after the first ``start`` updates, mass outside."""
    Theta = Theta.copy()
    iterates, outside = [], np.zeros(2)
    for first in range(0, len(rho), batch):
        change = np.zeros_like(Theta)
        for t in range(first, min(first + batch, len(rho))):
            G = projection_matrix(rho[t], delta[t], K)
            row = rule_direction(Theta, phi[t], phi_next[t], delta[t], G, K, rule)
            change -= step[t] * np.outer(phi[t], row)
            outside += mass_outside(Theta, phi_next[t], rho[t], delta[t], K, rule)
        Theta += change
        iterates.append(Theta.copy())
    return Theta, np.mean(iterates[start:], axis=0), outside


# ------------------------------------------------------------------------------- learners


@functools.lru_cache(maxsize=4096)
def _matrices(grid, reward, discount):
    """g, B(r) and b(r), remembered because tests see few different rewards."""
    return (
        g(grid, reward, discount),
        bellman_matrix(grid, reward, discount),
        bellman_offset(grid, reward, discount),
    )


def learner_change(Theta, phi, reward, phi_next, discount, grid, rule):
    """The update of one transition at step size 1; rule "td" has no grid."""
    if rule == "td":
        return linear_td_update(Theta[:, 0], phi, reward, phi_next, discount, 1.0)[:, None] - Theta
    table, B, b = _matrices(grid, reward, discount)
    K = grid.intervals
    if rule in ("ctd", "pmf"):  # the paper's own form, Eq. (linear_CTD), (linear_CTD_PMF_THETA)
        bracket = phi @ Theta - phi_next @ Theta @ B.T - b
        C = C_matrix(K)
        return -np.outer(phi, bracket if rule == "ctd" else bracket @ C @ C.T)
    return -np.outer(phi, rule_direction(Theta, phi, phi_next, discount, table, K, rule))


def step_sizes(
    step_size,
    squared_norms,
    discounts,
    batch,
    *,
    curvature,
    slowness,
    d,
    near=False,
    before=0,
    slowest=0.0,
):
    """alpha of every update: ("constant", a), ("decay", a, power), or ("auto",)."""
    updates = -(-len(squared_norms) // batch)
    if step_size[0] == "constant":
        return [step_size[1]] * updates
    if step_size[0] == "decay":
        return [step_size[1] / t ** step_size[2] for t in range(1, updates + 1)]
    alphas, R, ended = [], 0.0, 0.0
    for t in range(updates):
        part = slice(t * batch, (t + 1) * batch)
        R = max(R, *squared_norms[part])
        pairs = zip(squared_norms[part], discounts[part], strict=True)
        ended += np.mean([norm * (1 - discount) for norm, discount in pairs])
        rate = ended / (t + 1)
        start, span, hold = (0.375, 6, 16) if near else (0.75, 3, 8)
        tau = (100 + span * d * R / rate) * slowness if rate else math.inf
        if slowest:
            tau = max(tau, hold * R / slowest * slowness)
        alphas.append(start / (R * curvature) * (1 + (before + t) / tau) ** -0.75)
    return alphas


def learner_iterates(
    Theta, data, grid, rule, *, step_size=("auto",), batch=1, factor=1.0, near=False
):
    """Theta after every update, from the list of (phi, reward, phi_next, discount, weight)."""
    K = 1 if grid is None else grid.intervals
    C = C_matrix(K)
    curvature = {"pmf": np.linalg.norm(C @ C.T, 2), "softmax": 0.5}.get(rule, 1.0) * factor
    norms = [weight * phi @ phi for phi, _, _, _, weight in data]
    discounts = [discount for _, _, _, discount, _ in data]
    slowness = {"pmf": np.linalg.norm(C @ C.T, 2) / (np.trace(C @ C.T) / K), "softmax": K + 1}
    alphas = step_sizes(
        step_size,
        norms,
        discounts,
        batch,
        curvature=curvature,
        slowness=slowness.get(rule, 1.0),
        d=len(Theta),
        near=near,
    )
    Theta, iterates = Theta.copy(), []
    for u, alpha in enumerate(alphas):
        part = data[u * batch : (u + 1) * batch]
        changes = [w * learner_change(Theta, *rest, grid, rule) for *rest, w in part]
        Theta = Theta + alpha * factor * np.mean(changes, axis=0)
        iterates.append(Theta)
    return np.array(iterates)


def average(iterates, averaging, horizon=None):
    """Mean of the iterates that a learner reports; without a horizon "tail" is the anytime one."""
    t = len(iterates)
    if averaging == "none":
        return iterates[-1]
    begin = 0
    if averaging == "tail" and horizon is not None:
        begin = max(horizon // 2 - 1, 0)  # Theta_{T/2}, ..., Theta_T
    elif averaging == "tail":
        # Windows begin at 512 * 2^m; the last one that holds half of all iterates.
        begin = max((b for b in (512 * 2**m for m in range(40)) if 2 * b <= t), default=0)
    return iterates[begin:].mean(axis=0)


# ----------------------------------------------------------------------------------- trust


def crps(atoms, pmf, y):
    """E|X − y| − ½ E|X − X'|, pair by pair."""
    pairs = list(zip(atoms, pmf, strict=True))
    near = sum(p * abs(x - y) for x, p in pairs)
    apart = sum(p * q * abs(x - z) for x, p in pairs for z, q in pairs)
    return near - apart / 2


def pit_below(pmf, returns, weights, grid, level):
    """How much of the returns' transform lies below a level, atom by atom; no atom is empty."""
    projected = project(returns, weights, grid)
    total, low = 0.0, 0.0
    for p, mass in zip(pmf, projected, strict=True):
        total += mass * min(max((level - low) / p, 0.0), 1.0)
        low += p
    return total


def returns_to_go(reward, terminated, truncated, discount):
    """(return, weight of what is missing) from each step on, by walking forwards from it."""
    out = []
    for t in range(len(reward)):
        total, weight = 0.0, 1.0
        for i in range(t, len(reward)):
            total += weight * reward[i]
            weight *= 0.0 if terminated[i] else discount[i]
            if terminated[i] or truncated[i]:
                break
        out.append((total, weight))
    return out


def binomial_deviation(n, p):
    """E|X/n − p| for X ~ Binomial(n, p), value by value."""
    return sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) * abs(x / n - p) for x in range(n + 1))


def totals(transitions, d):
    """The sums of lincat.Totals, one transition at a time; rewards split if there are many."""
    from lincat.statistics.reward_nodes import spaced_nodes
    from lincat.statistics.totals import Totals

    t, eye = transitions, np.eye(d)
    values, counts = np.unique(t.reward, return_counts=True)
    nodes = values if len(values) <= 64 else spaced_nodes(values, counts.astype(float), 64)
    cross, phi_sum, Sigma, total = {}, {}, np.zeros((d, d)), 0.0
    for i in range(len(t)):
        phi, phi_next = (
            eye[x[i]] if t.kind == "states" else np.asarray(x[[i]].todense())[0]
            if t.kind == "sparse" else x[i]
            for x in (t.phi, t.phi_next)
        )  # fmt: skip
        weight = 1.0 if t.weight is None else t.weight[i]
        given = math.nan if t.discount is None else t.discount[i]
        ended = given == 0.0 or (t.terminated is not None and t.terminated[i])
        power = 0 if ended else 1 if math.isnan(given) else -1
        given = given if power == -1 else math.nan
        for node, part in split_reward(nodes, t.reward[i], exact=len(values) <= 64):
            key = ({1: 0, -1: 1, 0: 2}[power], -1.0 if power != -1 else given, node, power, given)
            follows = 0.0 if ended else 1.0
            term = weight * part * np.outer(phi, phi_next) * follows
            cross[key] = cross.get(key, 0.0) + term
            phi_sum[key] = phi_sum.get(key, 0.0) + weight * part * phi
        Sigma += weight * np.outer(phi, phi)
        total += weight
    keys = sorted(cross, key=lambda key: key[:3])
    _, _, reward, power, given = (np.array(x) for x in zip(*keys, strict=True))
    cross, phi_sum = (np.array([x[key] for key in keys]) for x in (cross, phi_sum))
    return Totals(reward, power, given, cross, phi_sum, Sigma, len(t), total)


def split_reward(nodes, reward, exact):
    """Nodes and weights: Lagrange's polynomials of the three nodes about the nearest."""
    if exact:
        return [(reward, 1.0)]
    nearest = int(np.argmin(np.abs(nodes - reward)))
    middle = min(max(nearest, 1), len(nodes) - 2)
    three = nodes[middle - 1 : middle + 2]
    return [
        (x, math.prod((reward - y) / (x - y) for y in three if y != x)) for x in three
    ]  # fmt: skip


def totals_system(phi, reward, phi_next, discount, weight, grid):
    """Σ w A_t and Σ w b_t of transitions, dense (Section proof_outline)."""
    K, d = grid.intervals, phi.shape[1]
    A, b = np.zeros((d * K, d * K)), np.zeros(d * K)
    for row in zip(phi, reward, phi_next, discount, weight, strict=True):
        A_t, b_t = transition_system(*row[:4], grid)
        A += row[4] * A_t
        b += row[4] * b_t
    return A, b


def moments_of_transitions(phi, reward, phi_next, discount, weight):
    """Weights of the value and of the second moment, by two least-squares solutions."""
    A = (weight[:, None] * phi).T @ (phi - discount[:, None] * phi_next)
    value = np.linalg.lstsq(A, phi.T @ (weight * reward), rcond=1e-10)[0]
    A = (weight[:, None] * phi).T @ (phi - discount[:, None] ** 2 * phi_next)
    square = reward**2 + 2.0 * discount * reward * (phi_next @ value)
    return value, np.linalg.lstsq(A, phi.T @ (weight * square), rcond=1e-10)[0]


def undiscounted_returns(process, state):
    """The distribution of the sum of rewards until the end, by dynamic programming: {sum: p}.

    For processes without cycles, and rewards whose sums float64 holds exactly.
    """
    out = {}
    for i in np.flatnonzero(process.state == state):
        p, r = process.probability[i], process.reward[i]
        if process.terminated[i]:
            following = {0.0: 1.0}
        else:
            following = undiscounted_returns(process, process.next_state[i])
        for total, share in following.items():
            out[r + total] = out.get(r + total, 0.0) + p * share
    return out


def quantile(atoms, pmf, level):
    """The smallest atom x with P(G <= x) >= level, to 1e-12."""
    reached = 0.0
    for x, p in zip(atoms, pmf, strict=True):
        reached += p
        if reached >= level - 1e-12:
            return x
    return atoms[-1]


def asymptotic_error(process, Phi, grid, gamma, *, walk):
    """lim N E[ℓ2,mu²] of the fixed point of N transitions: iota tr(Sigma Abar⁻¹ S Abar⁻ᵀ); Abar.

    S is the long-run covariance of the scores b_t − A_t Theta*; lag 0 alone where transitions are
    independent. Along a walk, the lags add up to Poisson's equation for the scores' means.
    """
    mu, d, K = process.stationary, Phi.shape[1], grid.intervals
    discounts = process.discounts(gamma)
    share = mu[process.state] * process.probability
    systems = [
        transition_system(Phi[s], r, Phi[t], discount, grid)
        for s, r, t, discount in zip(
            process.state, process.reward, process.next_state, discounts, strict=True
        )
    ]
    A = sum(w * A_t for w, (A_t, _) in zip(share, systems, strict=True))
    theta = np.linalg.solve(A, sum(w * b_t for w, (_, b_t) in zip(share, systems, strict=True)))
    scores = np.array([b_t - A_t @ theta for A_t, b_t in systems])
    S = (share[:, None] * scores).T @ scores
    if walk:
        means = np.zeros((process.n_states, d * K))
        np.add.at(means, process.state, process.probability[:, None] * scores)
        chain = process.transition_matrix().toarray()
        ahead = np.linalg.solve(np.eye(len(mu)) - chain + np.outer(np.ones(len(mu)), mu), means)
        following = ahead[process.next_state]
        if process.terminated.any():
            following[process.terminated] = process.initial @ ahead
        lagged = (share[:, None] * scores).T @ following
        S += lagged + lagged.T
    spread = np.linalg.solve(A, np.linalg.solve(A, S).T)
    Sigma = np.kron(np.eye(K), Phi.T @ (mu[:, None] * Phi))
    return grid.spacing * np.trace(Sigma @ spread), A


def smooth_features(sample, rows, bent, apart, kept):
    """lincat.Smooth from its definition; centres and widths are taken as they are in ``kept``.

    ``bent`` and ``apart`` number the coordinates that features bend over, or keep apart by value.
    """
    mean, deviation = sample.mean(axis=0), sample.std(axis=0)
    ends = np.cumsum(kept["counts"])
    out = []
    for row in rows:
        free = [min(max((row[j] - mean[j]) / deviation[j], -5.0), 5.0) for j in bent]
        features = []
        for combination, end, count, width, low, high in zip(
            *(kept["combinations"], ends, kept["counts"], kept["widths"]),
            *(kept["low"], kept["high"]),
            strict=True,
        ):
            z = [min(max(x, a), b) for x, a, b in zip(free, low, high, strict=True)]
            plain = [1.0, *z, *(z[i] * z[j] for i in range(len(z)) for j in range(i, len(z)))]
            centers = kept["centers"][end - count : end]
            places = np.array(z) * kept["importance"][bent]
            near = [math.exp(-sum((places - c) ** 2) / (2.0 * width**2)) for c in centers]
            mine = [*plain, *(x / sum(near) for x in near)]
            here = all(row[j] == x for j, x in zip(apart, combination, strict=True))
            features += mine if here else [0.0] * len(mine)
        out.append(features)
    return np.array(out)


def nearby_features(sample, rows, importance, neighbours, kept):
    """lincat.Nearby from its definition; centres are taken as they are in ``kept``."""
    mean, deviation = sample.mean(axis=0), sample.std(axis=0)
    centers = kept["centers"]
    k = min(neighbours, len(centers))
    out = []
    for row in rows:
        z = np.clip((row - mean) / deviation, -5.0, 5.0)
        z = [min(max(x, a), b) for x, a, b in zip(z, kept["low"], kept["high"], strict=True)]
        plain = [1.0, *z, *(z[i] * z[j] for i in range(len(z)) for j in range(i, len(z)))]
        distance = [math.dist(np.array(z) * importance, c) for c in centers]
        order = sorted(range(len(centers)), key=lambda j: distance[j])
        # Where all centres are near, as far again as the last one.
        reach = distance[order[k]] if k < len(centers) else 2.0 * distance[order[-1]]
        bumps = [0.0] * len(centers)
        for j in order[:k]:
            x = distance[j] / reach if reach > 0.0 else 0.0
            bumps[j] = (1.0 - x) ** 4 * (4.0 * x + 1.0)
        out.append([*plain, *(x / sum(bumps) for x in bumps)])
    return np.array(out)


def pinball(quantile, y, level):
    """The loss whose mean is least at the quantile (Koenker and Bassett 1978)."""
    return (y - quantile) * (level - (y < quantile))


def level_hats(value, kept):
    """Hats of lincat.Levels along values of its function, from their definition."""
    low, high = kept["range"]
    c = [-math.inf, *kept["levels"], math.inf]
    out = []
    for v in value:
        z = min(max((v - low) / (high - low), 0.0), 1.0)
        row = []
        for before, level, after in zip(c[:-2], c[1:-1], c[2:], strict=True):
            up = 1.0 if math.isinf(before) else (z - before) / (level - before)
            down = 1.0 if math.isinf(after) else (after - z) / (after - level)
            row.append(max(0.0, min(up, down)))
        out.append(row)
    return np.array(out)


def moment_errors(phi, reward, phi_next, discount, weight, ends, Phi, orders=4):
    """Standard errors of mean and variance at the states Phi, from cosine sums of scores by block.

    ``ends`` says where the blocks end; the score of a row is what its equations leave over.
    """
    value, second = moments_of_transitions(phi, reward, phi_next, discount, weight)
    begins = [0, *ends[:-1]]
    inside = [weight[begin:end].sum() for begin, end in zip(begins, ends, strict=True)]
    waves = orthonormal_cosines(inside, orders)
    first_sums, second_sums = np.zeros((2, orders, phi.shape[1]))
    for b, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        first, square = np.zeros((2, phi.shape[1]))
        for i in range(begin, end):
            V, M = phi[i] @ value, phi[i] @ second
            V_next, M_next = phi_next[i] @ value, phi_next[i] @ second
            r, delta = reward[i], discount[i]
            first += weight[i] * phi[i] * (r + delta * V_next - V)
            square += weight[i] * phi[i] * (
                r**2 + 2.0 * delta * r * V_next + delta**2 * M_next - M
            )  # fmt: skip
        for j in range(orders):
            first_sums[j] += waves[j][b] * first
            second_sums[j] += waves[j][b] * square
    A = (weight[:, None] * phi).T @ (phi - discount[:, None] * phi_next)
    A2 = (weight[:, None] * phi).T @ (phi - discount[:, None] ** 2 * phi_next)
    carried = (weight * 2.0 * discount * reward)[:, None] * phi
    means, variances = [], []
    for one, two in zip(first_sums, second_sums, strict=True):
        dvalue = np.linalg.solve(A, one)
        dsecond = np.linalg.solve(A2, two + carried.T @ (phi_next @ dvalue))
        means.append(Phi @ dvalue)
        variances.append(Phi @ dsecond - 2.0 * (Phi @ value) * (Phi @ dvalue))
    return [np.sqrt(np.mean(np.square(x), axis=0)) for x in (means, variances)]


def turned(p, se, errors):
    """Chances with errors on the scale of angles, of which F = (1 − cos angle)/2."""
    out = np.empty_like(errors)
    for k in range(len(p)):
        inside = min(max(p[k], 2 * se[k]), 1 - 2 * se[k])
        angle = math.acos(1 - 2 * inside) + errors[:, k] / math.sqrt(inside * (1 - inside))
        out[:, k] = (1 - np.cos(np.minimum(np.maximum(angle, 0), math.pi))) / 2 + p[k] - inside
    return out


def interval_margin(cdf, directions, confidence, measure, draws=100_000, turn=False):
    """Half the width of an interval: the quantile of |h(F ⊕ E) − h(F)|, E a multivariate t."""
    rng, nu = np.random.default_rng(1), len(directions)
    out = []
    for i, row in enumerate(cdf):
        t = rng.normal(size=(draws, nu)) / np.sqrt(rng.chisquare(nu, size=(draws, 1)) / nu)
        errors, se = t @ directions[:, i] / np.sqrt(nu), np.sqrt(np.mean(directions[:, i] ** 2, 0))
        moved = measure(turned(row, se, errors) if turn else row + errors)
        out.append(np.quantile(np.abs(moved - measure(row[None])), confidence))
    return np.array(out)


def interpolated_pieces(atoms, pmf):
    """Uniform pieces (left, right, mass) and atoms (x, x, mass) that interpolation makes."""
    K, half = len(atoms) - 1, (atoms[1] - atoms[0]) / 2
    pieces = []
    for k in range(K + 1):
        below, above = (pmf[k - 1] if k > 0 else 0.0), (pmf[k + 1] if k < K else 0.0)
        isolated = pmf[k] / max(below, above)
        isolated = min(max((isolated - 2.0) / 2.0, 0.0), 1.0)
        spread = (1.0 - isolated) * pmf[k] + isolated * min((below + above) / 2.0, pmf[k])
        left = atoms[k] - (half if k > 0 else 0.0)
        right = atoms[k] + (half if k < K else 0.0)
        pieces += [(left, right, spread), (atoms[k], atoms[k], pmf[k] - spread)]
    return pieces


def mass_below(pieces, x, strict):
    """P(X < x), or P(X <= x), of pieces; within 1e-9 of the spacing of an atom counts as it."""
    near = 1e-9 * 2 * (pieces[0][1] - pieces[0][0])
    total = 0.0
    for left, right, mass in pieces:
        if left == right:
            total += mass * (x > left + near if strict else x >= left - near)
        else:
            total += mass * min(max((x - left) / (right - left), 0.0), 1.0)
    return total


def influence_covariance(phi, reward, phi_next, discount, weight, grid, ends, orders):
    """The sandwich A⁻¹ S A⁻ᵀ of dense sums, (dK, dK), S from cosines over equal blocks to ends."""
    A, b = totals_system(phi, reward, phi_next, discount, weight, grid)
    Theta, blocks = np.linalg.solve(A, b), len(ends)
    S = np.zeros_like(A)
    scores = []
    for first, last in itertools.pairwise([0, *ends]):
        here = slice(first, last)
        A_b, b_b = totals_system(
            phi[here], reward[here], phi_next[here], discount[here], weight[here], grid
        )
        scores.append(b_b - A_b @ Theta)
    for j in range(1, orders + 1):
        slow = sum(
            math.sqrt(2) * math.cos(math.pi * j * (i + 0.5) / blocks) * score
            for i, score in enumerate(scores)
        )
        S += np.outer(slow, slow) / orders
    return np.linalg.solve(A, np.linalg.solve(A, S).T).T


def probability_interval(p, se, reach):
    """p ± reach se in log-odds; within 2 se of 0 or 1, the interval of 2 se moved to p."""
    inside = min(max(p, 2 * se), 1 - 2 * se)
    odds, width = math.log(inside / (1 - inside)), reach * se / (inside * (1 - inside))
    ends = (1 / (1 + math.exp(-odds - sign * width)) + p - inside for sign in (-1, 1))
    return tuple(min(max(end, 0.0), 1.0) for end in ends)


def orthonormal_cosines(weights, orders):
    """Cosines at the middles of blocks, made orthonormal in their shares by Gram and Schmidt."""
    share = np.array(weights) / sum(weights)
    middle = np.cumsum(share) - share / 2.0
    made = [np.ones(len(share))]
    for order in range(1, orders + 1):
        wave = np.cos(np.pi * order * middle)
        for other in made:
            wave = wave - (share * wave * other).sum() * other
        made.append(wave / math.sqrt((share * wave**2).sum()))
    return made[1:]


def difference_of_means(spacing, of_a, of_b, confidence, paired):
    """Half the width of the interval of E[A] − E[B], from directions (nu, K) of one state."""
    a, b = (-spacing * np.sum(directions, axis=1) for directions in (of_a, of_b))
    if paired:
        m = min(len(a), len(b))
        se, df = math.sqrt(sum((a[j] - b[j]) ** 2 for j in range(m)) / m), m
    else:
        one, two = np.mean(a**2), np.mean(b**2)
        se = math.sqrt(one + two)
        df = (one + two) ** 2 / (one**2 / len(a) + two**2 / len(b))
    return se * stats.t.ppf(0.5 + confidence / 2, df)


def error_draws(of_a, of_b, paired, draws=100_000):
    """Errors of A and of B, (draws, K) each: multivariate t, the same one if they are paired."""
    rng = np.random.default_rng(1)

    def coefficients(nu):
        t = rng.normal(size=(draws, nu)) / np.sqrt(rng.chisquare(nu, size=(draws, 1)) / nu)
        return t / math.sqrt(nu)

    if paired:
        t = coefficients(min(len(of_a), len(of_b)))
        return t @ of_a[: t.shape[1]], t @ of_b[: t.shape[1]]
    return coefficients(len(of_a)) @ of_a, coefficients(len(of_b)) @ of_b


def mover(p, q, of_p, of_q, confidence, paired):
    """Zou and Donner (2008): limits of p − q from those of p and of q, and their correlation."""
    ends = []
    for value, errors in ((p, of_p), (q, of_q)):
        m = min(len(of_p), len(of_q)) if paired else len(errors)
        se = math.sqrt(sum(e**2 for e in errors[:m]) / m)
        ends.append(probability_interval(value, se, stats.t.ppf(0.5 + confidence / 2, m)))
    rho = 0.0
    if paired:
        m = min(len(of_p), len(of_q))
        x, y = np.array(of_p[:m]), np.array(of_q[:m])
        rho = (x @ y) / math.sqrt((x @ x) * (y @ y))
    (p_low, p_high), (q_low, q_high) = ends
    low = (p - p_low) ** 2 + (q_high - q) ** 2 - 2 * rho * (p - p_low) * (q_high - q)
    high = (p_high - p) ** 2 + (q - q_low) ** 2 - 2 * rho * (p_high - p) * (q - q_low)
    return p - q - math.sqrt(low), p - q + math.sqrt(high)


def moved_margin(margin, sides):
    """A margin with 1.5 times what each side's figure moves beside it, as independent errors.

    ``sides`` are (figure, CDF values, what moves them): the worse of both ways counts.
    """
    squared = margin**2
    for figure, cdf, moved in sides:
        ways = [abs(figure(cdf + sign * moved) - figure(cdf)) for sign in (1, -1)]
        squared += (1.5 * max(ways)) ** 2
    return math.sqrt(squared)


def dominance(F_a, F_b, draws, se, tolerance, confidence):
    """1 if F_a − F_b is nowhere shown above a tolerance and somewhere below 0, −1 the other way."""
    D = np.subtract(F_a, F_b)
    largest = sorted(max(abs(one[k]) / se[k] for k in range(len(D))) for one in draws)
    c = np.quantile(largest, confidence)
    if max(D + c * se) <= tolerance and min(D + c * se) < 0:
        return 1
    return -1 if min(D - c * se) >= -tolerance and max(D - c * se) > 0 else 0


def trace(reward, end):
    """The fingerprint of rows, in Python's integers."""
    word, value = 2**64, 0
    for t, (r, e) in enumerate(zip(reward, end, strict=True)):
        v = (int(np.float64(r + 0.0).view(np.uint64)) + int(e)) % word
        v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9 % word
        v = (v ^ (v >> 27)) * 0x94D049BB133111EB % word
        v ^= v >> 31
        value = (value + v * pow(0x9E3779B97F4A7C15, t, word)) % word
    return value


def richardson(coarse, fine):
    """The limit h of h + c·spacing², through its values at a spacing and at half of it."""
    return float(np.linalg.solve([[1.0, 1.0], [1.0, 0.25]], [coarse, fine])[0])


def drift(first, second, gamma):
    """Half the difference of means, (S,), of a table's states from two halves (s, r, s')."""
    means = []
    for s, r, t in (first, second):
        S = max(s.max(), t.max()) + 1
        A, b = np.zeros((S, S)), np.zeros(S)
        for state, reward, following in zip(s, r, t, strict=True):
            A[state, state] += 1.0
            A[state, following] -= gamma
            b[state] += reward
        means.append(np.linalg.solve(A, b))
    return 0.5 * (means[0] - means[1])


# ---------------------------------------------------------------------- variance reduction


def epoch_ends(growth, n, first=512):
    """After how many updates epochs of VarianceReducedCTD end, up to n."""
    ends = [first]
    while ends[-1] < n:
        ends.append(math.ceil(growth * ends[-1]))
    return ends


def recentred(data, grid, alphas, batch, d, averaging, growth):
    """What VarianceReducedCTD predicts from (phi, reward, phi_next, discount, weight).

    Every epoch has an anchor. Gradients there, w (A θ̃ − b), and the anchors themselves are averaged
    over all transitions of the second epoch and later; from the third epoch on an update is
    −alpha w [A (θ − mean anchor) + mean gradient], before that a plain one.
    """
    theta, ends = np.zeros((d, grid.intervals)), epoch_ends(growth, len(alphas))
    anchor, iterates, gathered = theta, [], []
    epoch, mean_anchor, mean_gradient = 0, None, None
    for u, alpha in enumerate(alphas):
        change = np.zeros_like(theta)
        part = data[u * batch : (u + 1) * batch]
        for phi, reward, phi_next, discount, weight in part:
            step = alpha * weight / len(part)
            gradient = -learner_change(anchor, phi, reward, phi_next, discount, grid, "ctd")
            if epoch < 2:
                change += step * learner_change(theta, phi, reward, phi_next, discount, grid, "ctd")
            else:
                at_mean = learner_change(mean_anchor, phi, reward, phi_next, discount, grid, "ctd")
                own = learner_change(theta, phi, reward, phi_next, discount, grid, "ctd")
                change += step * (own - at_mean - mean_gradient)
            if epoch >= 1:
                gathered.append((weight, anchor, weight * gradient))
        theta = theta + change
        iterates.append(theta)
        if u + 1 == ends[epoch]:
            begin = ends[epoch - 1] if epoch >= 1 else 0
            window = {"tail": begin, "full": 0, "none": u}[averaging]
            if gathered:
                weights = sum(w for w, _, _ in gathered)
                mean_anchor = sum(w * a for w, a, _ in gathered) / weights
                mean_gradient = sum(g for _, _, g in gathered) / weights
            anchor, epoch = np.mean(iterates[window:], axis=0), epoch + 1
    passed = [end for end in ends if end <= len(alphas)]
    begin = passed[-2] if len(passed) > 1 else 0
    return np.mean(iterates[{"tail": begin, "full": 0, "none": -1}[averaging] :], axis=0)


# ------------------------------------------------------------------------ the paper's bounds


def l2_bound(gamma, lam, V1, V2, alpha, T):
    """Thm l2_error_linear_ctd as it is printed, constant 1."""
    g = 1 - gamma
    first = (V1 + 1) / (T**0.5 * g * lam**0.5) * (1 + (alpha / (g * lam)) ** 0.5)
    second = (V1 + 1) / (T * alpha**0.5 * g**1.5 * lam)
    third = (1 - alpha * (1 - gamma**0.5) * lam / 2) ** (T / 2) / (T * alpha**0.5 * g * lam**0.5)
    return first + second + third * (1 / alpha**0.5 + 1 / (g * lam) ** 0.5) * V2


def lp_bound(gamma, lam, V1, V2, alpha, T, p):
    """Thm lp_error_linear_ctd as it is printed, constant 1."""
    g = 1 - gamma
    spread = 1 + ((alpha * p) ** 0.5 + alpha * p) / (g * lam) ** 0.5
    first = p**0.5 / T**0.5 * (V1 + 1) / (g * lam**0.5) * spread
    second = p / T * (V1 + 1) / (g**1.5 * lam) * (1 + 1 / (alpha * p) ** 0.5)
    third = (1 - alpha * (1 - gamma**0.5) * lam / 2) ** (T / 2) / (alpha**0.5 * g * lam**0.5) / T
    return first + second + third * (1 / alpha**0.5 + p / (g * lam) ** 0.5) * V2


def residual_bound(a, C_A, trace, start, alpha, T):
    """Thm exponential_stability_l2_convergence as it is printed, constant 1."""
    first = trace**0.5 / T**0.5 * (1 + C_A * alpha**0.5 / a**0.5)
    second = trace**0.5 / (T * (alpha * a) ** 0.5)
    third = (1 - alpha * a) ** (T / 2) / T * (1 / alpha + C_A / (alpha * a) ** 0.5) * start
    return first + second + third


def pmf_bound(gamma, K, lam, V1, V2, alpha, T):
    """Thm l2_error_linear_ctd_PMF as it is printed, constant 1."""
    g, s = 1 - gamma, alpha * K**2
    first = K**2 * (V1 + 1) / (T**0.5 * g * lam**0.5) * (1 + K * (s / (g * lam)) ** 0.5)
    second = K**3 * (V1 + 1) / (T * s**0.5 * g**1.5 * lam)
    rate = (1 - s * K**-2 * (1 - gamma**0.5) * lam / 2) ** (T / 2)
    third = K * rate / (T * s**0.5 * g * lam**0.5) * (K / s**0.5 + K**2 / (g * lam) ** 0.5) * V2
    return first + second + third


def sample_size_holds(gamma, lam, V1, V2, alpha, error, T):
    """Whether T satisfies the display of Corollary l2_sample_complexity_linear_ctd, constant 1."""
    g = 1 - gamma
    first = (V1 + 1) ** 2 / (error**2 * g**2 * lam) * (1 + alpha / (g * lam))
    second = (V1 + 1) / (error * alpha**0.5 * g**1.5 * lam)
    inner = 1 / (T * alpha**0.5 * g * lam**0.5) * (1 / alpha**0.5 + 1 / (g * lam) ** 0.5)
    third = (math.log(V2 / error) + math.log(inner)) / (alpha * g * lam)
    return T >= first + second + max(third, 0.0)


def whp_size(gamma, lam, V1, V2, alpha, error, delta):
    """Thm whp_error_linear_ctd as it is printed, constant 1."""
    g, tail = 1 - gamma, math.log(1 / delta)
    first = (V1 + 1) ** 2 / (error**2 * g**2 * lam) * (1 + alpha * tail / (g * lam)) * tail
    second = (V1 + 1) / (error * alpha**0.5 * g**1.5 * lam) * tail
    return first + second + max(math.log(V2 / error), 0.0) / (alpha * g * lam)


def calibration_weights(g):
    """The weights nearest to 1 for which Σ w g = 0 (Deville and Särndal 1992)."""
    return 1.0 - g @ np.linalg.solve(g.T @ g, g.sum(axis=0))


def spread_centers(sample, count, rng, rounds=5):
    """k-means begun as k-means++ does (Arthur and Vassilvitskii 2007), by every distance."""
    chosen, chance = [sample[rng.integers(len(sample))]], rng.random(max(count - 1, 0))
    for place in chance:
        squared = [min(((x - c) ** 2).sum() for c in chosen) for x in sample]
        if max(squared) == 0.0:
            break
        chosen.append(sample[np.searchsorted(np.cumsum(squared), place * sum(squared), "right")])
    centers = np.array(chosen)
    for _ in range(rounds):
        nearest = np.array([np.argmin([((x - c) ** 2).sum() for c in centers]) for x in sample])
        for k in set(nearest):
            centers[k] = sample[nearest == k].mean(axis=0)
    return centers
