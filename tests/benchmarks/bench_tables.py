"""The classifier at its defaults on tables of every kind: is its status true, and how far does it get?

Partial statistical parity on five intervals at four tolerances, with the group at prediction and without. The scores of
the training rows are judged by a few lines of NumPy of this file, not by the package. A fit is truthful if

- the gap that it reports is the one found here,
- it says ok and the gap is at most 1.1 kappa, or it says that the tolerance is missed and the gap is above kappa,
- it is not less fair than the fit without a constraint, where that one is outside the tolerance.

Every fit is a row of ``reports/classifier_tables.csv``; those that are there are not fitted again.
"""

import itertools
import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.estimators import PartialFairClassifier
from tests.benchmarks.common import ROOT, Result, result, seconds
from tests.benchmarks.kept import Kept
from tests.benchmarks.tables import MOST_ROWS, TABLES, Table

INTERVALS = ((0.0, 0.3), (0.05, 0.3), (0.3, 0.6), (0.7, 1.0), (0.0, 1.0))
KAPPAS = (0.1, 0.05, 0.02, 0.01)
SIDES = ("aware", "blind")
FILE = ROOT / "reports" / "classifier_tables.csv"
KEYS = ("table", "side", "low", "high", "kappa")
COLUMNS = (*KEYS, "rows", "groups", "smallest", "gap", "free_gap", "accuracy", "free_accuracy", "seconds", "solver",
           "met", "truthful", "status")  # fmt: skip
Key = tuple[str, str, float, float, float]


def rank_gap(scores: NDArray[np.float64], group: NDArray[np.str_], low: float, high: float) -> float:
    """Largest difference of two groups' shares above a threshold, over those where a share lies in [low, high).

    Straight from the definition: all distinct scores are thresholds.
    """
    thresholds = np.unique(scores)
    shares = []
    for name in np.unique(group):
        own = np.sort(scores[group == name])
        above = own.size - np.searchsorted(own, thresholds, side="right")
        shares.append((above / own.size, above >= math.ceil(low * own.size - 1e-9), above < high * own.size - 1e-9))
    gaps = [0.0]
    for (a, a_from, a_to), (b, b_from, b_to) in itertools.combinations(shares, 2):
        inside = (a_from & a_to) | (b_from & b_to)
        gaps.append(float(np.abs(a - b)[inside].max(initial=0.0)))
    return max(gaps)


def truthful(said: float, status: str, gap: float, free_gap: float, kappa: float) -> bool:
    """Whether what a fit says of itself is so, see the top of this file."""
    ok = status == "ok"
    if not (ok or status.startswith("tolerance missed")):
        return False
    reported = abs(said - gap) <= 1e-9
    agrees = gap <= 1.1 * kappa if ok else gap > kappa
    return reported and agrees and gap <= max(free_gap, kappa) + 1e-12


def measured(key: Key, table: Table, free: PartialFairClassifier) -> dict[str, Any]:
    """One fit as a row of the file."""
    (X, y, group), (_, side, low, high, kappa) = table, key
    model = PartialFairClassifier(
        interval=[(low, high)], kappa=kappa, kappa_scale="absolute", uses_group=side == "aware"
    )
    spent, _ = seconds(lambda: model.fit(X, y, sensitive_features=group))
    gaps, right = [], []
    for one in (model, free):
        scores = one.decision_function(X, sensitive_features=group)
        gaps.append(rank_gap(scores, group, low, high))
        right.append(float(((scores > 0) == (y > 0)).mean()))
    sizes = np.unique(group, return_counts=True)[1]
    said = float(model.train_violation_ if model.train_violation_ is not None else math.nan)
    return dict(zip(KEYS, key, strict=True)) | {
        "rows": y.size, "groups": sizes.size, "smallest": int(sizes.min()), "gap": gaps[0], "free_gap": gaps[1],
        "accuracy": right[0], "free_accuracy": right[1], "seconds": spent, "solver": model.solver_,
        "met": model.status_ == "ok", "truthful": truthful(said, model.status_, gaps[0], gaps[1], kappa),
        "status": model.status_,
    }  # fmt: skip


def keys(names: Iterable[str] = tuple(TABLES), sides: Iterable[str] = SIDES) -> list[Key]:
    """The fits of some tables."""
    every = itertools.product(sides, names, INTERVALS, KAPPAS)
    return [(name, side, *interval, kappa) for side, name, interval, kappa in every]


def measure(kept: Kept, wanted: Iterable[Key]) -> None:
    """Fit what is not in the file."""
    missing = kept.missing(wanted)
    for name, side in dict.fromkeys((key[0], key[1]) for key in missing):
        X, y, group = table = TABLES[name]()
        free = PartialFairClassifier(constraint=None, uses_group=side == "aware").fit(X, y, sensitive_features=group)
        for key in missing:
            if key[:2] == (name, side):
                kept.add(measured(key, table, free))


def summary(side: str, rows: list[dict[str, str]]) -> str:
    """What became of the fits of one side."""
    ratios = np.array([float(row["gap"]) / float(row["kappa"]) for row in rows])
    met, time = np.mean(ratios <= 1), np.median([float(row["seconds"]) for row in rows])
    return f"{side}: {len(rows)} fits, {met:.0%} within kappa, median {time:.2f} s"


def figure(kept: Kept) -> Result:
    """The share of fits whose status is true."""
    rows = kept.rows
    wrong = [row for row in rows if row["truthful"] != "True"]
    by_side = {side: kept.where(lambda row, side=side: row["side"] == side) for side in SIDES}
    sides = "; ".join(summary(side, own) for side, own in by_side.items() if own)
    how = [f"{len({row['table'] for row in rows})} tables of at most {MOST_ROWS} rows; {sides}"]
    how += [
        f"NOT TRUE: {row['table']}, {row['side']}, [{row['low']}, {row['high']}), kappa {row['kappa']}"
        for row in wrong[:5]
    ]
    how += [older] if (older := kept.older()) else []
    left = len(kept.missing(keys()))
    how += [f"{left} fits have not been run yet"] if left else []
    share = math.nan if left else 1 - len(wrong) / len(rows)
    return result("classifier_truthful_share", share, "", ">= 1", "; ".join(how))


def run() -> list[Result]:
    """All tables, as far as they are not in the file."""
    kept = Kept(FILE, COLUMNS, KEYS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(kept, keys())
    return [figure(kept)]
