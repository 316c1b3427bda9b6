"""PLADA for ranking under a bound on the gap of pairwise errors between two groups, one query per iteration."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from papers.plada.algorithms import ranking_tasks
from papers.plada.algorithms.plada_network import NetworkVariant
from papers.plada.algorithms.query_pairs import RankingPlada
from papers.plada.algorithms.ranking_tasks import RankingAlgorithm, RankingSettings, RankingTask
from partialfair.algorithms.contract import Fit, PlotStyle, Task


class PladaRankingSettings(RankingSettings):
    """Variants of PLADA's parameters; the first gives the model. ``reading: none`` leaves the constraints out."""

    variants: Annotated[dict[str, NetworkVariant], Field(min_length=1)] = Field({"table2": NetworkVariant()})


class PladaRanking(RankingAlgorithm[PladaRankingSettings]):
    """A scoring network for queries by PLADA, which sees one query a step."""

    settings = PladaRankingSettings
    label = "PLADA, ranking"
    paper = "PLADA paper, appendix D.3"
    look = PlotStyle("#7a6a00", "d", (0, (4, 1.5)))

    def fit(self, task: Task, settings: PladaRankingSettings) -> Fit:
        """Run every variant; the last iterate of the first is the result."""

        def make(variant: NetworkVariant) -> Callable[[RankingTask], RankingPlada]:
            return lambda ranking_task: RankingPlada(
                ranking_task.ranker(), variant, task.kappa, constrained=variant.reading != "none"
            )

        methods = {name: make(variant) for name, variant in settings.variants.items()}
        return ranking_tasks.fit(task, settings, "plada_ranking", methods)


ALGORITHM = PladaRanking()
