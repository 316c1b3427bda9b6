"""Docstrings here are plain text with ``code`` and Google sections; other markup is not meant."""

import re
from typing import Any

from sphinx.application import Sphinx

# Parts in double backticks and roles such as :class:`Name` stay; elsewhere these characters mean themselves.
KEPT = re.compile(r"(``.*?``|:[a-z:]+:`.*?`)")
MARKUP = re.compile(r"[|*]|(?<=\w)_(?=\W|$)")


def plain(app: Sphinx, what: str, name: str, subject: Any, options: Any, lines: list[str]) -> None:
    """Escape markup that is not meant, in place."""
    for number, line in enumerate(lines):
        if line.startswith(("..", ":", "   ")):
            continue
        parts = KEPT.split(line)
        lines[number] = "".join(
            part if place % 2 else MARKUP.sub(lambda m: "\\" + m[0], part) for place, part in enumerate(parts)
        )


def hidden(app: Sphinx, what: str, name: str, subject: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the metadata requests, whose docstrings are scikit-learn's."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both; the sections have been read by then."""
    app.connect("autodoc-process-docstring", plain, priority=900)
    app.connect("autodoc-skip-member", hidden)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
