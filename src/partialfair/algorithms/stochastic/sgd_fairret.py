"""Stochastic gradient descent with fairret's regulariser of unequal expected accuracies, on group-balanced batches."""

from typing import Any, ClassVar, Literal

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings
from partialfair.algorithms.stochastic.fairret_penalties import PENALTIES, Library
from partialfair.algorithms.stochastic.minibatch_sgd import PenalisedSGD
from partialfair.algorithms.stochastic.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.tables.dataset import Dataset


class FairretSettings(StochasticSettings):
    """Settings of :class:`partialfair.algorithms.stochastic.minibatch_sgd.PenalisedSGD`.

    Attributes:
        penalty: ``library``: fairret's own KL projection (10 iterations of a cone solver, and a normalisation that
            doubles the targets); ``kl_released``: its limit in closed form; ``kl``: without the doubling; ``norm``,
            ``log_sum_exp``: fairret's other losses.
        weight: of the penalty.
        step_size: of the descent.
        group_batch: rows of each group per step.
    """

    penalty: Literal["library", "kl_released", "kl", "norm", "log_sum_exp"] = "kl_released"
    weight: NonNegativeFloat = 0.5
    step_size: PositiveFloat = 0.05
    group_batch: PositiveInt = 12


class SGDFairret(Stochastic):
    """Benchmark of stochastic approximation algorithms, section 4.2, "SGD-Fairret"."""

    name: ClassVar[str] = "sgd_fairret"
    constrained: ClassVar[bool] = False
    settings: ClassVar[type[Settings]] = FairretSettings

    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> PenalisedSGD:
        """The solver."""
        own = settings.penalty == "library"
        penalty = Library(n_seeds, rows.n_groups) if own else PENALTIES[settings.penalty]
        return PenalisedSGD(penalty, rows.group, settings.step_size, settings.weight, settings.group_batch)


ALGORITHM = SGDFairret()
"""SGD-Fairret."""
