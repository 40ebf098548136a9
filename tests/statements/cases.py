"""Random processes, features, grids and distributions for the paper's statements."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import assume, settings
from hypothesis import strategies as st

import lincat
from tests import naive

PROPERTY = settings(max_examples=20, deadline=None, derandomize=True, database=None)

# Sums of a few hundred terms of order one; nothing here is allowed more than that.
TOLERANCE = {"rtol": 1e-9, "atol": 1e-10}


@dataclass(frozen=True)
class Case:
    """A process with features, a discount factor and a grid that holds its returns."""

    process: lincat.MarkovRewardProcess
    Phi: np.ndarray
    gamma: float
    grid: lincat.Grid
    rng: np.random.Generator

    @property
    def S(self):
        return self.process.n_states

    @property
    def d(self):
        return self.Phi.shape[1]

    @property
    def K(self):
        return self.grid.intervals

    @cached_property
    def mu(self):
        return self.process.stationary

    @cached_property
    def Sigma(self):
        return self.Phi.T @ np.diag(self.mu) @ self.Phi

    @cached_property
    def Sigma_inverse_root(self):
        values, vectors = np.linalg.eigh(self.Sigma)
        return vectors @ np.diag(values**-0.5) @ vectors.T

    @cached_property
    def lambda_min(self):
        return np.linalg.eigvalsh(self.Sigma)[0]

    @cached_property
    def Theta_star(self):
        return lincat.solve_categorical(self.process, self.Phi, self.grid, self.gamma)

    @cached_property
    def I_Sigma(self):
        return np.kron(np.eye(self.K), self.Sigma)

    @cached_property
    def system(self):
        return naive.system(self.process, self.Phi, self.grid, self.gamma)

    def outcomes(self):
        """Yield (probability, s, r, s', discount) under the stationary distribution."""
        return naive.expectation(self.process, self.gamma)

    def transition_systems(self):
        """Yield (probability, s, s', A_t, b_t) of every transition."""
        for p, s, r, s_next, discount in self.outcomes():
            A, b = naive.transition_system(self.Phi[s], r, self.Phi[s_next], discount, self.grid)
            yield p, s, s_next, A, b

    def random_Theta(self):
        return self.rng.normal(size=(self.d, self.K))

    def distribution(self, Theta):
        return lincat.ReturnDistribution(lincat.cdf_from_theta(self.Phi, Theta), self.grid)

    def bellman(self, cdf):
        """Pi_K T on CDF values (S, K), by the library's targets."""
        process = self.process
        targets = lincat.bellman_target(
            cdf[process.next_state], process.reward, process.discounts(self.gamma), self.grid
        )
        out = np.zeros_like(cdf)
        np.add.at(out, process.state, process.probability[:, None] * targets)
        return out

    def bellman_exact(self, distributions):
        """T without projection, on one (atoms, masses) pair per state."""
        process = self.process
        out = []
        for s in range(self.S):
            atoms, masses = [], []
            for j in range(process.offsets[s], process.offsets[s + 1]):
                x, m = distributions[process.next_state[j]]
                atoms.append(process.reward[j] + self.gamma * x)
                masses.append(process.probability[j] * m)
            out.append((np.concatenate(atoms), np.concatenate(masses)))
        return out

    def distributions_off_grid(self, n_atoms=4):
        """One signed distribution of mass one per state, on points anywhere in the grid's range."""
        return [off_grid_distribution(self.rng, self.grid, n_atoms) for _ in range(self.S)]

    def project(self, distributions):
        """Pi_K, state by state."""
        pmf = np.array([lincat.project(x, m, self.grid) for x, m in distributions])
        return lincat.ReturnDistribution.from_pmf(pmf, self.grid)

    def distance(self, distributions, dist, power=2):
        """E_mu of the integral of |F − G|^power: ℓ2,mu² for power 2."""
        return sum(
            weight * naive.step_distance(x, m, dist.grid.atoms, pmf, power)
            for weight, (x, m), pmf in zip(self.mu, distributions, dist.pmf, strict=True)
        )

    def distance_off_grid(self, distributions, others):
        """ℓ2,mu² of distributions on any points."""
        return sum(
            weight * naive.step_distance(*distribution, *other, 2)
            for weight, distribution, other in zip(self.mu, distributions, others, strict=True)
        )


def off_grid_distribution(rng, grid, n_atoms=4):
    atoms = rng.uniform(grid.low, grid.high, n_atoms)
    masses = rng.normal(size=n_atoms)
    masses[-1] = 1.0 - masses[:-1].sum()
    return atoms, masses


def vec(Theta):
    """Stack the columns."""
    return Theta.T.ravel()


def assert_loewner(smaller, larger):
    """smaller ≼ larger, up to rounding."""
    gap = larger - smaller
    scale = 1.0 + np.abs(larger).max()
    assert np.linalg.eigvalsh((gap + gap.T) / 2)[0] >= -1e-11 * scale


def gammas(*, largest=0.97):
    some = [x for x in (0.25, 0.5, 0.75, 0.9) if x <= largest]
    return st.sampled_from(some) | st.floats(0.02, largest)


seeds = st.integers(0, 2**32 - 1)


@st.composite
def grids(draw, *, largest_gamma=0.97, enough_atoms=False, most=12):
    """The paper's grid [0, 1/(1 − gamma)], with its gamma."""
    gamma = draw(gammas(largest=largest_gamma))
    fewest = int(np.ceil(1.0 / (1.0 - gamma))) if enough_atoms else 1
    K = draw(st.integers(fewest, max(most, fewest + 4)))
    return lincat.Grid.for_rewards(0.0, 1.0, gamma=gamma, intervals=K), gamma


@st.composite
def cases(draw, *, unit_rewards=False, enough_atoms=False, most_atoms=6):
    """Cases with ‖phi‖ ≤ 1 and phi_1 = 1/√d; rewards in [0, 1], or in any interval.

    ``enough_atoms`` asks for K ≥ 1/(1 − gamma), which some lemmas assume.
    """
    S = draw(st.integers(1, 4))
    d = draw(st.integers(1, S))
    unit_grid, gamma = draw(
        grids(
            largest_gamma=0.9 if enough_atoms else 0.97, enough_atoms=enough_atoms, most=most_atoms
        )
    )
    K = unit_grid.intervals
    low, width = (0.0, 1.0) if unit_rewards else (draw(st.floats(-3, 3)), draw(st.floats(0.1, 5)))
    rng = np.random.default_rng(draw(seeds))

    # Three outcomes per state: on to the next one, stay (so no period), and anywhere.
    states = np.arange(S)
    following = np.concatenate([(states + 1) % S, states, rng.integers(0, S, S)])
    chance = rng.dirichlet(np.full(3, 2.0), size=S).T.ravel()
    # Ends of the range, and rewards that move atoms onto atoms, are where slips would show.
    special = np.array([0.0, 1.0, min(1.0, unit_grid.spacing), 0.5])
    unit = np.where(rng.random(3 * S) < 0.4, rng.choice(special, 3 * S), rng.random(3 * S))
    process = lincat.MarkovRewardProcess(np.tile(states, 3), low + width * unit, following, chance)
    grid = lincat.Grid.for_rewards(low, low + width, gamma=gamma, intervals=K)

    Phi = np.full((S, d), 1.0 / np.sqrt(d))
    if d > 1:
        rest = rng.normal(size=(S, d - 1))
        Phi[:, 1:] = rest / np.linalg.norm(rest, axis=1).max() * np.sqrt(1.0 - 1.0 / d)
    case = Case(process, Phi, gamma, grid, rng)
    assume(case.lambda_min > 1e-3)
    return case


# -------------------------------- processes of known return distribution: episodes that end

HORIZON = 3


def dyadic_case(seed, intervals, d):
    """States 0..2, each leading further on; rewards 0, 1/2 or 1; a return is a multiple of 1/8."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(HORIZON):
        for s_next in range(s + 1, HORIZON + 1):
            for reward in rng.choice([0.0, 0.5, 1.0], size=2, replace=False):
                rows.append((s, reward, s_next, rng.uniform(0.5, 1.0)))
    state, reward, following, weight = (np.array(column) for column in zip(*rows, strict=True))
    chance = weight / np.bincount(state, weight)[state]
    initial = np.append(rng.dirichlet(np.ones(HORIZON)), 0.0)
    # The terminal state has no experience of its own: it is folded into the transition before.
    process = lincat.MarkovRewardProcess(
        state,
        reward,
        np.where(following == HORIZON, state, following),
        chance,
        terminated=following == HORIZON,
        initial=initial[:HORIZON],
    )
    Phi = np.column_stack([np.ones(HORIZON), rng.normal(size=(HORIZON, d - 1))])
    return Case(process, Phi, 0.5, lincat.Grid(0.0, 2.0, intervals), rng)


def exact_distributions(case):
    """The distribution of the return from every state, by listing all paths."""
    distributions = []
    for s in range(HORIZON):
        paths = naive.return_by_enumeration(case.process, case.gamma, s, HORIZON)
        distributions.append(tuple(np.array(column) for column in zip(*paths, strict=True)))
    return distributions
