"""``python -m lincat.coverage.differences``: how often intervals of differences hold.

Counts, for pairs of processes, the intervals of differences that hold the true one, and verdicts of
dominance, right and false ones; rows are kept in a folder like those of ``lincat.coverage``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from lincat._files import write_atomically
from lincat.core.differences import FIGURES, TOLERANCE, Differences
from lincat.coverage.pairs import PAIRS, Pair, pair_named, pair_truth
from lincat.coverage.settings import CONFIDENCE, FIRST_SEED, OUT, Bars
from lincat.learners.categorical_lstd import CategoricalLSTD
from lincat.report.tables import as_markdown

_BARS = Bars()
_FALSE = 0.05  # of verdicts, at most
_LEVEL = 0.05
_SIZES = (20_000,)
_WORDS = {"probability_below": "P(G < c)", "quantile": "5 % quantile", "cvar": "5 % CVaR"}


class PairRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What came of one pair.

    Attributes
    ----------
    pair : str
    rows, runs : int
    paired : bool
        Whether both sides were learned from the same rows.
    coverage, coverage_se : tuples of float
        For each of ``FIGURES``: share of intervals, over runs and states, that held the difference.
    width : tuple of float
        Mean width over that of intervals as if rows were not shared.
    a_wins, b_wins : tuples of float
        Share of verdicts, for first and second order.
    false_dominance : tuple of float
        Share of those that are not true: the winner is behind by more than the tolerance somewhere,
        or ahead nowhere.
    """

    pair: str
    rows: int
    runs: int
    paired: bool
    coverage: tuple[float, ...]
    coverage_se: tuple[float, ...]
    width: tuple[float, ...]
    a_wins: tuple[float, ...]
    b_wins: tuple[float, ...]
    false_dominance: tuple[float, ...]


def run_pair(name: str, rows: int, runs: int) -> PairRow:
    """Draw logs of a pair, and count."""
    pair, truth = pair_named(name), Differences(*pair_truth(name), paired=False)
    paired = pair.shared is not None
    questions = [(figure, _argument(pair, figure)) for figure in FIGURES]
    true = [np.subtract(*truth.figures(*question)) for question in questions]
    held, width, wins = [], [], []
    with threadpool_limits(1):
        for seed in range(FIRST_SEED, FIRST_SEED + runs):
            a, b = _learned(pair, rows, seed)
            both, apart = Differences(a, b, paired), Differences(a, b, False)
            ends = [both.interval(*question) for question in questions]
            held.append(
                [((i <= x) & (x <= j)).mean() for (i, j), x in zip(ends, true, strict=True)]
            )
            wide = [apart.interval(*question) for question in questions] if paired else ends
            width.append(
                [np.mean(j - i) / np.mean(m - k) for (i, j), (k, m) in zip(ends, wide, strict=True)]
            )
            wins.append([both.dominance(order).winner for order in (1, 2)])
    won = np.array(wins)  # (runs, orders, states)
    wrong = (won != 0) & (won != np.array([_true_order(truth, order) for order in (1, 2)]))
    shares = np.array(held)
    return PairRow(
        pair=name,
        rows=rows,
        runs=runs,
        paired=paired,
        coverage=tuple(shares.mean(axis=0).tolist()),
        coverage_se=tuple((shares.std(axis=0) / np.sqrt(runs)).tolist()),
        width=tuple(np.mean(width, axis=0).tolist()),
        a_wins=tuple((won == 1).mean(axis=(0, 2)).tolist()),
        b_wins=tuple((won == -1).mean(axis=(0, 2)).tolist()),
        false_dominance=tuple(np.mean(wrong, axis=(0, 2)).tolist()),
    )


def missed(row: PairRow, *, noise: float = 2.0) -> list[str]:
    """Return what misses a bar by more than so many of its standard errors."""
    least = float(np.sqrt(_FALSE * (1.0 - _FALSE) / row.runs))
    counted = zip(FIGURES, row.coverage, row.coverage_se, strict=True)
    out = []
    for figure, share, se in counted:
        slack = noise * max(se, least)
        out += [figure] * (not _BARS.low - slack <= share <= _BARS.high + slack)
    most = _FALSE + noise * least
    for order, share in zip((1, 2), row.false_dominance, strict=True):
        out += [f"dominance {order}"] * (share > most)
    return out


