"""AUC maximisation under an AUC gap from a stream of single rows: the level-set method with batches of one.

The min-max form of the problem (AUC fairness paper, Lemma 1) needs one row per stochastic gradient, not a pair of
rows, so a row can be forgotten once it has been seen; memory is O(p) whatever the length of the stream.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partialfair.algorithms.auc.level_set import mirror_weight
from partialfair.algorithms.auc.quadratic_auc import slack_of
from partialfair.data.auc_sets import preset
from partialfair.errors import ConfigError, DataError
from partialfair.kernels.pair_minimax import minimax_step, upper_bound

Vector = NDArray[np.float64]


class OnlineAUC:
    """A linear score ``w'x`` trained row by row under ``|Delta| <= kappa`` with the quadratic surrogate.

    Every ``call`` rows the averaged weights of these rows become :attr:`weights`, the level falls by U / 2 where U, an
    upper bound on the level-set function, is negative, and the steps start again from the present point. Features
    should be standardised; a constant column is of no use, since a shift of the score cancels in every pair.

    Args:
        constraint: a named gap: "group", "inter_group", "intra_group", "positive_average", "negative_average",
            "bpsn_bnsp".
        kappa: tolerance of the surrogate constraints.
        c: constant of the steps ``c / sqrt(t + 1)``.
        call: rows between two updates of the level.
        c1, c2: of the pair loss ``c1 (t - c2)^2``.
        bound: bound I on the auxiliary variables; radius: bound on the norm of the weights.
        shares: shares of the cells (other, negative), (other, positive), (protected, negative), (protected, positive)
            in the population; by default they are estimated from the rows seen.

    Attributes:
        weights: (p,) averaged weights; those of the running call before the first has ended.
        n_seen: rows seen.
        level: present level r.
        upper: U of every call that has ended.
    """

    def __init__(
        self,
        constraint: str = "group",
        kappa: float = 0.1,
        c: float = 0.1,
        call: int = 100_000,
        c1: float = 0.5,
        c2: float = 1.0,
        bound: float = 1.0,
        radius: float = 10.0,
        shares: Sequence[float] | None = None,
    ) -> None:
        slack_of(kappa, c1, c2)
        interval_of_updates: Any = call  # mypy holds an int for no Integral
        if not isinstance(interval_of_updates, Integral) or interval_of_updates < 1:
            raise ConfigError(f"call is {call}; use a whole number of at least 1 row between two updates of the level")
        for name, value in (("c", c), ("bound", bound), ("radius", radius)):
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} is {value}; use a positive, finite number")
        if shares is not None and (len(shares) != 4 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9):
            raise ConfigError(f"shares are {list(shares)}; give four shares that are not negative and sum to 1")
        self.sets = preset(constraint)
        self.kappa, self.c, self.call, self.c1, self.c2 = kappa, c, call, c1, c2
        self.bound, self.radius = bound, radius
        self.shares = None if shares is None else np.asarray(shares, np.float64)
        self.counts = np.zeros(4)
        self.n_seen, self.level = 0, c1 * c2**2
        self.upper: list[float] = []
        self._current, self._mean = np.zeros(0), np.zeros(0)
        self._average: Vector | None = None
        self._begin()

    def partial_fit(self, X: ArrayLike, y: ArrayLike, protected: ArrayLike) -> "OnlineAUC":
        """Learn from rows in their order, one at a time: X (n, p) or (p,), y of -1 and +1, protected of truth values.

        Truth values may be written as 0 and 1.

        Raises:
            DataError: lengths that differ, labels other than -1 and +1, memberships that are no truth values, another
                number of features than before, or features that are not finite.
        """
        rows = np.atleast_2d(np.asarray(X, np.float64))
        labels, members = np.atleast_1d(np.asarray(y)), np.atleast_1d(np.asarray(protected))
        if not len(rows) == len(labels) == len(members):
            raise DataError(
                f"{len(rows)} rows, {len(labels)} labels, {len(members)} memberships; give one each per row"
            )
        if not np.isin(labels, (-1, 1)).all():
            raise DataError(f"label {labels[~np.isin(labels, (-1, 1))][0]!r} is not -1 or +1; map the labels first")
        for row, value in enumerate(members.tolist()):
            if not isinstance(value, Real | np.bool_) or value not in (0, 1):
                raise DataError(f"protected is {value!r} in row {row}; give a truth value, or 0 or 1, per row")
        members = members.astype(bool)
        if not np.isfinite(rows).all():
            raise DataError(
                f"row {int(np.argwhere(~np.isfinite(rows))[0, 0])} has a feature that is not finite; fill it in"
            )
        if not self._current.size:
            self._current, self._mean = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        if rows.shape[1] != self._current.size:
            raise DataError(f"rows have {rows.shape[1]} features, those before had {self._current.size}")
        for x, cell in zip(rows, 2 * members + (labels > 0), strict=True):
            self._step(x, int(cell))
        return self

    @property
    def weights(self) -> Vector:
        """Averaged weights (p,)."""
        if self._average is not None:
            return self._average
        total = self._sums[0, 0]
        return self._mean / total if total > 0 else self._current

    def decision_function(self, X: ArrayLike) -> Vector:
        """Return the scores (n,) of rows X (n, p).

        Raises:
            DataError: no row has been seen, or another number of features.
        """
        rows = np.atleast_2d(np.asarray(X, np.float64))
        if not self.n_seen or rows.shape[1] != self._current.size:
            raise DataError(f"rows have {rows.shape[1]} features; the model has seen {self._current.size}")
        return np.asarray(rows @ self.weights)

    def _begin(self) -> None:
        """Start a call: new dual variables and averages, the weights where they are."""
        self._t = 0
        self._a, self._b, self._alpha = np.zeros((3, 5, 1))
        self._y, self._sums = np.full((3, 1), 1 / 3), np.zeros((10, 1))
        self._mean = np.zeros_like(self._current)

    def _step(self, x: Vector, cell: int) -> None:
        """One step of the min-max problem on one row (p,) and its cell."""
        self.counts[cell] += 1
        self.n_seen += 1
        shares = (self.counts + 1) / (self.n_seen + 4) if self.shares is None else self.shares
        mass = self.sets.table @ shares
        sets = self.sets.table / np.maximum(mass, 1e-12)[:, None]
        weight = mirror_weight(self.bound)
        eta = np.array([self.c / np.sqrt(self._t + 1.0)])
        tau, nothing = weight * eta, np.zeros((5, 1))
        residual = np.empty((1, 1))
        self._mean += tau[0] * self._current
        arguments: tuple[Any, ...] = (np.array([self.level]), np.array([1.0 + self.kappa]), self.c1, self.c2, eta, tau)
        minimax_step(
            np.array([[x @ self._current]]), np.array([cell]), sets, self._a, self._b, self._y, self._alpha, *arguments,
            weight, self.bound, 0.0, nothing, nothing, self._sums, residual,
        )  # fmt: skip
        self._current = self._current - eta[0] * residual[0, 0] * x
        norm = float(np.linalg.norm(self._current))
        if norm > self.radius:
            self._current *= self.radius / norm
        self._t += 1
        if self._t == self.call:
            self._end()

    def _end(self) -> None:
        """End a call: average, upper bound, next level."""
        averages = self._sums[1:9, 0] / self._sums[0, 0]
        self.upper.append(float(upper_bound(averages[:3].copy(), averages[3:].copy(), self.bound)))
        self._average = self._mean / self._sums[0, 0]
        self.level += min(self.upper[-1], 0.0) / 2
        self._begin()
