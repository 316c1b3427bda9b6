"""Plug-ins that do not yet keep the contract, made to look as if they did. Goes as soon as the last is converted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms import contract
from partialfair.algorithms.contract import Algorithm, Certificate, Settings, Task, Trace, Witness, unsuitable
from partialfair.algorithms.solution import Record, Solution
from partialfair.models.stored import ScoreModel
from partialfair.tables.dataset import Dataset

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """What such an algorithm returns."""

    solution: Solution
    model: ScoreModel
    selected: dict[str, Any] = field(default_factory=dict)
    histories: dict[str, list[Record]] = field(default_factory=dict)
    chosen: str = ""
    true_violation: Callable[[Vector, Vector], float] | None = None


def classification_only(dataset: Dataset, images: bool = False) -> tuple[bool, str]:
    """The verdict of algorithms for two classes and at least two groups."""
    reason = unsuitable(dataset, images)
    return reason is None, reason or ""


@dataclass(frozen=True, eq=False)
class OldWitness(Witness):
    """The certificate that the algorithm gave itself."""

    fit: Fit

    def objective(self) -> float:
        """As reported."""
        return self.fit.solution.certificate.objective

    def violation(self) -> float | None:
        """As reported."""
        return self.fit.solution.certificate.max_violation

    def indicator_violation(self, point: Any = None) -> float | None:
        """By the function that the algorithm gave."""
        solution, found = self.fit.solution, self.fit.true_violation
        return None if found is None else found(*((solution.params, solution.aux) if point is None else point))

    def certificate(self) -> Certificate | None:
        """As reported, of whatever kind."""
        found = self.fit.solution.certificate
        return Certificate("kkt", found.kkt_residual, "", 0.01, found.multipliers)


class Adapted(Algorithm[Settings]):
    """An algorithm of the former contract."""

    def __init__(self, old: Any) -> None:
        self.old, self.settings = old, old.settings
        self.needs_gpu, self.constrained = old.needs_gpu, old.constrained  # type: ignore[misc]
        self.general, self.loss = getattr(old, "general", False), getattr(old, "loss", None)  # type: ignore[misc]
        self.kappa = "tolerance" if old.kappa_is_slack else "weight"  # type: ignore[misc]

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """The reason alone."""
        applies, reason = self.old.applies_to(constraint, data)
        return None if applies else reason

    def fit(self, task: Task, settings: Settings) -> contract.Fit:
        """In the new form."""
        old = self.old.fit(task, settings)
        if not isinstance(old, Fit):
            return old  # refused by whoever called
        candidates: dict[str, Sequence[contract.Record]] = {
            name: [
                contract.Record(
                    r.iteration, r.inner_steps, r.objective, r.max_violation, r.cpu_seconds, (r.params, r.aux)
                )
                for r in records
            ]
            for name, records in old.histories.items()
        }
        status, _, reason = old.solution.status.partition(": ")
        failure = "" if status == "ok" else reason
        return contract.Fit(old.model, old.selected, Trace(candidates, old.chosen), OldWitness(old), failure)


def adapted(plugin: Any) -> Algorithm[Any]:
    """The plug-in itself, or one that stands for it."""
    return plugin if isinstance(plugin, Algorithm) else Adapted(plugin)
