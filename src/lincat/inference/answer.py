"""What a run answers: frozen, typed records that result.json holds and every page reads.

Lists are tuples and CDFs are plain numbers, so that a record read from its JSON equals the one that
was written. Unknown fields are refused: such a file is of another version.
"""

from __future__ import annotations

from typing import Final, Literal, Self

import msgspec

from lincat._arguments import InvalidInputError, check_array, check_levels, check_number, fail
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.inference.intervals import Bands, Intervals, interval_of

__all__ = [
    "Answer",
    "Bands",
    "Caution",
    "Check",
    "Curves",
    "GroupValidation",
    "Method",
    "Validation",
    "Verdict",
]

_FORMAT: Final = 1

# Where returns to compare with come from: the known process, new episodes of an environment, or the
# part of a record that was not learned from.
Method = Literal["exact", "rollouts", "held_out"]
Numbers = tuple[float, ...]


class GroupValidation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How predictions and returns compare in one group of states.

    Attributes
    ----------
    group : str
        Its label; "all" for every state.
    n_states : int
    n_returns : int or None
        Returns compared with; None for a known distribution.
    w1 : float
        Between the average of the predicted distributions and all returns together: the integral of
        ``|F − F_returns|``. For smooth distributions a quarter of the grid's
        spacing comes from the grid alone.
    w1_noise : float
        What ``w1`` would be about for a perfect prediction, from so many returns; those of one
        trajectory depend on each other.
    w1_states : float or None
        The mean over states of W1 between the prediction and the state's own returns, if there are
        at least 30 of them, or its distribution is known.
    w1_states_noise : float or None
        The expectation of ``w1_states`` if returns were drawn from the predictions.
    w1_worst : float or None
        Nine states in ten are no further off than this: W1 between the prediction and the state's
        own returns, less its noise, in standard deviations of the state (but at least a tenth of
        that of all returns). None where ``w1_states`` is, or where distributions are known.
    crps : float
        Mean continuous ranked probability score; lower is better, in units of the return.
    crps_climatology : float
        The score of predicting for every state the distribution of all the group's returns, with
        hindsight.
    skill : float or None
        1 − crps/crps_climatology: above 0 states matter; None if all returns are the same.
    mean_error, mean_error_se : float
        Predicted minus realised mean, and its standard error (None if there is one draw only).
    coverage, coverage_se : tuples of float
        Share of returns inside the central interval of each level, and standard errors.
    cvar_predicted, cvar_realised : float
        Mean of the worst returns (their share is ``Validation.tail``), all states together.
    below_tail, below_tail_se : float
        Share of returns below the predicted quantile at level ``Validation.tail``, state by state;
        the atom at the quantile is split, so that exactly the level is expected.
    below_quantile, below_quantile_se : float
        Share of returns below that quantile as it is reported, an atom: what "one run in twenty
        ends below" claims. On a coarse grid less than the level is expected.
    quantile_miss : float
        By how much more or less of the returns than the level lies below that quantile, where two
        spacings of the grid, or a fiftieth of the returns' standard deviation, either way are
        forgiven; 0 where the quantile is right.
    pit : tuple of float
        Heights of the histogram of the probability integral transform, 1 on average: a hump means
        that predictions are too wide, a U too narrow, a slope too high or too low.
    predicted_cdf, empirical_cdf, empirical_low, empirical_high : tuples of K + 1 floats
        At ``Validation.atoms``: the average prediction; the returns, projected on the grid as
        predictions are; and the band around them that holds their true distribution's projection.
    """

    group: str
    n_states: int
    n_returns: int | None
    w1: float
    w1_noise: float
    w1_states: float | None
    w1_states_noise: float | None
    w1_worst: float | None
    crps: float
    crps_climatology: float
    skill: float | None
    mean_error: float
    mean_error_se: float | None
    coverage: Numbers
    coverage_se: tuple[float | None, ...]
    cvar_predicted: float
    cvar_realised: float
    below_tail: float
    below_tail_se: float | None
    below_quantile: float
    below_quantile_se: float | None
    quantile_miss: float
    pit: Numbers
    predicted_cdf: Numbers
    empirical_cdf: Numbers
    empirical_low: Numbers
    empirical_high: Numbers


class Validation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The results of :func:`lincat.validate`; ``validation["all"]`` is one group's.

    Attributes
    ----------
    method : "exact", "rollouts" or "held_out"
        Where the returns came from.
    description : str
        The same in words, as in "checked against ...".
    levels : tuple of float
        Of the intervals whose coverage was counted.
    tail : float
        The level of CVaR.
    confidence : float
        Of the band around the empirical CDF.
    atoms : tuple of K + 1 floats
    groups : tuple of GroupValidation
        "all" first.
    """

    method: Method
    description: str
    levels: Numbers
    tail: float
    confidence: float
    atoms: Numbers
    groups: tuple[GroupValidation, ...]

    def __getitem__(self, group: str) -> GroupValidation:
        for result in self.groups:
            if result.group == group:
                return result
        raise fail("group", f"one of {', '.join(g.group for g in self.groups)}", group)

    def rows(self) -> list[dict[str, str | float | None]]:
        """Return one flat row per group, of numbers, text and None; lists are left out.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution, validate
        >>> coin = ReturnDistribution([[0.5]] * 4, Grid(0.0, 1.0, intervals=1))
        >>> row = validate(coin, [0.0, 1.0, 1.0, 0.0], levels=[0.8]).rows()[0]
        >>> row["group"], row["mean_error"], row["crps"], round(row["coverage_80"], 12)
        ('all', 0.0, 0.25, 0.8)
        """
        rows = []
        for group in self.groups:
            row: dict[str, str | float | None] = {}
            for name, value in msgspec.structs.asdict(group).items():
                if not isinstance(value, tuple):
                    row[name] = value
                elif name == "coverage":
                    for level, share, se in zip(self.levels, value, group.coverage_se, strict=True):
                        row[coverage_name(level)] = share
                        row[f"{coverage_name(level)}_se"] = se
            rows.append(row)
        return rows

    def to_json(self) -> str:
        """Return everything as JSON text; :meth:`from_json` reads it back."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise InvalidInputError(f"validation: {error}") from None


def coverage_name(level: float) -> str:
    """Return what rows call the coverage of intervals of a level: "coverage_80"."""
    return f"coverage_{100.0 * level:.10g}"


class Curves(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How figures moved while a run learned: columns of m numbers, one for each row of the record.

    Attributes
    ----------
    level : float
        Of ``cvar``, as it was recorded; no other can be had from it.
    state_names : tuple of n texts
        The states that ``mean`` and ``cvar`` hold a column of.
    transitions : tuple of m ints
    mean, cvar : n tuples of m floats
    clipped : tuple of m floats
        Mass that fell off the grid, per transition.
    negative_mass : tuple of m floats
        The largest over the states.
    """

    level: float
    state_names: tuple[str, ...]
    transitions: tuple[int, ...]
    mean: tuple[Numbers, ...]
    cvar: tuple[Numbers, ...]
    clipped: Numbers
    negative_mass: Numbers

    def __post_init__(self) -> None:
        n, m = len(self.state_names), len(self.transitions)
        for name, table, columns in (
            ("mean", self.mean, n),
            ("cvar", self.cvar, n),
            ("clipped and negative_mass", (self.clipped, self.negative_mass), 2),
        ):
            if len(table) != columns or any(len(column) != m for column in table):
                raise fail(name, f"{columns} columns of {m} numbers", f"{len(table)} columns")


