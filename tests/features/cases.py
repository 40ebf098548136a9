"""Features of every kind, fitted, with observations that they take."""

import numpy as np

import lincat
from lincat.data.mixed import mixed_of


def points(n, m=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m)) * np.arange(1, m + 1) + 5.0


def names(n, seed=0):
    return np.array(
        [f"s{i}" for i in np.random.default_rng(seed).integers(9, size=n)], dtype=object
    )


def frames(n, seed=0):
    """Texts, some of them rare or missing, and numbers, some of them few or missing."""
    rng = np.random.default_rng(seed)
    site = np.array([*["north", "south", None], *[f"rare {i}" for i in range(9)]], dtype=object)
    return mixed_of(
        {
            "site": site[np.minimum(rng.geometric(0.4, n) - 1, 11)],
            "mode": rng.integers(3, size=n).astype(float),
            "load": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


def levels():
    """Beside smooth features, along a linear function."""
    beside, of = lincat.Smooth(bumps=9).fit(points(60)), lincat.Scaling().fit(points(60))
    return lincat.Levels(beside, of, np.array([1.0, -0.5, 0.25, 2.0]), 0.5, levels=7)


def levels_beside_few():
    """Beside features of which each row has a few, along a function of such."""
    few = lincat.Nearby(bumps=9, neighbours=3).fit(points(60))
    return lincat.Levels(few, few, np.arange(few.n_features_) / 9.0, levels=5)


# kind -> (features, observations by number and seed)
POINTS = {
    "tiles": lambda: lincat.Tiles(tilings=4, bins=3),
    "hashed": lambda: lincat.Tiles(tilings=4, bins=6, size=100),
    "fourier": lambda: lincat.Fourier(order=2, max_terms=20),
    "rbf": lambda: lincat.RadialBasis(centers=7),
    "plain rbf": lambda: lincat.RadialBasis(centers=7, normalised=False, width=0.7, seed=3),
    "smooth": lambda: lincat.Smooth(bumps=9),
    "nearby": lambda: lincat.Nearby(bumps=20, neighbours=5),
    "points": lambda: lincat.Points(),
    "scaling": lambda: lincat.Scaling(),
    "bare scaling": lambda: lincat.Scaling(intercept=False, unit_norm=False),
    "identity": lambda: lincat.Identity(),
    "transformer": lambda: lincat.FromTransformer("sklearn.preprocessing:StandardScaler"),
}
OTHERS = {
    "points": (lambda: lincat.Points(), points),
    "smooth": (lambda: lincat.Smooth(bumps=12), points),
    "levels": (levels, points),
    "levels beside few": (levels_beside_few, points),
    "mixed": (lambda: lincat.Mixed(bumps=24, rare=5), frames),
    "frames": (lambda: lincat.Tabular(capacity=300), frames),
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
