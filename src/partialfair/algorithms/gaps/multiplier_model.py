"""LMM: a network under many group constraints; their multipliers are another network of the groups' descriptions."""

import time
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.gaps import group_networks
from partialfair.algorithms.gaps.group_networks import GroupTask, NetworkSettings, Recorder
from partialfair.algorithms.gaps.network_plada import MultiplierModel, best_candidate
from partialfair.algorithms.transition import Fit
from partialfair.models.stacked import StackedMLP
from partialfair.seeding import generator
from partialfair.tables.dataset import Dataset


class MultiplierModelSettings(NetworkSettings):
    """Candidates.

    Attributes:
        multiplier_hidden: widths of the multiplier network.
        rates: Adagrad's step, candidates.
        dual_scales: factor of the multipliers' objective, candidates.
    """

    multiplier_hidden: list[PositiveInt] = Field([100, 100, 100], min_length=1)
    rates: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([0.01])
    dual_scales: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([1.0])


class MultiplierModelAlgorithm:
    """The multiplier-model method."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = MultiplierModelSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """The intersectional loss."""
        return group_networks.applies_to(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Run every candidate; the method's heuristic picks candidate and iterate on validation rows."""
        assert isinstance(settings, MultiplierModelSettings)
        own = GroupTask(task, settings)
        runs: dict[str, Recorder] = {}
        for rate in settings.rates:
            for scale in settings.dual_scales:
                name = f"rate {rate:g}, dual scale {scale:g}"
                runs[name] = group_networks.follow(own, self._method(own, settings, rate, scale), time.process_time)
                last = runs[name].records[-1]
                task.report(f"{name}: loss {last.objective:.4f}, constraint {last.max_violation:+.4f}")
        places = [(name, place) for name, run in runs.items() for place in range(len(run.records))]
        gaps = np.concatenate([np.array(run.gaps) for run in runs.values()])
        errors = np.concatenate([run.trace()["error"] for run in runs.values()])
        chosen, place = places[best_candidate(gaps, errors)]
        epoch = runs[chosen].records[place].iteration
        selected = {"candidate": chosen, "epoch": epoch, "epochs": settings.epochs, "groups": own.groups("each").m}
        return group_networks.fit_of(own, runs, chosen, place, selected)

    def _method(self, own: GroupTask, settings: MultiplierModelSettings, rate: float, scale: float) -> MultiplierModel:
        task = own.task
        model = StackedMLP(own.descriptions.shape[1], tuple(settings.multiplier_hidden))
        phi = model.initial(generator("multiplier_model", "initial", task.train.name, task.seed))
        stream = generator("multiplier_model", "groups", task.train.name, task.seed)
        return MultiplierModel(own.start(), own.groups("each"), model, phi, own.descriptions, rate, scale, stream)


ALGORITHM = MultiplierModelAlgorithm()
"""LMM."""
