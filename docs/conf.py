"""Sphinx configuration of the guides and the generated reference."""

project = "mlax-scaffold"
author = "mlax-scaffold contributors"
copyright = author

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = project

# Links to a heading of another page are checked.
myst_heading_anchors = 3
nitpicky = True
