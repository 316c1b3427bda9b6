"""The page of an audit: tables and figures in one self-contained HTML file."""

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from partialfair.pages import cells, palette
from partialfair.pages.cells import Cell, Table

if TYPE_CHECKING:
    from partialfair.audit.measures import Measurement
    from partialfair.audit.result import AuditResult, Curve

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)), (0, (3, 1)), (0, (6, 1, 1, 1, 1, 1)))
INTERVAL = "#C1121F"
MOST_GROUPS = 12  # panels of one figure; the largest groups are drawn
DENSITY_BINS = 400


def page(result: "AuditResult") -> str:
    """Return the page as HTML text."""
    from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE
    from partialfair.audit.result import verdict

    overall = {**result.measured.quality, **result.measured.overall}
    compared = len(result.curve.names)
    shown = _largest(result.curve)
    with palette.applied():
        figures = {
            "curve": _svg(_curve_figure(result, shown), "curve"),
            "density": _svg(_density_figure(result, shown), "density"),
        }
        if result.suggestion is not None:
            figures["suggestion"] = _svg(result.suggestion.plot(), "suggestion")
    return str(
        cells.environment()
        .get_template("audit.html.j2")
        .render(
            result=result,
            facts=_facts(result),
            gates=[(gate, verdict(gate)) for gate in result.gates],
            groups=cells.html(_group_table(result)),
            quality=cells.html(_metric_table(QUALITY, overall)),
            partial=cells.html(_metric_table(PARTIAL, overall)),
            whole=cells.html(_metric_table(WHOLE, overall)),
            pairs=cells.html(_pair_table(result)) if compared > 2 else "",
            pair_reasons=_reasons(result),
            figures=figures,
            left_out=compared - len(shown),
        )
    )


def _facts(result: "AuditResult") -> list[tuple[str, str]]:
    threshold = f"{result.threshold:g}" + (
        " (default: scores lie in [0, 1])" if result.default_threshold and result.threshold else ""
    )
    facts = [
        ("Source", result.source),
        ("Rows", f"{result.rows:,}"),
        ("Groups", f"{len(result.groups)}, of which {len(result.curve.names)} are compared"),
        ("Interval I", f"{result.interval} (ranks; 0 is the highest score of a group)"),
        ("Decision threshold", threshold if threshold != "0" else "0"),
        ("Positive label", result.positive_label or "no labels were given"),
    ]
    if result.replicates:
        facts.append(("Intervals", f"{result.level:.0%}, {result.replicates} stratified bootstrap resamples"))
    return facts


def _metric_table(names: tuple[str, ...], found: Any) -> Table:
    """Value and interval by metric; the reason where there is none."""
    from partialfair.metrics import get

    rows = [
        [cells.text(name), *_value_cells(found[name]), cells.text(_remark(name, found[name], get(name).title))]
        for name in names
    ]
    return Table([], ["metric", "value", "interval", "meaning"], rows)


def _remark(name: str, found: "Measurement", title: str) -> str:
    if found.value is None:
        return f"{title}; {found.reason}"
    return f"{title}; leaves out pairs: {found.reason}" if found.reason else title


def _value_cells(found: "Measurement") -> list[Cell]:
    if found.value is None:
        return [Cell("not estimable", "none", found.reason), Cell("–", "none")]
    interval = Cell("–", "none") if found.low is None else Cell(f"{found.low:.4f} – {found.high:.4f}")
    return [Cell(f"{found.value:.4f}"), interval]


def _group_table(result: "AuditResult") -> Table:
    rows = []
    for line in result.groups:
        rate = line.positive_rate
        interval = "" if rate.low is None else f"{rate.low:.3f} – {rate.high:.3f}"
        rows.append(
            [
                cells.text(line.name),
                Cell(f"{line.rows:,}"),
                Cell(f"{line.kept:,}"),
                Cell(f"{line.median_score:.4g}"),
                Cell("–" if rate.value is None else f"{rate.value:.3f}"),
                Cell(interval or "–", "number" if interval else "none"),
                Cell("–", "none") if line.base_rate is None else Cell(f"{line.base_rate:.3f}"),
                Cell("–", "none") if line.accuracy is None else Cell(f"{line.accuracy:.3f}"),
                cells.text(line.reason),
            ]
        )
    columns = [
        "group",
        "rows",
        "rows in I",
        "median score",
        "positive rate",
        "interval",
        "base rate",
        "accuracy",
        "note",
    ]
    return Table([], columns, rows)


def _pair_table(result: "AuditResult") -> Table:
    """One line per pair of groups, worst SP first."""
    from partialfair.audit.measures import PARTIAL

    def worst(item: Any) -> float:
        value = item[1]["sp"].value
        return math.inf if value is None else -value

    rows = []
    for (a, b), found in sorted(result.measured.pairs.items(), key=worst):
        line = [cells.text(result.groups[a].name), cells.text(result.groups[b].name)]
        for name in PARTIAL:
            value = found[name]
            text = "n.e." if value.value is None else f"{value.value:.3f}"
            note = (
                value.reason
                if value.value is None
                else ("" if value.low is None else f"{value.low:.3f} – {value.high:.3f}")
            )
            line.append(Cell(text, "none" if value.value is None else "number", note))
        rows.append(line)
    return Table([], ["group", "group", *PARTIAL], rows)


