"""Verdicts that read otherwise than when they were first published: what they said, what they say now, and why.

``{changes} PAPER`` writes the entries of ``docs/changes.yaml`` for a paper. What a claim says now is read from
``reports/verdicts.json``, so that no training makes the page wrong about it.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from pydantic import BaseModel, ConfigDict, Field
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from reproduction.verdicts.verdict import LABELS

ROOT = Path(__file__).parents[2]


class Change(BaseModel):
    """Claims of a paper whose verdicts changed for the same reason.

    Attributes:
        title: what changed, in a few words.
        claims: name of each claim, with its verdict when it was first published; empty for a claim that is new.
        why: the reason, with the measurement behind it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    claims: dict[str, str] = Field(min_length=1)
    why: str


class Changes(SphinxDirective):
    """A directive whose content is the changes of a paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed content."""
        return self.parse_text_to_nodes(text(self.arguments[0]))


def load(root: Path = ROOT) -> dict[str, list[Change]]:
    """Return the changes of every paper, in the order of ``docs/changes.yaml``."""
    entries = yaml.safe_load((root / "docs" / "changes.yaml").read_text(encoding="utf-8"))
    return {paper: [Change.model_validate(entry) for entry in entries[paper]] for paper in entries}


def claims_now(root: Path = ROOT) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the claims of every paper by name, as ``reports/verdicts.json`` has them."""
    papers = json.loads((root / "reports" / "verdicts.json").read_text(encoding="utf-8"))["papers"]
    return {entry["paper"]: {claim["id"]: claim for claim in entry["claim_list"]} for entry in papers}


def label(claim: dict[str, Any]) -> str:
    """Return the verdict of a claim in words."""
    return str(LABELS.get(claim["verdict"], claim["verdict"]))


def text(paper: str, root: Path = ROOT) -> str:
    """Return the changes of a paper as Markdown: a heading, a line per claim, and the reason."""
    claims = claims_now(root)[paper]
    return "\n\n".join(_section(change, claims) for change in load(root)[paper])


def _section(change: Change, claims: dict[str, dict[str, Any]]) -> str:
    lines = [_line(name, before, claims.get(name)) for name, before in change.claims.items()]
    return "\n".join([f"**{change.title}**", "", *lines, "", change.why.strip()])


def _line(name: str, before: str, claim: dict[str, Any] | None) -> str:
    past = before or "not asked"
    if claim is None:
        return f"- `{name}`: {past}, no longer counted"
    return f"- {claim['sentence']} ({claim['section']}) {past}, now **{label(claim)}**"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("changes", Changes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
