"""Fit every algorithm to 1,500 rows and print a hash of its scores.

``python -m tests.faults.every_algorithm``; names that are given are left out.
"""

import hashlib
import math
import sys
from dataclasses import replace

import numpy as np

from partialfair import plugins
from partialfair.datasets import simulated
from partialfair.jobs.train import attempt, validated
from tests.algorithms.test_algorithm_contract import QUICK, family_for, make_task
from tests.faults.load_order import load_everything_if_told


def main() -> None:
    """Print a line per algorithm: name, hash of the scores of the validation rows, status."""
    load_everything_if_told()
    classes = simulated.load(rows=1500)
    values = replace(classes, task="regression", y=1 / (1 + np.exp(-classes.X[:, 0].astype(float))))
    for name in [name for name in plugins.names("algorithms") if name not in sys.argv[1:]]:
        algorithm = plugins.load("algorithms", name).ALGORITHM
        data = classes if family_for(algorithm, classes) else values
        task = make_task(data, 0.1 if algorithm.constrained else math.inf, family_for(algorithm, data))
        found = attempt(algorithm, task, validated(algorithm, name, QUICK.get(name, {})))
        scores = found.fit.model.scores(task.validation.X, task.validation.group)
        print(name, hashlib.sha256(np.asarray(scores).tobytes()).hexdigest()[:16], found.status, flush=True)


if __name__ == "__main__":
    main()
