"""Post-processing of regressions: one tolerance with compiled steps, with base models at every step, exactly, and ADW.

    python -m tests.benchmarks.bench_postprocessing

Processor seconds in one process, on drawn data of the size of the paper's (800 unlabeled rows, 57 atoms); only ratios
mean something.
"""

import json
from typing import Any

import numpy as np

from papers.dp_postprocessing.algorithms import plug_ins
from papers.dp_postprocessing.algorithms import reduction_solver as regression_reduction
from papers.dp_postprocessing.algorithms.dp_postproc import warm_up
from papers.dp_postprocessing.algorithms.per_step import EveryStep
from papers.dp_postprocessing.algorithms.stochastic_approximation import DualSteps, Schedule, minimise
from partialfair.algorithms.regression import proximal_newton
from partialfair.algorithms.regression.fair_dual import Dual, atoms, split, spread
from partialfair.models.grid_predictor import group_weights
from tests.benchmarks.common import Result, result, seconds

STEPS = 5000
LEVELS = tuple(2.0**-power for power in (2, 4, 5, 6, 7, 8, 10, 16, 32))


def problem(rows: int = 800) -> tuple[Dual, plug_ins.PlugIns, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A dual, its base models, its rows, the group shares, and the labels and groups of the rows."""
    random = np.random.default_rng(0)
    group = (random.random(2 * rows) < 0.7).astype(int)
    X = random.standard_normal((2 * rows, 9)) + 0.9 * group[:, None] * (np.arange(9) < 3)
    y = np.tanh(0.25 * X[:, :4].sum(axis=1) + 0.3 * random.standard_normal(2 * rows))
    base = plug_ins.fit(X[:rows], y[:rows], group[:rows])
    unlabeled, size = X[rows:], int(np.sqrt(rows))
    tau = base.tau(unlabeled)
    shares = tau.mean(axis=0)
    costs = (base.eta(unlabeled)[:, None] - atoms(size)) ** 2
    beta = np.sqrt(rows) * np.log2(np.sqrt(rows))
    return (
        Dual(group_weights(tau, shares), costs, np.full(2, 0.01), beta),
        base,
        unlabeled,
        shares,
        y[:rows],
        group[:rows],
    )


def measure(steps: int = STEPS) -> dict[str, Any]:
    """Times and ratios, and the largest gradient mapping of the deterministic solver."""
    dual, base, unlabeled, shares, y, group = problem()
    warm_up(dual)
    proximal_newton.solve(dual)
    smoothness = 2 * dual.beta * spread(shares)
    schedule = Schedule(smoothness, smoothness / steps, steps)
    zero = split(np.zeros(dual.shape))
    stochastic: list[float] = []
    exact: list[float] = []
    mappings: list[float] = []
    before = None
    for eps in LEVELS:
        at = dual.with_eps(eps)
        runs = [DualSteps(at, np.random.default_rng(1), 0) for _ in range(3)]
        stochastic.append(min(seconds(lambda run=run: minimise(run, zero, "sgd3_acsa2", schedule))[0] for run in runs))
        spent = [
            seconds(lambda here=at, start=before: proximal_newton.solve(here, start, tolerance=1e-7)) for _ in range(3)
        ]
        before = spent[0][1].difference
        exact.append(min(one for one, _ in spent))
        mappings.append(float(np.linalg.norm(at.gradient_mapping(spent[0][1].point, 1 / smoothness))))
    slow = EveryStep.build(dual, base, unlabeled, shares, np.random.default_rng(1), 0)
    every_step, _ = seconds(lambda: minimise(slow, zero, "sgd3_acsa2", schedule))
    sample = regression_reduction.Sample(unlabeled, (y + 1) / 2, group, 2)
    reduction = [seconds(lambda eps=eps: regression_reduction.solve(sample, eps))[0] for eps in (0.5, 0.0625, 2.0**-8)]
    unit = float(np.median(stochastic))
    return {
        "steps": steps,
        "compiled_seconds": unit,
        "every_step_ratio": every_step / unit,
        "exact_ratios": [one / unit for one in exact],
        "reduction_ratios": [one / unit for one in reduction],
        "largest_gradient_mapping": max(mappings),
    }


def run() -> list[Result]:
    """The compiled steps against steps that ask the base models anew, for information."""
    found = measure(1000)
    how = (
        f"drawn data, {found['steps']} steps of one tolerance: processor seconds with the base models asked at "
        f"every step over "
        f"those of compiled steps ({found['compiled_seconds']:.3f} s)"
    )
    return [result("compiled_dual_steps", found["every_step_ratio"], "times", None, how)]


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
