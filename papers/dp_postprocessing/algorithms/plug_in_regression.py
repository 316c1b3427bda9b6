"""Least squares without a fairness constraint: the base regressor of post-processing."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field, PositiveInt

from papers.dp_postprocessing.algorithms import plug_ins
from papers.dp_postprocessing.algorithms.regression_base import fit_base, regression_only, scale_of
from partialfair.algorithms.contract import Algorithm, EvaluatedPoint, Fit, PlotStyle, Record, Settings, Task, Trace
from partialfair.data.dataset import Dataset
from partialfair.models.grid_predictor import GridPredictor


class PlugInSettings(Settings):
    """Settings of the base models; ``ranges`` of labels by dataset and ``rescale`` as of :mod:`dp_postproc`."""

    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    rescale: bool = True
    max_iter: PositiveInt = 100


@dataclass(frozen=True, eq=False)
class Regressed(EvaluatedPoint):
    """A regressor on the training rows, which no constraint concerns."""

    model: GridPredictor
    rows: Dataset

    def objective(self) -> float:
        """Mean squared error of the predictions on these rows."""
        return float(np.mean((self.model.predictions(self.rows.X).values - self.rows.y) ** 2))

    def violation(self) -> float:
        """0, as there are no constraints."""
        return 0.0

    def indicator_violation(self, point: Any = None) -> float:
        """0, as there are no constraints."""
        return 0.0


class PlugInRegression(Algorithm[PlugInSettings]):
    """The base regressor as it is; the constraint plays no part, and nothing is tuned."""

    settings = PlugInSettings
    label = "Base models"
    paper = "DP post-processing paper, section 6"
    look = PlotStyle("#262626", "*")
    constrained = False

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Any table with real-valued labels."""
        return regression_only(data)

    def fit(self, task: Task, settings: PlugInSettings) -> Fit:
        """Fit the base regression on the training rows; nothing is post-processed."""
        scale = scale_of(task, settings.ranges, settings.rescale)
        warm_up()
        began = time.process_time()
        base = fit_base(task, scale, settings.max_iter)
        ended = time.process_time()
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
        evaluated_point = Regressed(model, task.train)
        risk = evaluated_point.objective()
        task.report(f"training risk {risk:.6f}")
        records = [Record(0, 0, risk, 0.0, began), Record(1, 1, risk, 0.0, ended)]
        trace = Trace({"least_squares": records}, "least_squares")
        return Fit(model, trace=trace, evaluated_point=evaluated_point)


def warm_up() -> None:
    """Load scikit-learn before time is taken: what a process's first fit imports takes longer than the fit."""
    plug_ins.fit(np.eye(2), np.zeros(2), np.arange(2))


ALGORITHM = PlugInRegression()
