"""Demographic parity at the decision threshold against fairlearn, over fresh splits, at equal gap on the test rows.

Both sides are fitted on the same 70% of the rows and judged on the others; a randomised decision counts by its
probabilities. For every bound of the peer, its mean test gap over the splits is looked up on the path of our
tolerances, and the accuracies of each split there are compared in pairs. A cell is won or lost only if the mean
difference exceeds two of its standard errors.

Ours is measured twice: each tolerance fitted from nothing, and all of them by one call of ``frontier``, whose seconds
are divided among them. Every fit is a row of ``reports/tight_parity.csv``; those that are there are not fitted again. A
comparison uses the splits on which both sides are complete.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from partialfair.data.dataset import Dataset
from partialfair.estimators import PartialFairClassifier, frontier
from partialfair.models.features import Standardiser
from tests.benchmarks.common import Result, dense_rows, result, seconds
from tests.benchmarks.kept import Kept
from tests.benchmarks.parity_cells import (
    BOUNDS,
    COLUMNS,
    EG,
    FILE,
    KAPPAS,
    KEYS,
    OURS,
    PATH,
    SIDES,
    SPLITS,
    TO,
    Cell,
    cells,
    fits_of,
)
from tests.benchmarks.peers import Rows
from tests.benchmarks.tables import WHOLE

FIRST_SEED = 3000  # none of the splits that anything was developed on, nor those of earlier comparisons (1000, 2000)
TEST_SHARE = 0.3
Vector = NDArray[np.float64]
Key = tuple[str, str, int, str, float]


@dataclass(frozen=True, eq=False)
class Halves:
    """Training and test rows of a split, as tables and as dense arrays."""

    train: Dataset
    test: Dataset
    train_rows: Rows
    test_rows: Rows

    @classmethod
    def of(cls, data: Dataset, seed: int, aware: bool) -> "Halves":
        """A split by chance; aware peers see the group as further columns."""
        order = np.random.default_rng(seed).permutation(data.n_rows)
        size = round(TEST_SHARE * data.n_rows)
        train, test = data.take(np.sort(order[size:])), data.take(np.sort(order[:size]))
        standardiser = Standardiser.fit(train.X, train.numeric)

        def dense(part: Dataset) -> Rows:
            X = dense_rows(part, standardiser)
            groups = (part.group[:, None] == np.arange(1, part.n_groups)).astype(float)
            X = np.hstack([X, groups]) if aware else X
            return Rows(X, (part.y > 0).astype(np.int64), part.group.astype(np.int64))

        return cls(train, test, dense(train), dense(test))


def peer(halves: Halves, bound: float) -> tuple[float, Vector, Vector]:
    """fairlearn's reduction to cost-sensitive fits, with scikit-learn's solver for many rows and few columns.

    Returns:
        Seconds of the fit, and probabilities of a positive decision on training and test rows.
    """
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    estimator = LogisticRegression(solver="newton-cholesky", max_iter=1000)
    method = ExponentiatedGradient(estimator, DemographicParity(difference_bound=bound))
    rows = halves.train_rows
    spent, _ = seconds(lambda: method.fit(rows.X, rows.y, sensitive_features=rows.group))
    return spent, method._pmf_predict(rows.X)[:, 1], method._pmf_predict(halves.test_rows.X)[:, 1]


def thresholds(halves: Halves) -> tuple[float, Vector, Vector]:
    """fairlearn's post-processing: exact parity on the training rows, by the group."""
    from fairlearn.postprocessing import ThresholdOptimizer

    method = ThresholdOptimizer(
        estimator=LogisticRegression(solver="newton-cholesky", max_iter=1000),
        constraints="demographic_parity",
        predict_method="predict_proba",
    )
    rows, held = halves.train_rows, halves.test_rows
    spent, _ = seconds(lambda: method.fit(rows.X, rows.y, sensitive_features=rows.group))
    rates = [method._pmf_predict(part.X, sensitive_features=part.group)[:, 1] for part in (rows, held)]
    return spent, rates[0], rates[1]


def ours(halves: Halves, kappa: float, aware: bool) -> tuple[float, Vector, Vector]:
    """The classifier at its defaults, fitted from nothing."""
    rows = halves.train
    names = np.array(rows.group_names)
    model = PartialFairClassifier("partial_demographic_parity", kappa=kappa, uses_group=aware, random_state=0)
    spent, _ = seconds(lambda: model.fit(rows.X, rows.y, sensitive_features=names[rows.group]))
    return spent, decision(model, rows), decision(model, halves.test)


def path(halves: Halves, aware: bool) -> dict[float, tuple[float, Vector, Vector]]:
    """The same for all tolerances, which share what does not depend on them; each with its share of the seconds."""
    rows = halves.train
    groups = np.array(rows.group_names)[rows.group]
    model = PartialFairClassifier("partial_demographic_parity", uses_group=aware, random_state=0)
    options: dict[str, Any] = {"sensitive_features": groups, "kappas": KAPPAS, "validation_fraction": 0}
    spent, found = seconds(lambda: frontier(model, rows.X, rows.y, **options))
    return {
        kappa: (spent / len(KAPPAS), decision(one, rows), decision(one, halves.test))
        for kappa, one in zip(found.table["kappa"], found.estimators, strict=True)
    }


