"""Correlation-penalty baseline: the quadratic AUC loss plus the absolute correlation of score and group."""

from collections.abc import Sequence

from pydantic import Field, PositiveFloat

from papers.auc_fairness.algorithms.auc_common import AUCAlgorithm, AUCRows, ModelSettings, Pool
from papers.auc_fairness.algorithms.auc_pools import descent_pool
from partialfair.algorithms.contract import PlotStyle
from partialfair.data.dataset import Dataset


class CorrelationPenaltySettings(ModelSettings):
    """Settings; ``penalties`` are the weights of the correlation, all of which are tried."""

    penalties: tuple[PositiveFloat, ...] = Field((0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 3.0), min_length=1)


class CorrelationPenalty(AUCAlgorithm[CorrelationPenaltySettings]):
    """``f0 + lambda |corr(h, protected)|`` on every batch, for the group AUC gap (AUC fairness paper, section 6)."""

    settings = CorrelationPenaltySettings
    label = "Correlation penalty"
    paper = "AUC fairness paper, section 6"
    look = PlotStyle("#009E73", "^", (0, (4, 1, 1, 1)))

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """The group AUC gap alone: the correlation does not see labels."""
        reason = super().applies_to(constraint, data)
        if reason is None and constraint != "auc_gap_group":
            return f"the correlation of score and group says nothing of {constraint}"
        return reason

    def pool(self, rows: AUCRows, settings: CorrelationPenaltySettings, targets: Sequence[float]) -> Pool:
        """Snapshots of descent with each weight lambda of the penalty; the target tolerances play no part."""
        return descent_pool(rows, settings, "correlation", settings.penalties, "lambda")


ALGORITHM = CorrelationPenalty()
