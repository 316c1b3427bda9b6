"""The most accurate threshold per group at equal rates, and the score that it is placed on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.algorithms.contract import Task, linear_score
from partialfair.algorithms.linear.group_thresholds import best_thresholds, group_curve
from partialfair.algorithms.linear.weighted import minimise_weighted
from partialfair.constraints.common import slack_per_group
from partialfair.models.features import group_indicators
from partialfair.models.linear import LinearScore
from partialfair.tables.dataset import Dataset
from partialfair.tables.intervals import for_groups, measure

if TYPE_CHECKING:
    from partialfair.estimators.training import Training

Vector = NDArray[np.float64]
EQUAL_OPPORTUNITY = "partial_equal_opportunity"
MEAN = "mean"
WORTH = 1 << 30
"""Sum of the weights of all rows as integers."""


def best_cuts(task: Task, rows: Dataset, model: LinearScore, weights: Vector | None = None) -> Vector:
    """Thresholds (G,) of a model's scores: the fewest errors among those whose rates differ by at most kappa."""
    scores = model.scores(rows.X, rows.group)
    intervals = for_groups(task.interval, rows.n_groups)
    lengths = np.array([measure(pairs) for pairs in intervals])
    slack = float(slack_per_group(intervals, task.kappa, task.kappa_scale).mean())
    worth = None if weights is None else np.rint(weights * (WORTH / weights.sum())).astype(np.int64)
    curves = []
    for k, pairs in enumerate(intervals):
        own = rows.group == k
        counted = rows.y[own] > 0 if task.constraint == EQUAL_OPPORTUNITY else None
        scale = float(lengths.mean() / lengths[k])
        curves.append(
            group_curve(scores[own], rows.y[own], pairs, scale, counted, None if worth is None else worth[own])
        )
    return best_thresholds(curves, slack)[0]


def chosen_score(training: "Training", task: Task) -> tuple[Vector, Mapping[str, Any]]:
    """Weights (G, d+1) of the score to cut, and the choice.

    Weights per group, one set of weights with an intercept per group, or the mean of both: which of them decides better
    differs from table to table by a few in a thousand rows. The mean is taken unless another is better on held-out rows
    by more than a standard error.
    """
    kept, held = training.hold_out()
    if not held.size:
        return _scores(training)[MEAN], {"score": MEAN}
    part, rows = training.part(kept), training.rows.take(held)
    right = {}
    for name, blocks in _scores(part).items():
        moved = blocks.copy()
        moved[:, 0] -= best_cuts(task, part.rows, linear_score(part.task, blocks), part.weights)
        right[name] = (linear_score(part.task, moved).scores(rows.X, rows.group) > 0) == (rows.y > 0)
    chosen = MEAN
    best = max(right, key=lambda name: float(right[name].mean()))
    gain = right[best].astype(float) - right[MEAN]
    if gain.mean() > gain.std() / np.sqrt(gain.size):
        chosen = best
    table = {f"validation_accuracy_{name}": float(found.mean()) for name, found in right.items()}
    return _scores(training, chosen)[chosen], {"score": chosen, **table}


def _scores(training: "Training", only: str = MEAN) -> dict[str, Vector]:
    """Weights (G, d+1) by the name of the score; with ``only`` no others than it needs are fitted."""
    found = {}
    if only != "additive":
        found["per_group"] = training.problem.model.effective(training.free)
    if only != "per_group":
        found["additive"] = _additive(training)
    if len(found) == 2:
        found[MEAN] = (found["per_group"] + found["additive"]) / 2
    return found


def _additive(training: "Training") -> Vector:
    """Weights (G, d+1) that differ between groups in the intercept alone."""
    rows = training.rows
    members = group_indicators(rows.group, rows.n_groups).astype(np.float32)
    X: Any = np.hstack([rows.X, members]) if isinstance(rows.X, np.ndarray) else sparse.hstack([rows.X, members], "csr")
    names = (*rows.feature_names, *(f"group {name}" for name in rows.group_names[1:]))
    X = X if isinstance(X, np.ndarray) else sparse.csr_array(X)
    extended = replace(training, rows=replace(rows, X=X, feature_names=names), uses_group=False, fits={})
    params = minimise_weighted(extended.problem)[0][0]
    blocks = np.repeat(params[None, : rows.n_features + 1], rows.n_groups, axis=0)
    blocks[1:, 0] += params[rows.n_features + 1 :]
    return blocks
