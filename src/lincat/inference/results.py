"""What a validation found, as plain numbers for tables, figures and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from lincat._arguments import InvalidInputError, fail

__all__ = ["GroupValidation", "Validation"]


@dataclass(frozen=True)
class GroupValidation:
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
        What ``w1`` would be about for a perfect prediction, from so many independent returns.
    w1_states : float or None
        The mean over states of W1 between the prediction and the state's own returns, if there are
        at least 30 of them, or its distribution is known.
    w1_states_noise : float or None
        The expectation of ``w1_states`` if returns were drawn from the predictions.
    crps : float
        Mean continuous ranked probability score; lower is better, in units of the return.
    crps_climatology : float
        The score of predicting for every state the distribution of all the group's returns, with
        hindsight.
    mean_error, mean_error_se : float
        Predicted minus realised mean, and its standard error (None if there is one draw only).
    coverage, coverage_se : tuples of float
        Share of returns inside the central interval of each level, and standard errors.
    cvar_predicted, cvar_realised : float
        Mean of the worst returns (their share is ``Validation.tail``), all states together.
    below_tail, below_tail_se : float
        Share of returns below the predicted quantile at level ``Validation.tail``, state by state;
        the atom at the quantile is split, so that exactly the level is expected.
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
    crps: float
    crps_climatology: float
    mean_error: float
    mean_error_se: float | None
    coverage: tuple[float, ...]
    coverage_se: tuple[float | None, ...]
    cvar_predicted: float
    cvar_realised: float
    below_tail: float
    below_tail_se: float | None
    pit: tuple[float, ...]
    predicted_cdf: tuple[float, ...]
    empirical_cdf: tuple[float, ...]
    empirical_low: tuple[float, ...]
    empirical_high: tuple[float, ...]

    @property
    def skill(self) -> float | None:
        """1 − crps/crps_climatology: above 0 states matter; None if all returns are the same."""
        if self.crps_climatology <= 0.0:
            return None
        return 1.0 - self.crps / self.crps_climatology


@dataclass(frozen=True)
class Validation:
    """The results of :func:`lincat.validate`; ``validation["all"]`` is one group's.

    Attributes
    ----------
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

    levels: tuple[float, ...]
    tail: float
    confidence: float
    atoms: tuple[float, ...]
    groups: tuple[GroupValidation, ...]

    def __getitem__(self, group: str) -> GroupValidation:
        for result in self.groups:
            if result.group == group:
                return result
        raise fail("group", f"one of {', '.join(g.group for g in self.groups)}", group)

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per group, of numbers, text and None.

        Examples
        --------
        >>> from lincat import Grid, ReturnDistribution, validate
        >>> coin = ReturnDistribution([[0.5]] * 4, Grid(0.0, 1.0, intervals=1))
        >>> row = validate(coin, [0.0, 1.0, 1.0, 0.0], levels=[0.8]).rows()[0]
        >>> row["group"], row["mean_error"], row["crps"], round(row["coverage_80"], 12)
        ('all', 0.0, 0.25, 0.8)
        """
        rows = []
        for g in self.groups:
            row: dict[str, Any] = {
                "group": g.group,
                "n_states": g.n_states,
                "n_returns": g.n_returns,
                "w1": g.w1,
                "w1_noise": g.w1_noise,
                "w1_states": g.w1_states,
                "w1_states_noise": g.w1_states_noise,
                "crps": g.crps,
                "crps_climatology": g.crps_climatology,
                "skill": g.skill,
                "mean_error": g.mean_error,
                "mean_error_se": g.mean_error_se,
            }
            for level, share, se in zip(self.levels, g.coverage, g.coverage_se, strict=True):
                row[f"coverage_{100.0 * level:.10g}"] = share
                row[f"coverage_{100.0 * level:.10g}_se"] = se
            row |= {
                "cvar_predicted": g.cvar_predicted,
                "cvar_realised": g.cvar_realised,
                "below_tail": g.below_tail,
                "below_tail_se": g.below_tail_se,
            }
            rows.append(row)
        return rows

    def to_json(self) -> str:
        """Return everything as JSON text; :meth:`from_json` reads it back."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Validation:
        """Read what :meth:`to_json` wrote."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise InvalidInputError(f"validation: {error}") from None
