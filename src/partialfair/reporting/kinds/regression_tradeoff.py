"""Risk against unfairness of regressions, one panel per dataset, published points beside ours."""

import math
from pathlib import Path
from typing import Any

from partialfair.pages import cells
from partialfair.reporting import canvas, style
from partialfair.reporting.exhibit import Context, Kind
from partialfair.reporting.regression_points import points, published_points, reproduce, series

COLUMNS = (
    "series", "dataset", "source", "eps", "n_seeds", "risk", "risk_std", "ks_group_0", "ks_group_0_std", "ks_group_1",
    "ks_group_1_std", "ks_noise_floor",
)  # fmt: skip
TINY = 2.0**-8
"""Tolerances up to which points are shown once more where the entry says ``enlarge``."""
TITLES = {"communities": "Communities and Crime", "law_school": "Law School", "adult": "Adult"}
LOOKS = (
    ("#0072B2", "o", "-"), ("#D55E00", "s", (0, (5, 1.5))), ("#009E73", "^", (0, (4, 1, 1, 1))),
    ("#CC79A7", "D", (0, (3, 1))), ("#E69F00", "v", (0, (1.5, 1))), ("#56B4E9", "P", (0, (6, 1, 1, 1, 1, 1))),
)  # fmt: skip


def lines(context: Context) -> list[dict[str, Any]]:
    """What the figure shows, one dictionary of ``COLUMNS`` per point."""
    shown = context.options.get("show")
    found = [*points(context), *published_points(context)]
    return [line for line in found if shown is None or line["dataset"] in shown]


def _draw(context: Context, found: list[dict[str, Any]]) -> Any:
    from matplotlib import pyplot as plt

    datasets = [name for name in TITLES if any(line["dataset"] == name for line in found)]
    figure, axes = plt.subplots(
        1, max(len(datasets), 1), figsize=(4.3 * max(len(datasets), 1) + 0.4, 4.6), squeeze=False
    )
    for axis, dataset in zip(axes[0], datasets, strict=False):
        _panel(context, axis, [line for line in found if line["dataset"] == dataset])
        axis.set_title(TITLES[dataset])
        axis.set_xlabel("unfairness: KS distance of group 0 from all rows")
    axes[0][0].set_ylabel("risk on test rows")
    if not datasets:
        canvas.empty(axes[0][0], "not run")
    _legend(figure, axes)
    return figure


def _panel(context: Context, axis: Any, found: list[dict[str, Any]]) -> None:
    floors = [line["ks_noise_floor"] for line in found if not math.isnan(line.get("ks_noise_floor", math.nan))]
    if floors:
        floor = sum(floors) / len(floors)
        axis.axvspan(0, floor, color=style.GRID, alpha=0.55, lw=0, zorder=0, label="noise: KS after permuting groups")
    looks = iter(LOOKS * 3)
    for one in series(context):
        base = one.name == "base"
        colour, marker, dash = (style.INK, "X", "") if base else next(looks)
        own = sorted((line for line in found if line["series"] == one.name), key=lambda line: -line["eps"])
        ours = [line for line in own if line["source"] == "reproduced" and line["n_seeds"]]
        if ours:
            axis.errorbar(
                [p["ks_group_0"] for p in ours], [p["risk"] for p in ours],
                xerr=[p["ks_group_0_std"] for p in ours], yerr=[p["risk_std"] for p in ours],
                fmt=marker, ls=dash or "none", color=colour, ecolor=(colour, 0.25), elinewidth=0.8, ms=6,
                label=one.label, zorder=4,
            )  # fmt: skip
        theirs = [line for line in own if line["source"] == "published" and "ks_group_0" in line and "risk" in line]
        if theirs:
            axis.plot(
                [p["ks_group_0"] for p in theirs], [p["risk"] for p in theirs], marker, mfc="none", mec=colour,
                ms=9.5, mew=1.1, ls="none", label=f"{one.label}, published", zorder=3,
            )  # fmt: skip
    axis.set_xlim(left=0)
    if context.options.get("enlarge"):
        _enlarged(context, axis, found)


def _enlarged(context: Context, axis: Any, found: list[dict[str, Any]]) -> None:
    """The points at tiny tolerances, which lie upon each other, once more in the free corner and without bars."""
    tiny = [p for p in found if p["series"] != "base" and p.get("eps", 1.0) <= TINY and "risk" in p and p["ks_group_0"]]
    if len(tiny) < 3:
        return
    inset = axis.inset_axes((0.42, 0.57, 0.46, 0.4))
    names = [one.name for one in series(context) if one.name != "base"]
    for name, (colour, marker, _) in zip(names, LOOKS * 3, strict=False):
        for source, face, size in (("published", "none", 8.0), ("reproduced", colour, 4.5)):
            own = [p for p in tiny if (p["series"], p["source"]) == (name, source)]
            x, y = [p["ks_group_0"] for p in own], [p["risk"] for p in own]
            inset.plot(x, y, marker, mfc=face, mec=colour, ms=size, ls="none", mew=0.9)
    inset.margins(0.12, 0.2)
    inset.tick_params(labelsize=7)
    inset.locator_params(nbins=4)
    inset.yaxis.tick_right()
    inset.spines[["top", "right"]].set_visible(True)
    inset.set_facecolor("white")
    words = f"enlarged: eps ≤ 2^{math.log2(TINY):.0f}"
    inset.text(0.03, 0.03, words, transform=inset.transAxes, fontsize=7.5, color="#6b6b6b", zorder=6)
    axis.indicate_inset_zoom(inset, edgecolor="#6b6b6b", lw=0.8)


def _legend(figure: Any, axes: Any) -> None:
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    labels = sorted(entries, key=lambda label: ("noise" in label, "published" in label))
    columns = max(1, int(figure.get_size_inches()[0] / 3.1))
    rows = math.ceil(len(labels) / columns)
    figure.tight_layout(rect=(0, (0.15 + 0.21 * rows) / figure.get_size_inches()[1], 1, 1), w_pad=1.4)
    if labels:
        figure.legend([entries[name] for name in labels], labels, loc="lower center", ncols=columns, fontsize=8.5)


def render(context: Context) -> list[Path]:
    """Write the figure and its points."""
    found = lines(context)
    paths = canvas.write(context, lambda: _draw(context, found))
    return [cells.write_csv(context.path("csv"), COLUMNS, found), *paths]


KINDS = {"regression_tradeoff": Kind(render, canvas.inline, reproduce)}
