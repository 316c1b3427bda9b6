"""Batched IDCA against the plain NumPy loop, in configurations per second."""

import numpy as np

from partialfair.algorithms.linear.idca_solver import Configuration, advance, start_runs
from tests.benchmarks.common import Result, alternate, dense_rows, psp_problem, real_dataset, result, training_rows
from tests.benchmarks.naive_idca import NaivePSP

STEPS = 25  # inner steps of the plain loop; it has no start-up cost that more steps would hide


def run() -> list[Result]:
    """Inner steps per second of the paper's eight configurations: as one batch, and one by one in plain NumPy."""
    train, standardiser = training_rows(real_dataset("a9a"))
    problem = psp_problem(train, standardiser, [[0.05, 0.3]], 0.1)
    naive = NaivePSP(dense_rows(train, standardiser), train.y, train.group, 0.05 + 0.025 * np.arange(10), 0.1)
    configurations = [Configuration(steps, eps) for steps in (150, 200) for eps in (5e-4, 1e-3, 2e-3, 5e-3)]

    def batched(rounds: int = 3) -> None:
        advance(problem, start_runs(problem, configurations), rounds)

    batched(1)  # compile
    fast, slow = alternate(batched, lambda: naive.switching(naive.linearise(*naive.start()), STEPS, 2e-3))
    fast_steps = 3 * sum(configuration.inner_steps for configuration in configurations)
    ratio = (fast_steps / fast) / (STEPS / slow)
    how = (
        f"a9a, kappa 0.1, {train.n_rows} rows: inner steps per processor second, 8 configurations as one batch "
        f"({1e3 * fast / fast_steps:.3f} ms a step) against a float64 NumPy loop ({1e3 * slow / STEPS:.1f} ms a step); "
        "medians of 3 alternating runs"
    )
    return [result("idca_batched_vs_naive", ratio, "times", ">= 20", how)]
