"""The batched IDCA step against the limits of the machine, measured in the same run.

The step scores all rows for eight configurations, takes the sums of the constraints and pulls a residual back. Written
with matrices its two row products are ``X @ W`` and ``X.T @ R``, (n, d+1) with eight columns. Two limits:

* GEMM: these two products in float32 by the machine's BLAS, at this shape, whichever layout is faster. The step does
more
  (hinge means, losses, residuals) and reads less (combinations of ones instead of columns), so more than 1 is possible.
* Memory: the bytes that the step has to read and write, by the speed of a float32 copy over as many bytes. It says how
  far the step is from one that computes nothing.
"""

from dataclasses import dataclass

import numpy as np

from partialfair.algorithms.linear.idca_solver import Configuration, advance, start_runs
from partialfair.algorithms.linear.problem import LinearProblem
from tests.benchmarks.common import Result, dense_rows, psp_problem, rates, real_dataset, result, training_rows

CASES = (("a9a", [[0.05, 0.3]], 0.1), ("bank", [[0.0, 0.25]], 0.08))
CONFIGURATIONS = [Configuration(200, eps) for eps in (5e-4, 7e-4, 1e-3, 1.4e-3, 2e-3, 2.8e-3, 4e-3, 5e-3)]
ROUNDS = 2
STEPS = ROUNDS * CONFIGURATIONS[0].inner_steps
LANES = len(CONFIGURATIONS)
REPEATS = 40  # of what takes a millisecond


@dataclass(frozen=True)
class Limits:
    """Seconds of one batched step, and of the least that the machine could need for it.

    Attributes:
        step: measured.
        gemm: both dense products at this shape, the faster layout.
        gemm_at_peak: the same multiplications at the rate of a large square product.
        memory: the step's own bytes at the speed of a copy.
        bytes_: those bytes.
    """

    step: float
    gemm: float
    gemm_at_peak: float
    memory: float
    bytes_: int


def bytes_of_step(problem: LinearProblem) -> int:
    """Bytes that a batched step moves at least.

    Both products read the codes and the dense columns; the scores are written, read for the sums and read for the
    residual; the residual is written and read; the labels are read.
    """
    design = problem.design
    rows = 2 * (design.codes.nbytes + design.dense.nbytes)
    return rows + 4 * design.n_rows * (LANES * 5 + 1)


def measure(name: str, interval: list[list[float]], kappa: float) -> Limits:
    """Step and limits on the training rows of a dataset, in turn."""
    train, standardiser = training_rows(real_dataset(name))
    problem = psp_problem(train, standardiser, interval, kappa)
    ones = np.ones((train.n_rows, 1), np.float32)
    X = np.hstack([ones, dense_rows(train, standardiser).astype(np.float32)])
    rng = np.random.default_rng(0)
    W = rng.standard_normal((X.shape[1], LANES), np.float32)
    R = rng.standard_normal((X.shape[0], LANES), np.float32)
    Rt, Wt = np.ascontiguousarray(R.T), np.ascontiguousarray(W.T)
    square = rng.standard_normal((1536, 1536), np.float32)
    size = bytes_of_step(problem)
    source = np.zeros(max(size // 8, 1), np.float32)  # a copy reads and writes: 4 + 4 bytes an entry
    target = np.zeros_like(source)
    step, rows_first, columns_first, large, copy = rates(
        (lambda: _steps(problem), STEPS),
        (lambda: [(X @ W, X.T @ R) for _ in range(REPEATS)], REPEATS),
        (lambda: [(Wt @ X.T, Rt @ X) for _ in range(REPEATS)], REPEATS),
        (lambda: square @ square, 1),
        (lambda: [np.copyto(target, source) for _ in range(4 * REPEATS)], 4 * REPEATS),
    )
    flops = 4 * X.size * LANES
    return Limits(step, min(rows_first, columns_first), flops * large / (2 * square.size * len(square)), copy, size)


def _steps(problem: LinearProblem) -> None:
    runs = start_runs(problem, CONFIGURATIONS)
    advance(problem, runs, ROUNDS)
    if {run.inner_steps for run in runs} != {STEPS}:
        raise RuntimeError("a configuration ended early, so that fewer than eight columns moved")


def run() -> list[Result]:
    """Fraction of the GEMM limit, least over the datasets, and both fractions of each dataset."""
    found = {name: measure(name, interval, kappa) for name, interval, kappa in CASES}
    out = []
    for name, limits in found.items():
        at = f"{name}, 8 configurations, one thread, step {1e3 * limits.step:.2f} ms"
        out += [
            result(
                f"step_limit_fraction_{name}", limits.gemm / limits.step, "of the limit", ">= 0.4",
                f"{at}; limit: the two float32 products of the same shape by BLAS, {1e3 * limits.gemm:.2f} ms (at the "
                f"rate of a large square product they would take {1e3 * limits.gemm_at_peak:.2f} ms, "
                f"{limits.gemm_at_peak / limits.step:.2f} of the step)",
            ),
            result(
                f"step_memory_fraction_{name}", limits.memory / limits.step, "of the limit", None,
                f"{at}; limit: a copy over the {limits.bytes_ / 1e6:.1f} MB that the step reads and writes in its own "
                f"layout, {1e3 * limits.memory:.2f} ms; the rest of the step is arithmetic of the constraints and "
                f"losses",
            ),
        ]  # fmt: skip
    worst = min(found, key=lambda name: found[name].gemm / found[name].step)
    how = f"the smaller of {' and '.join(f'step_limit_fraction_{name}' for name in found)}, that of {worst}"
    fraction = found[worst].gemm / found[worst].step
    return [result("step_limit_fraction", fraction, "of the limit", ">= 0.4", how), *out]
