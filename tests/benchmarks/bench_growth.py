"""Growth of the time per iteration with rows, features, groups, ranks of the grid, and columns of a batch.

Rows are those of the national ACSIncome table, 10,000 to all 1.14 million; the other curves vary one size of a drawn
problem. An iteration is one evaluation of the direct solver (augmented Lagrangian and its gradient) or one inner step
of IDCA with eight configurations.
"""

from collections.abc import Callable, Sequence

import numpy as np

from partialfair import plugins
from partialfair.algorithms.linear.augmented_lagrangian import ALMSettings, _Multipliers
from partialfair.algorithms.linear.idca_solver import Configuration, advance, start_runs
from partialfair.algorithms.linear.newton import Scaling
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.data.dataset import Dataset, Matrix
from partialfair.models.features import Standardiser
from tests.benchmarks.common import Result, exponent, psp_problem, real_dataset, result, seconds

ROWS = (10_000, 30_000, 100_000, 300_000, None)  # the last: all
FEATURES = (25, 50, 100, 200, 400)
GROUPS = (2, 4, 8, 16)
GRID = (5, 10, 20, 40)
COLUMNS = (1, 2, 4, 8, 16, 32)
DRAWN_ROWS, DRAWN_FEATURES = 20_000, 100
WORK = 400_000  # rows to pass over in one timed call, at least, so that small problems are not timed in microseconds

Timer = Callable[[], float]
Points = list[tuple[float, float]]


