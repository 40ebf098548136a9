import sys
from pathlib import Path

import lincat

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "lincat"
author = "The lincat developers"
release = lincat.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "lincat_docs",
]
exclude_patterns = ["_build", "_ext"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "lincat"
html_static_path = ["_static"]
html_css_files = ["lincat.css"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
