"""Which interval of ranks to constrain or audit.

Partial fairness paper, appendix B: cover the positive rate p of the unconstrained model, and of
several such intervals take the one on which that model is least fair.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partialfair.data import guards
from partialfair.data.groups import group_labels
from partialfair.data.intervals import Interval, require_rows
from partialfair.data.missing_values import refuse_masked
from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.metrics.ranks import Counts, count_above, kept_set_auc, kept_set_distance, rank_distance

if TYPE_CHECKING:
    import pandas as pd

MEASURES = {"sp": kept_set_distance, "rank_gap": rank_distance, "gauc": kept_set_auc}
LENGTHS = (0.2, 0.25, 0.3)
STEP = 0.05
FINEST = 0.001  # step: finer candidates cannot be told apart, and their number would fill the memory
CANDIDATE, CHOSEN, RATE, REFERENCE = "#0072B2", "#D55E00", "#009E73", "#c8102e"  # colours of the picture
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Candidates and the chosen one.

    Attributes:
        interval: (alpha, beta) of the chosen candidate.
        positive_rate: share of rows above the threshold, which every candidate covers.
        measure: name of the violation by which it was chosen.
        table: one row per candidate: alpha, beta, violation (NaN if a group keeps too few rows), chosen.
    """

    interval: tuple[float, float]
    positive_rate: float
    measure: str
    table: "pd.DataFrame"

    def violation_of(self, interval: tuple[float, float]) -> float:
        """Violation on one of the candidates; NaN if it is none of them."""
        is_candidate = np.isclose(self.table["alpha"], interval[0]) & np.isclose(self.table["beta"], interval[1])
        return float(self.table.loc[is_candidate, "violation"].iloc[0]) if is_candidate.any() else math.nan

    def place_of(self, interval: tuple[float, float]) -> int:
        """Place of a candidate by its violation, 1 for the largest; 0 if it is none of them."""
        violation = self.violation_of(interval)
        return 0 if math.isnan(violation) else 1 + int((self.table["violation"] > violation + _SLACK).sum())

    def plot(self, axis: Any = None, reference: tuple[float, float] | None = None) -> Any:
        """Draw every candidate as a bar over its ranks, the least fair on top; return the figure.

        Args:
            axis: where to draw; a new figure by default.
            reference: another interval to mark among the candidates, for instance one that was used before.
        """
        from matplotlib import pyplot as plt

        rows = self.table.dropna(subset="violation").sort_values(["violation", "chosen"], kind="stable")
        figure = axis.figure if axis is not None else plt.figure(figsize=(5.8, 1.1 + 0.21 * len(rows)))
        own_figure, axis = axis is None, axis if axis is not None else figure.add_subplot()
        for height, row in enumerate(rows.itertuples()):
            used = reference is not None and bool(np.allclose((row.alpha, row.beta), reference))
            colour = CHOSEN if row.chosen else REFERENCE if used else CANDIDATE
            axis.barh(
                height,
                row.beta - row.alpha,
                0.62,
                left=row.alpha,
                color=colour,
                alpha=0.9 if row.chosen or used else 0.45,
            )
            text = f"{row.violation:.3f}{'  suggested' if row.chosen else ''}{'  used by the paper' if used else ''}"
            text_left = row.beta > 0.6  # words to the right of it would leave the panel
            place_of_words, side = (row.alpha - 0.015, "right") if text_left else (row.beta + 0.015, "left")
            ink = colour if row.chosen or used else None
            axis.text(place_of_words, height, text, va="center", ha=side, fontsize=7.5, color=ink)
        axis.axvline(self.positive_rate, color=RATE, ls="--", lw=1.4)
        side = "left" if self.positive_rate < 0.5 else "right"  # away from the edge of the panel
        label = f" positive rate {self.positive_rate:.3f} "
        axis.text(self.positive_rate, len(rows) - 0.3, label, color=RATE, fontsize=7.5, ha=side)
        axis.set_xlim(0, 1)
        axis.set_ylim(-0.7, len(rows) + 0.3)
        axis.set_yticks([])
        axis.set_xlabel("rank (0 = highest score)")
        axis.set_ylabel(f"candidates by violation ({self.measure})")
        if own_figure:
            figure.tight_layout()
        return figure