def evaluation(problem: LinearProblem) -> Timer:
    """Milliseconds of an evaluation of the direct solver, at its start."""
    params, aux = problem.start()
    method = _Multipliers(problem, ALMSettings(), Scaling(np.zeros((0, 0, 0))))
    method.multipliers[:] = 0.01  # every constraint takes part
    flat = method.pack(params, aux)
    calls = max(2, WORK // problem.design.n_rows)
    return lambda: 1e3 * seconds(lambda: [method.value(flat) for _ in range(calls)])[0] / calls


def inner_step(problem: LinearProblem, columns: int = 8) -> Timer:
    """Milliseconds of an inner step of IDCA: a long outer iteration less a short one, without the linearisation."""
    calls = max(1, WORK // (12 * problem.design.n_rows))

    def spend(steps: int) -> float:
        configurations = [Configuration(steps, 1e-3 + 1e-4 * c) for c in range(columns)]
        return seconds(lambda: [advance(problem, start_runs(problem, configurations), 1) for _ in range(calls)])[0]

    return lambda: 1e3 * (spend(12) - spend(4)) / (8 * calls)


def curve(sizes: Sequence[float], timers: Sequence[Timer], repeats: int = 3) -> Points:
    """Milliseconds per iteration by size: medians over rounds in each of which every size has its turn."""
    for timer in timers:
        timer()  # compile, and bring the rows into memory
    found = [[timer() for timer in timers] for _ in range(repeats)]
    return [(float(x), float(y)) for x, y in zip(sizes, np.median(found, axis=0), strict=True)]


def drawn(
    n: int = DRAWN_ROWS, d: int = DRAWN_FEATURES, groups: int = 2, grid: int = 10, dense: bool = True
) -> LinearProblem:
    """A problem of drawn rows: normal features, or one-hot features of four columns each."""
    rng = np.random.default_rng(0)
    X: Matrix = rng.standard_normal((n, d)).astype(np.float32)
    if not dense:
        X = (rng.integers(4, size=(n, d // 4))[:, :, None] == np.arange(4)).reshape(n, -1).astype(np.float32)
    numeric = np.arange(X.shape[1]) if dense else np.zeros(0, np.int64)
    group = rng.integers(groups, size=n).astype(np.int16)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    data = Dataset(X, y, group, names, tuple(f"g{k}" for k in range(groups)), "drawn", numeric)
    return psp_problem(data, Standardiser.fit(data.X, data.numeric), [[0.05, 0.3]], 0.1, grid)


def acs(rows: int | None, data: Dataset) -> LinearProblem:
    """The first rows of the table, in an order drawn once."""
    chosen = np.random.default_rng(0).permutation(data.n_rows)[:rows]
    part = data if rows is None else data.take(np.sort(chosen))
    return psp_problem(part, Standardiser.fit(part.X, part.numeric), [[0.2, 0.4]], 0.05)


def rows() -> list[Result]:
    """Growth with rows: the larger exponent of both kinds of iteration is held against the target."""
    data = real_dataset("acs_income")
    sizes = [rows or data.n_rows for rows in ROWS]
    problems = [acs(rows, data) for rows in ROWS]
    parts = []
    for name, work in (("alm", evaluation), ("idca", inner_step)):
        points = curve(sizes, [work(problem) for problem in problems])
        per_row = [y / x for x, y in points]
        how = (
            f"national ACSIncome table, {data.n_features} features, {sizes[0]:,} to {sizes[-1]:,} rows: slope of "
            f"log time "
            f"per {'evaluation of the direct solver' if name == 'alm' else 'inner step of IDCA with 8 configurations'} "
            f"against log rows; time per row between {1e6 * min(per_row):.0f} and {1e6 * max(per_row):.0f} ns, "
            f"{points[-1][1]:.1f} ms at the last"
        )
        parts.append(result(f"rows_growth_exponent_{name}", exponent(points), "", None, how, points, "rows"))
    worst = max(parts, key=lambda part: part.value)
    return [result("rows_growth_exponent", worst.value, "", "<= 1.2", f"the larger of two; {worst.how}"), *parts]


def others() -> list[Result]:
    """Growth with the other sizes of a problem, for information."""
    size = f"drawn, {DRAWN_ROWS:,} rows"
    by_grid = [drawn(grid=grid) for grid in GRID]
    by_group = [drawn(groups=groups) for groups in GROUPS]
    cases: list[tuple[str, str, Sequence[int], list[LinearProblem], Callable[[LinearProblem], Timer], str]] = [
        ("features", "alm", FEATURES, [drawn(d=d) for d in FEATURES], evaluation, "normal features, direct solver"),
        (
            "one_hot_features", "alm", FEATURES[1:], [drawn(d=d, dense=False) for d in FEATURES[1:]], evaluation,
            "one-hot features of four columns each, direct solver",
        ),
        ("groups", "alm", GROUPS, by_group, evaluation, "100 features, direct solver"),
        ("groups", "idca", GROUPS, by_group, inner_step, "100 features, inner step of IDCA with 8 configurations"),
        ("grid", "alm", GRID, by_grid, evaluation, "100 features, direct solver"),
        ("grid", "idca", GRID, by_grid, inner_step, "100 features, inner step of IDCA with 8 configurations"),
    ]  # fmt: skip
    out = []
    for name, solver, sizes, problems, work, what in cases:
        points = curve(sizes, [work(problem) for problem in problems])
        how = f"{size}, {what}: slope of log time against log {name.replace('_', ' ')}, {sizes[0]} to {sizes[-1]}"
        out.append(result(f"{name}_growth_exponent_{solver}", exponent(points), "", None, how, points, name))
    return [*out, columns()]


def columns() -> Result:
    """Growth with the number of configurations, eight of which share a pass over the rows."""
    family = plugins.load("datasets", "simulated").load(rows=DRAWN_ROWS)
    problem = psp_problem(family, Standardiser.fit(family.X, family.numeric), [[0.05, 0.3]], 0.1)
    points = curve(COLUMNS, [inner_step(problem, columns) for columns in COLUMNS])
    per_column = {x: y / x for x, y in points}
    how = (
        f"simulated data, {DRAWN_ROWS:,} rows: slope of log time of an IDCA inner step against log configurations, "
        f"1 to "
        f"{COLUMNS[-1]}; a configuration costs {per_column[1.0] / per_column[8.0]:.1f} times less among eight than "
        f"alone"
    )
    return result("columns_growth_exponent", exponent(points), "", None, how, points, "columns")


def run() -> list[Result]:
    """All curves."""
    return [*rows(), *others()]
