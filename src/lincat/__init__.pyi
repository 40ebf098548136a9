from . import checks
from ._arguments import InvalidInputError
from ._version import __version__
from .core.bellman import (
    GridMisfitWarning,
    bellman_matrix,
    bellman_offset,
    bellman_target,
    clipped_mass,
)
from .core.distribution import ReturnDistribution
from .core.grid import Grid
from .core.metrics import cramer, wasserstein
from .core.projection import project
from .core.representation import (
    cdf_from_pmf,
    cdf_from_theta,
    pmf_from_cdf,
    theta_from_weights,
    weights_from_theta,
)
from .data.n_step import n_step
from .data.steps import Steps
from .data.transitions import Transitions
from .environments.gym import GymSource
from .environments.minari import MinariSource
from .environments.rollouts import Rollouts, rollouts
from .features.auto import choose_features
from .features.files import load_features
from .features.fourier import Fourier
from .features.identity import Identity
from .features.lookup import Lookup
from .features.points import Points
from .features.rbf import RadialBasis
from .features.scaling import Scaling
from .features.smooth import Smooth
from .features.tabular import Tabular
from .features.tiles import Tiles
from .features.transformer import FromTransformer
from .inference.answer import Answer, GroupValidation, Validation
from .inference.batch_means import BatchMeans
from .inference.comparison import Comparison, Difference, Dominance, StateComparison
from .inference.returns_to_go import returns_to_go
from .inference.validate import validate
from .learners.categorical_lstd import CategoricalLSTD
from .learners.divergence import DivergenceError
from .learners.files import load
from .learners.linear_ctd import LinearCTD
from .learners.linear_pmf import LinearPMF
from .learners.linear_td import LinearTD
from .learners.lstd import LSTD
from .learners.schedules import PolynomialDecay
from .learners.softmax_ctd import SoftmaxCTD
from .learners.unnormalised_ctd import UnnormalisedCTD
from .processes import catalog
from .processes.files import read_problem
from .processes.finite import MarkovRewardProcess, StateTransitions
from .processes.mdp import FiniteMDP
from .processes.problem import Problem
from .processes.process_source import ProcessSource
from .report.answer_page import page
from .runs.comparing import compare
from .runs.evaluate import evaluate
from .runs.run import Run, read_run
from .runs.sweep import sweep
from .solvers.approximation import ApproximationError, approximation_error
from .solvers.exact import solve_categorical, solve_value
from .solvers.krylov import ConvergenceError
from .solvers.regression import linear_projection
from .solvers.returns import true_returns
from .statistics.block_statistics import Statistics
from .tables.columns import Columns
from .tables.file_source import FileSource
from .tables.read_observations import read_observations
from .theory.constants import ErrorConstants, error_constants
from .theory.stability import max_step_size

__all__ = [
    "LSTD",
    "Answer",
    "ApproximationError",
    "BatchMeans",
    "CategoricalLSTD",
    "Columns",
    "Comparison",
    "ConvergenceError",
    "Difference",
    "DivergenceError",
    "Dominance",
    "ErrorConstants",
    "FileSource",
    "FiniteMDP",
    "Fourier",
    "FromTransformer",
    "Grid",
    "GridMisfitWarning",
    "GroupValidation",
    "GymSource",
    "Identity",
    "InvalidInputError",
    "LinearCTD",
    "LinearPMF",
    "LinearTD",
    "Lookup",
    "MarkovRewardProcess",
    "MinariSource",
    "Points",
    "PolynomialDecay",
    "Problem",
    "ProcessSource",
    "RadialBasis",
    "ReturnDistribution",
    "Rollouts",
    "Run",
    "Scaling",
    "Smooth",
    "SoftmaxCTD",
    "StateComparison",
    "StateTransitions",
    "Statistics",
    "Steps",
    "Tabular",
    "Tiles",
    "Transitions",
    "UnnormalisedCTD",
    "Validation",
    "__version__",
    "approximation_error",
    "bellman_matrix",
    "bellman_offset",
    "bellman_target",
    "catalog",
    "cdf_from_pmf",
    "cdf_from_theta",
    "checks",
    "choose_features",
    "clipped_mass",
    "compare",
    "cramer",
    "error_constants",
    "evaluate",
    "linear_projection",
    "load",
    "load_features",
    "max_step_size",
    "n_step",
    "page",
    "pmf_from_cdf",
    "project",
    "read_observations",
    "read_problem",
    "read_run",
    "returns_to_go",
    "rollouts",
    "solve_categorical",
    "solve_value",
    "sweep",
    "theta_from_weights",
    "true_returns",
    "validate",
    "wasserstein",
    "weights_from_theta",
]