def decision(model: PartialFairClassifier, rows: Dataset) -> Vector:
    """Probability (n,) of a positive decision."""
    stored: Any = model.model_
    # The estimator numbers the groups in the order of their names, a dataset in its own.
    group = np.array([stored.group_names.index(name) for name in rows.group_names])[rows.group]
    if not hasattr(stored, "shares"):
        return (stored.scores(rows.X, group) > 0).astype(float)
    parts = [share * (stored.component(j).scores(rows.X, group) > 0) for j, share in enumerate(stored.shares)]
    return np.asarray(np.sum(parts, axis=0))


def keys(names: Iterable[str] = tuple(WHOLE), sides: Sequence[str] = SIDES, splits: int = SPLITS) -> list[Key]:
    """All fits, one split after the other."""
    found: list[Key] = []
    for split in range(splits):
        for name in names:
            for side in sides:
                own = [(method, kappa) for method in (OURS, PATH) for kappa in KAPPAS]
                own += [(EG, bound) for bound in BOUNDS]
                own += [(TO, 0.0)] if side == "aware" else []
                found += [(name, side, split, *method) for method in own]
    return found


def measure(kept: Kept, wanted: Iterable[Key]) -> None:
    """Fit what is not in the file."""
    table = cache(lambda name: WHOLE[name]())
    last: tuple[Any, Halves | None] = (None, None)
    along: dict[float, tuple[float, Vector, Vector]] = {}
    for key in kept.missing(wanted):
        name, side, split, method, setting = key
        if last[0] != key[:3]:
            last, along = (key[:3], Halves.of(table(name), FIRST_SEED + split, side == "aware")), {}
            ours(last[1], KAPPAS[-1], side == "aware")  # type: ignore[arg-type]  # compile
        halves: Halves = last[1]  # type: ignore[assignment]
        if method == PATH and not along:
            along = path(halves, side == "aware")
        fits: dict[str, Callable[[], tuple[float, Vector, Vector]]] = {
            EG: lambda h=halves, s=setting: peer(h, s),
            TO: lambda h=halves: thresholds(h),
            OURS: lambda h=halves, s=setting, a=side == "aware": ours(h, s, a),
            PATH: lambda found=along, s=setting: found[s],
        }  # type: ignore[misc]
        spent, train, test = fits[method]()
        kept.add(
            dict(zip(KEYS, key, strict=True))
            | {"accuracy": halves.test_rows.accuracy(test), "gap": halves.test_rows.gap(test)}
            | {"train_gap": halves.train_rows.gap(train), "seconds": spent}
        )


FIGURES = {
    "blind": ("tight_parity_blind_vs_eg", "vs_fairlearn_eg_time", "vs_fairlearn_eg_path_time", ">= 10"),
    "aware": ("tight_parity_aware_vs_eg", "vs_fairlearn_eg_aware_time", "vs_fairlearn_eg_aware_path_time", ">= 20"),
}
"""Figures of accuracy, of the time of a fit and along a path, and the target of the times, by side."""


def figures(kept: Kept, side: str) -> list[Result]:
    """Mean difference over cells, which counts only if none is lost, and the smallest ratios of times."""
    found, along = cells(kept, side), cells(kept, side, PATH)
    accuracy_id, time_id, path_id, target = FIGURES[side]
    if not found:
        return [result(accuracy_id, np.nan, "accuracy", ">= 0", "not measured"),
                *(result(id_, np.nan, "times", target, "not measured") for id_ in (time_id, path_id))]  # fmt: skip
    behind, ahead = [one for one in found if one.behind], [one for one in found if one.ahead]
    splits = f"{min(one.splits for one in found)} to {max(one.splits for one in found)} splits"
    counts = f"{len(ahead)} of {len(found)} cells ahead, {len(behind)} behind by more than two standard errors"
    how = [f"{side}, {splits}, {counts}", *(one.words for one in found)]
    how += [older] if (older := kept.older(fits_of(side))) else []
    mean = float(np.mean([one.difference for one in found]))
    return [
        result(accuracy_id, mean, "accuracy", ">= 0", "; ".join(how), valid=not behind),
        _slowest(time_id, found, target, f"one fit from nothing, {side}"),
        _slowest(path_id, along, target, f"a tolerance of a path of {len(KAPPAS)}, {side}"),
    ]


def _slowest(id_: str, found: Sequence[Cell], target: str, what: str) -> Result:
    """The smallest ratio of times to the reduction."""
    reductions = [one for one in found if one.method == EG]
    if not reductions:
        return result(id_, np.nan, "times", target, "not measured")
    slowest = min(reductions, key=lambda one: one.times)
    return result(id_, slowest.times, "times", target, f"{what}; the smallest: {slowest.words}")


def run() -> list[Result]:
    """Without the group at prediction, and with it."""
    kept = Kept(FILE, COLUMNS, KEYS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(kept, keys())
    return [one for side in SIDES for one in figures(kept, side)]
