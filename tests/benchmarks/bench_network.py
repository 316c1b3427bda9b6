"""A step of the AUC fairness networks on sparse rows against the same step by dense matrix products."""

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from papers.auc_fairness.algorithms.sigmoid_network import SigmoidNetwork
from partialfair.algorithms.auc.level_set import csr
from partialfair.kernels import sigmoid_network_steps as kernels
from tests.benchmarks.common import Result, real_dataset, result, training_rows

NETWORKS, HIDDEN, BATCH = 60, 10, 100
"""As IQRC on a9a: twelve tolerances with five step constants."""
STEPS, WARM = 200, 5


def seconds(*steps: Callable[[], object]) -> list[float]:
    """Median processor seconds of each step, taken in turn."""
    found = np.empty((WARM + STEPS, len(steps)))
    for times in found:
        for place, step in enumerate(steps):
            began = time.process_time()
            step()
            times[place] = time.process_time() - began
    return [float(value) for value in np.median(found[WARM:], axis=0)]


def run() -> list[Result]:
    """Scores and derivatives of a batch."""
    train, _ = training_rows(real_dataset("a9a"))
    X = sparse.csr_array(train.X, dtype=np.float64)
    random, network = np.random.default_rng(0), SigmoidNetwork(X.shape[1], HIDDEN)
    theta = np.stack([network.initial(random) for _ in range(NETWORKS)])
    residual = random.normal(size=(BATCH, NETWORKS))
    table, arrays, dense, stored = network.table(theta), csr(X), X.toarray(), network.stored
    gradient, scores = np.empty_like(table), np.empty((BATCH, NETWORKS))
    hidden = np.empty((BATCH, HIDDEN, NETWORKS))
    batch = random.integers(0, X.shape[0], BATCH)

    def compiled() -> None:
        kernels.forward(*arrays, batch, table, HIDDEN, hidden, scores)
        kernels.backward(*arrays, batch, table, HIDDEN, hidden, scores, residual, gradient)

    def products() -> None:
        _, cache = stored.forward(theta, dense[None, batch])
        stored.backward(theta, cache, np.ascontiguousarray(residual.T))

    own, other = seconds(compiled, products)
    how = (
        f"a9a: scores and derivatives of {NETWORKS} networks of {HIDDEN} units on {BATCH} rows by dense products "
        f"({1e6 * other:.0f} us) over the compiled kernels on sparse rows ({1e6 * own:.0f} us), in turn"
    )
    return [result("auc_network_step_vs_dense", other / own, "times", ">= 2", how)]


if __name__ == "__main__":
    for line in run():
        print(line)
