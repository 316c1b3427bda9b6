"""Facts written into pages from the code that they are about, so that they cannot drift.

``{dataset} NAME`` writes what a dataset module declares, ``{settings} NAME`` the settings of an algorithm with their
defaults, ``{metrics}`` the metrics, ``{kinds}`` the kinds of exhibit with their options.
"""

import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from partialfair import plugins


class Facts(SphinxDirective):
    """A directive whose content is Markdown that a function returns."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed content."""
        writers = {"dataset": dataset, "settings": settings, "metrics": metrics, "kinds": kinds}
        return self.parse_text_to_nodes(writers[self.name](*self.arguments))


def table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Return a Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def dataset(name: str) -> str:
    """Return what a dataset module declares."""
    spec = plugins.load("datasets", name).SPEC
    split = spec.split
    parts = f"{split.train:g} / {split.validation:g}"
    division = (
        f"the published training file {parts} into training and validation; the published test file"
        if split.published_test
        else f"{parts} / {split.test:g} into training, validation and test, at random per seed"
    )
    inputs = "" if spec.n_attributes is None else spec.n_attributes - spec.other_columns
    facts = [
        ("rows, as published", f"{spec.n_rows:,}" if spec.n_rows else "as many as are asked for"),
        ("attributes, as published", spec.n_attributes or "not published for this reading"),
        ("of these, inputs", inputs or "see below"),
        ("label", spec.label),
        ("groups", spec.groups),
        ("default interval", ", ".join(f"[{alpha:g}, {beta:g}]" for alpha, beta in spec.interval)),
        ("split", division),
        ("terms of use", spec.licence),
        ("collected by", spec.citation),
    ]
    text = table(("fact", "value"), facts)
    if not spec.files:
        return text + "\nThe module declares no raw files.\n"
    files = [
        (f"`{file.name}`", f"{file.bytes:,}", f"`{file.sha256[:16]}…`", _address(file), "yes" if file.needed else "no")
        for file in spec.files
    ]
    return text + "\n" + table(("raw file", "bytes", "sha256", "upstream", "needed"), files)


def _address(file: Any) -> str:
    if file.url is None:
        return "none"
    member = f", member `{file.archive_member}`" if file.archive_member else ""
    return f"[address]({file.url}){member}"


def settings(name: str) -> str:
    """Return the settings of an algorithm with their defaults and meaning."""
    model = plugins.load("algorithms", name).ALGORITHM.settings
    rows = [
        (f"`{key}`", f"`{_plain(field.get_default(call_default_factory=True))}`")
        for key, field in model.model_fields.items()
    ]
    if not rows:
        return "It has no settings.\n"
    return table(("setting", "default"), rows)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def metrics() -> str:
    """Return the metrics by name."""
    from partialfair.metrics.registry import registry

    rows = [(f"`{name}`", metric.title, metric.direction) for name, metric in sorted(registry().items())]
    return table(("name", "meaning", "kind"), rows)


def kinds() -> str:
    """Return every kind of exhibit: what it shows, a picture of the last committed run, and its options."""
    from reproduction.exhibits.exhibit import Options
    from reproduction.exhibits.exhibit import kinds as every

    pictures = _pictures()
    lines = ["## Options of every kind", "", _options(Options, ()), ""]
    for (name, source), kind in every().items():
        lines += [f"## `{name}`" + (f", source `{source}`" if source else ""), ""]
        own = kind.options
        lines += [inspect.cleandoc(own.__doc__ or ""), ""] if own not in (None, Options) else []
        lines += [f"![{name} {source}]({pictures[name, source]})", ""] if (name, source) in pictures else []
        lines += [_options(own, Options.model_fields), ""]
    return "\n".join(lines)


def _pictures() -> dict[tuple[str, str], str]:
    """Return a committed figure by kind and source: that of the first exhibit of the shipped grid that has one."""
    from pathlib import Path

    from reproduction.exhibits.exhibit import kind_by_source, kind_of
    from reproduction.grid.config import load_config

    root = Path(__file__).parents[2]
    config = load_config(root / "params.yaml")
    found: dict[tuple[str, str], str] = {}
    for name, entry in config.params.exhibits.items():
        source = next(source for source, own in kind_by_source(entry.kind).items() if own is kind_of(config, name))
        if (root / "reports" / name / f"{name}.svg").is_file():
            found.setdefault((entry.kind, source), f"../reports/{name}/{name}.svg")
    return found


def _options(model: Any, without: Any) -> str:
    """Return the options of a model as a table; those of nested models below the option that holds them."""
    rows = [row for name, field in model.model_fields.items() if name not in without for row in _option(name, field)]
    return table(("option", "meaning", "default"), rows) if rows else "It takes no options of its own.\n"


def _option(name: str, field: Any) -> list[tuple[str, ...]]:
    default = "needed" if field.is_required() else "" if field.default in (None, "") else f"`{field.default}`"
    rows = [(f"`{name}`", field.description or "", default)]
    waiting = [field.annotation]
    for annotation in waiting:  # which grows
        for key, inner in getattr(annotation, "model_fields", {}).items():
            rows += _option(f"{name}: … {key}", inner)
        waiting.extend(getattr(annotation, "__args__", ()))
    return rows


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    for name in ("dataset", "settings", "metrics", "kinds"):
        app.add_directive(name, Facts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
