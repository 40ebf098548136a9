"""How far the fixed point of the data may be from that of more data like them.

An error of Theta is Abar⁻¹ times the mean of the scores xi_t = b_t − A_t Theta. Where features are
not exact, scores of neighbouring transitions depend on each other, so that their long-run
covariance is needed. It comes from slow sums (the equal-weighted cosine estimator: Lazarus, Lewis,
Stock and Watson 2018), and these from the sums of blocks, without another pass over the data:

    G_b = b_b − A_b Theta,    L_j = Σ_b w_jb G_b,    Psi_j = A⁻¹ L_j,    j = 1 .. nu

Each Psi_j is about as large as the error itself, and they are nearly independent of each other: the
mean of (phi·Psi_j)² is the squared standard error of phi·Theta, with nu degrees of freedom.

Rewards that are split over nodes move Theta too, whatever the number of rows. By how much is seen
from half as many nodes: their sums follow from those of all, and a Newton step from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lincat._arguments import fail
from lincat._typing import FloatArray
from lincat.solvers.batch import BatchSolution
from lincat.statistics.block_statistics import Statistics
from lincat.statistics.totals import Totals

#: Blocks of time below which nothing is known of errors.
FEWEST_BLOCKS = 4

_SHORT, _LONG = 20_000, 200_000  # transitions
_TOO_SHORT = 1_000
# Correlation of the scores of successive blocks that counts, and times its noise, 1/√blocks.
_CORRELATED, _DEPENDENT = (0.1, 1.5), (0.3, 3.0)
# Stretches that a state should have been seen in, and the share of the data that may be in others.
_STRETCHES, _IN_FEWER = 8.0, 0.05
_DRIFT = 16.0  # the 0.1 % quantile of F with 1 and 15 degrees of freedom
# Residual of the solutions: it puts standard errors off by less than one per cent, and GMRES takes
# a sixth of the products that Theta takes.
_TOLERANCE = 0.05
_TOGETHER = 8  # scores of blocks that are weighted at once
_FEW = 8  # slow sums that are taken of few transitions, or of blocks that depend on each other

#: What the words of :attr:`Ensemble.cautions` mean.
CAUTIONS = {
    "short": "There are few transitions, and intervals may be too narrow: they hold from about "
    "a thousand on.",
    "dependent": "Successive stretches of the data resemble each other, and intervals may be too "
    "narrow: record for longer, or give features that tell these stretches apart.",
    "thin": "Some states were seen in a few stretches of time only, and intervals there may be too "
    "narrow: record for longer, or give features that states share.",
    "drift": "The data drift, or are sorted: what came first and what came last differ by more "
    "than chance. Intervals hold an average over the record; learn from the latest part alone, or, "
    "if episodes were sorted, put them back in the order of time.",
}


@dataclass(frozen=True)
class Ensemble:
    """Errors that the parameters may have, as large and as dependent as the data say.

    Attributes
    ----------
    Psi : array of shape (nu, d, K)
    correlation : float
        Of the scores of successive blocks; well above 0 where blocks are too short.
    cautions : tuple of str
        Words of ``CAUTIONS``.
    moved : array of shape (d, K), or None
        How half as many reward nodes would move the parameters: at least about as far as those
        there are have moved them. None where every reward is kept as it is.
    """

    Psi: FloatArray
    correlation: float = 0.0
    cautions: tuple[str, ...] = ()
    moved: FloatArray | None = None

    def __post_init__(self) -> None:
        if len(self.Psi) == 0:
            raise fail("Psi", "at least one direction of errors", "none")

    @property
    def degrees_of_freedom(self) -> int:
        """nu, the number of slow sums."""
        return len(self.Psi)


def cosines(block_weights: FloatArray, orders: int) -> FloatArray:
    """Return √2 cos(π j t) for j = 1 .. orders at the middle t of each block, (orders, blocks).

    Time runs from 0 to 1 in proportion to the weight of the blocks. Where blocks differ, the
    cosines are made orthonormal, to each other and to a constant, as they are for equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.influence import cosines
    >>> cosines(np.ones(4), 1).round(3)
    array([[ 1.307,  0.541, -0.541, -1.307]])
    """
    share = block_weights / block_weights.sum()
    middle = np.cumsum(share) - share / 2.0
    waves = np.cos(np.pi * np.arange(orders + 1)[:, None] * middle)
    root = np.sqrt(share)
    basis, triangle = np.linalg.qr((waves * root).T)
    signed = basis * np.sign(np.diagonal(triangle))
    counted = root[:, None] > 0.0  # a block may weigh nothing
    weights = np.divide(signed, root[:, None], out=np.zeros_like(signed), where=counted)
    return np.ascontiguousarray(weights.T[1:])


def influence(statistics: Statistics, solution: BatchSolution) -> Ensemble:
    """Return the ensemble of errors of a solution, from the blocks of its statistics.

    nu is 16, or where factors are at hand 24, and 32 from 200,000 transitions on; 8 for fewer than
    20,000 or where successive blocks correlate by more than 0.1, and more than by chance; 4, with a
    caution, above 0.3; never more than half the blocks.

    Parameters
    ----------
    statistics : Statistics
    solution : BatchSolution
        Solved from their totals.

    Examples
    --------
    >>> import numpy as np
    >>> import lincat
    >>> from lincat.solvers.influence import influence
    >>> coin = lincat.catalog.uniform_coin().process.sample(40_000, seed=1)
    >>> model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0, 2, 8), n_features=1)
    >>> model = model.fit(coin.state, coin.reward, coin.next_state)
    >>> Psi = influence(model.statistics_, model.solution_).Psi
    >>> Psi.shape
    (20, 1, 8)
    >>> se = np.sqrt(np.mean((-0.25 * Psi.sum(axis=(1, 2))) ** 2))  # of the mean
    >>> bool(0.003 < se < 0.008)  # 0.005 is true
    True
    """
    blocks, count = statistics.n_blocks, statistics.count
    # Without factors every solution costs about a sixth of Theta's.
    wanted = 16 if not solution.has_factors else 32 if count >= _LONG else 24
    most = min(wanted, blocks // 2)
    short = count < _SHORT
    if blocks < FEWEST_BLOCKS:
        raise fail(
            "confidence",
            f"data in at least {FEWEST_BLOCKS} blocks of time",
            f"{count} transitions in {blocks}",
            "give more transitions, or a higher max_blocks= or memory_limit=",
        )
    weights = cosines(statistics.block_weights, most)
    # Of no more slow sums than are taken, and of a table of the states that occur.
    rows, K = solution.rows, solution.Theta.shape[1]
    sums = np.zeros((min(most, _FEW) if short else most, len(solution.Theta[rows]), K))
    means, products, squares, before = [], 0.0, 0.0, None
    visits: list[FloatArray] = []
    together: list[FloatArray] = []
    for i, score in enumerate(solution.scores(_parts(statistics, visits))):
        together.append(score[rows])
        if len(together) == _TOGETHER or i == blocks - 1:
            _add_weighted(sums, weights[: len(sums), i + 1 - len(together) : i + 1], together)
            together = []
        whitened = solution.whitened(score)
        means.append(whitened.sum(axis=1))
        squares += float(np.vdot(whitened, whitened))
        products += 0.0 if before is None else float(np.vdot(before, whitened))
        before = whitened
    errors = solution.mean_errors(np.stack(means, axis=1))
    along = float(np.vdot(errors[:, 1:], errors[:, :-1]))
    correlation = max(
        _correlation(products, squares, blocks),
        _correlation(along, float((errors**2).sum()), blocks),
    )
    dependent = _exceeds(correlation, _DEPENDENT, blocks)
    few = short or _exceeds(correlation, _CORRELATED, blocks)
    nu = min(most, 4 if dependent else _FEW if few else most)
    cautions = ["short"] * (count < _TOO_SHORT) + ["dependent"] * dependent
    cautions += ["thin"] * (thin_share(np.array(visits)) > _IN_FEWER)
    slow = ((errors @ weights.T) ** 2).sum(axis=0)
    if slow[0] > _DRIFT * slow[1:].mean():
        cautions.append("drift")
    if statistics.exact_rewards:
        Psi = solution.back_solve(sums[:nu], tolerance=_TOLERANCE)
        return Ensemble(Psi, correlation, tuple(cautions))
    (split,) = solution.scores([solution.totals.coarser()])
    errors = solution.back_solve(np.stack([*sums[:nu], split[rows]]), tolerance=_TOLERANCE)
    return Ensemble(errors[:nu], correlation, tuple(cautions), errors[nu])


def _add_weighted(sums: FloatArray, weights: FloatArray, scores: list[FloatArray]) -> None:
    """Add to sums (n, d, K) what the weights (n, m) make of m scores: in place, row by row."""
    together = np.stack(scores).reshape(len(scores), -1)
    for row, share in zip(sums.reshape(len(sums), -1), weights, strict=True):
        row += share @ together


def _parts(statistics: Statistics, visits: list[FloatArray]) -> Iterator[Totals]:
    """The sums of one block after the other; how much of each feature was seen goes to visits."""
    for i in range(statistics.n_blocks):
        totals = statistics.block_totals(i)
        visits.append(np.asarray(totals.Sigma.diagonal()))
        yield totals


def thin_share(visits: FloatArray) -> float:
    """Return the share of Σ w phi², (blocks, d), in features that were seen in few blocks.

    As in fewer than eight of equal length, by (Σ_b v_b)²/Σ_b v_b²; a third if there are few blocks.
    The error of a state that was seen in two stretches is told from two numbers, however many
    rows they have.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.solvers.influence import thin_share
    >>> visits = np.ones((32, 2))
    >>> visits[4:, 1] = 0.0  # another state, in four blocks of 32
    >>> round(thin_share(visits), 3)
    0.111
    """
    total = visits.sum(axis=0)
    seen = total > 0.0
    stretches = total[seen] ** 2 / (visits[:, seen] ** 2).sum(axis=0)
    few = stretches < min(_STRETCHES, len(visits) / 3.0)
    return float(total[seen][few].sum() / total.sum()) if seen.any() else 0.0


def _correlation(products: float, squares: float, blocks: int) -> float:
    """Of neighbours; scores sum to zero, which lowers it by 1/blocks where there is none."""
    return products / squares + 1.0 / blocks if squares > 0.0 else 0.0


def _exceeds(correlation: float, limit: tuple[float, float], blocks: int) -> bool:
    return correlation > max(limit[0], limit[1] / math.sqrt(blocks))
