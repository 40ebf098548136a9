"""Learners side by side on the paper's process: how fast each comes near the true distributions.

    python examples/compare_learners.py [FOLDER]

Every learner sees the same streams (one walk per seed) with its own automatic step size, and
reports its tail average. Writes learners.svg, .png and .html (default folder: learners).
"""

import sys
from pathlib import Path

import numpy as np

import lincat
from lincat.report.figures import error_curves, save_figure

STOPS = np.unique(np.logspace(2, 5, 25).astype(int))


def curves(seeds=10, stops=STOPS, intervals=100):
    """Yield a row for each learner, seed and stop: W1,mu to the true distributions on the grid."""
    problem = lincat.catalog.paper()
    process, Phi, gamma = problem.process, problem.Phi, problem.gamma
    grid = problem.grid(intervals)
    truth = lincat.true_returns(process, gamma, grid)
    for learner_class in (
        lincat.LinearCTD,
        lincat.LinearPMF,
        lincat.UnnormalisedCTD,
        lincat.SoftmaxCTD,
    ):
        for seed in range(seeds):
            drawn = process.sample(int(stops[-1]), seed=seed)
            stream = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
            learner = learner_class(grid=grid, gamma=gamma)
            for begin, end in zip([0, *stops], stops, strict=False):
                found = learner.partial_fit(stream[begin:end]).predict(Phi)
                distance = lincat.wasserstein(found, truth, weights=process.stationary)
                yield {
                    "learner": learner_class.__name__,
                    "transitions": int(end),
                    "W1 to the truth": distance,
                }


def main(folder="learners", **options):
    """Run, draw, and say where the figure is."""
    chart = error_curves(
        list(curves(**options)),
        x="transitions",
        y="W1 to the truth",
        series="learner",
        title="Distance to the true return distributions",
        subtitle="paper's process, one walk per seed; median and middle half of the seeds",
    )
    Path(folder).mkdir(parents=True, exist_ok=True)
    print("Written:", *save_figure(chart, Path(folder), "learners"))


if __name__ == "__main__":
    main(*sys.argv[1:2])
