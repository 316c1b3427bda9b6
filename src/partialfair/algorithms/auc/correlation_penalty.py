"""Correlation-penalty baseline: the quadratic AUC loss plus the absolute correlation of score and group."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field, PositiveFloat

from partialfair.algorithms.auc.auc_common import AUCAlgorithm, AUCRows, ModelSettings, Pool
from partialfair.algorithms.auc.auc_pools import descent_pool
from partialfair.algorithms.contract import Settings
from partialfair.tables.dataset import Dataset


class CorrelationPenaltySettings(ModelSettings):
    """Settings; ``penalties`` are the weights of the correlation, all of which are tried."""

    penalties: tuple[PositiveFloat, ...] = Field((0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 3.0), min_length=1)


class CorrelationPenalty(AUCAlgorithm):
    """``f0 + lambda |corr(h, protected)|`` on every batch, for the group AUC gap (AUC fairness paper, section 6)."""

    settings: ClassVar[type[Settings]] = CorrelationPenaltySettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """The group AUC gap alone: the correlation does not see labels."""
        applies, why = super().applies_to(constraint, dataset)
        if applies and constraint != "auc_gap_group":
            return False, f"the correlation of score and group says nothing of {constraint}"
        return applies, why

    def pool(self, rows: AUCRows, settings: Any, targets: Sequence[float]) -> Pool:
        """Snapshots of all runs."""
        return descent_pool(rows, settings, "correlation", settings.penalties, "lambda")


ALGORITHM = CorrelationPenalty()
