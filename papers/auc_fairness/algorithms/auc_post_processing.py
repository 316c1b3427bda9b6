"""Post-processing baseline: one group's scores of the unconstrained model are scaled and shifted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import PositiveFloat

from papers.auc_fairness.algorithms.auc_common import (
    AUCAlgorithm,
    AUCRows,
    Pool,
    Quality,
    UnconstrainedSettings,
    choose,
)
from papers.auc_fairness.algorithms.auc_pools import affine_models, descent_pool
from papers.auc_fairness.algorithms.pair_networks import surrogate_values
from partialfair.algorithms.contract import PlotStyle
from partialfair.data.dataset import Dataset
from partialfair.kernels.cell_auc import rescaled_win_tables


class PostProcessingSettings(UnconstrainedSettings):
    """Settings of the grid, as printed in the paper.

    Attributes:
        largest_scale, scale_step: scales 0, step, ..., largest.
        largest_shift, shift_step: shifts -largest, ..., largest.
    """

    largest_scale: PositiveFloat = 5.0
    scale_step: PositiveFloat = 0.05
    largest_shift: PositiveFloat = 3.0
    shift_step: PositiveFloat = 0.1


class AUCPostProcessing(AUCAlgorithm[PostProcessingSettings]):
    """``w1 h + w2`` for the protected group, h for the other, (w1, w2) chosen on validation rows among a grid.

    Source: AUC fairness paper, section 6, after Kallus and Zhou (2019). A positive affine map of one group leaves every
    comparison within a group as it was, so it cannot change an intra-group gap.
    """

    settings = PostProcessingSettings
    label = "Post-processing"
    paper = "AUC fairness paper, section 6"
    look = PlotStyle("#CC79A7", "D", (0, (3, 1)))

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Gaps that compare rows of different groups."""
        reason = super().applies_to(constraint, data)
        if reason is None and constraint == "auc_gap_intra_group":
            return "a positive affine map of one group does not change comparisons within groups"
        return reason

    def pool(self, rows: AUCRows, settings: PostProcessingSettings, targets: Sequence[float]) -> Pool:
        """One candidate per pair of the grid."""
        squash = settings.model == "network"
        if settings.is_closed_form:
            inner = rows.linear_score(rows.problem.unconstrained())
            return self._affine_pool(rows, settings, inner, squash)
        # As early as the rivals' models are: the best inner model on validation rows after a share of the steps.
        inner_pool = descent_pool(rows, settings, "plain", [0.0], "")

        def after(share: float) -> Pool | None:
            early_pool = inner_pool.after(share)
            if early_pool is None:
                return None
            inner = inner_pool.model(choose(inner_pool.quality, np.inf, early_pool[1]).index)
            return self._affine_pool(rows, settings, inner, squash)

        final_model = inner_pool.model(choose(inner_pool.quality, np.inf).index)
        return replace(self._affine_pool(rows, settings, final_model, squash), early=after)

    def _affine_pool(self, rows: AUCRows, settings: PostProcessingSettings, inner: Any, squash: bool) -> Pool:
        """One candidate per pair of the grid on the scores of an unconstrained model."""
        scales = settings.scale_step * np.arange(round(settings.largest_scale / settings.scale_step) + 1)
        half = round(settings.largest_shift / settings.shift_step)
        shifts = settings.shift_step * np.arange(-half, half + 1)
        validation = rows.task.validation
        scores = affine_scores(inner, validation, squash)
        # the cells are sorted once: a scale >= 0 and a shift keep the order, so that each pair costs one merge
        cells = [np.sort(scores[rows.validation_cells == cell]) for cell in range(4)]
        wins = np.empty((scales.size, shifts.size, 4, 4))
        rescaled_win_tables(*cells, scales, shifts, wins)
        quality = Quality.from_wins(wins.reshape(-1, 4, 4), rows.validation_cells, rows.sets)
        pairs = [(float(scale), float(shift)) for scale in scales for shift in shifts]
        tags = [f"scale={scale:.2f} shift={shift:.1f}" for scale, shift in pairs]

        def model(i: int) -> Any:
            return affine_models(rows, inner, *pairs[i], squash)

        def objective(i: int) -> float:
            train = rows.task.train
            adjusted = affine_scores(inner, train, squash)
            moved = np.where(rows.cells >= 2, pairs[i][0] * adjusted + pairs[i][1], adjusted)
            return float(surrogate_values(moved[:, None], rows.cells, rows.sets, settings.c1, settings.c2)[0, 0])

        return Pool(quality, tags, np.full(len(tags), np.nan), model, objective)


def affine_scores(inner: Any, table: Dataset, squash: bool) -> np.ndarray:
    """Scores (n,) that the affine map applies to."""
    scores = np.asarray(inner.scores(table.X, table.group), np.float64)
    return 1 / (1 + np.exp(-np.clip(scores, -500, 500))) if squash else scores


ALGORITHM = AUCPostProcessing()
