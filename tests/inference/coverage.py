"""How often the bands of BatchMeans hold the fixed point: ``python -m tests.inference.coverage``.

Prints the table that the docstring of lincat.BatchMeans sums up; takes about two minutes.
"""

import itertools

import numpy as np

import lincat

CALLS = 200  # of update in a run


def slow():
    """Twenty states, five features, gamma 0.9: some directions are learned slowly."""
    return lincat.catalog.random_process(20, n_features=5, branching=3, gamma=0.9, seed=3)


def run(problem, n, step_size, kind, seed, *, intervals=20):
    """Learn once, watching three states; the learner and its error bars."""
    drawn = problem.process.sample(n, seed=seed, kind=kind)
    Phi = np.asarray(problem.Phi)
    data = lincat.Transitions(Phi[drawn.state], drawn.reward, Phi[drawn.next_state])
    model = lincat.LinearCTD(
        grid=problem.grid(intervals), gamma=problem.gamma, step_size=step_size, horizon=n
    )
    bars = lincat.BatchMeans(Phi[:3])
    edges = np.linspace(0, n, CALLS + 1).astype(int)
    for begin, end in itertools.pairwise(edges.tolist()):
        bars.update(model.partial_fit(data[begin:end]))
    return model, bars


def coverage(problem, n, step_size, kind, seeds, *, intervals=20):
    """Shares of CDF values, and of whole CDFs, inside 95 % bands; mean autocorrelation."""
    Phi, grid = np.asarray(problem.Phi), problem.grid(intervals)
    Theta = lincat.solve_categorical(problem.process, Phi, grid, problem.gamma)
    truth = lincat.ReturnDistribution(lincat.cdf_from_theta(Phi[:3], Theta), grid).proper()
    exact = truth.cdf_values
    inner = (exact > 1e-3) & (exact < 1.0 - 1e-3)  # beyond it nothing is uncertain
    each, whole, dependence = [], [], []
    for seed in seeds:
        model, bars = run(problem, n, step_size, kind, seed, intervals=intervals)
        estimate = model.predict(Phi[:3])
        low, high = bars.bands(estimate)
        each.append(((low <= exact) & (exact <= high))[inner].mean())
        low, high = bars.bands(estimate, simultaneous=True)
        held = ((low <= exact) & (exact <= high)) | ~inner
        whole.append(held.all(axis=1).mean())
        dependence.append(bars.autocorrelation())
    return float(np.mean(each)), float(np.mean(whole)), float(np.mean(dependence))


def main():
    for problem in (lincat.catalog.paper(), slow()):
        for n in (20_000, 100_000):
            for step_size in ("auto", 0.1):
                for kind in ("generative", "markov"):
                    each, whole, dependence = coverage(problem, n, step_size, kind, range(100))
                    print(
                        f"{problem.name:15} {n:7} {step_size!s:5} {kind:11}"
                        f" each {each:.3f} whole {whole:.3f} autocorrelation {dependence:5.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
