from . import checks as checks
from ._arguments import InvalidInputError as InvalidInputError
from ._version import __version__ as __version__
from .core.bellman import (
    GridMisfitWarning as GridMisfitWarning,
    bellman_matrix as bellman_matrix,
    bellman_offset as bellman_offset,
    bellman_target as bellman_target,
    clipped_mass as clipped_mass,
)
from .core.distribution import ReturnDistribution as ReturnDistribution
from .core.grid import Grid as Grid
from .core.metrics import cramer as cramer, wasserstein as wasserstein
from .core.projection import project as project
from .core.representation import (
    cdf_from_pmf as cdf_from_pmf,
    cdf_from_theta as cdf_from_theta,
    pmf_from_cdf as pmf_from_cdf,
    theta_from_weights as theta_from_weights,
    weights_from_theta as weights_from_theta,
)
from .data.n_step import n_step as n_step
from .data.steps import Steps as Steps
from .data.transitions import Transitions as Transitions
from .environments.gym import GymSource as GymSource
from .environments.minari import MinariSource as MinariSource
from .environments.rollouts import Rollouts as Rollouts, rollouts as rollouts
from .features.auto import choose_features as choose_features
from .features.files import load_features as load_features
from .features.fourier import Fourier as Fourier
from .features.identity import Identity as Identity
from .features.levels import Levels as Levels
from .features.lookup import Lookup as Lookup
from .features.nearby import Nearby as Nearby
from .features.points import Points as Points
from .features.rbf import RadialBasis as RadialBasis
from .features.scaling import Scaling as Scaling
from .features.mixed import Mixed as Mixed
from .features.smooth import Smooth as Smooth
from .features.tabular import Tabular as Tabular
from .features.tiles import Tiles as Tiles
from .features.transformer import FromTransformer as FromTransformer
from .inference.answer import Answer as Answer
from .inference.comparison import (
    Comparison as Comparison,
    Difference as Difference,
    Dominance as Dominance,
    StateComparison as StateComparison,
)
from .inference.estimated_constants import (
    EstimatedConstants as EstimatedConstants,
    estimate_constants as estimate_constants,
)
from .inference.planning import Need as Need, SamplePlan as SamplePlan
from .inference.returns_to_go import returns_to_go as returns_to_go
from .inference.validate import validate as validate
from .inference.validation import GroupValidation as GroupValidation, Validation as Validation
from .learners.categorical_lstd import CategoricalLSTD as CategoricalLSTD
from .learners.divergence import DivergenceError as DivergenceError
from .learners.files import load as load
from .learners.linear_ctd import LinearCTD as LinearCTD
from .learners.linear_pmf import LinearPMF as LinearPMF
from .learners.linear_td import LinearTD as LinearTD
from .learners.lstd import LSTD as LSTD
from .learners.schedules import PolynomialDecay as PolynomialDecay
from .learners.softmax_ctd import SoftmaxCTD as SoftmaxCTD
from .learners.unnormalised_ctd import UnnormalisedCTD as UnnormalisedCTD
from .learners.variance_reduced_ctd import VarianceReducedCTD as VarianceReducedCTD
from .processes import catalog as catalog
from .processes.files import read_problem as read_problem
from .processes.finite import (
    MarkovRewardProcess as MarkovRewardProcess,
    StateTransitions as StateTransitions,
)
from .processes.mdp import FiniteMDP as FiniteMDP
from .processes.problem import Problem as Problem
from .processes.process_source import ProcessSource as ProcessSource
from .report.answer_page import page as page
from .runs.comparing import compare as compare
from .runs.evaluate import evaluate as evaluate, resume as resume
from .runs.planning import plan as plan
from .runs.run import Run as Run, read_run as read_run
from .runs.source_statistics import SourceStatistics as SourceStatistics
from .runs.stats import merge as merge, stats as stats
from .runs.sweep import sweep as sweep
from .solvers.approximation import (
    ApproximationError as ApproximationError,
    approximation_error as approximation_error,
)
from .solvers.exact import solve_categorical as solve_categorical, solve_value as solve_value
from .solvers.krylov import ConvergenceError as ConvergenceError
from .solvers.regression import linear_projection as linear_projection
from .solvers.returns import true_returns as true_returns
from .statistics.block_statistics import Statistics as Statistics
from .tables.columns import Columns as Columns
from .tables.file_source import FileSource as FileSource
from .tables.read_observations import read_observations as read_observations
from .theory import bounds as bounds, lemmas as lemmas
from .theory.asymptotic import (
    AsymptoticError as AsymptoticError,
    asymptotic_error as asymptotic_error,
    mixing_time as mixing_time,
)
from .theory.constants import ErrorConstants as ErrorConstants, error_constants as error_constants
from .theory.limiting_mode import LimitingMode as LimitingMode, limiting_mode as limiting_mode
from .theory.setting import Bound as Bound, Setting as Setting, Term as Term
from .theory.stability import max_step_size as max_step_size
