"""Pictures of an audit as inline SVG, drawn narrow enough to be read on a phone."""

import io
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partialfair.audit import sentences
from partialfair.errors import ConfigError
from partialfair.pages import palette

if TYPE_CHECKING:
    from partialfair.audit.result import AuditResult, Curve
    from partialfair.metrics.choose_interval import Suggestion

COLOURS = ("#0072b2", "#c8500a", "#008f68", "#d0619f", "#ad8100", "#7b4fb8")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)), (0, (3, 1)), (0, (6, 1, 1, 1, 1, 1)))
INTERVAL = "#b3123b"
CANDIDATE = "#777777"
MOST_GROUPS = 12  # of one picture; the largest groups are drawn
DENSITY_BINS = 400
CURVE_POINTS = 600  # of a line; the picture is as wide
SPAN = (1e-150, 1e150)  # of scores whose density can be drawn
WIDTH = 4.5  # inches: on a phone, the smallest text is then 9 pixels high
TEXT = 8.6  # points, the smallest text
AXIS = 48  # letters of a label along an axis
NAME = 34  # letters of a group's name, where that tells it from the others


def all_of(result: "AuditResult") -> dict[str, str]:
    """Return the pictures of a page by name."""
    pictures = {"curve": curve(result)}
    spread = float(result.curve.edges.max() / 2 - result.curve.edges.min() / 2)
    positions = largest(result.curve)
    if SPAN[0] < spread < SPAN[1] or spread == 0:
        names = ", ".join(result.curve.names[k] for k in positions)
        about = f"Score densities of {names}."
        pictures["density"] = _svg(lambda: _density_figure(result, positions), "density", about)
    if result.suggestion is not None:
        pictures["suggestion"] = suggestion(result.suggestion)
    return pictures


def plot(result: "AuditResult", kind: str) -> Any:
    """Return a picture as a matplotlib figure; see :meth:`partialfair.audit.AuditResult.plot`."""
    draw = {
        "violations": lambda: _violations_figure(result),
        "ranks": lambda: _curve_figure(result, largest(result.curve)),
        "densities": lambda: _density_figure(result, largest(result.curve)),
    }
    if kind not in draw:
        raise ConfigError(f"kind is {kind!r}; use one of {', '.join(draw)}")
    with palette.applied():
        return draw[kind]()


def _violations_figure(result: "AuditResult") -> Any:
    """Every violation that was measured with its interval, and the limit of its gate as a tick."""
    from matplotlib import pyplot as plt

    measured = {name: number for name, number in result.measured.overall.items() if number.value is not None}
    limits = {gate.metric: gate.limit for gate in result.gates}
    figure, axis = plt.subplots(figsize=(WIDTH, 0.9 + 0.24 * max(1, len(measured))))
    for height, (name, measurement) in enumerate(reversed(measured.items())):
        if measurement.low is not None and measurement.high is not None:
            axis.plot([measurement.low, measurement.high], [height, height], color=COLOURS[0], lw=2.0, zorder=2)
        axis.plot([float(measurement.value or 0.0)], [height], color=COLOURS[0], marker="o", ms=5, ls="", zorder=3)
        if name in limits:
            axis.plot([limits[name]] * 2, [height - 0.35, height + 0.35], color=INTERVAL, lw=2.0, zorder=4)
    axis.set_yticks(range(len(measured)), list(reversed(measured)), fontsize=TEXT)
    axis.set(xlim=(-0.02, 1.02), ylim=(-0.7, max(1, len(measured)) - 0.3))
    note = f", {result.level:.0%} confidence intervals" if result.confidence_intervals else ""
    axis.set_xlabel(f"violation (0 is parity){note}{'; red: limit' if limits else ''}", fontsize=TEXT)
    figure.tight_layout()
    return figure


def curve(result: "AuditResult") -> str:
    """Share of a group above a falling threshold against that of another, the largest gap in I marked."""
    return _svg(lambda: _curve_figure(result, largest(result.curve)), "curve", sentences.headline(result))


def suggestion(suggested: "Suggestion") -> str:
    """Candidate intervals as bars over their ranks, the one with the largest violation on top."""
    low, high = suggested.interval
    about = f"Candidate intervals of ranks by violation; {low:g} to {high:g} is suggested."
    return _svg(lambda: _suggestion_figure(suggested), "suggestion", about)


