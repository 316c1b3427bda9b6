"""Model cards: what a trained model is, what was measured of it, and what must not be concluded from it.

The sections follow Mitchell et al., *Model Cards for Model Reporting* (2019). The Markdown card is written by every
evaluation; the page, with a picture of the interval, is made when it is asked for.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.audit.audit_page import Grid, Item, environment
from partialfair.data.files import atomic_path, read_json
from partialfair.data.intervals import Interval
from partialfair.errors import DataError
from reproduction.cards.content import Content, read
from reproduction.cards.scored_rows import scored_rows
from reproduction.grid import paths

NAME = "model_card.md"
_TABLES = ("group_table", "metric_table", "split_table")
_TEMPLATES = Path(__file__).parent / "templates"


def write(folder: str | Path, model_path: str | Path | None = None, fit_json: str | Path | None = None) -> Path:
    """Write the card of a run into its folder; see :func:`render`."""
    target = Path(folder) / NAME
    text = render(folder, model_path, fit_json)
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
    return target


def render(folder: str | Path, model_path: str | Path | None = None, fit_json: str | Path | None = None) -> str:
    """Return the card of an evaluated run as Markdown.

    Args:
        folder: run folder with ``metrics.json`` and ``scores.parquet``.
        model_path: the model; by default ``model.npz`` of the folder.
        fit_json: the record of the training; by default ``fit.json`` of the folder.

    Raises:
        DataError: a file is missing or unreadable.
    """
    content = read(Path(folder), model_path, fit_json)
    text = _markdown().get_template("model_card.md.j2").render(_fields(content)).rstrip() + "\n"
    return f"{text}\n<!-- seal: {_seal(text)} -->\n"


def page(folder: str | Path) -> str:
    """Return the card of an evaluated run as a self-contained HTML page, with the curve of its test rows.

    Raises:
        DataError: a file is missing or unreadable, or the run has no usable model.
    """
    content = read(Path(folder))
    if content.group_table is None:
        raise DataError(f"{folder}: there is no picture of a run without decisions; leave --page out")
    template = environment(_TEMPLATES).get_template("model_card.html.j2")
    fields = _fields(content) | {
        name: _grid(name, *getattr(content, name)) for name in _TABLES if getattr(content, name)
    }
    facts = _grid("measured on the training rows", ["on the training rows", "value"], content.facts)
    return str(template.render(fields, facts=facts, curve=_curve(Path(folder), content), plain=_plain))


def _grid(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    """Return a table of a page; text in brackets after a number or a name is small print below it."""
    cells = []
    for row in rows:
        heading, *details = map(_plain, row)
        title = Item(heading) if name == "group_table" else _item(heading)  # a group's own name may have brackets
        cells.append([dataclasses.replace(title, kind="text"), *map(_item, details)])
    return Grid(name.replace("_", " "), [(title, "") for title in header], cells)


def _item(cell: str) -> Item:
    text, bracket, bracketed = cell.partition(" (")
    return Item(
        text,
        (bracketed.removesuffix(")").replace(" to ", "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}"),) if bracket else (),
    )


def _plain(text: str) -> str:
    """Return a text without the marks of Markdown."""
    return text.replace("`", "").replace("**", "")


def is_sealed(text: str) -> bool:
    """Whether the text of a card is as :func:`render` returned it: its last line has the checksum of the text above."""
    body, _, last = text.rpartition("\n<!-- seal: ")
    return last == f"{_seal(body)} -->\n"


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _fields(content: Content) -> dict[str, Any]:
    return {field.name: getattr(content, field.name) for field in dataclasses.fields(content)}


@cache
def _markdown() -> Any:
    """Return the environment of Markdown templates, in which nothing is escaped."""
    return environment(_TEMPLATES).overlay(autoescape=False)


def _curve(folder: Path, content: Content) -> str:
    """Return an inline SVG: share of one group above a threshold against that of another, on the test rows."""
    from partialfair.audit import audit_scores, pictures

    rows, metrics = scored_rows(folder / paths.SCORES, len(content.groups)), read_json(folder / paths.METRICS)
    names = [content.groups[code] for code in rows.group]
    interval: Any = Interval.of((metrics.get("settings") or {}).get("interval", ((0.0, 1.0),)))
    if interval.n_groups:  # in the order of the audit's groups: those that have rows, by name
        present = sorted(np.unique(rows.group), key=lambda code: content.groups[code])
        interval = [interval.for_groups(len(content.groups))[code] for code in present]
    audit = audit_scores(
        rows.scores, names, rows.y, interval=interval, threshold=0.0, min_group_size=2, confidence_intervals=False
    )
    return pictures.curve(audit)
