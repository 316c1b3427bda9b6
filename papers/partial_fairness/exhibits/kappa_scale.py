"""The finding on the scale of kappa: every model in both conventions, beside the published numbers."""

import itertools
from dataclasses import replace

from pydantic import Field

from partialfair.metrics.uncertainty import Estimate
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.exhibits.exhibit import Context, ExhibitKind, Line, Options
from reproduction.exhibits.kinds.pairs import setting_of
from reproduction.verdicts.results import Setting, is_estimated

COLUMNS = (
    "experiment", "dataset", "algorithm", "kappa", "n_seeds", "accuracy", "accuracy_half_width",
    "absolute_metric", "absolute", "absolute_half_width", "relative_metric", "relative", "relative_half_width",
    "published", "nearer", "note",
)  # fmt: skip


class KappaScale(Options):
    """All models on both scales of kappa, beside the published fairness of other exhibits."""

    compare: list[str] = Field([], description="exhibits whose published fairness is held against the definition")


KappaScaleContext = Context[KappaScale]


def csv_lines(context: KappaScaleContext) -> list[Line]:
    """Return one line per trained setting, with 1 - violation by both conventions."""
    published_fairness = _published_by_setting(context)
    lines = []
    for setting in itertools.chain.from_iterable(map(context.results.settings, context.experiments)):
        convention = context.convention(setting.experiment)
        accuracy, absolute, relative = (
            context.results.estimate(setting, metric)
            for metric in ("accuracy", convention.absolute, convention.relative)
        )
        line: Line = setting._asdict() | {"n_seeds": absolute.n, "note": context.results.reason(setting)}
        line |= {
            "absolute_metric": convention.absolute,
            "relative_metric": convention.relative,
            "published": published_fairness.get(setting),
        }
        for name, estimate in (("accuracy", accuracy), ("absolute", absolute), ("relative", relative)):
            line |= {name: estimate.mean, f"{name}_half_width": estimate.half_width}
        lines.append(line | {"nearer": _nearer(line["published"], absolute, relative)})
    return lines


def _published_by_setting(context: KappaScaleContext) -> dict[Setting, float]:
    """Return published fairness of the settings, from the exhibits the option ``compare`` names."""
    fairness: dict[Setting, float] = {}
    for name in context.options.compare:
        for row in context.published_of(name):
            setting = setting_of(context, row) if row.metric.endswith("_fairness") else None
            if setting is not None:
                fairness.setdefault(setting, row.value)
    return fairness


def _nearer(value: float | None, absolute: Estimate, relative: Estimate) -> str:
    if value is None or not (is_estimated(absolute) and is_estimated(relative)):
        return ""
    return "absolute" if abs(absolute.mean - value) <= abs(relative.mean - value) else "relative"


def summary(lines: list[Line]) -> str:
    """Say in one sentence which convention the published numbers are nearer to, and by how much."""
    compared = [line for line in lines if line["nearer"]]
    if not compared:
        return "No published number has a reproduced model to compare with yet."
    count = sum(line["nearer"] == "absolute" for line in compared)
    distance = {
        name: sum(abs(line[name] - line["published"]) for line in compared) / len(compared)
        for name in ("absolute", "relative")
    }
    return (
        f"Of {len(compared)} models with a published fairness, {count} are nearer to it by the absolute convention "
        f"(mean distance {distance['absolute']:.3f}) and {len(compared) - count} by the definition "
        f"(mean distance {distance['relative']:.3f})."
    )


def _table(lines: list[Line]) -> Table:
    rows = []
    for line in lines:
        row_cells = [
            cells.text(style.plot_style(line["algorithm"]).label),
            Cell(style.parameter(line["algorithm"], line["kappa"])),
        ]
        for name in ("accuracy", "absolute", "relative"):
            cell = cells.mean(line, name)
            row_cells.append(replace(cell, kind="best") if line["nearer"] == name else cell)
        head = [cells.text(line["experiment"]), cells.text(style.dataset_title(line["dataset"]))]
        rows.append((head, [*row_cells, cells.published(line["published"])]))
    columns = ["experiment", "dataset", "algorithm", "κ", "accuracy", "1 − gap", "1 − SP or DP", "published"]
    groups = [("", 5), ("absolute", 1), ("by the definition", 1), ("fairness", 1)]
    return cells.blocks(groups, columns, rows)


def table(_: KappaScaleContext, lines: list[Line]) -> str:
    """Return a sentence that sums the result up, and the table below it, as HTML."""
    return f"<p class='finding'>{summary(lines)}</p>" + cells.html(_table(lines))


FROM_TABLES = True
KIND = ExhibitKind.from_lines(KappaScale, COLUMNS, csv_lines, table=table)