def shows_gap(result: "AuditResult") -> bool:
    """Tell whether the largest gap is a line of the first picture: its groups are drawn, and it is not 0."""
    return bool(result.measured.overall["rank_gap"].value and _farthest(result, largest(result.curve)))


def largest(curve: "Curve") -> list[int]:
    """Positions of the groups to draw: the largest, in their order."""
    sizes = curve.count.sum(axis=1)
    return sorted(np.argsort(-sizes, kind="stable")[:MOST_GROUPS].tolist())


def _farthest(result: "AuditResult", drawn: list[int]) -> list[int]:
    """Positions of the two groups whose gap is the largest; none if one of them is not shown."""
    pair = result.measured.overall["rank_gap"].pair or ()
    positions = [result.curve.codes.index(code) for code in pair]
    return positions if set(positions) <= set(drawn) else []


def _look(position: int) -> dict[str, Any]:
    return {
        "color": COLOURS[position % len(COLOURS)],
        "ls": DASHES[(position // len(COLOURS) + position) % len(DASHES)],
    }


def short(names: Sequence[str], width: int) -> list[str]:
    """Names cut in the middle to at most so many letters, and no further than they stay apart."""
    while True:
        shortened = [
            name if len(name) <= width else f"{name[: width // 2]}…{name[-(width // 2 - 1) :]}" for name in names
        ]
        if len({*shortened}) == len({*names}):
            return shortened
        width += 4


def _plain(name: str) -> str:
    """A name as matplotlib shows it as it is, dollar signs included."""
    return name.replace("$", r"\$")


def _of_axis(label: str) -> str:
    """A label that is as long as an axis at most, in several lines if need be."""
    return "\n".join(textwrap.wrap(label, AXIS, break_long_words=False))  # or a dollar sign would lose its backslash


def _curve_figure(result: "AuditResult", positions: list[int]) -> Any:
    """Share of each group above a falling threshold against that of one; the largest gap in I is marked."""
    from matplotlib import pyplot as plt

    curve, worst = result.curve, _farthest(result, positions)
    names = dict(zip(positions, map(_plain, short([curve.names[k] for k in positions], NAME)), strict=True))
    reference = worst[1] if worst else max(positions, key=lambda k: int(curve.count[k].sum()))
    lines = (len(positions) + 1) // 2 if len(positions) > 2 else 0  # of the legend, below the axes
    figure, axis = plt.subplots(figsize=(WIDTH, WIDTH - 0.15 + 0.2 * lines))
    axis.plot([0, 1], [0, 1], color=palette.INK, lw=0.8, ls=":", label="parity")
    for number, k in enumerate(k for k in positions if k != reference):
        points = _points(curve.ranks[reference], curve.ranks[k])
        width = 1.0 if worst and k != worst[0] else 2.0
        axis.plot(*points, label=names[k], lw=width, **_look(number))
    for low, high in () if sentences.is_whole(result) else result.unions[curve.codes[reference]]:
        for band, edge in ((axis.axvspan, axis.axvline), (axis.axhspan, axis.axhline)):
            band(low, high, color=INTERVAL, alpha=0.07, lw=0)
            for end in {low, high} - {0.0, 1.0}:
                edge(end, color=INTERVAL, lw=0.7, ls=(0, (4, 3)))
    if worst:
        _largest_gap(axis, result)
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axis.set_xlabel(_of_axis(f"share of {names[reference]} above the threshold"))
    compared = [names[k] for k in positions if k != reference]
    group = compared[0] if len(compared) == 1 else "the other group"
    axis.set_ylabel(_of_axis(f"share of {group} above the threshold"))
    if lines:
        axis.legend(loc="upper center", bbox_to_anchor=(0.45, -0.14), ncols=2, fontsize=TEXT)
    else:
        axis.legend(loc="lower right", fontsize=TEXT, frameon=True, framealpha=1, facecolor="white", edgecolor="none")
    figure.tight_layout()
    return figure


def _points(x: Any, y: Any) -> tuple[Any, Any]:
    """At most so many points of a rising curve, evenly spaced along it."""
    if x.size <= CURVE_POINTS:
        return x, y
    points = np.unique(np.searchsorted(x + y, np.linspace(0, 2, CURVE_POINTS)).clip(0, x.size - 1))
    return x[points], y[points]


def _largest_gap(axis: Any, result: "AuditResult") -> None:
    """Mark the largest vertical distance to parity where a share of either group lies in I."""
    gap = result.measured.overall["rank_gap"]
    assert gap.value is not None and gap.shares is not None
    value, (y, x) = gap.value, gap.shares
    axis.plot([x, x], [x, y], color=INTERVAL, lw=2.4, solid_capstyle="butt", zorder=6)
    right = x < 0.6  # of the line, or the words would leave the axes
    axis.annotate(
        f"gap {value:.3f}",
        (x, (x + y) / 2),
        (7 if right else -7, 0),
        textcoords="offset points",
        color=INTERVAL,
        va="center",
        ha="left" if right else "right",
        bbox={"facecolor": "#ffffff", "alpha": 0.85, "lw": 0, "pad": 1.2},
        zorder=7,
    )


def _density_figure(result: "AuditResult", positions: list[int]) -> Any:
    """Score density of every group; the part inside I is filled."""
    from matplotlib import pyplot as plt

    curve, all_ranks = result.curve, sentences.is_whole(result)
    names = short([curve.names[k] for k in positions], 50)
    figure, axes = plt.subplots(
        len(positions),
        figsize=(WIDTH, 0.85 * len(positions) + 0.8 + 0.6 * (len(positions) < 3)),
        sharex=True,
        squeeze=False,
    )
    for axis, k, name in zip(axes.flat, positions, names, strict=True):
        x, density = _density(curve.edges, curve.count[k])
        for low, high in () if all_ranks else result.unions[curve.codes[k]]:
            bottom, top = _score_at(curve, k, high), _score_at(curve, k, low)
            axis.fill_between(x, 0, density, where=(x >= bottom) & (x <= top), color=INTERVAL, alpha=0.85, lw=0)
        axis.plot(x, density, color=COLOURS[0], lw=1.4)
        if math.isfinite(result.threshold):
            axis.axvline(result.threshold, color=palette.INK, lw=0.9, ls="--")
        axis.set_yticks([])
        axis.set_ylim(0, None)
        axis.set_title(_plain(name), loc="left", fontsize=9.5)
    dashed = ["dashed: decision threshold"] if math.isfinite(result.threshold) else []
    marks = "; ".join([*dashed, *([] if all_ranks else ["red: ranks in I"])])
    figure.supxlabel(f"score ({marks})" if marks else "score", fontsize=9.5)
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
    column = int(np.searchsorted(curve.ranks[k, 1:], rank - 1e-12))
    return float(curve.edges[min(column, curve.edges.size - 1)]) if rank < 1 else -math.inf


def _suggestion_figure(suggested: "Suggestion") -> Any:
    from matplotlib import pyplot as plt

    rows = suggested.table.dropna(subset="violation").sort_values(["violation", "chosen"], kind="stable")
    figure, axis = plt.subplots(figsize=(WIDTH, 0.9 + 0.19 * len(rows)))
    for height, row in enumerate(rows.itertuples()):
        axis.barh(
            height, row.beta - row.alpha, 0.62, left=row.alpha, color=COLOURS[1] if row.chosen else CANDIDATE, zorder=2
        )
        text_left = row.beta > 0.6  # words to the right of it would leave the axes
        position, side = (row.alpha - 0.015, "right") if text_left else (row.beta + 0.015, "left")
        text = f"{row.violation:.3f}{' suggested' if row.chosen else ''}"
        axis.text(position, height, text, va="center", ha=side, fontsize=TEXT)
    axis.axvline(suggested.positive_rate, color=palette.INK, ls="--", lw=1.2, zorder=3)
    axis.set(xlim=(0, 1), ylim=(-0.7, len(rows) - 0.3), yticks=[])
    axis.set_xlabel("rank (0 = highest score; dashed: positive rate)", fontsize=TEXT)
    figure.tight_layout()
    return figure


def _svg(draw: Any, name: str, about: str) -> str:
    """Inline SVG in the page's colours, with its description."""
    from matplotlib import pyplot as plt

    with palette.applied():
        figure = draw()
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    width = figure.get_size_inches()[0]
    plt.close(figure)
    themed = palette.themed(stream.getvalue(), name, about)
    return f"<div class='figure' style='max-width: {round(105 * width)}px'>{themed}</div>"
