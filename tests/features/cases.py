"""Features of every kind, fitted, with observations that they take."""

import numpy as np

import lincat


def points(n, m=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m)) * np.arange(1, m + 1) + 5.0


def names(n, seed=0):
    return np.array(
        [f"s{i}" for i in np.random.default_rng(seed).integers(9, size=n)], dtype=object
    )


# kind -> (features, observations by number and seed)
POINTS = {
    "tiles": lambda: lincat.Tiles(tilings=4, bins=3),
    "hashed": lambda: lincat.Tiles(tilings=4, bins=6, size=100),
    "fourier": lambda: lincat.Fourier(order=2, max_terms=20),
    "rbf": lambda: lincat.RadialBasis(centers=7),
    "plain rbf": lambda: lincat.RadialBasis(centers=7, normalised=False, width=0.7, seed=3),
    "smooth": lambda: lincat.Smooth(bumps=9),
    "points": lambda: lincat.Points(),
    "scaling": lambda: lincat.Scaling(),
    "bare scaling": lambda: lincat.Scaling(intercept=False, unit_norm=False),
    "identity": lambda: lincat.Identity(),
    "transformer": lambda: lincat.FromTransformer("sklearn.preprocessing:StandardScaler"),
}
OTHERS = {
    "points": (lambda: lincat.Points(), points),
    "smooth": (lambda: lincat.Smooth(bumps=12), points),
    "tabular": (lambda: lincat.Tabular(capacity=30), names),
    "numbers": (
        lambda: lincat.Tabular(n_states=9),
        lambda n, seed=0: np.random.default_rng(seed).integers(9, size=n),
    ),
    "lookup": (
        lambda: lincat.Lookup(points(9)),
        lambda n, seed=0: np.random.default_rng(seed).integers(9, size=n),
    ),
}
ALL = {**{kind: (make, points) for kind, make in POINTS.items()}, **OTHERS}


def dense(phi):
    return phi.toarray() if hasattr(phi, "toarray") else phi
