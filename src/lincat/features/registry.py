"""The features, each named once: for ``--features``, for files, and for the documentation."""

from __future__ import annotations

from lincat._registry import Registry

# Lookup needs a matrix, levels a function, and a transformer its own name, module:name.
FEATURES = Registry(
    "lincat.features",
    {
        "tabular": "Tabular",
        "tiles": "Tiles",
        "fourier": "Fourier",
        "rbf": "RadialBasis",
        "smooth": "Smooth",
        "nearby": "Nearby",
        "mixed": "Mixed",
        "points": "Points",
        "scaling": "Scaling",
        "identity": "Identity",
        "lookup": "Lookup",
        "levels": "Levels",
        "transformer": "FromTransformer",
    },
    (
        *("tabular", "tiles", "fourier", "rbf", "smooth", "nearby", "mixed", "points"),
        *("scaling", "identity"),
    ),
)
#: What may be asked for by name.
FEATURE_NAMES = ("auto", *FEATURES.offered)


def is_imported(name: str) -> bool:
    """Return whether a word for features names what is imported, "module:name".

    Examples
    --------
    >>> from lincat.features.registry import is_imported
    >>> is_imported("fourier"), is_imported("sklearn.preprocessing:StandardScaler")
    (False, True)
    """
    return name not in FEATURE_NAMES and ":" in name
