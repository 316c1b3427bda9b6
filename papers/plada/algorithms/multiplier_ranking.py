"""LMM for ranking: the multipliers of a query are a network of the means of its features."""

from pydantic import Field, PositiveFloat, PositiveInt

from papers.plada.algorithms import ranking_tasks
from papers.plada.algorithms.query_pairs import RankingMultiplierModel
from papers.plada.algorithms.ranking_tasks import RankingAlgorithm, RankingSettings, RankingTask
from partialfair.algorithms.contract import Fit, PlotStyle, Task
from partialfair.models.stacked import StackedMLP
from partialfair.seeding import generator


class MultiplierRankingSettings(RankingSettings):
    """Settings of the method; defaults of the public code.

    Attributes:
        multiplier_hidden: widths of the multiplier network.
        rate: Adagrad's step.
        dual_scale: factor of the multipliers' objective.
    """

    multiplier_hidden: list[PositiveInt] = Field([64], min_length=1)
    rate: PositiveFloat = 0.05
    dual_scale: PositiveFloat = 2.0


class MultiplierRanking(RankingAlgorithm[MultiplierRankingSettings]):
    """The multiplier-model method on a ranker."""

    settings = MultiplierRankingSettings
    label = "Multiplier model, ranking"
    paper = "Narasimhan et al. (2020)"
    look = PlotStyle("#6b6b6b", "x", (0, (8, 2)))

    def fit(self, task: Task, settings: MultiplierRankingSettings) -> Fit:
        """Run it; the last iterate is the result."""

        def make(ranking_task: RankingTask) -> RankingMultiplierModel:
            means = (ranking_task.n_inputs - 1) // 2
            model = StackedMLP(means + 1, tuple(settings.multiplier_hidden))
            phi = model.initial(generator("multiplier_ranking", "initial", task.train.name, task.seed))
            rates = settings.rate, settings.dual_scale
            return RankingMultiplierModel(ranking_task.ranker(), model, phi, *rates, task.kappa, means)

        return ranking_tasks.fit(task, settings, "multiplier_ranking", {"multiplier model": make})


ALGORITHM = MultiplierRanking()
