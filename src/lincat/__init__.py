"""lincat: learn the whole return distribution, not just its mean.

The public names are listed in ``__init__.pyi`` and imported when first used, so that
``import lincat`` and ``lincat --help`` stay fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
