"""The comparisons that the rows of ``reports/tight_parity.csv`` add up to: pairs of splits at equal test gap."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.kept import Kept

SPLITS = 10
BOUNDS = (0.0025, 0.01, 0.05)  # of the reduction, against the mean of all rows
KAPPAS = (0.0005, 0.002, 0.004, 0.0075, 0.015, 0.03, 0.06, 0.1, 0.15)
SIDES = ("blind", "aware")
EG, TO, OURS = "ExponentiatedGradient", "ThresholdOptimizer", "PartialFairClassifier"
PATH = "frontier"  # all tolerances in one call, each with an equal share of its seconds
ERROR_PARITY, OXONFAIR = "error-parity", "OxonFair"
FILE = Path(__file__).parents[2] / "reports" / "tight_parity.csv"
PEERS_FILE = FILE.with_name("parity_peers.csv")
KEYS = ("table", "side", "split", "method", "setting")
COLUMNS = (*KEYS, "accuracy", "gap", "train_gap", "seconds")
Vector = NDArray[np.float64]


def at_gap(gaps: Vector, accuracies: Vector, gap: float) -> Vector:
    """Accuracy of every split (R,) where the mean over splits of the gaps (R, K) of our path is ``gap``.

    Between two tolerances both run along a straight line; beyond the ends of the path its end counts, which is to our
    disadvantage where the gap is larger, and to the peer's where it is smaller.
    """
    mean = gaps.mean(axis=0)
    order = np.argsort(mean)
    return np.array([np.interp(gap, mean[order], split[order]) for split in accuracies])


@dataclass(frozen=True)
class Cell:
    """A comparison of one table and one bound of the peer.

    Attributes:
        difference, error: mean over splits of our accuracy less the peer's, and its standard error.
        accuracy, gap: the peer's, on the test rows.
        times: median seconds of the peer's fits over that of ours.
        beyond: whether the peer's gap lies outside our path, so that the gaps are not equal.
    """

    table: str
    side: str
    method: str
    bound: float
    splits: int
    difference: float
    error: float
    accuracy: float
    gap: float
    times: float
    beyond: bool

    @property
    def behind(self) -> bool:
        """Whether we are less accurate by more than two standard errors."""
        return self.difference < -2 * self.error

    @property
    def ahead(self) -> bool:
        """The opposite."""
        return self.difference > 2 * self.error

    @property
    def words(self) -> str:
        """In a line."""
        peer_ = self.method if self.method == TO else f"bound {self.bound:g}"
        return (
            f"{self.table}, {peer_}: {self.difference:+.4f} +- {self.error:.4f} ({self.accuracy:.4f} at test gap "
            f"{self.gap:.4f}; {self.times:.1f} times the time)"
        )


def cell(kept: Kept, table: str, side: str, method: str, bound: float, own_method: str = OURS) -> Cell | None:
    """One comparison, over the splits that both sides have; ``None`` with fewer than two."""
    found: dict[tuple[int, str, float], tuple[float, float, float]] = {
        (int(row["split"]), row["method"], float(row["setting"])): (
            float(row["accuracy"]),
            float(row["gap"]),
            float(row["seconds"]),
        )
        for row in kept.where(lambda row: (row["table"], row["side"]) == (table, side))
    }
    wanted = [(own_method, kappa) for kappa in KAPPAS] + [(method, bound)]
    splits = [split for split in range(SPLITS) if all((split, *one) in found for one in wanted)]
    if len(splits) < 2:
        return None
    own = np.array([[found[split, own_method, kappa] for kappa in KAPPAS] for split in splits])  # (R, K, 3)
    others = np.array([found[split, method, bound] for split in splits])  # (R, 3)
    gap = float(others[:, 1].mean())
    path = own[:, :, 1].mean(axis=0)
    difference = at_gap(own[:, :, 1], own[:, :, 0], gap) - others[:, 0]
    return Cell(
        table, side, method, bound, len(splits), float(difference.mean()),
        float(difference.std(ddof=1) / np.sqrt(len(splits))), float(others[:, 0].mean()), gap,
        float(np.median(others[:, 2]) / np.median(own[:, :, 2])), not path.min() <= gap <= path.max(),
    )  # fmt: skip


def fits_of(side: str) -> Callable[[dict[str, str]], bool]:
    """Tells whether a row is a fit of the classifier on this side."""
    return lambda row: row["side"] == side and row["method"] in (OURS, PATH)


def cells(kept: Kept, side: str, own_method: str = OURS) -> list[Cell]:
    """All comparisons of a side, of single fits or of those of a path."""
    methods = [(EG, bound) for bound in BOUNDS] + ([(TO, 0.0)] if side == "aware" else [])
    methods += [(peer, bound) for peer in (ERROR_PARITY, OXONFAIR) for bound in BOUNDS]  # if their rows were joined
    tables = dict.fromkeys(row["table"] for row in kept.rows)
    every = [cell(kept, table, side, *method, own_method) for table in tables for method in methods]
    return [one for one in every if one is not None]


def peers() -> Kept:
    """The rows of the classifier and its path, with the group, and those of error-parity and OxonFair."""
    kept = Kept(FILE, COLUMNS, KEYS)
    ours = kept.where(fits_of("aware"))
    kept.rows = [*ours, *Kept(PEERS_FILE, COLUMNS, KEYS).rows]
    return kept
