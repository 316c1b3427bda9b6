"""Regression under demographic parity against EquiPy and fairlearn, over fresh splits, at equal distance on test rows.

Everything rests on least squares, is fitted on the same 70% of the rows, and is judged on the others by what its
``predict`` returns: mean squared error and Kolmogorov-Smirnov distance between the two groups. EquiPy's Wasserstein
barycentre and fairlearn's CorrelationRemover need the group at prediction time; ours is measured with it and without.
For every setting of a peer, its mean test distance over the splits is looked up on the path of our tolerances, and the
errors of each split there are compared in pairs. Intervals are by the corrected resampled t-test (Nadeau and Bengio
2003), because test rows of different splits overlap. EquiPy is no part of any extra, and has to be installed beside:
``pip install equipy==0.0.11a0.dev0``.
"""

import csv
import importlib.util
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression

from partialfair import plugins
from partialfair.data.files import atomic_path
from partialfair.estimators import DemographicParityRegressor
from reproduction.jobs.prepare import fetch
from tests.benchmarks.common import ROOT, Result, result, seconds

DATASETS = {"law_school_gpa": {"rows": 0}, "communities_crime": {}, "adult_age": {"rows": 0}}
SPLITS = 10
FIRST_SEED = 2000  # no split that anything was developed on
ROWS = 4000
"""Rows of a table that a split draws afresh, at most."""
TEST_SHARE = 0.3
EPSILONS = (0.0, 0.03, 0.07, 0.12, 0.2, 0.3, 0.45)
KEPT = (0.0, 0.25, 0.5, 0.75)
"""Share of the bias that a peer keeps: EquiPy's epsilon, 1 - alpha of CorrelationRemover."""
TABLE = ROOT / "reports" / "regression_parity.csv"
NEAR = 0.005
"""Distance below our smallest at which a peer's setting still counts as reached."""
Vector = NDArray[np.float64]
Predict = Callable[[], Vector]


@dataclass(frozen=True)
class Judged:
    """Mean squared error and distance between groups on test rows, and processor seconds to fit and predict them."""

    risk: float
    distance: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Part:
    """Rows: X (n, d), y (n,), group (n,)."""

    X: Vector
    y: Vector
    group: NDArray[np.int64]

    @property
    def with_group(self) -> Vector:
        """(n, d + 1) features with the group as last column."""
        return np.hstack([self.X, self.group[:, None].astype(float)])


GAINS = {"aware": "regression_aware_gain", "blind": "regression_blind_gain"}
"""Ids by whether the group is used."""


def parts(name: str, seed: int) -> tuple[Part, Part]:
    """Training and test rows of a split by chance, of rows drawn from the whole table."""
    raw = ROOT / "data" / "raw"
    fetch(name, raw)
    data = plugins.load("datasets", name).load(raw, **DATASETS[name])
    order = np.random.default_rng(seed).permutation(data.n_rows)[:ROWS]
    size = round(TEST_SHARE * order.size)

    def part(rows: NDArray[np.int64]) -> Part:
        return Part(data.X[rows].astype(np.float64), data.y[rows], data.group[rows].astype(np.int64))

    return part(np.sort(order[size:])), part(np.sort(order[:size]))


def judged(test: Part, predict: Predict) -> Judged:
    """Time a fit with its predictions, and judge them."""
    spent, values = seconds(predict)
    distance = ks_2samp(values[test.group == 0], values[test.group == 1]).statistic
    return Judged(float(np.mean((values - test.y) ** 2)), float(distance), spent)


def ours(train: Part, test: Part, epsilon: float, aware: bool) -> Vector:
    """The regressor at its defaults but epsilon, fitted from nothing."""
    model = DemographicParityRegressor(epsilon=epsilon, uses_group=aware, random_state=0)
    model.fit(train.X, train.y, sensitive_features=train.group)
    return model.predict(test.X, sensitive_features=test.group if aware else None)


def equipy(train: Part, test: Part, kept: float) -> Vector:
    """EquiPy on least squares that see the group, as ours with it do."""
    from equipy.fairness import FairWasserstein

    model = LinearRegression().fit(train.with_group, train.y)
    fair = FairWasserstein()
    fair.fit(model.predict(train.with_group), train.group)
    return np.asarray(fair.transform(model.predict(test.with_group), test.group, epsilon=kept))


def correlation_remover(train: Part, test: Part, kept: float) -> Vector:
    """fairlearn's CorrelationRemover, then least squares."""
    from fairlearn.preprocessing import CorrelationRemover

    remover = CorrelationRemover(sensitive_feature_ids=[train.X.shape[1]], alpha=1 - kept)
    model = LinearRegression().fit(remover.fit_transform(train.with_group), train.y)
    return np.asarray(model.predict(remover.transform(test.with_group)))


PEERS = {"EquiPy": equipy, "CorrelationRemover": correlation_remover}