def as_document(rows: Sequence[PairRow]) -> str:
    """Return docs/differences.md, as Markdown."""
    pairs = [{"pair": row.pair, "what": pair_named(row.pair).note} for row in rows]
    return "\n".join([_INTRO, as_markdown(pairs), as_markdown([_line(row) for row in rows])])


_INTRO = f"""# How often differences hold

This page was written by `make coverage`; do not edit it. Two policies A and B, from logs of their
own or from one log; a cell is the share of intervals of {CONFIDENCE:.0%} for three states that hold
the true difference, A − B. *Dominance* is the share of verdicts "A dominates" and "B dominates", to
first and to second order; a verdict that is not true is false dominance. The bars: {_BARS.low:.0%}
to {_BARS.high:.0%}, false dominance at most {_FALSE:.0%}; what misses one by more than twice its
standard error is in bold. *Width* is that of the difference of means over its width as if the logs
were not the same.
"""


def _line(row: PairRow) -> dict[str, Any]:
    bold = missed(row)
    line: dict[str, Any] = {"pair": row.pair, "transitions": row.rows}
    for figure, share in zip(FIGURES, row.coverage, strict=True):
        text = f"{share:.1%}"
        line[_WORDS.get(figure, figure)] = f"**{text}**" if figure in bold else text
    line["width"] = f"{row.width[0]:.2f}"
    verdicts = zip((1, 2), row.a_wins, row.b_wins, row.false_dominance, strict=True)
    for order, a, b, wrong in verdicts:
        text = f"A {a:.1%}, B {b:.1%}; false {wrong:.1%}"
        line[f"dominance {order}"] = f"**{text}**" if f"dominance {order}" in bold else text
    line["logs"] = row.runs
    return line


def _learned(pair: Pair, rows: int, seed: int) -> list[Any]:
    probes = pair.Phi[list(pair.probes)]
    models = (CategoricalLSTD(gamma=pair.gamma, grid=pair.grid) for _ in range(2))
    data = pair.logs(rows, seed)
    return [
        model.fit(log).predict(probes, confidence=CONFIDENCE)
        for model, log in zip(models, data, strict=True)
    ]


def _argument(pair: Pair, figure: str) -> float | None:
    return None if figure == "mean" else pair.threshold if figure == FIGURES[-1] else _LEVEL


def _true_order(truth: Differences, order: int) -> Any:
    """Whether A (1), B (−1) or neither (0) dominates in truth, state by state."""
    D = truth.a.cdf_values - truth.b.cdf_values
    tolerance = np.full(len(D), TOLERANCE[order])
    if order == 2:
        D = np.cumsum(D, axis=1) * truth.a.grid.spacing
        tolerance *= np.sqrt((truth.a.variance() + truth.b.variance()) / 2.0)
    a_wins = (D.max(axis=1) <= tolerance) & (D.min(axis=1) < -1e-9)
    b_wins = (D.min(axis=1) >= -tolerance) & (D.max(axis=1) > 1e-9)
    return a_wins.astype(np.int64) - b_wins


def main(argv: list[str] | None = None) -> None:
    """Run what is missing, say each row on standard error, and print or write the page."""
    parser = argparse.ArgumentParser(prog="python -m lincat.coverage.differences")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(_SIZES), metavar="ROWS")
    parser.add_argument("--runs", type=int, default=500, help="logs, or pairs of them, for each")
    parser.add_argument("--out", type=Path, default=OUT, help="rows; those there stay")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page there")
    options = parser.parse_args(argv)
    rows = []
    for name in options.pairs:
        for size in options.sizes:
            row = kept_row(options.out, name, size)
            if row is None or row.runs < options.runs:
                row = run_pair(name, size, options.runs)
                options.out.mkdir(parents=True, exist_ok=True)
                write_atomically(_file(options.out, name, size), msgspec.json.encode(row) + b"\n")
            words = f" MISSED: {', '.join(missed(row))}" if missed(row) else ""
            print(f"{name}, {size:,} rows:{words or ' ok'}", file=sys.stderr, flush=True)
            rows.append(row)
    text = as_document(rows)
    if options.write is None:
        print(text)
    else:
        write_atomically(options.write, text)


def kept_row(folder: Path, name: str, rows: int) -> PairRow | None:
    """Return a row that is done."""
    file = _file(folder, name, rows)
    return msgspec.json.decode(file.read_bytes(), type=PairRow) if file.exists() else None


def _file(folder: Path, name: str, rows: int) -> Path:
    return folder / f"pair-{name.replace(', ', '-').replace(' ', '_')}-{rows}.json"


if __name__ == "__main__":
    main()
