"""Same seeds, same numbers: whatever the number of threads, and however often it is run.

The kernels of this package are single-threaded and add in a fixed order, so they cannot depend on threads. The linear
algebra library that NumPy calls may split large products among threads and add in another order; where it does, the
difference is bounded here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.lab import LIMIT, ROOT

pytestmark = pytest.mark.slow

FIT = """
import sys, hashlib
import numpy as np
from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.datasets import simulated
from partialfair.datasets.splits import make_split
from partialfair.metrics import evaluate_all

data = simulated.load(rows=20000)
split = make_split(data, 0)
for name, settings, kappa in (
    ("unconstrained", {}, float("inf")),
    ("alm", {"rounds": 6}, 0.1),
    ("idca", {"inner_steps": [30], "tolerances": [0.005], "tuning_rounds": 2, "rounds": [4]}, 0.1),
):
    task = Task(data.take(split.train), data.take(split.validation), "partial_statistical_parity", [[0.1, 0.4]],
                kappa, kappa_scale="absolute", report=lambda line: None)
    algorithm = plugins.load("algorithms", name).ALGORITHM
    model = algorithm.fit(task, algorithm.settings(**settings)).model
    weights = model.weights
    test = data.take(split.test)
    values, _ = evaluate_all(np.asarray(model.scores(test.X, test.group), np.float32), test.y, test.group, [[0.1, 0.4]])
    print(name, hashlib.sha256(weights.tobytes()).hexdigest()[:16], *(float(w).hex() for w in weights.ravel()))
    print(name, "metrics", hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:16])
"""


def fitted(threads: int, kernels: Path) -> list[str]:
    """Weights and metrics of three algorithms, fitted by a process with so many threads."""
    count = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(kernels), **count}
    done = subprocess.run(
        [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def largest_difference(one: list[str], two: list[str]) -> float:
    """The largest difference of a weight; the metrics have to be the same."""
    largest = 0.0
    for first, second in zip(one, two, strict=True):
        if " metrics " in first:
            assert first == second, f"the metrics differ: {first}, {second}"
            continue
        weights = [[float.fromhex(word) for word in line.split()[2:]] for line in (first, second)]
        largest = max(largest, *(abs(a - b) for a, b in zip(*weights, strict=True)))
    return largest


def test_fits_agree_between_threads_and_between_new_and_stored_kernels(tmp_path: Path) -> None:
    compiled = fitted(1, tmp_path)  # the kernels are compiled by this process, the others load them
    one, two = fitted(1, tmp_path), fitted(2, tmp_path)
    assert largest_difference(one, two) <= 1e-9
    # IDCA computes in single precision; a process that compiles its kernels rounds otherwise than one that loads them.
    assert largest_difference(compiled, one) <= 1e-7
    assert [line for line in compiled if "idca" not in line] == [line for line in one if "idca" not in line]
