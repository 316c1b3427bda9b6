"""The page of an audit: tables and figures in one self-contained HTML file."""

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from partialfair.audit.measures import PARTIAL, QUALITY, WHOLE, joined
from partialfair.audit.rates import RATES
from partialfair.audit.result import RATIO, shown, verdict
from partialfair.metrics import get
from partialfair.pages import cells, palette
from partialfair.pages.cells import Cell, Table

if TYPE_CHECKING:
    from partialfair.audit.measures import Measurement
    from partialfair.audit.result import AuditResult, Curve

COLOURS = ("#0072b2", "#c8500a", "#008f68", "#d0619f", "#ad8100", "#7b4fb8")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)), (0, (3, 1)), (0, (6, 1, 1, 1, 1, 1)))
INTERVAL = "#b3123b"
MOST_GROUPS = 12  # panels of one figure; the largest groups are drawn
DENSITY_BINS = 400
SPAN = (1e-150, 1e150)  # of scores whose density can be drawn
RATE_TITLES = {"positive_rate": "selection rate", "calibration": "mean score - base rate"}
RATIO_TITLE = "lowest selection rate divided by the highest; below 0.8 it fails the four-fifths rule"


def page(result: "AuditResult") -> str:
    """Return the page as HTML text."""
    overall = {**result.measured.quality, **result.measured.overall, RATIO: result.ratio}
    compared = len(result.curve.names)
    largest = _largest(result.curve)
    figures = {"curve": curve_picture(result)}
    with palette.applied():
        spread = float(result.curve.edges.max() / 2 - result.curve.edges.min() / 2)
        if SPAN[0] < spread < SPAN[1] or spread == 0:
            names = ", ".join(result.curve.names[k] for k in largest)
            figures["density"] = _svg(_density_figure(result, largest), "density", f"Score densities of {names}.")
        if result.suggestion is not None:
            low, high = result.suggestion.interval
            words = f"Candidate intervals of ranks by violation; {low:g} to {high:g} is suggested."
            figures["suggestion"] = _svg(result.suggestion.plot(), "suggestion", words)
    return str(
        cells.environment()
        .get_template("audit.html.j2")
        .render(
            result=result,
            facts=_facts(result),
            headline=_headline(result),
            gates=[(gate, verdict(gate)) for gate in result.gates],
            groups=cells.html(_group_table(result)),
            quality=cells.html(_metric_table(QUALITY, overall)),
            partial=cells.html(_metric_table(PARTIAL, overall, result)),
            whole=cells.html(_metric_table((*WHOLE, RATIO), overall, result)),
            pairs=cells.html(_pair_table(result)) if compared > 2 else "",
            pair_reasons=_reasons(result),
            figures=figures,
            left_out=compared - len(largest),
        )
    )


def curve_picture(result: "AuditResult") -> str:
    """Inline SVG: share of a group above a falling threshold against that of another, the largest gap in I marked."""
    with palette.applied():
        return _svg(_curve_figure(result, _largest(result.curve)), "curve", _headline(result))


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
    titles = {"partialfair": "Version", "file_sha256": "SHA-256 of the file"}
    return facts + [(titles.get(name, name.capitalize()), str(text)) for name, text in result.record.items()]


def _headline(result: "AuditResult") -> str:
    """What an audit found, in one sentence."""
    found = result.measured.overall["rank_gap"]
    where = "all ranks" if result.interval == "0-1" else f"the ranks {result.interval}"
    if found.value is None:
        return f"On {where} the groups cannot be compared: {found.reason}."
    if found.pair is None:
        return f"On {where} the same share of every group lies above every threshold."
    low, high = (result.groups[code].name for code in found.pair)
    return (
        f"On {where}, some threshold has a smaller share of {low!r} above it than of {high!r}, by {shown(found, 3)}: "
        "no two groups are farther apart."
    )


def _metric_table(names: tuple[str, ...], found: Any, result: "AuditResult | None" = None) -> Table:
    """Value, interval and groups by metric; the reason where there is none."""
    rows = []
    for name in names:
        line = [cells.text(name), *_value_cells(found[name])]
        if result is not None:
            pair = found[name].pair
            line += [cells.text("" if pair is None else result.groups[code].name) for code in pair or (0, 0)]
        title = RATIO_TITLE if name == RATIO else get(name).title
        rows.append([*line, cells.text(_remark(found[name], title))])
    between = [] if result is None else ["lower", "higher"]
    return Table(
        [],
        ["metric", "value", "95% interval" if result is None else f"{result.level:.0%} interval", *between, "meaning"],
        rows,
    )


def _remark(found: "Measurement", title: str) -> str:
    if found.value is None:
        return f"{title}; {found.reason}"
    return f"{title}; leaves out {found.left_out} pairs: {found.reason}" if found.left_out else title


