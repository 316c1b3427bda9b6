"""What algorithms of regression share: base models, the scale of the label, and which tasks they take."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.dp_postprocessing.algorithms import plug_ins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.regression.fair_dual import atoms
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from partialfair.models.grid_predictor import PlugIns

Vector = NDArray[np.float64]


def regression_only(data: Dataset) -> str | None:
    """Why rows are not for an algorithm that needs real-valued labels and at least two groups; ``None`` if they are."""
    if data.task != "regression":
        return f"{data.name} has classes as labels, this algorithm needs real-valued ones"
    if data.n_groups < 2:
        return f"{data.name} has one group, a fairness constraint needs at least two"
    if data.image_shape is not None:
        return f"the rows of {data.name} are images, which a linear model of this algorithm cannot read"
    return None


def parity_only(constraint: str, data: Dataset) -> str | None:
    """The same, of algorithms whose constraint is parity of the distribution of predictions."""
    if constraint != "distribution_parity":
        return f"it makes distributions of predictions equal, which is distribution_parity, not {constraint}"
    return regression_only(data)


@dataclass(frozen=True)
class Scale:
    """The label's range, and how it is mapped for the base models.

    Attributes:
        low, high: range of the label.
        unit: whether it is mapped to [-1, 1]; otherwise atoms lie between low and high as they are.
    """

    low: float
    high: float
    unit: bool = True

    @property
    def back(self) -> tuple[float, float]:
        """Offset and factor that lead back to the label."""
        # label = offset + factor * scaled label, which lies in [-1, 1]
        return ((self.low + self.high) / 2, (self.high - self.low) / 2) if self.unit else (0.0, 1.0)

    def scaled(self, y: Vector) -> Vector:
        """Labels as the base models see them."""
        offset, factor = self.back
        return (y - offset) / factor

    def atoms(self, size: int) -> Vector:
        """The grid of 2 ``size`` + 1 atoms on the scale of the base models."""
        if self.unit:
            return atoms(size)
        return (self.low + self.high) / 2 + atoms(size, (self.high - self.low) / 2)


def scale_of(task: Task, ranges: dict[str, Any], unit: bool) -> Scale:
    """The scale of a task: a range known beforehand, given by dataset, or that of the training labels.

    Raises:
        ConfigError: a range that is none.
    """
    name = task.train.name
    low, high = ranges.get(name, (float(task.train.y.min()), float(task.train.y.max())))
    if not low < high:
        raise ConfigError(f"ranges.{name} is [{low}, {high}]: give the label's smallest and largest value")
    return Scale(float(low), float(high), unit)


def by_dataset(value: Any, task: Task, setting: str) -> Any:
    """A setting that may be a mapping from datasets to values.

    Raises:
        ConfigError: the mapping has no entry for the dataset.
    """
    if not isinstance(value, dict):
        return value
    if task.train.name not in value:
        raise ConfigError(f"{setting} has no entry for {task.train.name}; add one")
    return value[task.train.name]


def fit_base(task: Task, scale: Scale, max_iter: int) -> PlugIns:
    """Base models of the labeled (training) rows."""
    rows = task.train
    return plug_ins.fit(rows.X, scale.scaled(rows.y), rows.group, max_iter)
