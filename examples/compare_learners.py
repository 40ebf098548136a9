"""Learners side by side on the paper's process: how fast each comes near the true distributions.

    python examples/compare_learners.py [FOLDER]

Every learner sees the same streams (one walk per seed): those that step, with their own automatic
step size and their tail average, and CategoricalLSTD, which solves. Writes two figures, each as
.svg, .png and .html (default folder: learners): learners, error against transitions; and
learners-seconds, error against the seconds of one core that it took to learn and to answer.
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

import lincat
from lincat.report.figures import error_curves, save_figure

STOPS = np.unique(np.logspace(2, 6, 25).astype(int))
LEARNERS = (
    lincat.CategoricalLSTD,
    lincat.LinearCTD,
    lincat.LinearPMF,
    lincat.UnnormalisedCTD,
    lincat.SoftmaxCTD,
)


def curves(seeds=10, stops=STOPS, intervals=100):
    """Yield a row for each learner, seed and stop: W1,mu to the true distributions on the grid."""
    problem = lincat.catalog.paper()
    process, Phi, gamma = problem.process, problem.Phi, problem.gamma
    grid = problem.grid(intervals)
    truth = lincat.true_returns(process, gamma, grid)
    for learner_class in LEARNERS:
        for seed in range(-1, seeds):  # the first compiles, and does not count
            drawn = process.sample(int(stops[-1]), seed=max(seed, 0))
            stream = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
            learner, learning = learner_class(grid=grid, gamma=gamma), 0.0
            for begin, end in zip([0, *stops], stops if seed >= 0 else stops[:1], strict=False):
                before = process_time()
                learner.partial_fit(stream[begin:end])
                learned = process_time()
                found = learner.predict(Phi)
                answering = process_time() - learned
                learning += learned - before
                if seed >= 0:
                    yield {
                        "learner": learner_class.__name__,
                        "transitions": int(end),
                        "seconds": learning + answering,
                        "W1 to the truth": lincat.wasserstein(
                            found, truth, weights=process.stationary
                        ),
                    }


def with_typical_seconds(rows):
    """Rows of every third stop with the median time over the seeds, so that seeds share a place."""
    times = {}
    for row in rows:
        times.setdefault((row["learner"], row["transitions"]), []).append(row["seconds"])
    some = sorted({row["transitions"] for row in rows})[::3]
    return [
        {**row, "seconds": float(np.median(times[row["learner"], row["transitions"]]))}
        for row in rows
        if row["transitions"] in some
    ]


def main(folder="learners", **options):
    """Run, draw, and say where the figures are."""
    with threadpool_limits(1):
        rows = list(curves(**options))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, x in (("learners", "transitions"), ("learners-seconds", "seconds")):
        chart = error_curves(
            rows if x == "transitions" else with_typical_seconds(rows),
            x=x,
            y="W1 to the truth",
            series="learner",
            title="Distance to the true return distributions",
            subtitle="paper's process, one walk per seed; median and middle half of the seeds",
        )
        print("Written:", *save_figure(chart, Path(folder), name))


if __name__ == "__main__":
    main(*sys.argv[1:2])
