"""Sphinx's settings: in go the pages of this folder and the package beside it, out comes the site."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "pytest-draft"
copyright = "The pytest-draft developers"
author = "The pytest-draft developers"
try:
    release = metadata.version("pytest-draft")
except metadata.PackageNotFoundError:  # built from a checkout that is not installed
    release = "development"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "generated",
    "scrolling",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
language = "en"
highlight_language = "none"  # of what does not say in which it is written
smartquotes = False  # it makes one dash of the two of an option

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

numpydoc_show_class_members = False
autosummary_generate = False  # numpydoc loads it
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints = "description"  # a field's type is its annotation,
autodoc_typehints_description_target = "documented"  # a parameter's stands in the docstring

html_theme = "furo"
html_title = "pytest-draft"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "footer_icons": [],
}
