"""Least squares without a fairness constraint: the base regressor of post-processing."""

import time
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.regression.regression_base import fit_base, regression_only, scale_of
from partialfair.algorithms.solution import Certificate, Record, Solution
from partialfair.algorithms.transition import Fit
from partialfair.models.grid_predictor import GridPredictor
from partialfair.tables.dataset import Dataset


class PlugInSettings(Settings):
    """Settings of the base models; ``ranges`` of labels by dataset and ``rescale`` as of :mod:`dp_postproc`."""

    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    rescale: bool = True
    max_iter: PositiveInt = 100


class PlugInRegression:
    """The base regressor as it is (DP post-processing paper, section 6, "base")."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = False
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = PlugInSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any table with real-valued labels; the constraint plays no part."""
        return regression_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Fit on the training rows; nothing is tuned."""
        assert isinstance(settings, PlugInSettings)
        scale = scale_of(task, settings.ranges, settings.rescale)
        base = fit_base(task, scale, settings.max_iter)
        model = GridPredictor(
            base=base,
            shares=np.bincount(task.train.group, minlength=task.train.n_groups) / task.train.n_rows,
            beta=np.inf,
            theta=scale.atoms(int(np.sqrt(task.validation.n_rows))),
            scale=scale.back,
            difference=np.zeros(0),
            group_names=task.train.group_names,
            feature_names=task.train.feature_names,
        )
        risk = float(np.mean((model.predictions(task.train.X).values - task.train.y) ** 2))
        task.report(f"training risk {risk:.6f}")
        nothing: Any = np.zeros(0)
        record = Record(1, 1, risk, 0.0, time.process_time(), nothing, nothing)
        certificate = Certificate(risk, 0.0, 0.0, nothing)
        solution = Solution(nothing, nothing, certificate, [record])
        return Fit(solution, model, {}, {"least_squares": [record]}, "least_squares", lambda params, aux: 0.0)


ALGORITHM = PlugInRegression()
