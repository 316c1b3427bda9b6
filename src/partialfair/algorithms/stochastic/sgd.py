"""Stochastic gradient descent on the log loss, without constraints."""

from typing import Any, ClassVar

from pydantic import PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings
from partialfair.algorithms.stochastic import minibatch_sgd
from partialfair.algorithms.stochastic.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.tables.dataset import Dataset


class SGDSettings(StochasticSettings):
    """Settings of :class:`partialfair.algorithms.stochastic.minibatch_sgd.SGD`."""

    step_size: PositiveFloat = 0.005
    batch: PositiveInt = 8


class SGD(Stochastic):
    """Benchmark of stochastic approximation algorithms, section 4.2, "SGD"."""

    name: ClassVar[str] = "sgd"
    constrained: ClassVar[bool] = False
    settings: ClassVar[type[Settings]] = SGDSettings

    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> minibatch_sgd.SGD:
        """The solver."""
        return minibatch_sgd.SGD(settings.step_size, None if settings.full_batch else settings.batch)


ALGORITHM = SGD()
"""SGD."""
