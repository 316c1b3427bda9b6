"""SSw: the stochastic switching subgradient method."""

from typing import Any, ClassVar

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings
from partialfair.algorithms.stochastic import switching_solver as stochastic_switching
from partialfair.algorithms.stochastic.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.tables.dataset import Dataset


class SwitchingSettings(StochasticSettings):
    """Settings of :class:`partialfair.algorithms.stochastic.switching_solver.StochasticSwitching`; in brackets its
    letters.

    Attributes:
        objective_step: (eta_f); constraint_step: (eta_c).
        tolerance: (eps) at the beginning of a pass; it falls by ``tolerance_decay`` per step from ``decay_start`` on.
        batch: rows of the objective; group_batch: rows of each group in each of two draws.
    """

    objective_step: PositiveFloat = 0.5
    constraint_step: PositiveFloat = 0.05
    tolerance: PositiveFloat = 1e-4
    tolerance_decay: float = Field(0.97, gt=0, le=1)
    decay_start: NonNegativeInt = 500
    batch: PositiveInt = 16
    group_batch: PositiveInt = 16


class Switching(Stochastic):
    """Benchmark of stochastic approximation algorithms, section 3, "Stochastic Switching Subgradient"."""

    name: ClassVar[str] = "stochastic_switching"
    settings: ClassVar[type[Settings]] = SwitchingSettings

    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> stochastic_switching.StochasticSwitching:
        """The solver."""
        names = ("objective_step", "constraint_step", "tolerance", "tolerance_decay", "decay_start", "group_batch")
        options = {name: getattr(settings, name) for name in names}
        return stochastic_switching.StochasticSwitching(
            **options, batch=None if settings.full_batch else settings.batch
        )


ALGORITHM = Switching()
"""SSw."""
