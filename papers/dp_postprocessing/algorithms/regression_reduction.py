"""Fair regression by reduction to least squares ("ADW"; Agarwal, Dudik and Wu, 2019), without post-processing.

The baseline of the DP post-processing paper, in both of its regimes: on the training rows (``adw2``), or on training
and validation rows together (``adw1``), whose labels it reads, where post-processing reads features only.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat, PositiveInt

from papers.dp_postprocessing.algorithms.reduction_solver import ROUNDS, Mixture, Sample, solve
from papers.dp_postprocessing.algorithms.regression_base import parity_only
from partialfair.algorithms.contract import (
    Algorithm,
    Certificate,
    EvaluatedPoint,
    Fit,
    PlotStyle,
    Record,
    Settings,
    Task,
    Trace,
)
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from partialfair.models.level_mixture import LevelMixture, with_intercept
from partialfair.seeding import generator


class ReductionSettings(Settings):
    """Settings of the reduction.

    Attributes:
        rows: ``train`` (adw2), or ``labeled`` (adw1): training and validation rows.
        levels: further tolerances, fitted in the same job.
        intercept: whether the linear functions have one; the published baseline has none.
        ranges: smallest and largest label by dataset, mapped to [0, 1]; by default labels already lie there.
        rounds: of exponentiated gradient.
        perturbation: standard deviation of noise on labels, and of relative noise on features. The method chooses among
            mixtures and levels that cost the same; a tiny one shows how much its answer depends on such ties.
    """

    rows: Literal["train", "labeled"] = "train"
    levels: list[float] = Field(default_factory=list)
    intercept: bool = False
    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    rounds: PositiveInt = ROUNDS
    perturbation: NonNegativeFloat = 0.0


@dataclass(frozen=True, eq=False)
class Reduced(EvaluatedPoint):
    """A mixture on the labeled rows, as the point of a saddle-point problem."""

    sample: Sample
    mixture: Mixture
    eps: float
    stationary: float

    @cached_property
    def _above(self) -> list[NDArray[np.bool_]]:
        return [self.sample.above(hypothesis) for hypothesis in self.mixture.hypotheses]

    def _mean(self, statistic: Callable[[NDArray[np.bool_]], Any]) -> Any:
        return sum(weight * statistic(above) for weight, above in zip(self.mixture.weights, self._above, strict=True))

    def objective(self) -> float:
        """Weighted share of thresholds that the mixture puts labels on the wrong side of."""
        return float(self._mean(self.sample.error))

    def violation(self) -> float:
        """Largest difference of shares above a threshold, beyond the tolerance; the indicator is what is bounded."""
        return float(self._mean(self.sample.gaps).max()) - self.eps

    def indicator_violation(self, point: Any = None) -> float:
        """That of :meth:`violation`, which already counts rows above thresholds."""
        return self.violation()

    def certificate(self) -> Certificate:
        """Duality gap of the game; its half a standard error is what the method asks for."""
        return Certificate("duality_gap", self.mixture.gap, "an absolute difference of losses", self.mixture.target)


class RegressionReduction(Algorithm[ReductionSettings]):
    """Mixture of least-squares fits with nearly equal distributions of predictions; nothing is tuned."""

    settings = ReductionSettings
    label = "Reduction (ADW)"
    paper = "Agarwal, Dudik and Wu (2019)"
    look = PlotStyle("#D55E00", "s", (0, (5, 1.5)))

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Tables with real-valued labels under parity of the distribution of predictions."""
        return parity_only(constraint, data)

    def fit(self, task: Task, settings: ReductionSettings) -> Fit:
        """Solve the game on the labeled rows at kappa, and at every further tolerance of ``levels``."""
        low, high = settings.ranges.get(task.train.name, (0.0, 1.0))
        sample = sample_of(task, settings, low, high)
        levels = [task.kappa, *(eps for eps in settings.levels if eps != task.kappa)]
        solutions, candidates = [], {}
        for eps in levels:
            began = time.process_time()
            mixture = solve(sample, eps, settings.rounds)
            ended = time.process_time()
            point = Reduced(sample, mixture, eps, mixture.target)
            loss, excess = point.objective(), point.violation()
            solutions.append(point)
            candidates[f"eps={eps:.3g}"] = [
                Record(0, 0, loss, excess, began),
                Record(1, mixture.rounds, loss, excess, ended, mixture.weights),
            ]
            task.report(f"eps {eps:.3g}: {mixture.rounds} rounds, {len(mixture.weights)} functions")
        mixtures = [point.mixture for point in solutions]
        model = LevelMixture(
            hypotheses=np.concatenate([mixture.hypotheses for mixture in mixtures]),
            weights=np.concatenate([mixture.weights for mixture in mixtures]),
            sizes=np.array([len(mixture.weights) for mixture in mixtures]),
            level_eps=np.array(levels[1:]),
            intercept=settings.intercept,
            scale=(low, high - low),
            group_names=task.train.group_names,
            feature_names=task.train.feature_names,
        )
        return Fit(model, trace=Trace(candidates, next(iter(candidates))), evaluated_point=solutions[0])


def sample_of(task: Task, settings: ReductionSettings, low: float, high: float) -> Sample:
    """The labeled rows, labels mapped from [low, high] to [0, 1].

    Raises:
        ConfigError: a label lies outside.
    """
    tables = [task.train] if settings.rows == "train" else [task.train, task.validation]
    X = np.concatenate([with_intercept(table.X, settings.intercept) for table in tables])
    y = (np.concatenate([table.y for table in tables]) - low) / (high - low)
    if y.min() < 0 or y.max() > 1:
        raise ConfigError(
            f"labels of {task.train.name} reach from {low + y.min() * (high - low):g} to "
            f"{low + y.max() * (high - low):g}; give their range under ranges.{task.train.name}"
        )
    if settings.perturbation:
        noise = generator("perturbation", task.train.name, task.seed)
        X = X * (1.0 + settings.perturbation * noise.standard_normal(X.shape))
        y = np.clip(y + settings.perturbation * noise.standard_normal(y.shape), 0.0, 1.0)
    return Sample(X, y, np.concatenate([table.group for table in tables]), task.train.n_groups)


ALGORITHM = RegressionReduction()
