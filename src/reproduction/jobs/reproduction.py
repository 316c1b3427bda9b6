"""The page of a figure or table that was made anew: what came out beside the committed results."""

import math
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partialfair.errors import PartialFairError
from partialfair.pages import cells, palette
from reproduction.exhibits import answers, canvas, document, exhibit, style
from reproduction.grid.config import Config
from reproduction.grid.narrowed import Selection, narrowed
from reproduction.jobs.comparison import ComparedSetting, settings
from reproduction.jobs.report import render_exhibit
from reproduction.verdicts import baseline_scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE = "comparison.html"
PICTURE = "comparison.svg"
SHOWN = ("published", "reproduced", "verdict")


def write_page(config: Config, selection: Selection, root: Path, folder: Path) -> str:
    """Write ``comparison.html`` into the folder of a reproduction; return what the terminal says of it.

    Args:
        config: the committed grid.
        selection: what was run.
        root: the checkout, with the committed results.
        folder: of the own runs.
    """
    grid = narrowed(config, selection)
    compared = settings(grid, folder, root)
    is_exhibit = selection.target in config.params.exhibits
    title, caption = _heading(config, selection, root, folder) if is_exhibit else (_title(config, selection.target), "")
    outcome = sentence(compared)
    body = [f"<p><strong>{escape(outcome)}</strong></p>"]
    if compared:
        body.append(_picture(grid, compared, folder / PICTURE, title))
    body += ["<h2>Your runs</h2>", *(_own_exhibit(grid, name, folder) for name in grid.params.exhibits)]
    if is_exhibit:
        drawn = _body(config, selection.target, root, folder / "committed")
        body += ["<h2>The committed exhibit</h2>", f"<p>{escape(caption)}</p>", drawn]
        body += _printed(grid, selection, root, folder)
    body += ["<h2>More</h2>", _further(config, selection)]
    if compared:
        table = cells.html(_settings(grid, compared))
        body.append(f"<details><summary>All {len(compared)} settings by metric</summary>{table}</details>")
    lead = f"{title}: {_seeds(grid)} beside the committed results of {_seeds(narrowed(config, _all_seeds(selection)))}"
    page = document.write_html(folder / PAGE, lead, "", "\n".join(body))
    return f"{outcome}\npage: {page}"


def _heading(config: Config, selection: Selection, root: Path, folder: Path) -> tuple[str, str]:
    return exhibit.heading(exhibit.context(config, selection.target, root, folder / "committed"))


def _title(config: Config, target: str) -> str:
    return config.experiment(target).title if target in config.experiments else "All experiments"


def sentence(compared: Sequence[ComparedSetting]) -> str:
    """Return what came of a comparison, in a sentence or two."""
    if not compared:
        return "There is no committed setting to compare with."
    runs, identical = (sum(getattr(setting, name) for setting in compared) for name in ("seeds", "identical"))
    inside = sum(setting.is_inside for setting in compared)
    equal = f"{identical} of {runs} runs have the committed metrics to the last bit."
    if identical == runs:
        return f"All {runs} runs have the committed metrics to the last bit."
    return f"{inside} of {len(compared)} settings lie where the committed seeds say that they should. {equal}"


def _all_seeds(selection: Selection) -> Selection:
    return Selection(selection.target, 0, selection.datasets, selection.methods)


def _seeds(config: Config) -> str:
    counts = sorted({len(config.seeds(name)) for name in config.experiments})
    range_text = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{range_text} seed{'' if range_text == '1' else 's'}"


def _settings(grid: Config, compared: Sequence[ComparedSetting]) -> cells.Table:
    """Return the table of settings, those outside their band first."""
    columns = ["experiment", "dataset", "method", "κ", "metric", "yours", "committed mean", "95% band", ""]
    rows = []
    for setting in sorted(compared, key=lambda setting: setting.is_inside):
        for metric, band in setting.bands.items():
            kappa = "–" if math.isinf(setting.kappa) else f"{setting.kappa:g}"
            identical = setting.identical == setting.seeds
            outcome = "the same" if identical else "inside" if band.is_inside else "outside"
            rows.append(
                [
                    cells.text(grid.experiment(setting.experiment).title),
                    cells.text(style.dataset_title(setting.dataset)),
                    cells.text(style.plot_style(setting.algorithm).label),
                    cells.Cell(kappa),
                    cells.text(metric.replace("_", " ")),
                    cells.Cell(_number(band.value)),
                    cells.Cell(_number(band.mean)),
                    cells.Cell(f"{_number(band.low)} to {_number(band.high)}" if band.committed > 1 else "one seed"),
                    cells.Cell(outcome, "good" if identical or band.is_inside else "bad"),
                ]
            )
    return cells.Table((), columns, rows)


def _number(value: float) -> str:
    return "not estimable" if math.isnan(value) else f"{value:.4f}"