class Caution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that may be wrong with an answer.

    Attributes
    ----------
    code : str
        A word for programs: "off_grid", "unsettled", ...
    text : str
        A sentence for people, with the remedy.
    """

    code: str
    text: str


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing that a verdict looked at.

    Attributes
    ----------
    code : str
        A word for programs: "mean", "coverage", "precision", ...
    passed : bool
    value : float or None
        What was found; None where even that could not be told.
    limit : float
        What is allowed.
    text : str
        A sentence for people; what is known to help, where it failed.
    """

    code: str
    passed: bool
    value: float | None
    limit: float
    text: str


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether the headline can be trusted.

    Attributes
    ----------
    trusted : bool or None
        None where nothing could be checked.
    sentence : str
    checks : tuple of Check
    """

    trusted: bool | None
    sentence: str
    checks: tuple[Check, ...] = ()


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that a run says of the states that it shows; result.json is its JSON.

    Attributes
    ----------
    source, features, learner : str
        In words.
    observation_names : tuple of str
        One for each number of an observation.
    gamma : float
    transitions : int
        Learned from.
    skipped_rows : int
        Bad rows that were left out.
    seconds : float
        Spent learning.
    complete : bool
        Whether the run came to its end, rather than being interrupted.
    grid : Grid
    state_names : tuple of n texts
        The first is "start" where episodes have starts.
    cdf : n tuples of K floats
        As learned, so possibly of signed distributions.
    bands : Bands or None
    intervals : Intervals or None
        Of mean, standard deviation, quantiles and CVaR; with bands.
    no_intervals : str
        Why there are none, as a sentence.
    level : float
        Of quantiles and CVaR, where no other is asked for.
    threshold : float or None
        The chance of a return below it is told.
    curves : Curves or None
        A solution that is not learned step by step has none.
    validation : Validation or None
    verdict : Verdict
    notes : tuple of str
        What was chosen, and why.
    warnings : tuple of Caution
    config : str
        The configuration, as TOML.
    versions : dict of str to str
        Of lincat and what it stands on.

    Examples
    --------
    >>> from lincat import Answer, Grid
    >>> answer = Answer(source="a coin", gamma=0.5, grid=Grid(0.0, 2.0, intervals=2),
    ...                 state_names=("start",), cdf=((0.5, 0.5),))
    >>> answer.returns.mean()
    array([1.])
    >>> Answer.from_json(answer.to_json()) == answer
    True
    """

    source: str
    gamma: float
    grid: Grid
    state_names: tuple[str, ...]
    cdf: tuple[Numbers, ...]
    observation_names: tuple[str, ...] = ()
    features: str = ""
    learner: str = ""
    transitions: int = 0
    skipped_rows: int = 0
    seconds: float = 0.0
    complete: bool = True
    bands: Bands | None = None
    intervals: Intervals | None = None
    no_intervals: str = ""
    level: float = 0.05
    threshold: float | None = None
    curves: Curves | None = None
    validation: Validation | None = None
    verdict: Verdict = Verdict(trusted=None, sentence="Not checked.")
    notes: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    config: str = ""
    versions: dict[str, str] = {}
    format: Literal[1] = _FORMAT

    def __post_init__(self) -> None:
        n, K = len(self.state_names), self.grid.intervals
        if n == 0:
            raise fail("state_names", "at least one state", "none")
        check_array(self.cdf, "cdf", shape=(n, K))
        if self.bands is not None:
            check_array(self.bands.low, "bands.low", shape=(n, K))
            check_array(self.bands.high, "bands.high", shape=(n, K))
        if self.intervals is not None and len(self.intervals.states) != n:
            raise fail("intervals.states", f"{n} states", len(self.intervals.states))
        check_levels(self.level, "level", zero=False)
        if self.threshold is not None:
            check_number(self.threshold, "threshold")

    @property
    def returns(self) -> ReturnDistribution:
        """The distribution of the return from each state."""
        return ReturnDistribution(self.cdf, self.grid)

    def interval(
        self, measure: str, argument: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return (low, high), each (n,), between which a figure lies; NaN where that is not known.

        Measures are "mean", "std", and with an argument "quantile", "cvar" and
        "probability_below". They hold the figure itself, as tables have it; quantiles are known
        at the levels of ``intervals`` only.
        """
        return interval_of(self.returns, self.intervals, self.bands, measure, argument)

    def to_json(self) -> str:
        """Return everything as JSON text; :meth:`from_json` reads it back."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, place: str = "answer") -> Self:
        """Read what :meth:`to_json` wrote; ``place`` names it in errors."""
        expected, remedy = "the answer of a run", "evaluate again"
        try:
            found = msgspec.json.decode(text, type=_Format).format
        except msgspec.ValidationError:
            found = None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise fail(place, expected, "not JSON", remedy) from None
        if found != _FORMAT:
            got = "that of another version of lincat" if found is None else f"format {found}"
            raise fail(place, f"{expected} in format {_FORMAT}", got, remedy)
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise fail(place, expected, f"something else ({error})", remedy) from None


class _Format(msgspec.Struct):
    """The one field that answers of all versions share."""

    format: int | None = None
