"""AUC fairness: growth with rows of a pass of the level-set method and of one of a method that looks at all pairs.

Drawn rows, processor time. A pass of the level-set method takes as many draws as there are rows, in steps of 100;
online, it takes the rows one at a time. A pass over pairs is one step of the proxy-Lagrangian with all rows as its
batch, whose multipliers follow the share of ordered pairs.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from papers.auc_fairness.algorithms import pair_descent
from papers.auc_fairness.algorithms.pair_descent import DescentBudget
from partialfair.algorithms.auc import level_set
from partialfair.algorithms.auc.level_set import LevelSetBudget, Rows
from partialfair.data.auc_sets import preset
from partialfair.estimators.online_auc import OnlineAUC
from tests.benchmarks.bench_growth import curve
from tests.benchmarks.common import Result, exponent, result, seconds

ROWS = (1_000, 10_000, 100_000)
FEATURES = 20
WORK = 20_000  # rows to pass over in one timed call, at least

Pass = Callable[[Rows], object]


def drawn(n: int) -> Rows:
    """Return n rows with standard normal features, all four cells in them."""
    random = np.random.default_rng(0)
    cells = random.integers(0, 4, n)
    X = random.standard_normal((n, FEATURES)) + 0.3 * (cells % 2)[:, None]
    return Rows(sparse.csr_array(X), cells, preset("group"))


def level_set_pass(rows: Rows) -> object:
    """Take as many draws as there are rows, in steps of 100."""
    budget = LevelSetBudget(steps=rows.cells.size // 100, calls=1, marks=1)
    return level_set.solve(rows, [1.1], [0.1], np.random.default_rng(0), budget)


def online_pass(rows: Rows) -> object:
    """Take the rows one at a time."""
    return OnlineAUC("group").partial_fit(rows.X.toarray(), np.where(rows.cells % 2, 1, -1), rows.cells >= 2)


def pairs_pass(rows: Rows) -> object:
    """Take one step on all pairs."""
    budget = DescentBudget(batch=rows.cells.size, steps=1, marks=1)
    return pair_descent.solve(rows, "proxy", [0.1], [0.1], np.random.default_rng(0), budget)


def milliseconds(take: Pass, rows: Rows) -> Callable[[], float]:
    """Return a timer of one pass, the mean of as many as make up the work."""
    calls = max(1, WORK // rows.cells.size)
    return lambda: 1e3 * seconds(lambda: [take(rows) for _ in range(calls)])[0] / calls


def run() -> list[Result]:
    """Measure the three passes in the same rounds, sizes and methods in turn."""
    tables = [drawn(n) for n in ROWS]
    passes: list[tuple[str, str, Pass]] = [
        ("level_set", "level-set method in steps of 100 rows", level_set_pass),
        ("online", "OnlineAUC, one row at a time", online_pass),
        ("pairs", "proxy-Lagrangian, one step on all pairs", pairs_pass),
    ]
    timers = [milliseconds(take, rows) for _, _, take in passes for rows in tables]
    points = curve([float(n) for _ in passes for n in ROWS], timers)
    out = []
    for k, (name, what, _) in enumerate(passes):
        part = points[k * len(ROWS) : (k + 1) * len(ROWS)]
        ratios = ", ".join(f"{y / part[0][1]:.3g}" for _, y in part)
        how = (
            f"drawn, {FEATURES} features, {ROWS[0]:,} to {ROWS[-1]:,} rows, {what}: slope of log processor time of a "
            f"pass against log rows; times relative to the first: {ratios}; {part[-1][1]:.0f} ms at the last"
        )
        out.append(result(f"auc_pass_growth_exponent_{name}", exponent(part), "", None, how, part, "auc_rows"))
    return out
