"""Logistic regression without fairness constraints: the common starting point of all trade-off curves."""

from typing import ClassVar

from pydantic import PositiveFloat, PositiveInt

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Settings, Task, classification_only
from partialfair.algorithms.linear.unconstrained_solver import solve
from partialfair.tables.dataset import Dataset


class UnconstrainedSettings(Settings):
    """Settings of Newton's method; see :func:`partialfair.algorithms.linear.unconstrained_solver.solve`."""

    iterations: PositiveInt = 50
    tolerance: PositiveFloat = 1e-9


class Unconstrained:
    """Minimise the logistic loss (Partial fairness paper, section 3, "Unconstrained")."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = False
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings_model: ClassVar[type[Settings]] = UnconstrainedSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any classification dataset; the constraint plays no part."""
        return classification_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Minimise the loss on the training rows; nothing is tuned."""
        assert isinstance(settings, UnconstrainedSettings)
        if not task.fused:
            return plugins.general_path().fit_unconstrained(task, settings)
        solution = solve(task.problem, iterations=settings.iterations, tolerance=settings.tolerance)
        task.report(f"loss {solution.certificate.objective:.5f}")
        model = task.linear_score(solution.params, solution.aux)
        return Fit(solution, model, {}, {"newton": solution.history}, "newton")


ALGORITHM = Unconstrained()
