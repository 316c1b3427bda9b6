"""What the loss-gap families share: differences of mean log losses between groups, within a tolerance.

Source: Benchmark of stochastic approximation algorithms, Table 1 and equation (4). The three templates are named there
after notions of parity; what they bound are losses, not rates of decisions. A mean log loss is convex in the scores, so
that ``A L - slack`` is a difference of convex functions and the general path serves these families too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.constraints.common import KAPPA_SCALES
from partialfair.constraints.parts import Parts, Vector
from partialfair.constraints.stratum_means import LossMeans, log_loss, sigmoid
from partialfair.constraints.surrogates import Surrogate
from partialfair.errors import ConfigError, NotEstimableError


@dataclass(frozen=True, eq=False)
class LossGaps:
    """Constraints ``A L <= slack`` on fixed rows.

    Attributes:
        means: the constraints as functions of the strata's mean losses.
        positive: (n,) labels 0/1.
    """

    ranks_rows: ClassVar[bool] = False
    means: LossMeans
    positive: Vector

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return self.means.labels

    @property
    def start(self) -> Vector:
        """No auxiliary variables."""
        return np.zeros(0)

    @property
    def start_score(self) -> float:
        """Scores of zero have the loss log 2 in every stratum."""
        return 0.0

    def on(self, surrogate: Surrogate) -> "LossGaps":
        """The same: no indicator occurs, so no surrogate is needed."""
        return self

    def sharp(self) -> "LossGaps":
        """The constraints themselves: there is no surrogate to sharpen."""
        return self

    def suit(self, scores: Vector, group: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """No shifts: losses are nowhere flat."""
        return np.zeros(int(group.max()) + 1), np.zeros(0)

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Positive entries of A make the convex part, negative ones and the slack the concave part."""
        matrix, average = self.means.matrix, self._average
        losses = average @ log_loss(scores, self.positive)
        slope = sigmoid(scores) - self.positive
        convex, concave = np.maximum(matrix, 0), np.maximum(-matrix, 0)

        def pull_back(a: Vector, b: Vector) -> tuple[Vector, Vector]:
            return (average.T @ (a @ convex + b @ concave)) * slope, np.zeros(0)

        return Parts(convex @ losses, concave @ losses + self.means.slack, pull_back)

    @property
    def _average(self) -> sparse.csr_array:
        """(S, n) matrix that takes means over the rows of each stratum."""
        stratum = self.means.row_stratum
        rows = np.flatnonzero(stratum >= 0)
        counts = np.bincount(stratum[rows], minlength=self.means.n_strata)
        entries = (1.0 / counts[stratum[rows]], (stratum[rows], rows))
        return sparse.csr_array(entries, shape=(self.means.n_strata, stratum.size))


def build_gaps(
    group: NDArray[np.integer],
    y: NDArray[np.float64],
    kappa: float,
    kappa_scale: str,
    labels: Sequence[float | None],
    summed: bool,
) -> LossGaps:
    """Constraints on the differences of mean losses of every pair of groups k < k'.

    Args:
        group: (n,) group codes; y: (n,) labels.
        kappa: tolerance, a difference of losses.
        kappa_scale: ``absolute`` or ``relative``; the same here, for there is no interval.
        labels: strata within a group: ``None`` for all its rows, or a label.
        summed: bound the sum over ``labels`` of the absolute differences, not each of them: all combinations of signs
            are then constraints, so that the sum is bounded without a kink.

    Raises:
        ConfigError: the tolerance or its scale cannot be used.
        NotEstimableError: a stratum has no rows.
    """
    if kappa_scale not in KAPPA_SCALES:
        raise ConfigError(f"kappa_scale is {kappa_scale!r}; use one of {', '.join(KAPPA_SCALES)}")
    if not kappa > 0:
        raise ConfigError(f"kappa is {kappa}; use a positive number (infinity means no constraint)")
    n_groups = int(group.max()) + 1
    row_stratum = np.full(group.size, -1, np.int64)
    for place, (label, code) in enumerate(product(labels, range(n_groups))):
        inside = (group == code) if label is None else (group == code) & (y == label)
        if not inside.any():
            what = "" if label is None else f" with label {label:+.0f}"
            raise NotEstimableError(f"group {code}: no rows{what}, so its mean loss is not defined")
        row_stratum[inside] = place
    rows, names = [], []
    for k, other in combinations(range(n_groups), 2):
        for signs in _signs(len(labels), summed):
            row = np.zeros((len(labels), n_groups))
            row[:, k], row[:, other] = signs, -np.asarray(signs)
            rows.append(row.ravel())
            names.append(_name(k, other, labels, signs, kappa))
    means = LossMeans(np.array(rows), float(kappa), row_stratum, tuple(names))
    return LossGaps(means, (y > 0).astype(np.float64))


def _signs(strata: int, summed: bool) -> list[tuple[float, ...]]:
    """Combinations of signs of the strata's differences, each a constraint."""
    if summed:
        return list(product((1.0, -1.0), repeat=strata))
    return [tuple(sign * float(i == j) for j in range(strata)) for i in range(strata) for sign in (1.0, -1.0)]


def _name(k: int, other: int, labels: Sequence[float | None], signs: Sequence[float], kappa: float) -> str:
    parts = []
    for label, sign in zip(labels, signs, strict=True):
        if sign:
            first, second = (k, other) if sign > 0 else (other, k)
            where = "" if label is None else f" (y = {label:+.0f})"
            parts.append(f"loss of group {first} - loss of group {second}{where}")
    return f"{' + '.join(parts)} <= {kappa:.4g}"