def _picture(grid: Config, compared: Sequence[ComparedSetting], target: Path, title: str) -> str:
    """Draw own points over the committed bands, a panel per experiment and dataset, and return it as HTML."""
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys((setting.experiment, setting.dataset) for setting in compared))
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    with style.applied():
        figure = Figure(figsize=(4.2 * columns, 3.4 * rows + 0.5), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _panel(axis, [setting for setting in compared if (setting.experiment, setting.dataset) == panel])
            experiment = textwrap.fill(grid.experiment(panel[0]).title, 40)
            axis.set_title(f"{style.dataset_title(panel[1])}\n{experiment}", fontsize="medium")
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        marks, labels = axes[0].get_legend_handles_labels()
        named = dict(zip(labels, marks, strict=True))
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(target, metadata={"Date": None})
    text = target.read_text(encoding="utf-8")
    described = f"Own results over the bands of the committed seeds: {sentence(compared)}"
    image = palette.themed(text[text.index("<svg") :], "comparison", described, title)
    return (
        canvas.frame_figure(image, title, 400 * columns, 300 * columns)
        + "<p>Grey crosses span the 95% band of the committed seeds both ways; coloured marks are your runs.</p>"
    )


def _panel(axis: "Axes", compared: Sequence[ComparedSetting]) -> None:
    for setting in compared:
        quality, violation = next(iter(setting.bands.values())), setting.bands[setting.violation]
        span: dict[str, Any] = {"color": "0.6", "linewidth": 1.5, "zorder": 1}
        axis.plot([1 - violation.low, 1 - violation.high], [quality.mean] * 2, **span)
        axis.plot([1 - violation.mean] * 2, [quality.low, quality.high], **span)
        look = style.plot_style(setting.algorithm)
        axis.plot(
            1 - violation.value, quality.value, look.marker, color=look.colour, markersize=5, zorder=2, label=look.label
        )
    metric = next(iter(compared[0].bands))
    axis.set(xlabel=f"fairness: 1 − {compared[0].violation.replace('_', ' ')} (1 = parity)")
    axis.set(ylabel=f"{metric.replace('_', ' ')} on test rows")


def _body(config: Config, name: str, root: Path, out: Path) -> str:
    return exhibit.body(exhibit.context(config, name, root, out))


def _own_exhibit(grid: Config, name: str, folder: Path) -> str:
    """Draw an exhibit from the own runs; a sentence where it cannot be drawn from a part of its grid."""
    out = folder / "reports" / name
    try:
        render_exhibit(grid, name, out, folder, replace=True)
        return _body(grid, name, folder, out)
    except PartialFairError as error:
        return f"<p>{escape(name)} cannot be drawn from this part of its grid: {escape(str(error))}</p>"


def _printed(grid: Config, selection: Selection, root: Path, folder: Path) -> Iterator[str]:
    """Lines of the scorecard on the exhibit: printed, committed and recomputed number, and both verdicts."""
    path = root / "reports" / "scorecard.csv"
    committed = (
        [line for line in baseline_scorecard.load(path) if line["exhibit"] == selection.target]
        if path.is_file()
        else []
    )
    recomputed: dict[tuple[str, ...], dict[str, Any]] = {}
    reason = ""
    try:
        lines = answers.scorecard_lines(grid, folder)
        recomputed = {_key(line): line for line in lines if line["exhibit"] == selection.target}
    except PartialFairError as error:
        reason = f"<p>Your runs decide none of them: {escape(str(error))}</p>"
    if rows := list(_rows(committed, recomputed, selection)):
        columns = ["dataset", "what", "printed", "committed", "verdict", "yours", "your verdict"]
        yield from ("<h2>What the paper prints and claims</h2>", reason, cells.html(cells.Table((), columns, rows)))


def _rows(
    committed: Sequence[dict[str, Any]], recomputed: dict[tuple[str, ...], dict[str, Any]], selection: Selection
) -> Iterator[list[cells.Cell]]:
    for line in committed:
        if selection.datasets and line["dataset"] not in selection.datasets:
            continue
        mine = recomputed.get(_key(line), {})
        quantity = " ".join(str(line[name]) for name in ("algorithm", "setting", "metric") if line.get(name))
        against = f" against {line['against']}" if line.get("against") else ""
        yield [
            cells.text(style.dataset_title(str(line["dataset"]))),
            cells.text(quantity + against),
            cells.Cell(str(line["published"]), "text wrap"),
            _value(line),
            cells.Cell(str(line["verdict"]), cells.verdict_kind(str(line["verdict"]))),
            _value(mine),
            cells.Cell(str(mine.get("verdict") or "not run"), cells.verdict_kind(str(mine.get("verdict")))),
        ]


def _value(line: dict[str, Any]) -> cells.Cell:
    try:
        return cells.Cell(_number(float(line.get("reproduced") or "nan")).replace("not estimable", "–"))
    except ValueError:
        return cells.Cell(str(line["reproduced"]))


def _key(line: dict[str, Any]) -> tuple[str, ...]:
    names = ("dataset", "algorithm", "constraint", "interval", "setting", "metric", "kind", "claim", "against")
    return tuple(str(line.get(name) or "") for name in names)


def _further(config: Config, selection: Selection) -> str:
    available = max(len(config.seeds(name)) for name in narrowed(config, selection).experiments)
    more = min(available, 5 if selection.seeds < 5 else available)
    wider = Selection(selection.target, more, selection.datasets, selection.methods)
    command = shlex.join(wider.command(config))
    return (
        f"<p>More seeds: <code>{escape(command)}</code>; what is made already stays. "
        f"Verdicts are decided by {available} seeds; with few of them most tests can decide nothing.</p>"
    )
