"""How near CategoricalLSTD comes to the asymptotic limit: ``python -m tests.learners.asymptotic``.

Prints N E[ℓ2,mu²] over iota tr(Sigma Abar⁻¹ S Abar⁻ᵀ), S the long-run covariance of the scores,
with its standard error over the seeds: the table of docs/learners.md. Linear-CTD with its automatic
step size stands beside it. Takes some minutes.

Few dimensions make up most of the error, so the plain mean of 200 seeds is known to a tenth only.
Most of that is the noise of the data's own mean score, Abar⁻¹ of which is the first term of the
error; its mean square is known (the limit, and terms of order 1/N), so it serves as a control.
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
    """N ℓ2,mu² over its limit, and the same of the first term of the error, for each seed."""
    process, Phi, gamma, grid = problem.process, problem.Phi, problem.gamma, problem.grid(K)
    mu, d = process.stationary, problem.Phi.shape[1]
    star = lincat.solve_categorical(process, Phi, grid, gamma)
    cdf = lincat.cdf_from_theta(Phi, star)
    limit, A = naive.asymptotic_error(process, Phi, grid, gamma, walk=kind == "markov")

    def ratio(difference):
        return n * grid.spacing * (mu @ ((Phi @ difference) ** 2).sum(axis=1)) / limit

    found = []
    for seed in seeds:
        drawn = process.sample(n, seed=seed, kind=kind)
        t = lincat.Transitions(
            Phi[drawn.state], drawn.reward, Phi[drawn.next_state], drawn.terminated
        )
        model = learner(grid=grid, gamma=gamma).fit(t)
        Theta = model.Theta_ if learner is lincat.CategoricalLSTD else model.Theta_mean_
        target = lincat.bellman_target(
            cdf[drawn.next_state], drawn.reward, t.discounts(gamma), grid
        )
        score = t.phi.T @ (target - cdf[drawn.state]) / n
        first = np.linalg.solve(A, score.T.ravel()).reshape(K, d).T
        found.append([ratio(Theta - star), ratio(first)])
    return np.array(found)


def mean_ratio(found):
    """The mean ratio, with the first term as control, and its standard error."""
    left = found[:, 0] - found[:, 1]
    return 1.0 + left.mean(), left.std(ddof=1) / np.sqrt(len(left))


def main(n=100_000, seeds=200):
    """Print the table."""
    print("| process | transitions | CategoricalLSTD | LinearCTD |")
    print("|---|---|---|---|")
    for name, problem in problems().items():
        for kind, label in (("generative", "independent"), ("markov", "a walk")):
            row = []
            for learner in (lincat.CategoricalLSTD, lincat.LinearCTD):
                mean, error = mean_ratio(ratios(problem, n, kind, range(seeds), learner))
                row.append(f"{mean:.3f} ± {error:.3f}")
            print(f"| {name} | {label} | {row[0]} | {row[1]} |", flush=True)


if __name__ == "__main__":
    main()
