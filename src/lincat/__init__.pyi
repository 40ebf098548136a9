from ._validation import InvalidInputError
from ._version import __version__
from .core.bellman import bellman_matrix, bellman_offset, bellman_target, clipped_mass
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
from .processes import catalog
from .processes.files import read_problem
from .processes.finite import FiniteMDP, MarkovRewardProcess, StateTransitions
from .processes.problem import Problem
from .solvers.approximation import ApproximationError, approximation_error
from .solvers.bellman import GridMisfitWarning
from .solvers.exact import solve_categorical, solve_value
from .solvers.krylov import ConvergenceError
from .solvers.projection import linear_projection
from .solvers.returns import true_returns
from .theory.constants import ErrorConstants, error_constants

__all__ = [
    "ApproximationError",
    "ConvergenceError",
    "ErrorConstants",
    "FiniteMDP",
    "Grid",
    "GridMisfitWarning",
    "InvalidInputError",
    "MarkovRewardProcess",
    "Problem",
    "ReturnDistribution",
    "StateTransitions",
    "__version__",
    "approximation_error",
    "bellman_matrix",
    "bellman_offset",
    "bellman_target",
    "catalog",
    "cdf_from_pmf",
    "cdf_from_theta",
    "clipped_mass",
    "cramer",
    "error_constants",
    "linear_projection",
    "pmf_from_cdf",
    "project",
    "read_problem",
    "solve_categorical",
    "solve_value",
    "theta_from_weights",
    "true_returns",
    "wasserstein",
    "weights_from_theta",
]
