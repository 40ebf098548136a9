"""How near CategoricalLSTD comes to the asymptotic limit: ``python -m tests.learners.asymptotic``.

Prints N E[ℓ2,mu²] over iota tr(Sigma Abar⁻¹ S Abar⁻ᵀ), S the long-run covariance of the scores,
with its standard error over the seeds: the table of docs/learners.md. Few dimensions make up most
of the error, so 200 seeds tell the mean to a tenth only, and there are 1,600. Linear-CTD with its
automatic step size stands beside it, with 200. Takes some minutes.
"""

import dataclasses

import numpy as np

import lincat
from tests import naive

K = 10


def problems():
    """Five processes of the catalog, with features for the states that are visited."""
    names = ("paper", "uniform_coin", "random_walk", "boyan_chain")
    found = [lincat.catalog.build(name) for name in names]
    found.append(lincat.catalog.random_process(20, n_features=5, branching=3, gamma=0.9, seed=3))
    return {problem.name: _visited(problem) for problem in found}


def _visited(problem):
    Phi = problem.Phi.toarray() if problem.is_tabular else np.asarray(problem.Phi)
    if problem.is_tabular:
        Phi = Phi[:, problem.process.stationary > 0.0]
    return dataclasses.replace(problem, Phi=Phi)


def ratios(problem, n, kind, seeds, learner=lincat.CategoricalLSTD):
    """N ℓ2,mu² over its limit, for each seed."""
    process, Phi, gamma, grid = problem.process, problem.Phi, problem.gamma, problem.grid(K)
    star = lincat.solve_categorical(process, Phi, grid, gamma)
    limit = naive.asymptotic_error(process, Phi, grid, gamma, walk=kind == "markov")
    out = []
    for seed in seeds:
        drawn = process.sample(n, seed=seed, kind=kind)
        t = lincat.Transitions(
            Phi[drawn.state], drawn.reward, Phi[drawn.next_state], drawn.terminated
        )
        model = learner(grid=grid, gamma=gamma).fit(t)
        Theta = model.Theta_ if learner is lincat.CategoricalLSTD else model.Theta_mean_
        squares = ((Phi @ (Theta - star)) ** 2).sum(axis=1)
        out.append(n * grid.spacing * (process.stationary @ squares) / limit)
    return np.array(out)


def main(n=100_000, seeds=((lincat.CategoricalLSTD, 1600), (lincat.LinearCTD, 200))):
    """Print the table; no two processes have a seed in common."""
    print("| process | transitions | CategoricalLSTD | LinearCTD |")
    print("|---|---|---|---|")
    for i, (name, problem) in enumerate(problems().items()):
        for kind, label in (("generative", "independent"), ("markov", "a walk")):
            row = []
            for learner, count in seeds:
                first = 10_000 * i
                found = ratios(problem, n, kind, range(first, first + count), learner)
                error = found.std(ddof=1) / np.sqrt(count)
                row.append(f"{found.mean():.2f} ± {error:.2f}")
            print(f"| {name} | {label} | {row[0]} | {row[1]} |", flush=True)


if __name__ == "__main__":
    main()