@dataclass(frozen=True)
class Cell:
    """A comparison at the mean test distance of a peer's setting.

    Attributes:
        table, side, peer, kept: what is compared; side is "aware" or "blind".
        distance: mean distance of the peer on test rows; ``reached`` says whether ours comes as low.
        peer_risk, risk: mean squared errors there.
        gain: how much smaller ours is, in percent of the peer's; low, high: its 95% interval over splits.
        peer_seconds, seconds: median processor seconds to fit and predict.
    """

    table: str
    side: str
    peer: str
    kept: float
    distance: float
    reached: bool
    peer_risk: float
    risk: float
    gain: float
    low: float
    high: float
    peer_seconds: float
    seconds: float

    @property
    def outcome(self) -> str:
        """Whether ours is ahead or behind beyond the interval, or level."""
        if not self.reached:
            return "not reached"
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "level"


def compare(names: tuple[str, str, str, float], path: Sequence[Sequence[Judged]], peers: Sequence[Judged]) -> Cell:
    """One cell: our path (R, K) against a peer's fits (R,).

    Between two tolerances our error runs along a straight line. Where the peer's distance exceeds that of our loosest
    tolerance, that one counts, to our disadvantage.
    """
    distances = np.array([[one.distance for one in split] for split in path]).mean(axis=0)
    risks = np.array([[one.risk for one in split] for split in path])
    other = np.array([one.risk for one in peers])
    at = float(np.mean([one.distance for one in peers]))
    order = np.argsort(distances)
    own = np.array([np.interp(at, distances[order], split[order]) for split in risks])
    gains = 100 * (1 - own / other)
    spread = float(gains.std(ddof=1) * np.sqrt(1 / gains.size + TEST_SHARE / (1 - TEST_SHARE)))
    half = float(student.ppf(0.975, gains.size - 1)) * spread
    mean = float(gains.mean())
    return Cell(
        *names, at, bool(at >= distances.min() - NEAR), float(other.mean()), float(own.mean()), mean, mean - half,
        mean + half, float(np.median([one.seconds for one in peers])),
        float(np.median([one.seconds for split in path for one in split])),
    )  # fmt: skip


def cells(name: str, splits: int, epsilons: Sequence[float] = EPSILONS) -> list[Cell]:
    """All comparisons on a table."""
    halves = [parts(name, FIRST_SEED + seed) for seed in range(splits)]
    sides = {"aware": True, "blind": False}
    for aware in sides.values():
        ours(*halves[0], 0.1, aware)  # compile
    paths = {
        side: [[judged(test, partial(ours, train, test, eps, aware)) for eps in epsilons] for train, test in halves]
        for side, aware in sides.items()
    }
    found = []
    for peer, fit in PEERS.items():
        for kept in KEPT:
            fits = [judged(test, partial(fit, train, test, kept)) for train, test in halves]
            found += [compare((name, side, peer, kept), path, fits) for side, path in paths.items()]
    return found


def write(found: Iterable[Cell]) -> None:
    """Write all cells to reports/regression_parity.csv."""
    with atomic_path(TABLE) as target, target.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [*(field.name for field in fields(Cell)), "outcome"], lineterminator="\n")
        writer.writeheader()
        for cell in found:
            row = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in asdict(cell).items()}
            writer.writerow(row | {"outcome": cell.outcome})


def figures(side: str, found: Sequence[Cell], splits: int) -> list[Result]:
    """Mean gain over cells, which holds only if none is lost, and seconds on the slowest table."""
    own = [cell for cell in found if cell.side == side]
    counts = {kind: sum(cell.outcome == kind for cell in own) for kind in ("ahead", "level", "behind", "not reached")}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    words = "with the group" if side == "aware" else "without the group, which the peers use"
    how = f"{words}, {splits} splits, {len(DATASETS)} tables, {len(own)} settings of two peers: {said}; {TABLE.name}"
    target = ">= 0" if side == "aware" else None
    valid = not counts["behind"] and not counts["not reached"]
    slowest = max(own, key=lambda cell: cell.seconds)
    peers = "; ".join(
        f"{peer} {max(cell.peer_seconds for cell in own if cell.peer == peer and cell.table == slowest.table):.3f} s"
        for peer in PEERS
    )
    return [
        result(GAINS[side], float(np.mean([cell.gain for cell in own])), "%", target, how, valid=valid),
        result(
            f"regression_{side}_seconds", slowest.seconds, "s", None,
            f"one tolerance, fit and predictions, {words}, {slowest.table}, the slowest table; there {peers}",
        ),
    ]  # fmt: skip


def run() -> list[Result]:
    """With the group at prediction, and without it; nothing is measured without EquiPy."""
    if importlib.util.find_spec("equipy") is None:
        how = "EquiPy is not installed: pip install equipy==0.0.11a0.dev0"
        return [result(GAINS[side], float("nan"), "%", None, how) for side in GAINS]
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in DATASETS:
            found += cells(name, SPLITS)
    write(found)
    return [one for side in GAINS for one in figures(side, found, SPLITS)]
