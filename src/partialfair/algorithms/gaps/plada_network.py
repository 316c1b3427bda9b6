"""PLADA on a network under a constraint on the losses of many overlapping groups (PLADA paper, section 5.3)."""

import time
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps import group_networks
from partialfair.algorithms.gaps.group_losses import Reading
from partialfair.algorithms.gaps.group_networks import GroupTask, NetworkSettings, Recorder
from partialfair.algorithms.gaps.network_plada import NetworkPlada
from partialfair.algorithms.gaps.plada_solver import Parameters
from partialfair.algorithms.transition import Fit
from partialfair.seeding import generator
from partialfair.tables.dataset import Dataset

READINGS: dict[str, Reading] = {"expected": "expected", "none": "expected", "each": "shares", "sampled": "each"}


class NetworkVariant(BaseModel):
    """One run; the defaults are the paper's Table 2, with kappa and u_max, which it does not give.

    Attributes:
        reading: ``expected``: one constraint, the mean over groups (equation (18)); ``each``: one per group, divided by
            their number, all moved in every epoch; ``sampled``: one per group, one drawn per epoch; ``none``: none.
        eta, tau, alpha, beta, gamma_0, kappa, u_max: see :class:`partialfair.algorithms.gaps.plada_solver.Parameters`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reading: Literal["expected", "each", "sampled", "none"] = "expected"
    eta: PositiveFloat = 0.1
    tau: PositiveFloat = 0.01
    alpha: Annotated[float, Field(gt=1)] = 10.0
    beta: Annotated[float, Field(gt=0, lt=1)] = 0.5
    gamma_0: Annotated[float, Field(gt=0, le=1)] = 0.1
    kappa: PositiveFloat = 100.0
    u_max: PositiveFloat = 10.0

    @property
    def parameters(self) -> Parameters:
        """The numbers."""
        return Parameters(self.eta, self.tau, self.alpha, self.beta, self.gamma_0, self.kappa, self.u_max)


class PladaNetworkSettings(NetworkSettings):
    """Variants that are run one after the other; the first gives the model, none is chosen by data."""

    variants: Annotated[dict[str, NetworkVariant], Field(min_length=1)] = Field({"expected": NetworkVariant()})


class PladaNetwork:
    """PLADA on a fully connected network."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = PladaNetworkSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """The intersectional loss."""
        return group_networks.applies_to(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Run every variant; the last iterate of the first is the result. Validation rows are recorded only."""
        assert isinstance(settings, PladaNetworkSettings)
        own = GroupTask(task, settings)
        runs: dict[str, Recorder] = {}
        for name, variant in settings.variants.items():
            groups = own.groups(READINGS[variant.reading])
            dual = {"sampled": "sampled", "none": "none"}.get(variant.reading, "all")
            stream = generator("plada_network", "groups", task.train.name, task.seed)
            method = NetworkPlada(own.start(), groups, variant.parameters, dual, stream)  # type: ignore[arg-type]
            runs[name] = group_networks.follow(own, method, time.process_time)
            last = runs[name].records[-1]
            task.report(f"{name}: loss {last.objective:.4f}, constraint {last.max_violation:+.4f}")
        chosen = next(iter(runs))
        selected = {"epochs": settings.epochs, "groups": own.groups("each").m}
        return group_networks.fit_of(own, runs, chosen, -1, selected)


ALGORITHM = PladaNetwork()
"""PLADA on a network."""
