"""The direct solver: augmented Lagrangian on the constrained problem. It has nothing to tune."""

from dataclasses import replace
from typing import ClassVar

from pydantic import PositiveFloat, PositiveInt

from partialfair import plugins
from partialfair.algorithms.contract import Fit, Settings, Task, classification_only
from partialfair.algorithms.linear.augmented_lagrangian import Budget, Point, solve
from partialfair.algorithms.solution import Record
from partialfair.tables.dataset import Dataset


class ALMSettings(Settings):
    """Settings of the solver (see :class:`partialfair.algorithms.linear.augmented_lagrangian.Budget`) and of its
    problem.

    Attributes:
        closed_grid: constrain the end of the interval, too. On the paper's half-open grid the optimum uses the
            freedom of the ranks above the last one: on a9a, kappa .1, the largest difference inside I is .166
            with it and .106 without, at the same accuracy.
    """

    closed_grid: bool = True
    tolerance: PositiveFloat = 1e-4
    stationarity: PositiveFloat = 1e-3
    rounds: PositiveInt = 40
    inner_iterations: PositiveInt = 50
    penalty: PositiveFloat = 10.0
    growth: PositiveFloat = 3.0
    warm_iterations: PositiveInt = 4

    def budget(self) -> Budget:
        """Those of the solver."""
        return Budget(**self.model_dump(exclude={"closed_grid"}))

    def task(self, task: Task) -> Task:
        """The task with the grid that these settings ask for."""
        return replace(task, closed_grid=self.closed_grid)


class ALM:
    """Solve the constrained problem directly (see :mod:`partialfair.algorithms.linear.augmented_lagrangian`)."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings_model: ClassVar[type[Settings]] = ALMSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any family of hinge-mean constraints on a classification dataset with at least two groups."""
        return classification_only(dataset)

    def fit(self, task: Task, settings: Settings, start: Point | None = None) -> Fit:
        """Solve on the training rows, from ``start`` if given; validation rows are not used."""
        assert isinstance(settings, ALMSettings)
        if not task.fused:
            return plugins.general_path().fit_alm(task, settings)
        task = settings.task(task)
        budget = settings.budget()

        def report(record: Record) -> None:
            task.report(
                f"round {record.iteration}/{budget.rounds}: loss {record.objective:.5f}, "
                f"violation {record.max_violation:.1e}, {record.inner_steps} evaluations"
            )

        solution = solve(task.problem, budget=budget, start=start, report=report)
        model = task.linear_score(solution.params, solution.aux)
        return Fit(solution, model, {}, {"alm": solution.history}, "alm", task.problem.true_violation)


ALGORITHM = ALM()
