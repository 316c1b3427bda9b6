"""Settings of the documentation site: `make docs` builds it into site/, offline."""

import gc
import sys
from importlib import import_module
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from partialfair import __version__
from partialfair.kernels import processor

# Before NumPy is imported: the numbers on the pages are then the same everywhere.
processor.settle()

# The trees of all pages stay: a collector that looks through them again and
# again takes its part of the build's time.
gc.set_threshold(500_000, 20, 100)

# Imported here, because autodoc's way of importing them is not one that pydantic's
# models survive.
for _name in ("reproduction.grid.config", "reproduction.grid.workflow"):
    import_module(_name)

project = "partialfair"
author = "the authors of partialfair"
copyright = "the authors of partialfair; BSD 3-Clause"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.typer",
    "docstrings",
    "mathml",
    "changes",
    "facts",
    "measured",
    "pictures",
    "report",
]
source_suffix = {
    ".md": "markdown",
    ".rst": "restructuredtext",
}  # the latter for pages of examples
exclude_patterns = ["generated/*.md", "extensions"]
nitpicky = False

# A page may link to any heading; the anchors are those of the Markdown files.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings: list[str] = []

autodoc_member_order = "bysource"
viewcode_follow_imported_members = False
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = True

# Every example is run; a page whose example fails is an error of the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(
        [
            "audit_scores.py",
            "gates.py",
            "fit_classifier.py",
            "tradeoff_curve.py",
            "post_process.py",
            "fit_regressor.py",
            "constrain_a_network.py",
            "redraw_a_figure.py",
        ]
    ),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1_000_000,  # seconds: times differ from build to build
    "nested_sections": False,
}

# A command is copied without its prompt and without what it printed.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"partialfair {__version__}"
html_static_path = ["static", "generated/static"]
html_css_files = ["site.css", "tones.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "footer_icons": [],
    "light_css_variables": {
        "font-stack": "system-ui, sans-serif",
        "color-brand-primary": "#0b5a8a",
    },
    "dark_css_variables": {"color-brand-primary": "#7cc4f0"},
}
