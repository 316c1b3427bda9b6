"""A network trained without fairness constraints: the starting point of the curves for images."""

import time

import numpy as np

from papers.partial_fairness.algorithms.networks import NetworkSettings, Training, untrainable
from partialfair.algorithms.contract import Algorithm, Fit, PlotStyle, Record, Task, Trace
from partialfair.data.dataset import Dataset


class DeepUnconstrained(Algorithm[NetworkSettings]):
    """Minimise the logistic loss by Adam; the epoch is chosen on validation accuracy, and is no stationary point."""

    settings = NetworkSettings
    label = "Network, unconstrained"
    paper = "this project"
    look = PlotStyle("#262626", "*")
    needs_gpu = True
    constrained = False
    general = False

    def applies_to(self, constraint: str, data: Dataset) -> str | None:
        """Any classification dataset of images or of a table, where PyTorch is installed."""
        return untrainable(constraint, data)

    def fit(self, task: Task, settings: NetworkSettings) -> Fit:
        """Train for the settings' epochs; the epoch of the best validation accuracy is the result."""
        training = Training.start(task, settings)
        training.run()
        steps = max(task.train.n_rows // settings.batch, 1)
        records = [
            Record(epoch, epoch * steps, loss, 0.0, time.process_time())
            for epoch, loss in enumerate(training.losses, start=1)
        ]
        accuracy, epoch, _ = training.best
        chosen = {"epoch": epoch, "validation_accuracy": accuracy, "weights": training.function.size}
        model = training.model(training.function.start(), np.zeros(0))
        return Fit(model, chosen, Trace({"adam": records}, "adam"))


ALGORITHM = DeepUnconstrained()
