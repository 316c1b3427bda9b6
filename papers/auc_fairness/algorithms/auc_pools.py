"""Pools of candidates of the AUC fairness algorithms: linear models, networks, and the baselines' descents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.auc_fairness.algorithms import pair_descent
from papers.auc_fairness.algorithms.auc_common import AUCRows, ModelSettings, Pool, Quality, Vector
from papers.auc_fairness.algorithms.pair_networks import NetworkRuns, solve_penalty, surrogate_values
from papers.auc_fairness.algorithms.sigmoid_network import SigmoidNetwork
from partialfair.algorithms.auc.level_set import csr
from partialfair.kernels.cell_auc import win_tables
from partialfair.models.linear import LinearScore
from partialfair.models.mlp_score import MLPScore
from partialfair.models.score_levels import GroupAffine

BLOCK = 2_000_000  # scores held at once


def linear_pool(
    rows: AUCRows,
    weights: Vector,
    tags: Sequence[str],
    training: Sequence[float] | Vector,
    work: Vector | None = None,
    **facts: Any,
) -> Pool:
    """The pool of linear candidates with weights (S, p), found after shares ``work`` (S,) of the steps, if by steps."""
    # wins of every candidate on the validation rows, some candidates at a time so that the scores fit in memory
    wins = []
    step = max(BLOCK // rows.validation_inputs.shape[0], 1)
    for start in range(0, len(weights), step):
        scores = np.ascontiguousarray((rows.validation_inputs @ weights[start : start + step].T).T)
        wins.append(win_tables(scores, rows.validation_cells))
    quality = Quality.from_wins(np.concatenate(wins), rows.validation_cells, rows.sets)

    def model(i: int) -> LinearScore:
        return rows.linear_score(weights[i])

    def objective(i: int) -> float:
        return float(rows.problem.values(weights[i])[0])

    return Pool(quality, tags, np.asarray(training, np.float64), model, objective, facts, work)


def network_pool(rows: AUCRows, runs: NetworkRuns, tags: Sequence[str], training: Vector, hidden: int) -> Pool:
    """The pool of network candidates; tags (R,) and training tolerances (R,) are those of the runs."""
    network = network_of(rows, hidden)
    inputs, wins = csr(rows.validation_inputs), []
    step = max(BLOCK // rows.validation_cells.size, 1)
    for start in range(0, len(runs.snapshots), step):
        scores = network.scores(network.table(runs.snapshots[start : start + step]), inputs)
        wins.append(win_tables(np.ascontiguousarray(scores.T), rows.validation_cells))
    quality = Quality.from_wins(np.concatenate(wins), rows.validation_cells, rows.sets)

    def model(i: int) -> MLPScore:
        train = rows.task.train
        return MLPScore(
            runs.snapshots[i],
            (hidden,),
            rows.task.standardiser,
            np.zeros(0),
            train.group_names,
            train.feature_names,
            uses_group=True,
            activation="sigmoid",
        )

    def objective(i: int) -> float:
        scores = network.scores(network.table(runs.snapshots[i : i + 1]), rows.rows.arrays)
        return float(surrogate_values(scores, rows.cells, rows.sets, rows.settings.c1, rows.settings.c2)[0, 0])

    return Pool(quality, [tags[r] for r in runs.run], training[runs.run], model, objective, work=runs.work)


def descent_pool(rows: AUCRows, settings: ModelSettings, kind: str, amounts: Sequence[float], suffix: str) -> Pool:
    """The pool of a baseline: every amount with every step constant, for either model."""
    # all pairs of an amount and a step constant are one batch of R runs on the same rows
    grid = [(amount, c) for amount in amounts for c in settings.constants]
    tags = [f"{suffix}={amount:g} c={c:g}" if suffix else f"c={c:g}" for amount, c in grid]
    values, c = np.array(grid).T
    random = rows.random(kind, settings.model)
    if settings.model == "linear":
        weights, run, work = pair_descent.solve(rows.rows, kind, values, c, random, settings)
        return linear_pool(rows, weights, [tags[r] for r in run], values[run], work)
    network = network_of(rows, settings.hidden)
    start = network.initial(rows.random("network"))
    runs = solve_penalty(network, rows.rows, start, kind, values, c, random, settings)
    return network_pool(rows, runs, tags, values, settings.hidden)


def network_of(rows: AUCRows, hidden: int) -> SigmoidNetwork:
    """The paper's network on the inputs of a task."""
    return SigmoidNetwork(rows.inputs.shape[1], hidden)


def affine_models(
    rows: AUCRows, inner: Any, scale: float, shift: float, squash: bool = False
) -> GroupAffine | LinearScore:
    """A model whose protected group's scores h become ``scale h + shift``; linear ones stay linear."""
    protected = np.arange(rows.task.train.n_groups) == rows.settings.protected
    if isinstance(inner, LinearScore):
        # a linear score stays linear: w1 (w . x + b) + w2 for the protected group
        weights = inner.weights.copy()
        weights[protected] *= scale
        weights[protected, 0] += shift
        return LinearScore(
            weights, inner.standardiser, inner.aux, inner.group_names, inner.feature_names, True, inner.status
        )
    return GroupAffine(inner, np.where(protected, scale, 1.0), np.where(protected, shift, 0.0), squash)
