"""What there is to choose from: the plug-ins of each kind, with the first sentence of their files."""

import ast
import re

from partialfair import plugins

FOLDERS = {
    "algorithms": "algorithms",
    "constraints": "constraints",
    "losses": "constraints/losses",
    "datasets": "datasets",
    "exhibits": "exhibits",
}
"""Folder of the plug-ins of each kind; metrics are functions and come from their registry."""

KINDS = (*FOLDERS, "metrics")


def listed(kind: str) -> dict[str, str]:
    """What each plug-in of a kind is, in a few words, by its name.

    Args:
        kind: one of :data:`KINDS`.
    """
    if kind == "metrics":
        from partialfair.metrics.registry import on_request, registry

        return {name: metric.title for name, metric in sorted({**registry(), **on_request()}.items())}
    return {name: _described(FOLDERS[kind], name) for name in plugins.names(FOLDERS[kind])}


def _described(folder: str, name: str) -> str:
    """What a plug-in is in the words of its module; nothing is imported.

    A member of a family is described by the item of its value in the docstring's list of values.
    """
    text = ast.get_docstring(ast.parse(plugins.file_of(folder, name).read_text(encoding="utf-8"))) or ""
    headline, member = _line(text.split("\n\n")[0]), plugins.member(folder, name)
    if member is None:
        return headline
    item = re.search(rf"^- ``{member.value}``: (.+?)(?=\n\n|\n- |\Z)", text, re.MULTILINE | re.DOTALL)
    description = f"{headline.partition(':')[0]}: {_line(item[1])}" if item else headline
    return f"{description}; {{name: {member.family}, {member.option}: {member.value}}}"


def _line(text: str) -> str:
    """A text on one line, without its final stop."""
    return " ".join(text.split()).removesuffix(".")
