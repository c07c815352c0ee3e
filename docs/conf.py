"""The documentation site: `python -m sphinx -W --keep-going -b html docs docs/_build`.

Before the build, `docs/site_pages.py` writes the pages that are made from the source. They are the reference, the
curves of the force laws, the pictures of the gallery, and copies of the notebooks with their stored outputs.
"""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import site_pages
import site_reference
from sphinx.builders.html import StandaloneHTMLBuilder

import myoquat

# Sphinx keeps the trees of all pages: at its default thresholds, Python's collector of cyclic garbage, which visits
# them each time, took a fifth of the build.
gc.set_threshold(100_000, 50, 100)

project = "myoquat"
author = "the authors of myoquat"
copyright = "the authors of myoquat, BSD-3-Clause"
version = release = myoquat.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
extensions += ["sphinx-mathjax-offline", "sphinx_design"]  # formulas show without a network
# Sphinx puts its tags into this namespace. With the tag "check", pages are made and their references resolved, without
# what has nothing to check and took a third of the time: pages of the source, the theme and the index of the search.
CHECK = "check" in globals().get("tags", ())
if not CHECK:
    extensions.append("sphinx.ext.viewcode")
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints", "tutorials/shoulder.osim"]
nitpicky = True
nitpick_ignore_regex = [(r"py:class", r".*"), (r"py:obj", r"(?!myoquat\.).*")]  # types in signatures, also private ones
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the stored outputs: tests/notebooks.py writes them, tests/test_notebooks.py runs them
nb_merge_streams = True

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_title = "myoquat"
html_static_path = ["_static"]
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme = "basic"
if not CHECK:
    html_theme = "pydata_sphinx_theme"
    html_theme_options = {
        "navigation_with_keys": False,
        "show_toc_level": 2,
        "header_links_before_dropdown": 5,
        "secondary_sidebar_items": ["page-toc"],
        "footer_start": ["copyright"],
        "footer_end": [],
    }
html_sidebars = {"index": [], **{page: [] for page in site_pages.single(Path(__file__).parent)}}


def setup(app):
    """Writes the pages that are made from the source, and reads docstrings as plain text."""
    if CHECK:
        StandaloneHTMLBuilder.search = False  # no option of Sphinx says so
    site_pages.write(Path(__file__).parent)
    app.connect("autodoc-process-docstring", site_reference.read_docstring)
    app.connect("autodoc-process-signature", site_reference.read_signature)
