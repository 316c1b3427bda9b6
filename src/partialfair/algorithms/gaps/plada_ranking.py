"""PLADA for ranking under a bound on the gap of pairwise errors between two groups, one query per iteration."""

from collections.abc import Callable
from typing import Annotated, ClassVar

from pydantic import Field

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps import ranking_tasks
from partialfair.algorithms.gaps.plada_network import NetworkVariant
from partialfair.algorithms.gaps.query_pairs import RankingPlada
from partialfair.algorithms.gaps.ranking_tasks import RankingSettings, RankingTask
from partialfair.algorithms.transition import Fit
from partialfair.tables.dataset import Dataset


class PladaRankingSettings(RankingSettings):
    """Variants of PLADA's parameters; the first gives the model. ``reading: none`` leaves the constraints out."""

    variants: Annotated[dict[str, NetworkVariant], Field(min_length=1)] = Field({"table2": NetworkVariant()})


class PladaRanking:
    """PLADA on a ranker."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = PladaRankingSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """The gap of pairwise errors between two groups."""
        return ranking_tasks.applies_to(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Run every variant; the last iterate of the first is the result."""
        assert isinstance(settings, PladaRankingSettings)

        def make(variant: NetworkVariant) -> Callable[[RankingTask], RankingPlada]:
            return lambda own: RankingPlada(
                own.ranker(), variant.parameters, task.kappa, constrained=variant.reading != "none"
            )

        methods = {name: make(variant) for name, variant in settings.variants.items()}
        return ranking_tasks.fit(task, settings, "plada_ranking", methods)


ALGORITHM = PladaRanking()
"""PLADA for ranking."""
