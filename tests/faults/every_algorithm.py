"""Fit every algorithm to 1,500 rows, and a network to images, and print hashes of the scores.

``python -m tests.faults.every_algorithm``
"""

import hashlib
import math
from dataclasses import replace
from typing import Any

import numpy as np

from papers.partial_fairness.datasets import drawn_faces
from partialfair import plugins
from partialfair.data.dataset import Dataset
from reproduction.datasets import simulated
from reproduction.jobs.train import attempt, validated
from tests.algorithms.test_algorithm_contract import QUICK, family_for, make_task
from tests.faults.load_order import load_everything_if_told

RESNET = "resnet18"
ON_IMAGES = {"width": 4, "stem": "small", "epochs": 1, "rounds": 1, "inner_steps": 4, "step_scale": 0.1}


def main() -> None:
    """Print a line per algorithm: name, hash of the scores of the validation rows, status; then one for images."""
    load_everything_if_told()
    classes = simulated.load(rows=1500)
    values = replace(classes, task="regression", y=1 / (1 + np.exp(-classes.X[:, 0].astype(float))))
    for name in plugins.names("algorithms"):
        algorithm = plugins.load("algorithms", name).ALGORITHM
        data = classes if family_for(algorithm, classes) else values
        fitted(name, name, data, 0.1 if algorithm.constrained else math.inf, QUICK.get(name, {}))
    fitted(RESNET, "deep_idca", drawn_faces.load(images=100, size=16), 0.1, ON_IMAGES)


def fitted(shown: str, name: str, data: Dataset, kappa: float, settings: dict[str, Any]) -> None:
    """Fit an algorithm and print its line."""
    algorithm = plugins.load("algorithms", name).ALGORITHM
    task = make_task(data, kappa, family_for(algorithm, data))
    found = attempt(algorithm, task, validated(algorithm, name, settings))
    scores = found.fit.model.scores(task.validation.X, task.validation.group)
    print(shown, hashlib.sha256(np.asarray(scores).tobytes()).hexdigest()[:16], found.status, flush=True)


if __name__ == "__main__":
    main()
