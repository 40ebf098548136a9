"""The constants, step sizes and bounds of the paper's analysis."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["bounds", "lemmas"])