@guards.of_scored_groups
def suggest_interval(
    scores: ArrayLike,
    group: Any,
    *,
    threshold: float | None = None,
    lengths: Sequence[float] = LENGTHS,
    step: float = STEP,
    measure: str = "sp",
) -> Suggestion:
    """Suggest an interval from the scores of an unconstrained model.

    Args:
        scores: (n,) scores; group: (n,) groups of any kind, see :func:`partialfair.data.groups.columns_of`.
        threshold: decision threshold of the model; by default see :func:`default_threshold`.
        lengths: lengths of the candidates; step: distance of their ends' grid.
        measure: "sp" (default), "rank_gap" or "gauc": what "least fair" means. Ties take the shorter candidate,
            then the one whose middle is nearest to the positive rate.

    Raises:
        ConfigError: unsuitable threshold, lengths, step or measure.
        DataError: scores that cannot be ranked, or a missing group; either masked.
        NotEstimableError: fewer than two groups, or every candidate keeps fewer than 2 rows of some group.
    """
    values, (codes, _) = _ranked(scores), group_labels(group)
    counts = count_above(values, codes)
    threshold = default_threshold(values) if threshold is None else threshold
    if not math.isfinite(threshold):
        raise ConfigError(f"threshold is {threshold}, by which nothing is decided; use a finite number")
    return suggest_from_counts(counts, float(np.mean(values > threshold)), lengths, step, measure)


def _ranked(scores: ArrayLike) -> NDArray[np.floating]:
    """Return the scores of a list, a column or an array as real numbers that can be negated, (n,)."""
    refuse_masked(scores, "scores")
    values = np.asarray(scores)
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise DataError(f"scores: shape {values.shape}, type {values.dtype}; pass one real number per row")
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def default_threshold(scores: NDArray[np.floating]) -> float:
    """0.5 for scores that all lie in [0, 1], as probabilities do, else 0, as log-odds have it."""
    return 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0


def suggest_from_counts(
    counts: Counts,
    positive_rate: float,
    lengths: Sequence[float] = LENGTHS,
    step: float = STEP,
    measure: str = "sp",
) -> Suggestion:
    """As :func:`suggest_interval`, from counts of rows above every score."""
    import pandas as pd

    if measure not in MEASURES:
        raise ConfigError(f"measure is {measure!r}; use one of {', '.join(MEASURES)}")
    rows = []
    for alpha, beta in candidates(positive_rate, lengths, step):
        unions = Interval.of([(alpha, beta)]).for_groups(len(counts.sizes))
        try:
            require_rows(unions, counts.sizes)
            violation = float(MEASURES[measure](counts.above, counts.sizes, unions))
        except NotEstimableError:
            violation = math.nan
        rows.append({"alpha": alpha, "beta": beta, "violation": violation})
    table = pd.DataFrame(rows)
    if table["violation"].isna().all():
        raise NotEstimableError(
            f"no interval around the positive rate {positive_rate:.3f} keeps 2 rows of every group "
            f"(the smallest has {int(counts.sizes.min())}); add rows, or leave out the smallest groups"
        )
    # Rounded: .35 - .15 is less than .4 - .2 by a last digit.
    away = ((table["alpha"] + table["beta"]) / 2 - positive_rate).abs().round(10)
    length = (table["beta"] - table["alpha"]).round(10)
    order = np.lexsort((away, length, -table["violation"].fillna(-1).round(12)))
    table["chosen"] = np.arange(len(table)) == order[0]
    chosen = table.iloc[order[0]]
    return Suggestion((float(chosen["alpha"]), float(chosen["beta"])), positive_rate, measure, table)


def candidates(positive_rate: float, lengths: Sequence[float], step: float) -> list[tuple[float, float]]:
    """Return the intervals of the given lengths with ends on the grid of ``step`` that cover a rate.

    Raises:
        ConfigError: no such interval.
    """
    if not 0 < step <= 1 or not lengths or not all(0 < length <= 1 for length in lengths):
        raise ConfigError(f"lengths {list(lengths)} and step {step} must be fractions of (0, 1]")
    if step < FINEST:
        raise ConfigError(f"step {step} is finer than {FINEST}, which gives more candidates than can be told apart")
    intervals = []
    for length in dict.fromkeys(lengths):
        grid = np.arange(0, 1 - length + _SLACK, step)
        for start in dict.fromkeys(round(float(start), 10) for start in (*grid, 1 - length)):
            alpha, beta = start, round(min(start + length, 1.0), 10)
            if alpha - _SLACK <= positive_rate <= beta + _SLACK and beta > alpha:
                intervals.append((alpha, beta))
    if not intervals:
        raise ConfigError(
            f"no interval of lengths {list(lengths)} covers the positive rate {positive_rate:.3f}; widen them"
        )
    return intervals
