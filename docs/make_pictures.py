"""The pictures of docs/explanation.md; ``python docs/make_pictures.py`` draws them again."""

from pathlib import Path

import altair as alt
import numpy as np

import lincat
from lincat.report.figures import error_curves, save_figure

IMAGES = Path(__file__).parent / "images"


def projection():
    """A return that falls between atoms, and a smooth distribution on two grids."""
    grid = lincat.Grid(0.0, 10.0, intervals=10)
    single = lincat.project([[6.3]], [[1.0]], grid)[0]
    fine = lincat.Grid(0.0, 10.0, intervals=400)
    x = fine.atoms
    smooth = np.exp(-0.5 * ((x - 5.0) / 1.5) ** 2) + 0.4 * np.exp(-0.5 * ((x - 1.5) / 0.5) ** 2)
    smooth /= smooth.sum()
    coarse = lincat.project(x[None], smooth[None], grid)[0]
    panels = []
    for title, masses, curve in (
        ("A return of 6.3: mass 0.7 at 6, 0.3 at 7", single, None),
        ("A smooth distribution, K = 10", coarse, smooth / fine.spacing),
    ):
        bars = [{"x": float(a), "mass": float(m)} for a, m in zip(grid.atoms, masses, strict=True)]
        layers = [
            alt.Chart(alt.InlineData(values=bars))
            .mark_bar(size=14, opacity=0.7)
            .encode(x=alt.X("x:Q", title="return"), y=alt.Y("mass:Q", title="probability"))
        ]
        if curve is not None:
            line = [{"x": float(a), "y": float(d)} for a, d in zip(x[::4], curve[::4], strict=True)]
            layers.append(
                alt.Chart(alt.InlineData(values=line))
                .mark_line(color="#e45756", strokeWidth=2)
                .encode(x="x:Q", y="y:Q")
            )
        else:
            point = alt.Chart(alt.InlineData(values=[{"x": 6.3}]))
            layers.append(
                point.mark_rule(color="#e45756", strokeWidth=2, strokeDash=[4, 3]).encode(x="x:Q")
            )
        panels.append(alt.layer(*layers).properties(width=300, height=180, title=title))
    return alt.hconcat(*panels)


def preconditioning():
    """Error against transitions, with and without the preconditioner, as the grid becomes finer."""
    problem = lincat.catalog.paper()
    stops = np.unique(np.geomspace(100, 100_000, 13).astype(int))
    rows = []
    for intervals in (30, 120):
        grid = problem.grid(intervals)
        exact = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
        truth = lincat.ReturnDistribution(lincat.cdf_from_theta(problem.Phi, exact), grid)
        for name, kind in (("Linear-CTD", lincat.LinearCTD), ("SSGD-PMF", lincat.LinearPMF)):
            for seed in range(5):
                walk = problem.process.sample(int(stops[-1]), seed=seed)
                model = kind(grid=grid, gamma=problem.gamma)
                done = 0
                for stop in stops:
                    part = slice(done, stop)
                    phi, phi_next = (
                        problem.Phi[walk.state[part]],
                        problem.Phi[walk.next_state[part]],
                    )
                    model.partial_fit(phi, walk.reward[part], phi_next)
                    done = stop
                    far = lincat.wasserstein(
                        model.predict(problem.Phi), truth, weights=problem.process.stationary
                    )
                    label = f"{name}, K = {intervals}"
                    row = {"transitions": int(stop), "method": label}
                    rows.append({**row, "W1 to the fixed point": far})
    return error_curves(
        rows,
        x="transitions",
        y="W1 to the fixed point",
        series="method",
        title="With its preconditioner, a finer grid costs nothing",
        subtitle="the paper's process, automatic steps, five walks: median and middle half",
    )


if __name__ == "__main__":
    save_figure(projection(), IMAGES, "projection", endings=("svg",))
    save_figure(preconditioning(), IMAGES, "preconditioning", endings=("svg",))
