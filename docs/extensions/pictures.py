"""Pictures of the explanation, drawn from simulated rows whenever the site is built."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

from partialfair.estimators import PartialFairClassifier
from partialfair.metrics import get
from partialfair.pages import palette
from partialfair.seeding import generator

INTERVAL = (0.1, 0.4)
COLOURS = ("#0072b2", "#c8500a")
RED = "#b2182b"


def draw(app: Sphinx) -> None:
    """Draw all pictures into the folder ``generated``."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    data = rows_with_a_cluster()
    models = {
        "unconstrained": PartialFairClassifier(constraint=None),
        "constrained on I": PartialFairClassifier(interval=[INTERVAL], kappa=0.02, kappa_scale="absolute"),
        "constrained on all ranks": PartialFairClassifier(
            interval=[(0.0, 1.0)], kappa=0.02, kappa_scale="absolute", grid=33
        ),
    }
    scores = {}
    for name, model in models.items():
        model.fit(data.X, data.y, sensitive_features=data.group)
        scores[name] = model.decision_function(data.X, sensitive_features=data.group)
    with plt.rc_context(palette.RC):  # type: ignore[arg-type]
        _save(_idea(data, scores["unconstrained"]), folder / "idea.svg")
        _save(_models(data, scores), folder / "models.svg")


@dataclass(frozen=True)
class Rows:
    """Rows of two groups."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray


def rows_with_a_cluster(n: int = 20_000) -> Rows:
    """Draw two groups, one of which has a cluster of low scores."""
    stream = generator("documentation", "pictures")
    group = (stream.random(n) < 0.5).astype(np.int64)
    low = (group == 1) & (stream.random(n) < 0.3)
    centre, width = np.where(low, -2.5, 0.9 * group), np.where(low, 0.5, 1.0 - 0.2 * group)
    X = np.column_stack([centre + width * stream.normal(size=n), stream.normal(size=n)])
    y = np.where(stream.random(n) < 1 / (1 + np.exp(0.5 - 1.6 * X[:, 0] - X[:, 1])), 1, -1)
    return Rows(X, y, group)


def ranks(scores: np.ndarray, group: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of each group that scores above each threshold, shape (2, T)."""
    ordered = [np.sort(scores[group == code]) for code in (0, 1)]
    return np.stack([1 - np.searchsorted(own, thresholds, side="right") / own.size for own in ordered])


def _idea(data: Any, scores: np.ndarray) -> plt.Figure:
    """Draw densities with the ranks in I filled, and the ranks of one group against those of the other."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.5))
    edges = np.linspace(*np.quantile(scores, [0.0005, 0.9995]), 70)
    for code, colour in enumerate(COLOURS):
        own = scores[data.group == code]
        left.hist(own, edges, density=True, histtype="step", color=colour, lw=1.6, label=f"group {'AB'[code]}")
        upper, lower = np.quantile(own, [1 - INTERVAL[0], 1 - INTERVAL[1]])
        density, _ = np.histogram(own, edges, density=True)
        inside = (edges[:-1] >= lower) & (edges[:-1] <= upper)
        left.bar(edges[:-1][inside], density[inside], np.diff(edges)[inside], align="edge", color=colour, alpha=0.3)
    left.set(xlabel="score", ylabel="density", title="filled: the ranks from 0.1 to 0.4 of each group")
    left.legend(frameon=False)
    _rank_curve(right, data, scores, COLOURS[0])
    right.set_title("share of each group above the same threshold")
    figure.tight_layout()
    return figure


def _rank_curve(axis: Any, data: Any, scores: np.ndarray, colour: str) -> None:
    thresholds = np.quantile(scores, np.linspace(1, 0, 400))
    above = ranks(scores, data.group, thresholds)
    alpha, beta = INTERVAL
    axis.plot([0, 1], [0, 1], color="#888888", lw=1, ls=(0, (3, 3)))
    axis.axvspan(alpha, beta, color=RED, alpha=0.10, lw=0)
    axis.axhspan(alpha, beta, color=RED, alpha=0.10, lw=0)
    axis.plot(above[0], above[1], color=colour, lw=1.8)
    inside = ((above >= alpha) & (above <= beta)).any(axis=0)
    gap = np.where(inside, np.abs(above[0] - above[1]), 0)
    at = int(gap.argmax())
    axis.plot([above[0, at]] * 2, [above[0, at], above[1, at]], color=RED, lw=2)
    side = 1 if above[0, at] < 0.6 else -1
    axis.annotate(
        f"largest gap in I: {gap[at]:.2f}",
        (above[0, at], (above[0, at] + above[1, at]) / 2),
        (0.97, 0.06) if side > 0 else (0.03, 0.9),
        ha="right" if side > 0 else "left",
        color=RED,
        fontsize=9,
    )
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="share of group A above", ylabel="share of group B above", aspect="equal")


def _models(data: Any, scores: dict[str, np.ndarray]) -> plt.Figure:
    """Draw the rank curves of three models with their accuracy."""
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.7), sharey=True)
    for axis, (name, own) in zip(axes, scores.items(), strict=True):
        _rank_curve(axis, data, own, COLOURS[0])
        accuracy = get("accuracy")(own, data.y, data.group, [INTERVAL])
        axis.set_title(f"{name}\naccuracy {accuracy:.3f}")
        if axis is not axes[0]:
            axis.set_ylabel("")
    figure.tight_layout()
    return figure


def _save(figure: plt.Figure, path: Path) -> None:
    """Write a picture, unless the file holds the same already: Sphinx rebuilds what changes."""
    stream = io.StringIO()
    with plt.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    plt.close(figure)
    if not path.exists() or path.read_text(encoding="utf-8") != stream.getvalue():
        path.write_text(stream.getvalue(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw before the pages are read."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
