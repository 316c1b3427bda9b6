"""Pages of exhibits: the templates of the workbench beside those of all pages, and the page of one exhibit."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from partialfair.data.files import atomic_path
from partialfair.pages import cells

TEMPLATES = Path(__file__).parent / "templates"
_MARKED = re.compile(r'<td class="(?:good|near|bad)\b')


@cache
def environment() -> Any:
    """The templates of the workbench before those of all pages."""
    import jinja2

    common = cells.environment()
    return common.overlay(loader=jinja2.ChoiceLoader([jinja2.FileSystemLoader(TEMPLATES), common.loader]))


def legend(body: str) -> str:
    """Return the legend of the marks that occur in a piece of HTML; empty if there are none."""
    compared = 'class="published' in body
    sentences = [
        ("Grey numbers are published.", compared),
        (
            "✓ agrees with the published number, ≈ is near it, ✗ differs from it.",
            compared and bool(_MARKED.search(body)),
        ),
        ("± half the width of the 95% t-interval of a mean over seeds.", "±" in body and "deviation" not in body),
        ("Hover over a number for its source.", 'title="' in body),
    ]
    return " ".join(sentence for sentence, occurs in sentences if occurs)


def write_html(target: Path, title: str, caption: str, body: str) -> Path:
    """Write a self-contained page with one exhibit."""
    template = environment().get_template("exhibit.html.j2")
    page = template.render(title=title, caption=caption, body=body, legend=legend(body))
    with atomic_path(target) as path:
        path.write_text(page, encoding="utf-8")
    return target
