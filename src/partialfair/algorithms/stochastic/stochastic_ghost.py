"""StGh: Stochastic Ghost, sequential subproblems on drawn rows."""

from typing import Any, ClassVar

from pydantic import Field, NonNegativeFloat, PositiveFloat

from partialfair.algorithms.contract import Settings
from partialfair.algorithms.stochastic.ghost_solver import StochasticGhost
from partialfair.algorithms.stochastic.ghost_subproblem import Subproblem
from partialfair.algorithms.stochastic.stochastic_tasks import Stochastic, StochasticSettings
from partialfair.tables.dataset import Dataset


class GhostSettings(StochasticSettings):
    """Settings of :class:`partialfair.algorithms.stochastic.ghost_solver.StochasticGhost`; the paper's letters are
    in brackets.

    Attributes:
        step_size: (alpha_0); decay: (alpha_hat), of the step; success: (p_0), of the geometric distribution.
        weight: (tau), of the quadratic term; box: (beta).
        mixing: (lambda); radius: (rho). The paper states .5 and .8; its published code exchanges the two in the call,
            so that its numbers come from .8 and .5.
        renormalised: weigh levels by their chances given that they are admissible.
    """

    step_size: PositiveFloat = 0.05
    decay: NonNegativeFloat = 0.05
    success: float = Field(0.4, gt=0, lt=1)
    weight: PositiveFloat = 1.0
    box: PositiveFloat = 10.0
    mixing: float = Field(0.8, ge=0, le=1)
    radius: PositiveFloat = 0.5
    renormalised: bool = False


class Ghost(Stochastic):
    """Benchmark of stochastic approximation algorithms, section 3, "Stochastic Ghost Method"."""

    name: ClassVar[str] = "stochastic_ghost"
    settings: ClassVar[type[Settings]] = GhostSettings

    def method(self, settings: Any, rows: Dataset, n_seeds: int) -> StochasticGhost:
        """The solver."""
        subproblem = Subproblem(settings.weight, settings.box, settings.mixing, settings.radius)
        return StochasticGhost(
            settings.step_size, settings.decay, settings.success, subproblem, settings.renormalised,
            batched=not settings.full_batch,
        )  # fmt: skip


ALGORITHM = Ghost()
"""StGh."""