def _reasons(result: "AuditResult") -> list[str]:
    """Why some metrics of some pairs are not estimable, each reason once."""
    found = (m.reason for metrics in result.measured.pairs.values() for m in metrics.values() if m.value is None)
    return list(dict.fromkeys(found))


def _largest(curve: "Curve") -> list[int]:
    """Positions of the groups to draw: the largest, in their order."""
    sizes = curve.count.sum(axis=1)
    return sorted(np.argsort(-sizes, kind="stable")[:MOST_GROUPS].tolist())


def _look(position: int) -> dict[str, Any]:
    return {
        "color": COLOURS[position % len(COLOURS)],
        "ls": DASHES[(position // len(COLOURS) + position) % len(DASHES)],
    }


def _plain(name: str) -> str:
    """A group's name as matplotlib shows it as it is, dollar signs included."""
    return name.replace("$", r"\$")


def _curve_figure(result: "AuditResult", shown: list[int]) -> Any:
    """Rank of one group against the rank of the largest as the threshold falls; the ends of I are marked."""
    from matplotlib import pyplot as plt

    curve = result.curve
    reference = max(shown, key=lambda k: int(curve.count[k].sum()))
    figure, axis = plt.subplots(figsize=(5.4, 5.0))
    axis.plot([0, 1], [0, 1], color=palette.INK, lw=0.8, ls=":", label="parity")
    for number, k in enumerate(k for k in shown if k != reference):
        axis.plot(curve.ranks[reference], curve.ranks[k], label=_plain(curve.names[k]), **_look(number))
    for low, high in result.unions[curve.codes[reference]]:
        axis.axvspan(low, high, color=INTERVAL, alpha=0.07, lw=0)
        axis.plot([low, high], [0, 0], color=INTERVAL, lw=4, solid_capstyle="butt", clip_on=False)
        axis.plot([0, 0], [low, high], color=INTERVAL, lw=4, solid_capstyle="butt", clip_on=False)
        axis.axhspan(low, high, color=INTERVAL, alpha=0.07, lw=0)
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axis.set_xlabel(f"share of {_plain(curve.names[reference])} above the threshold")
    others = [_plain(curve.names[k]) for k in shown if k != reference]
    axis.set_ylabel(f"share of {others[0] if len(others) == 1 else 'the other group'} above the threshold")
    axis.legend(loc="lower right")
    figure.tight_layout()
    return figure


def _density_figure(result: "AuditResult", shown: list[int]) -> Any:
    """Score density of every group; the part inside I is filled."""
    from matplotlib import pyplot as plt

    curve = result.curve
    figure, axes = plt.subplots(len(shown), 1, figsize=(7.4, 1.15 * len(shown) + 0.9), sharex=True, squeeze=False)
    for axis, k in zip(axes[:, 0], shown, strict=True):
        x, density = _density(curve.edges, curve.count[k])
        axis.plot(x, density, color=COLOURS[0], lw=1.4)
        for low, high in result.unions[curve.codes[k]]:
            bottom, top = _score_at(curve, k, high), _score_at(curve, k, low)
            inside = (x >= bottom) & (x <= top)
            axis.fill_between(x, 0, density, where=inside, color=INTERVAL, alpha=0.45, lw=0)
        axis.axvline(result.threshold, color=palette.INK, lw=0.9, ls="--")
        axis.set_yticks([])
        axis.set_ylim(0, None)
        axis.set_title(_plain(curve.names[k]), loc="left", fontsize=9.5)
    axes[-1, 0].set_xlabel("score (dashed: decision threshold; red: ranks in I)")
    figure.tight_layout()
    return figure


def _density(edges: Any, count: Any) -> tuple[Any, Any]:
    """Smoothed density of a group from its counts: a Gaussian kernel on a fine grid, reflected at the ends."""
    from scipy.ndimage import gaussian_filter1d

    low, high = float(edges.min()), float(edges.max())
    if high <= low:
        low, high = low - 0.5, high + 0.5
    weights, ends = np.histogram(edges, DENSITY_BINS, (low, high), weights=count)
    centres = (ends[:-1] + ends[1:]) / 2
    total = weights.sum()
    mean = (weights @ centres) / total
    spread = math.sqrt(max((weights @ (centres - mean) ** 2) / total, 1e-12))
    width = max(0.9 * spread * total**-0.2, (high - low) / 200)  # Silverman's rule of thumb
    step = ends[1] - ends[0]
    return centres, gaussian_filter1d(weights / (total * step), width / step, mode="reflect")


def _score_at(curve: "Curve", k: int, rank: float) -> float:
    """Score above which a share ``rank`` of the group lies."""
    if rank <= 0:
        return math.inf
    place = int(np.searchsorted(curve.ranks[k, 1:], rank - 1e-12))
    return float(curve.edges[min(place, curve.edges.size - 1)]) if rank < 1 else -math.inf


def _svg(figure: Any, name: str) -> str:
    """Inline SVG whose ink and grid take the page's colours."""
    from matplotlib import pyplot as plt

    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    width = figure.get_size_inches()[0]
    plt.close(figure)
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(palette.INK, "currentColor").replace(palette.GRID, "var(--rule)")
    text = text.replace(COLOURS[0].lower(), "var(--blue)")
    for mark in ('id="', 'href="#', "url(#"):
        text = text.replace(mark, f"{mark}{name}-")
    return f"<div class='figure' style='max-width: {round(105 * width)}px'>{text}</div>"
