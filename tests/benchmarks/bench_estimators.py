"""Estimators on drawn tables: seconds of fits without the group, use of kappa by rank maps, and a process's first fit.

python tests/benchmarks/run.py estimators
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from statistics import median

import numpy as np

from partialfair.algorithms.linear.rank_map import fit_rank_map
from partialfair.data.intervals import Interval
from partialfair.estimators import PartialFairClassifier
from tests.benchmarks.common import ROOT, Result, result

INTERVALS = [(0.05, 0.3), (0.2, 0.5), (0.3, 0.6), (0.1, 0.15), (0.5, 1.0), (0.0, 1.0)]
KAPPAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.299, 0.3, 0.4, 0.5, 0.6)
FIRST_FIT = """
import time
import numpy as np
from partialfair.estimators import PartialFairClassifier

random = np.random.default_rng(0)
group = random.integers(0, 2, 1000)
X = random.normal(size=(1000, 5)) + 0.3 * group[:, None]
y = X[:, 0] + random.normal(size=1000) > 0
began = time.perf_counter()
PartialFairClassifier(interval=[(0.2, 0.4)]).fit(X, y, sensitive_features=group)
print(time.perf_counter() - began)
"""


def table(n: int, d: int, groups: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (n, d), of which three differ between groups, labels and groups."""
    random = np.random.default_rng(seed)
    group = random.choice(groups, n, p=random.dirichlet(np.full(groups, 3.0)))
    X = random.normal(size=(n, d))
    X[:, :3] += 0.8 * random.normal(size=(groups, 3))[group]
    logit = X @ (2 * random.normal(size=d) / np.sqrt(d)) + 0.6 * random.normal(size=groups)[group]
    return X, (logit + random.logistic(size=n) > 0.5).astype(int), group


def blind_fit(n: int, d: int) -> float:
    """Largest processor seconds of a fit at kappa .02 or .1, of four tables with two to five groups."""
    taken = []
    for groups in (2, 3, 4, 5):
        X, y, group = table(n, d, groups, groups)
        for kappa in (0.02, 0.1):
            model = PartialFairClassifier(interval=[(0.05, 0.3)], kappa=kappa, uses_group=False)
            began = time.process_time()
            model.fit(X, y, sensitive_features=group)
            taken.append(time.process_time() - began)
    return max(taken[1:])  # the first one compiles


def used_tolerances(tables: int = 60) -> list[float]:
    """Gap over kappa of every map that kappa binds and that meets it."""
    used = []
    for seed in range(tables):
        random = np.random.default_rng(seed)
        sizes = random.integers(60, 1500, random.integers(2, 6))
        parts = [random.normal(size=size) * random.uniform(0.4, 2) + random.normal() for size in sizes]
        scores, group = np.concatenate(parts), np.repeat(np.arange(sizes.size), sizes)
        scores = np.round(scores * 8) / 8 if seed % 3 == 0 else scores
        names = tuple(map(str, range(sizes.size)))
        for kappa in KAPPAS:
            found = fit_rank_map(
                scores, group, names, interval=Interval.of([INTERVALS[seed % 6]]), kappa=kappa, kappa_scale="relative"
            )
            if found.least is None and np.abs(found.scores - scores).max() > 1e-9:
                used.append(found.gap / kappa)
    return used


def first_fit(cache: str) -> float:
    """Seconds of the first fit of a fresh process whose compiled kernels lie in a folder."""
    own = {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FIT], env=os.environ | own, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def run() -> list[Result]:
    """All rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blind = {n: blind_fit(n, d) for n, d in ((500, 8), (30_000, 20))}
    used = used_tolerances()
    with tempfile.TemporaryDirectory() as cache:
        cold = first_fit(cache)
        warm = median(first_fit(cache) for _ in range(3))
    how = "processor seconds, the longest of eight fits of partial statistical parity, kappa .02 and .1"
    return [
        *(
            result(f"blind_fit_seconds_{n}", taken, "s", "<= 5", f"{n:,} rows of 2 to 5 groups: {how}")
            for n, taken in blind.items()
        ),
        result(
            "rank_map_tolerance_used", min(used), "of kappa", ">= 0.5",
            f"the least share of kappa that a rank map uses where kappa binds, of {len(used)} maps",
        ),
        result(
            "first_fit_seconds", cold, "s", "<= 1",
            "the first fit of a fresh process on a machine without compiled kernels, 1,000 rows, imports not counted",
        ),
        result(
            "first_fit_cached_seconds", warm, "s", "<= 1",
            "the same where an earlier process has left its compiled kernels",
        ),
    ]  # fmt: skip