def _value_cells(found: "Measurement") -> list[Cell]:
    if found.value is None:
        return [Cell("not estimable", "none", found.reason), Cell("–", "none")]
    interval = Cell("–", "none") if found.low is None else Cell(f"{found.low:.4f} – {found.high:.4f}")
    return [Cell(f"{found.value:.4f}"), interval]


def _group_table(result: "AuditResult") -> Table:
    rows = []
    for line in result.groups:
        row = [cells.text(line.name), Cell(f"{line.rows:,}"), Cell(f"{line.kept:,}"), Cell(f"{line.median_score:.4g}")]
        for name in RATES:
            found = getattr(line, name)
            if found.value is None:
                row.append(Cell("–", "none", found.reason))
            else:
                row.append(Cell(f"{found.value:.3f} ({found.low:.3f} – {found.high:.3f})"))
        rows.append([*row, cells.text(line.reason)])
    named = [RATE_TITLES.get(name, name.replace("_", " ")) for name in RATES]
    return Table([], ["group", "rows", "rows in I", "median score", *named, "note"], rows)


def _pair_table(result: "AuditResult") -> Table:
    """One line per pair of groups, worst SP first."""

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
    text = joined(found)
    return [text] if text else []


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
    """Share of each group above a falling threshold against that of one; the largest gap in I is marked."""
    from matplotlib import pyplot as plt

    curve, pair = result.curve, result.measured.overall["rank_gap"].pair
    worst = [curve.codes.index(code) for code in pair or ()]
    inside = len(worst) == 2 and set(worst) <= set(shown)
    reference = worst[1] if inside else max(shown, key=lambda k: int(curve.count[k].sum()))
    figure, axis = plt.subplots(figsize=(5.4, 5.0))
    axis.plot([0, 1], [0, 1], color=palette.INK, lw=0.8, ls=":", label="parity")
    for number, k in enumerate(k for k in shown if k != reference):
        pale: dict[str, Any] = {"alpha": 0.45, "lw": 1.1} if inside and k != worst[0] else {"lw": 1.8}
        axis.plot(curve.ranks[reference], curve.ranks[k], label=_plain(curve.names[k]), **_look(number), **pale)
    for low, high in result.unions[curve.codes[reference]]:
        axis.axvspan(low, high, color=INTERVAL, alpha=0.07, lw=0)
        axis.axhspan(low, high, color=INTERVAL, alpha=0.07, lw=0)
    if inside:
        _largest_gap(axis, result, reference, worst[0])
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axis.set_xlabel(f"share of {_plain(curve.names[reference])} above the threshold")
    others = [_plain(curve.names[k]) for k in shown if k != reference]
    axis.set_ylabel(f"share of {others[0] if len(others) == 1 else 'the other group'} above the threshold")
    axis.legend(loc="lower right", fontsize=8.5)
    figure.tight_layout()
    return figure


def _largest_gap(axis: Any, result: "AuditResult", reference: int, other: int) -> None:
    """Mark the largest vertical distance to parity where a share of either group lies in I."""
    ranks, within = result.curve.ranks, np.zeros(result.curve.ranks.shape[1], bool)
    for k in (reference, other):
        for low, high in result.unions[result.curve.codes[k]]:
            within |= (ranks[k] >= low) & (ranks[k] <= high)
    gap = np.where(within, np.abs(ranks[reference] - ranks[other]), -1.0)
    at = int(gap.argmax())
    x, y = float(ranks[reference, at]), float(ranks[other, at])
    axis.plot([x, x], [x, y], color=INTERVAL, lw=2.4, solid_capstyle="butt", zorder=6)
    axis.annotate(
        f"gap {gap[at]:.3f}", (x, (x + y) / 2), (8, 0), textcoords="offset points", color=INTERVAL, va="center"
    )


def _density_figure(result: "AuditResult", shown: list[int]) -> Any:
    """Score density of every group; the part inside I is filled."""
    from matplotlib import pyplot as plt

    curve = result.curve
    columns = 1 if len(shown) < 4 else 2
    rows = math.ceil(len(shown) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(7.4, 1.05 * rows + 0.9), sharex=True, squeeze=False)
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for axis, k in zip(axes.flat, shown, strict=False):
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
    figure.supxlabel("score (dashed: decision threshold; red: ranks in I)", fontsize=9.5)
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


def _svg(figure: Any, name: str, words: str) -> str:
    """Inline SVG in the page's colours, with its description."""
    from matplotlib import pyplot as plt

    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    width = figure.get_size_inches()[0]
    plt.close(figure)
    shown = palette.themed(stream.getvalue(), name, words)
    return f"<div class='figure' style='max-width: {round(105 * width)}px'>{shown}</div>"
