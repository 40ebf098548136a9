"""How predictions and returns compare: the records that ``validate`` fills in and an answer holds.

Lists are tuples, so that a record read from its JSON equals the one that was written.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from lincat._arguments import InvalidInputError, fail
from lincat._rows import Row, html_table, text_table
from lincat.core.frames import frame_of

if TYPE_CHECKING:
    import altair

# Where returns to compare with come from: the known process, new episodes of an environment, or the
# part of a record that was not learned from.
Method = Literal["exact", "rollouts", "held_out"]
Numbers = tuple[float, ...]

_SHOWN_GROUPS = 9  # in a table that nobody asked for


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
    w1_typical : float or None
        The same on average, of W1 less its noise by their squares, as independent errors add up.
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
        the atom at the quantile is split, so that exactly the level is expected. Its standard error
        is that of a share at the level.
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
    w1_typical: float | None
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

    def __post_init__(self) -> None:
        m, n = len(self.levels), len(self.atoms)
        if not self.groups:
            raise fail("groups", "at least one", "none")
        for one in self.groups:
            if (len(one.coverage), len(one.coverage_se)) != (m, m):
                raise fail("coverage", f"a share at each of {m} levels", len(one.coverage))
            cdfs = (one.predicted_cdf, one.empirical_cdf, one.empirical_low, one.empirical_high)
            if any(len(cdf) != n for cdf in cdfs):
                raise fail("CDFs of the validation", f"{n} values, as atoms", list(map(len, cdfs)))

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

    def to_frame(self, *, library: str | None = None) -> Any:
        """Return :meth:`rows` as a frame; by default of pandas if that is installed."""
        rows = self.rows()
        return frame_of({name: [row[name] for row in rows] for name in rows[0]}, library)

    def plot(self, group: str = "all") -> altair.Chart:
        """Return an Altair chart: predicted and realised CDF, and where returns fell (PIT)."""
        from lincat.inference.figures import validation_chart

        return validation_chart(self, group)

    def __repr__(self) -> str:
        return f"Validation: {self.description}\n{text_table(self._short_rows())}"

    def _repr_html_(self) -> str:
        return f"<div><p>{escape(self.description)}</p>{html_table(self._short_rows())}</div>"

    def _short_rows(self) -> list[Row]:
        names = ("group", "n_returns", "w1", "w1_noise", "skill", "mean_error", "below_tail")
        return [{name: row[name] for name in names} for row in self.rows()[:_SHOWN_GROUPS]]

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
