"""What there is to choose from: the plug-ins of each kind, with the first sentence of their files."""

import ast
from pathlib import Path

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
    return {name: _headline(plugins.file_of(FOLDERS[kind], name)) for name in plugins.names(FOLDERS[kind])}


def _headline(file: Path) -> str:
    """First paragraph of a module's docstring on one line, without its final stop; nothing is imported."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).removesuffix(".")
