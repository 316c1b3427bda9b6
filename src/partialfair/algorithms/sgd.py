"""Stochastic gradient descent on the log loss, without constraints."""

from typing import Any, ClassVar

from pydantic import PositiveFloat, PositiveInt

from partialfair.algorithms.base import Settings
from partialfair.algorithms.stochastic import Stochastic, StochasticSettings
from partialfair.datasets.table import Dataset
from partialfair.solvers import minibatch_sgd


class SGDSettings(StochasticSettings):
    """Settings of :class:`partialfair.solvers.minibatch_sgd.SGD`."""

    step_size: PositiveFloat = 0.005
    batch: PositiveInt = 8


class SGD(Stochastic):
    """Benchmark of stochastic approximation algorithms, section 4.2, "SGD"."""

    name: ClassVar[str] = "sgd"
    constrained: ClassVar[bool] = False
    settings_model: ClassVar[type[Settings]] = SGDSettings

    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> minibatch_sgd.SGD:
        """The solver."""
        return minibatch_sgd.SGD(settings.step_size, None if settings.full_batch else settings.batch)


ALGORITHM = SGD()
"""SGD."""
