"""What the paper publishes of its experiments, and how large ours are.

All numbers of App. numerical_experiment are here, and nothing else knows them.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The algorithms, and the table that each has in the paper.
RULES = {"ctd": "cdf_K_alpha", "pmf": "pmf_K_alpha"}
FIGURES = ("loss_cdf", "loss_pmf", "loss_change_alpha", "dependence", "comparation")
BEYOND = ("bound", "large_K", "gammas", "random_process", "markov")

#: Said wherever numbers are shown.
PROVENANCE = (
    "The paper does not publish its 3-state process. Ours was found by a search for round numbers "
    "whose step-size thresholds agree with the published brackets. So the brackets agree by "
    "construction, and with them the quadratic fit and the K from which SSGD-PMF fails at 0.01. "
    "Not searched for, and so a test: the iterations, and which algorithm needs fewer. Not to be "
    "expected: equality with single published counts, which are of one run with an unknown seed, "
    "and curves that coincide with the paper's, whose features and rewards are unknown."
)


@dataclass(frozen=True)
class Published:
    """The numbers of the paper's tables and captions."""

    #: Tables pmf_K_alpha and cdf_K_alpha: bounds of the maximum step size, by rule and K.
    brackets: dict[str, dict[int, tuple[float, float]]]
    #: Their column "Iterations": to an error of 2e-6 at 0.2 of the maximum step, one run.
    iterations: dict[str, dict[int, int]]
    #: Caption of Fig. dependence: mean squared error and R² of the quadratic fit of 1/step on K.
    fit_mse: float
    fit_r2: float
    #: Fig. loss_pmf: at a step of 0.01 SSGD-PMF no longer converges from this K on.
    first_failing_intervals: int
    #: Fig. loss_change_alpha, K = 150: the largest step that converges, the smallest that does not.
    last_good_step: float
    first_bad_step: float


# Tables cdf_K_alpha and pmf_K_alpha, line by line: bracket and iterations of each rule, by K.
_LINES = {
    30: {"ctd": ((1.65, 1.7), 17908), "pmf": ((2.1e-2, 2.2e-2), 37245)},
    45: {"ctd": ((1.65, 1.7), 17925), "pmf": ((9e-3, 9.5e-3), 39262)},
    75: {"ctd": ((1.65, 1.7), 17942), "pmf": ((3.4e-3, 3.5e-3), 38286)},
    105: {"ctd": ((1.6, 1.65), 18623), "pmf": ((1.75e-3, 1.8e-3), 38123)},
    150: {"ctd": ((1.5, 1.55), 21947), "pmf": ((8.6e-4, 8.7e-4), 38556)},
    225: {"ctd": ((1.55, 1.6), 20890), "pmf": ((3.8e-4, 3.9e-4), 38317)},
    300: {"ctd": ((1.55, 1.6), 20890), "pmf": ((2.1e-4, 2.2e-4), 38999)},
    375: {"ctd": ((1.55, 1.65), 20595), "pmf": ((1.35e-4, 1.4e-4), 38674)},
    450: {"ctd": ((1.5, 1.55), 21947), "pmf": ((9.5e-5, 9.8e-5), 38506)},
}
PUBLISHED = Published(
    brackets={rule: {K: line[rule][0] for K, line in _LINES.items()} for rule in RULES},
    iterations={rule: {K: line[rule][1] for K, line in _LINES.items()} for rule in RULES},
    fit_mse=425.85,
    fit_r2=0.99996,
    first_failing_intervals=44,
    last_good_step=8.6e-4,
    first_bad_step=8.7e-4,
)


@dataclass(frozen=True)
class Settings:
    """The size of a reproduction; rows depend on nothing else."""

    #: Which of the two processes of ``catalog.paper``.
    process: str = "main"
    #: All random numbers follow from it.
    seed: int = 0
    #: The numbers K of intervals.
    intervals: tuple[int, ...] = (30, 45, 75, 105, 150, 225, 300, 375, 450)
    #: Transitions per update, drawn independently.
    batch_size: int = 25

    #: Figs. loss_cdf, loss_pmf, loss_change_alpha: length of a run in updates.
    iterations: int = 500_000
    #: Figs. loss_cdf, loss_pmf: the step size.
    step_size: float = 0.01
    #: Fig. loss_pmf: more K, around the last that converges.
    border_intervals: tuple[int, ...] = (40, 43, 44)
    #: Fig. loss_change_alpha: its K and the step sizes.
    alpha_intervals: int = 150
    alphas: tuple[float, ...] = (7e-4, 8e-4, 8.4e-4, 8.6e-4, 8.7e-4, 8.8e-4)

    #: Tables, simulated maximum step: independent runs that vote, their length in updates, and
    #: the relative width of the bracket at which the bisection ends.
    replicas: int = 15
    replica_updates: int = 4000
    bracket_width: float = 0.004
    #: Tables, noise-free maximum step: whether to compute the mean-square one too, which is slow.
    mean_square: bool = True

    #: Tables, iterations: the error to reach, the share of the maximum step, the number of runs,
    #: how often to look (in updates), and when to give up.
    error_target: float = 2e-6
    step_share: float = 0.2
    seeds: int = 40
    check_every: int = 25
    most_updates: int = 1_000_000

    #: Fig. comparation: length of a run in updates, and number of runs.
    comparation_updates: int = 50_000
    comparation_seeds: int = 5

    #: Beyond: the bound of Thm l2_error_linear_ctd, on ``unit_norm``: its K, T and runs.
    bound_intervals: int = 75
    bound_lengths: tuple[int, ...] = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    bound_seeds: int = 20
    #: Beyond: larger K, and runs for each.
    large_intervals: tuple[int, ...] = (1000, 2000, 4000)
    large_seeds: int = 5
    #: Beyond: discount factors, the K for them, and runs for each.
    gammas: tuple[float, ...] = (0.5, 0.75, 0.9, 0.95, 0.99)
    gamma_intervals: int = 150
    gamma_seeds: int = 10
    #: Beyond: a random process as a table: states, outcomes of each, discount, K, the error to
    #: reach, and runs for each. Few outcomes and a small discount keep jumps in the distributions.
    random_states: int = 100
    random_branching: int = 2
    random_gamma: float = 0.5
    random_intervals: tuple[int, ...] = (10, 30, 75, 150, 300)
    random_target: float = 1e-3
    random_seeds: int = 5
    #: Beyond: data from one walk against independent transitions: K, steps, length and runs.
    markov_intervals: int = 75
    markov_steps: tuple[float, ...] = (0.02, 0.2)
    markov_updates: int = 300_000
    markov_seeds: int = 20

    @classmethod
    def quick(cls, process: str = "main", seed: int = 0) -> Settings:
        """Return everything at a size that takes less than a minute."""
        return cls(
            process=process,
            seed=seed,
            intervals=(30, 45, 75, 105, 150),
            iterations=20_000,
            alphas=(8.4e-4, 8.6e-4, 8.8e-4),
            border_intervals=(43, 44),
            replicas=5,
            replica_updates=1500,
            bracket_width=0.01,
            mean_square=False,
            seeds=5,
            comparation_updates=10_000,
            comparation_seeds=1,
            bound_intervals=30,
            bound_lengths=(1000, 10_000, 100_000),
            bound_seeds=5,
            large_intervals=(1000,),
            large_seeds=1,
            gammas=(0.75, 0.9),
            gamma_intervals=30,
            gamma_seeds=3,
            random_intervals=(10, 30),
            random_seeds=1,
            markov_intervals=30,
            markov_updates=30_000,
            markov_seeds=5,
        )
