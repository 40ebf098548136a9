"""Finite processes: tables of outcomes, named examples, files, sampling."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["catalog"])
