"""Fair regression by reduction to least squares ("ADW"; Agarwal, Dudik and Wu, 2019), without post-processing.

The baseline of the DP post-processing paper, in both of its regimes: on the training rows (``adw2``), or on training
and validation rows together (``adw1``), whose labels it reads, where post-processing reads features only.
"""

import time
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.regression.reduction_solver import ROUNDS, Mixture, Sample, solve
from partialfair.algorithms.regression.regression_base import regression_only
from partialfair.algorithms.solution import Certificate, Record, Solution
from partialfair.algorithms.transition import Fit
from partialfair.errors import ConfigError
from partialfair.models.level_mixture import LevelMixture, with_intercept
from partialfair.tables.dataset import Dataset


class ReductionSettings(Settings):
    """Settings of the reduction.

    Attributes:
        rows: ``train`` (adw2), or ``labeled`` (adw1): training and validation rows.
        levels: further tolerances, fitted in the same job.
        intercept: whether the linear functions have one; the published baseline has none.
        ranges: smallest and largest label by dataset, mapped to [0, 1]; by default labels already lie there.
        rounds: of exponentiated gradient.
    """

    rows: Literal["train", "labeled"] = "train"
    levels: list[float] = Field(default_factory=list)
    intercept: bool = False
    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    rounds: PositiveInt = ROUNDS


class RegressionReduction:
    """Mixture of least-squares fits with nearly equal distributions of predictions."""

    needs_gpu: ClassVar[bool] = False
    constrained: ClassVar[bool] = True
    kappa_is_slack: ClassVar[bool] = True
    general: ClassVar[bool] = True
    settings: ClassVar[type[Settings]] = ReductionSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Tables with real-valued labels under parity of the distribution of predictions."""
        if constraint != "distribution_parity":
            return False, f"it makes distributions of predictions equal, which is distribution_parity, not {constraint}"
        return regression_only(dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Fit on the labeled rows; nothing is tuned."""
        assert isinstance(settings, ReductionSettings)
        low, high = settings.ranges.get(task.train.name, (0.0, 1.0))
        parts = [task.train] if settings.rows == "train" else [task.train, task.validation]
        X = np.concatenate([with_intercept(part.X, settings.intercept) for part in parts])
        y = (np.concatenate([part.y for part in parts]) - low) / (high - low)
        if y.min() < 0 or y.max() > 1:
            raise ConfigError(
                f"labels of {task.train.name} reach from {low + y.min() * (high - low):g} to "
                f"{low + y.max() * (high - low):g}; give their range under ranges.{task.train.name}"
            )
        sample = Sample(X, y, np.concatenate([part.group for part in parts]), task.train.n_groups)
        levels = [task.kappa, *(eps for eps in settings.levels if eps != task.kappa)]
        found, histories = [], {}
        for eps in levels:
            began = time.process_time()
            mixture = solve(sample, eps, settings.rounds)
            ended = time.process_time()
            found.append(mixture)
            histories[f"eps={eps:.3g}"] = _records(sample, mixture, eps, began, ended)
            task.report(f"eps {eps:.3g}: {mixture.rounds} rounds, {len(mixture.weights)} functions")
        model = LevelMixture(
            hypotheses=np.concatenate([mixture.hypotheses for mixture in found]),
            weights=np.concatenate([mixture.weights for mixture in found]),
            sizes=np.array([len(mixture.weights) for mixture in found]),
            level_eps=np.array(levels[1:]),
            intercept=settings.intercept,
            scale=(low, high - low),
            group_names=task.train.group_names,
            feature_names=task.train.feature_names,
        )
        main = next(iter(histories))
        last = histories[main][-1]
        certificate = Certificate(last.objective, max(last.max_violation, 0.0), found[0].gap, np.zeros(0))
        solution = Solution(last.params, last.aux, certificate, histories[main])
        return Fit(solution, model, {}, histories, main, lambda params, aux: last.max_violation)


def _records(sample: Sample, mixture: Mixture, eps: float, began: float, ended: float) -> list[Record]:
    """The state before and after: error of the mixture and its largest gap beyond the tolerance."""
    above = [sample.above(hypothesis) for hypothesis in mixture.hypotheses]
    error = float(sum(weight * sample.error(one) for weight, one in zip(mixture.weights, above, strict=True)))
    gaps: Any = sum(weight * sample.gaps(one) for weight, one in zip(mixture.weights, above, strict=True))
    nothing: NDArray[np.float64] = np.zeros(0)
    excess = float(gaps.max()) - eps
    return [
        Record(0, 0, error, excess, began, nothing, nothing),
        Record(1, mixture.rounds, error, excess, ended, mixture.weights, nothing),
    ]


ALGORITHM = RegressionReduction()
