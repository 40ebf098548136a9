"""What a run answers: frozen, typed records that result.json holds and every page reads.

Lists are tuples and CDFs are plain numbers, so that a record read from its JSON equals the one that
was written. Unknown fields are refused: such a file is of another version.
"""

from __future__ import annotations

from typing import Final, Literal, Self

import msgspec

from lincat._arguments import check_array, check_levels, check_number, fail
from lincat._seals import JSON
from lincat._typing import FloatArray
from lincat.core.distribution import ReturnDistribution
from lincat.core.grid import Grid
from lincat.inference.budget import Budget
from lincat.inference.heterogeneity import Sites
from lincat.inference.intervals import Bands, Intervals, interval_of
from lincat.inference.moment_sums import MomentSums
from lincat.inference.validation import Numbers, Validation

_FORMAT: Final = 1


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
    budget : Budget or None
        Where the error comes from; of batch solutions.
    sites : Sites or None
        What each of several sites says, and whether they agree; of statistics.
    moments : MomentSums or None
        Sums from which a page solves for other discount factors, where they are small.
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
    budget: Budget | None = None
    sites: Sites | None = None
    moments: MomentSums | None = None
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
        """Read what :meth:`to_json` or a run wrote; ``place`` names it in errors."""
        expected, remedy = "the answer of a run", "evaluate again"
        content = text.encode() if isinstance(text, str) else text
        text = JSON.opened(content, place, expected, remedy) if JSON.has(content) else content
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
