"""PLADA on a network under a constraint on the losses of many overlapping groups (PLADA paper, section 5.3)."""

import time
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from papers.plada.algorithms import group_networks
from papers.plada.algorithms.group_losses import Reading
from papers.plada.algorithms.group_networks import GroupAlgorithm, GroupNetworkSettings, GroupTask, Recorder
from papers.plada.algorithms.network_plada import NetworkPlada
from papers.plada.algorithms.plada_solver import Parameters
from partialfair.algorithms.contract import Fit, PlotStyle, Task
from partialfair.seeding import generator

READINGS: dict[str, Reading] = {"expected": "expected", "none": "expected", "each": "shares", "sampled": "each"}


class NetworkVariant(Parameters):
    """One run; the defaults are the paper's Table 2, with kappa and u_max, which it does not give.

    Attributes:
        reading: ``expected``: one constraint, the mean over groups (equation (18)); ``each``: one per group, divided by
            their number, all moved in every epoch; ``sampled``: one per group, one drawn per epoch; ``none``: none.
    """

    reading: Literal["expected", "each", "sampled", "none"] = "expected"
    eta: PositiveFloat = 0.1
    tau: PositiveFloat = 0.01
    beta: Annotated[float, Field(gt=0, lt=1)] = 0.5
    u_max: PositiveFloat = 10.0


class PladaNetworkSettings(GroupNetworkSettings):
    """Variants that are run one after the other; the first gives the model, none is chosen by data."""

    variants: Annotated[dict[str, NetworkVariant], Field(min_length=1)] = Field({"expected": NetworkVariant()})


class PladaNetwork(GroupAlgorithm[PladaNetworkSettings]):
    """PLADA on a fully connected network."""

    settings = PladaNetworkSettings
    label = "PLADA, network"
    paper = "PLADA paper, section 5.3"
    look = PlotStyle("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1)))

    def fit(self, task: Task, settings: PladaNetworkSettings) -> Fit:
        """Run every variant; the last iterate of the first is the result. Validation rows are recorded only."""
        group_task = GroupTask(task, settings)
        runs: dict[str, Recorder] = {}
        for name, variant in settings.variants.items():
            groups = group_task.groups(READINGS[variant.reading])
            dual = {"sampled": "sampled", "none": "none"}.get(variant.reading, "all")
            stream = generator("plada_network", "groups", task.train.name, task.seed)
            method = NetworkPlada(group_task.start(), groups, variant, dual, stream)  # type: ignore[arg-type]
            runs[name] = group_networks.follow(group_task, method, time.process_time)
            last = runs[name].records[-1]
            task.report(f"{name}: loss {last.objective:.4f}, constraint {last.violation:+.4f}")
        chosen = {"epochs": settings.epochs, "groups": group_task.groups("each").m}
        return group_networks.fit_of(group_task, runs, next(iter(runs)), -1, chosen)


ALGORITHM = PladaNetwork()
