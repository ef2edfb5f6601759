"""Sphinx configuration of the guides and the generated reference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "mlax-scaffold"
author = "mlax-scaffold contributors"
copyright = author

extensions = ["myst_parser", "plots"]
exclude_patterns = ["_build", "zoo"]
html_theme = "furo"
html_title = project

# Links to a heading of another page are checked.
myst_heading_anchors = 3
nitpicky = True
