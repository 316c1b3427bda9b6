"""LMM: a network under many group constraints; their multipliers are another network of the groups' descriptions."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from papers.plada.algorithms import group_networks
from papers.plada.algorithms.group_networks import GroupAlgorithm, GroupNetworkSettings, GroupTask, Recorder
from papers.plada.algorithms.network_plada import MultiplierModel, best_candidate
from partialfair.algorithms.contract import Fit, PlotStyle, Task
from partialfair.models.stacked import StackedMLP
from partialfair.seeding import generator


class MultiplierModelSettings(GroupNetworkSettings):
    """Candidates.

    Attributes:
        multiplier_hidden: widths of the multiplier network.
        rates: Adagrad's step, candidates.
        dual_scales: factor of the multipliers' objective, candidates.
        tuning: share of the epochs that each candidate gets; the one that the method's heuristic prefers is then run
            in full.
    """

    multiplier_hidden: list[PositiveInt] = Field([100, 100, 100], min_length=1)
    rates: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([0.01])
    dual_scales: Annotated[list[PositiveFloat], Field(min_length=1)] = Field([1.0])
    tuning: float = Field(1.0, gt=0, le=1)


class MultiplierModelAlgorithm(GroupAlgorithm[MultiplierModelSettings]):
    """The multiplier-model method."""

    settings = MultiplierModelSettings
    label = "Multiplier model"
    paper = "Narasimhan et al. (2020)"
    look = PlotStyle("#56B4E9", "P", (0, (1.5, 1)))

    def fit(self, task: Task, settings: MultiplierModelSettings) -> Fit:
        """Run every candidate; the method's heuristic picks candidate and iterate on validation rows."""
        group_task = GroupTask(task, settings)
        pairs = [(rate, scale) for rate in settings.rates for scale in settings.dual_scales]
        short = settings.model_copy(update={"epochs": max(1, round(settings.tuning * settings.epochs))})
        runs = self._runs(group_task, short, pairs)
        result, index = _preferred(runs)
        if settings.tuning < 1:
            runs = self._runs(group_task, settings, [pairs[list(runs).index(result)]])
            result, index = _preferred(runs)
        epoch = runs[result].records[index].step
        chosen = {"candidate": result, "epoch": epoch, "epochs": settings.epochs, "groups": group_task.groups("each").m}
        return group_networks.fit_of(group_task, runs, result, index, chosen)

    def _runs(
        self, group_task: GroupTask, settings: MultiplierModelSettings, pairs: Sequence[tuple[float, float]]
    ) -> dict[str, Recorder]:
        """The run of every pair of a rate and a dual scale, by name."""
        runs: dict[str, Recorder] = {}
        for rate, scale in pairs:
            name = f"rate {rate:g}, dual scale {scale:g}"
            budget = replace(group_task, settings=settings)
            runs[name] = group_networks.follow(
                budget, self._method(group_task, settings, rate, scale), time.process_time
            )
            last = runs[name].records[-1]
            group_task.task.report(f"{name}: loss {last.objective:.4f}, constraint {last.violation:+.4f}")
        return runs

    def _method(
        self, group_task: GroupTask, settings: MultiplierModelSettings, rate: float, scale: float
    ) -> MultiplierModel:
        task = group_task.task
        model = StackedMLP(group_task.descriptions.shape[1], tuple(settings.multiplier_hidden))
        phi = model.initial(generator("multiplier_model", "initial", task.train.name, task.seed))
        stream = generator("multiplier_model", "groups", task.train.name, task.seed)
        return MultiplierModel(
            group_task.start(), group_task.groups("each"), model, phi, group_task.descriptions, rate, scale, stream
        )


def _preferred(runs: Mapping[str, Recorder]) -> tuple[str, int]:
    """Candidate and record that the method's heuristic picks on validation rows."""
    candidates = [(name, index) for name, run in runs.items() for index in range(len(run.records))]
    gaps = np.concatenate([np.array(run.gaps) for run in runs.values()])
    errors = np.concatenate([run.curves()["error"] for run in runs.values()])
    return candidates[best_candidate(gaps, errors)]


ALGORITHM = MultiplierModelAlgorithm()
