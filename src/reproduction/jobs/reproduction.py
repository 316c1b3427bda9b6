"""The page of a figure or table that was made anew: what came out beside the committed results."""

import math
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
from reproduction.jobs.comparison import Setting, settings
from reproduction.jobs.report import render_exhibit
from reproduction.verdicts import standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE = "comparison.html"
PICTURE = "comparison.svg"
SHOWN = ("published", "reproduced", "verdict")


def write_page(whole: Config, selection: Selection, root: Path, folder: Path) -> str:
    """Write ``comparison.html`` into the folder of a reproduction; return what the terminal says of it.

    Args:
        whole: the committed grid.
        selection: what was run.
        root: the checkout, with the committed results.
        folder: of the own runs.
    """
    part = narrowed(whole, selection)
    compared = settings(part, folder, root)
    context = exhibit.context(whole, selection.exhibit, root, folder / "committed")
    title, caption = exhibit.heading(context)
    outcome = sentence(compared)
    body = [f"<p><strong>{escape(outcome)}</strong></p>"]
    if compared:
        body.append(_picture(part, compared, folder / PICTURE, title))
    body += ["<h2>Your runs</h2>", _own(part, selection, folder)]
    drawn = _body(whole, selection, root, folder / "committed")
    body += ["<h2>The committed exhibit</h2>", f"<p>{escape(caption)}</p>", drawn]
    body += _printed(part, selection, root, folder)
    body += ["<h2>More</h2>", _further(whole, selection)]
    if compared:
        table = cells.html(_settings(part, compared))
        body.append(f"<details><summary>All {len(compared)} settings by metric</summary>{table}</details>")
    lead = f"{title}: {_seeds(part)} beside the committed results of {_seeds(narrowed(whole, _all(selection)))}"
    page = document.write_html(folder / PAGE, lead, "", "\n".join(body))
    return f"{outcome}\npage: {page}"


def sentence(compared: Sequence[Setting]) -> str:
    """Return what came of a comparison, in a sentence or two."""
    if not compared:
        return "There is no committed setting to compare with."
    runs, same = (sum(getattr(setting, name) for setting in compared) for name in ("seeds", "same"))
    inside = sum(setting.is_inside for setting in compared)
    equal = f"{same} of {runs} runs have the committed metrics to the last bit."
    if same == runs:
        return f"All {runs} runs have the committed metrics to the last bit."
    return f"{inside} of {len(compared)} settings lie where the committed seeds say that they should. {equal}"


def _all(selection: Selection) -> Selection:
    return Selection(selection.exhibit, 0, selection.datasets, selection.methods)


def _seeds(config: Config) -> str:
    counts = sorted({len(config.seeds(name)) for name in config.experiments})
    words = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{words} seed{'' if words == '1' else 's'}"


def _settings(part: Config, compared: Sequence[Setting]) -> cells.Table:
    """The table of settings, those outside their band first."""
    columns = ["experiment", "dataset", "method", "κ", "metric", "yours", "committed mean", "95% band", ""]
    rows = []
    for setting in sorted(compared, key=lambda setting: setting.is_inside):
        for metric, band in setting.bands.items():
            kappa = "–" if math.isinf(setting.kappa) else f"{setting.kappa:g}"
            same = setting.same == setting.seeds
            words = "the same" if same else "inside" if band.is_inside else "outside"
            rows.append(
                [
                    cells.text(part.experiment(setting.experiment).title),
                    cells.text(style.dataset_title(setting.dataset)),
                    cells.text(style.look(setting.algorithm).label),
                    cells.Cell(kappa),
                    cells.text(metric.replace("_", " ")),
                    cells.Cell(_number(band.own)),
                    cells.Cell(_number(band.mean)),
                    cells.Cell(f"{_number(band.low)} to {_number(band.high)}" if band.committed > 1 else "one seed"),
                    cells.Cell(words, "good" if same or band.is_inside else "bad"),
                ]
            )
    return cells.Table((), columns, rows)


def _number(value: float) -> str:
    return "not estimable" if math.isnan(value) else f"{value:.4f}"


def _picture(part: Config, compared: Sequence[Setting], target: Path, title: str) -> str:
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
            experiment = textwrap.fill(part.experiment(panel[0]).title, 40)
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
        canvas.framed(image, title, 400 * columns, 300 * columns)
        + "<p>Grey crosses span the 95% band of the committed seeds both ways; coloured marks are your runs.</p>"
    )


def _panel(axis: "Axes", compared: Sequence[Setting]) -> None:
    for setting in compared:
        first, violation = next(iter(setting.bands.values())), setting.bands[setting.violation]
        span: dict[str, Any] = {"color": "0.6", "linewidth": 1.5, "zorder": 1}
        axis.plot([1 - violation.low, 1 - violation.high], [first.mean] * 2, **span)
        axis.plot([1 - violation.mean] * 2, [first.low, first.high], **span)
        look = style.look(setting.algorithm)
        axis.plot(
            1 - violation.own, first.own, look.marker, color=look.colour, markersize=5, zorder=2, label=look.label
        )
    metric = next(iter(compared[0].bands))
    axis.set(xlabel=f"fairness: 1 − {compared[0].violation.replace('_', ' ')} (1 = parity)")
    axis.set(ylabel=f"{metric.replace('_', ' ')} on test rows")


def _body(config: Config, selection: Selection, root: Path, out: Path) -> str:
    return exhibit.body(exhibit.context(config, selection.exhibit, root, out))


def _own(part: Config, selection: Selection, folder: Path) -> str:
    """Draw the exhibit from the own runs; a sentence where it cannot be drawn from a part of its grid."""
    out = folder / "reports" / selection.exhibit
    try:
        render_exhibit(part, selection.exhibit, out, folder, replace=True)
        return _body(part, selection, folder, out)
    except PartialFairError as error:
        return f"<p>It cannot be drawn from this part of its grid: {escape(str(error))}</p>"


def _printed(part: Config, selection: Selection, root: Path, folder: Path) -> Iterator[str]:
    """Lines of the scorecard on the exhibit: printed, committed and recomputed number, and both verdicts."""
    path = root / "reports" / "scorecard.csv"
    committed = [line for line in standing.load(path) if line["exhibit"] == selection.exhibit] if path.is_file() else []
    recomputed: dict[tuple[str, ...], dict[str, Any]] = {}
    reason = ""
    try:
        lines = answers.lines(part, folder)
        recomputed = {_key(line): line for line in lines if line["exhibit"] == selection.exhibit}
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
        what = " ".join(str(line[name]) for name in ("algorithm", "setting", "metric") if line.get(name))
        against = f" against {line['against']}" if line.get("against") else ""
        yield [
            cells.text(style.dataset_title(str(line["dataset"]))),
            cells.text(what + against),
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


def _further(whole: Config, selection: Selection) -> str:
    available = max(len(whole.seeds(name)) for name in narrowed(whole, selection).experiments)
    more = min(available, 5 if selection.seeds < 5 else available)
    command = " ".join(["partialfair reproduce", selection.exhibit, *Selection(
        selection.exhibit, more, selection.datasets, selection.methods).options()])  # fmt: skip
    return (
        f"<p>More seeds: <code>{escape(command)}</code>; what is made already stays. "
        f"Verdicts are decided by {available} seeds; with few of them most tests can decide nothing.</p>"
    )
