"""A validation as the plain data that pages show."""

from __future__ import annotations

from typing import Any

from lincat.inference.results import Validation

__all__ = ["validation_data"]


def validation_data(result: Validation, kind: str) -> dict[str, Any]:
    """Return a validation's rows, histograms and CDFs by group.

    ``kind`` says what was compared with: "10,000 rollouts from 50 held-out states",
    "last 5,000 returns held out", "exact answer".

    Examples
    --------
    >>> from lincat import Grid, ReturnDistribution
    >>> from lincat.inference.validation import validate
    >>> from lincat.report.validation import validation_data
    >>> coin = ReturnDistribution([[0.5]] * 4, Grid(0.0, 1.0, intervals=1))
    >>> data = validation_data(validate(coin, [0.0, 1.0, 1.0, 0.0]), "4 rollouts")
    >>> data["comparison"]["all"]["empirical"]
    [0.5, 1.0]
    """
    return {
        "kind": kind,
        "rows": result.rows(),
        "tail": result.tail,
        "confidence": result.confidence,
        "pit": {g.group: list(g.pit) for g in result.groups},
        "comparison": {
            g.group: {
                "atoms": list(result.atoms),
                "predicted": list(g.predicted_cdf),
                "empirical": list(g.empirical_cdf),
                "low": list(g.empirical_low) if g.n_returns is not None else None,
                "high": list(g.empirical_high) if g.n_returns is not None else None,
            }
            for g in result.groups
        },
    }
