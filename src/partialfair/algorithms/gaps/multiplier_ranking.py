"""LMM for ranking: the multipliers of a query are a network of the means of its features."""

from typing import ClassVar

from pydantic import Field, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps import ranking_tasks
from partialfair.algorithms.gaps.query_pairs import RankingMultiplierModel
from partialfair.algorithms.gaps.ranking_tasks import RankingSettings, RankingTask
from partialfair.algorithms.transition import Fit
from partialfair.models.stacked import StackedMLP
from partialfair.seeding import generator
from partialfair.tables.dataset import Dataset


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


class MultiplierRanking:
    """The multiplier-model method on a ranker."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = MultiplierRankingSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """The gap of pairwise errors between two groups."""
        return ranking_tasks.applies_to(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Run it; the last iterate is the result."""
        assert isinstance(settings, MultiplierRankingSettings)

        def make(own: RankingTask) -> RankingMultiplierModel:
            means = (own.n_inputs - 1) // 2
            model = StackedMLP(means + 1, tuple(settings.multiplier_hidden))
            phi = model.initial(generator("multiplier_ranking", "initial", task.train.name, task.seed))
            rates = settings.rate, settings.dual_scale
            return RankingMultiplierModel(own.ranker(), model, phi, *rates, task.kappa, means)

        return ranking_tasks.fit(task, settings, "multiplier_ranking", {"multiplier model": make})


ALGORITHM = MultiplierRanking()
"""LMM for ranking."""
