"""A network trained without fairness constraints: the starting point of the curves for images."""

import time
from typing import ClassVar

import numpy as np

from partialfair.algorithms.contract import Settings, Task
from partialfair.algorithms.deep.networks import NetworkSettings, Training, applies
from partialfair.algorithms.solution import Certificate, Record, Solution
from partialfair.algorithms.transition import Fit
from partialfair.tables.dataset import Dataset


class DeepUnconstrained:
    """Minimise the logistic loss by Adam; the epoch is chosen on validation accuracy."""

    needs_gpu: ClassVar[bool] = True
    constrained: ClassVar[bool] = False
    kappa_is_slack: ClassVar[bool] = False
    settings: ClassVar[type[Settings]] = NetworkSettings

    def applies_to(self, constraint: str, dataset: Dataset) -> tuple[bool, str]:
        """Any classification dataset of images or of a table, where PyTorch is installed."""
        return applies(constraint, dataset)

    def fit(self, task: Task, settings: Settings) -> Fit:
        """Train; the certificate's residual is not computed (NaN), since the best epoch is no stationary point."""
        assert isinstance(settings, NetworkSettings)
        training = Training.start(task, settings)
        training.run()
        w = training.function.start()
        scores = training.function.all_scores(w, task.train.X, task.train.group)
        loss = float(np.logaddexp(0.0, -task.train.y * scores).mean())
        nothing = np.zeros(0)
        steps = max(task.train.n_rows // settings.batch, 1)
        history = [
            Record(epoch, epoch * steps, value, 0.0, time.process_time(), nothing, nothing)
            for epoch, value in enumerate(training.losses, start=1)
        ]
        selected = {
            "epoch": training.best[1],
            "validation_accuracy": training.best[0],
            "weights": training.function.size,
        }
        solution = Solution(nothing, nothing, Certificate(loss, 0.0, float("nan"), nothing), history)
        return Fit(solution, training.model(w, nothing), selected, {"adam": history}, "adam")


ALGORITHM = DeepUnconstrained()
