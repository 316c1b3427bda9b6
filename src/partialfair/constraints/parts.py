"""Constraints as functions of the scores, in their convex and concave parts: the interface of the general path."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partialfair.constraints.program import HingeProgram
from partialfair.constraints.surrogates import ClippedLinear, Surrogate, value
from partialfair.errors import ConfigError

Vector = NDArray[np.float64]
PullBack = Callable[[Vector, Vector], tuple[Vector, Vector]]

STEEP = 1e6  # slope at which the clipped-linear surrogate stands for the indicator


@dataclass(frozen=True, eq=False)
class Parts:
    """The m constraints at one point: ``f = convex - concave``.

    Attributes:
        convex, concave: values of f+ and f-, (m,); both are convex in scores and auxiliaries together.
        pull_back: from weights a, b (m,) the derivative of ``sum_i a_i f+_i + b_i f-_i`` by the scores (n,) and by
            the auxiliaries (P,); a subgradient of each part where it has a kink.
    """

    convex: Vector
    concave: Vector
    pull_back: PullBack

    @property
    def values(self) -> Vector:
        """Constraint values f (m,)."""
        return self.convex - self.concave

    def vjp(self, multipliers: Vector) -> tuple[Vector, Vector]:
        """``sum_i multipliers[i] * f_i'`` by the scores (n,) and by the auxiliaries (P,)."""
        return self.pull_back(multipliers, -multipliers)


class Constraints(Protocol):
    """The constraints ``f_i(scores, aux) <= 0`` of one family on fixed rows, with a surrogate.

    Attributes:
        labels: m texts that name the constraints.
        start: (P,) auxiliaries that are feasible together with all scores equal to ``start_score``.
        ranks_rows: whether rows enter by their ranks. A constant score is then feasible but a poor start, for all
            rows tie; a model without constraints is better, made feasible by :meth:`suit`.
    """

    ranks_rows: ClassVar[bool]

    @property
    def labels(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def start(self) -> Vector: ...  # noqa: D102

    @property
    def start_score(self) -> float: ...  # noqa: D102

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Values and derivatives at scores (n,) and auxiliaries (P,)."""
        ...

    def sharp(self) -> "Constraints":
        """The same constraints with (nearly) the indicator in place of the surrogate."""
        ...

    def suit(self, scores: Vector, group: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """Shifts (G,) of the groups' scores, and auxiliaries (P,), that suit given scores; see each family.

        They make a start for solvers on which the constraints, flat where a surrogate saturates, are not flat.
        """
        ...


class LossConstraints:
    """Base of constraints on losses: no indicator occurs, so that they are the same with any surrogate.

    Scores of zero, at which all rows have the same loss, satisfy them.
    """

    ranks_rows: ClassVar[bool] = False

    @property
    def start(self) -> Vector:
        """No auxiliary variables."""
        return np.zeros(0)

    @property
    def start_score(self) -> float:
        """Scores of zero give every row the same loss."""
        return 0.0

    def on(self, surrogate: Surrogate) -> Self:
        """The constraints themselves, whatever the surrogate."""
        return self

    def sharp(self) -> Self:
        """The constraints themselves: there is no surrogate to sharpen."""
        return self

    def suit(self, scores: Vector, group: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """No shifts (G,): losses are nowhere flat."""
        return np.zeros(int(group.max()) + 1), np.zeros(0)


class Program(Protocol):
    """What the ``build`` of a family returns where it is no :class:`HingeProgram`."""

    @property
    def start(self) -> Vector: ...  # noqa: D102

    def on(self, surrogate: Surrogate) -> Constraints:
        """The constraints with a surrogate.

        Raises:
            ConfigError: the family cannot use it.
        """
        ...


def constraints_of(program: HingeProgram | Program, surrogate: Surrogate) -> Constraints:
    """Return what a family's ``build`` returned, with a surrogate.

    Raises:
        ConfigError: the family cannot use the surrogate.
    """
    if isinstance(program, HingeProgram):
        return SurrogateMeans.of(program, surrogate)
    return program.on(surrogate)


@dataclass(frozen=True, eq=False)
class SurrogateMeans:
    """The constraints of a :class:`HingeProgram` with any surrogate.

    The program's table combines means of ``max(score - t + 1/2, 0)``, the convex part A of the clipped-linear
    surrogate at t, and ``max(score - t - 1/2, 0)``, its concave part B. Everything the families conclude from that
    (``c = A - B``, ``min(c, tau) = A + tau - max(B + tau, A)``) holds for the parts of any surrogate, so the table
    serves them all.

    Attributes:
        program: the family's table.
        surrogate: its stand-in for the indicator.
        average: (S, n) matrix that takes means over the rows of each subset.
    """

    ranks_rows: ClassVar[bool] = False
    program: HingeProgram
    surrogate: Surrogate
    average: sparse.csr_array

    @classmethod
    def of(cls, program: HingeProgram, surrogate: Surrogate) -> "SurrogateMeans":
        """Prepare a program.

        Raises:
            ConfigError: the program has thresholds that stand for neither part of a surrogate.
        """
        if not np.isin(program.shift, (-0.5, 0.5)).all():
            raise ConfigError("surrogate: this constraint is made for the clipped-linear one; use clipped_linear")
        subset = program.row_subset
        counts = np.maximum(np.bincount(subset, minlength=program.n_subsets), 1)
        entries = (1.0 / counts[subset], (subset, np.arange(subset.size)))
        return cls(program, surrogate, sparse.csr_array(entries, shape=(program.n_subsets, subset.size)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return self.program.labels

    @cached_property
    def start(self) -> Vector:
        """Thresholds at which scores of zero have the shares that the program's start gives them."""
        return -self._inverse(0.5 - self.program.start)

    @cached_property
    def start_score(self) -> float:
        """Score whose surrogate at threshold 0 is that of the program's start."""
        return float(self._inverse(np.array([0.5 + self.program.start_score]))[0])

    def parts(self, scores: Vector, aux: Vector) -> Parts:
        """Values and derivatives; O(n Q) for Q thresholds."""
        # M[s, q] = mean over subset s of upper(score - t_q) or of lower(score - t_q), by the sign of the shift;
        # f+ = convex side of M, f- = concave side of M
        program = self.program
        base = program.thresholds(aux) - program.shift
        values, slopes = np.empty((2, base.size, scores.size))
        for part, used in ((self.surrogate.upper, program.shift < 0), (self.surrogate.lower, program.shift > 0)):
            values[used], slopes[used] = part(scores - base[used, None])
        means = self.average @ values.T

        def pull_back(a: Vector, b: Vector) -> tuple[Vector, Vector]:
            # sum over s, q of the weight of M[s, q] times upper' or lower' over n_s; thresholds move against scores
            weights = program.convex.pull_back(means, a) + program.concave.pull_back(means, b)
            by_row = (self.average.T @ weights) * slopes.T
            return by_row.sum(axis=1), program.fold_thresholds(-by_row.sum(axis=0))

        return Parts(program.convex.values(means), program.concave.values(means), pull_back)

    def sharp(self) -> "SurrogateMeans":
        """The same with a steep clipped-linear surrogate."""
        return SurrogateMeans(self.program, ClippedLinear(STEEP), self.average)

    def suit(self, scores: Vector, group: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """Thresholds at which the mean share over subsets is that of the start.

        Families without thresholds get shifts at which every group has the base rate: where a group's rate exceeds
        beta its constraint is flat, and descent would move the other groups instead.
        """
        shift = np.zeros(self.program.subset_group.max() + 1)
        low, high = scores.min() - 2 / self.surrogate.sharpness, scores.max() + 2 / self.surrogate.sharpness
        if self.program.n_aux == 0:
            for k in range(shift.size):
                group_scores = scores[group == k]
                shift[k] = -self._threshold(group_scores[None], 0.5 + self.program.start_score, low, high)
            return shift, np.zeros(0)
        by_subset = [scores[self.program.row_subset == s] for s in range(self.program.n_subsets)]
        shares = np.clip(0.5 - self.program.start, 1e-3, 1 - 1e-3)
        return shift, np.array([self._threshold(by_subset, float(p), low, high) for p in shares])

    def _threshold(self, samples: "list[Vector] | Vector", share: float, low: float, high: float) -> float:
        """Threshold at which the mean over samples of their smoothed share above it is ``share``, by bisection."""
        for _ in range(40):
            middle = (low + high) / 2
            mean_share = np.mean([value(self.surrogate, sample - middle).mean() for sample in samples])
            low, high = (middle, high) if mean_share > share else (low, middle)
        return (low + high) / 2

    def _inverse(self, share: Vector) -> Vector:
        """Arguments at which the surrogate takes given values, by bisection; values are kept off 0 and 1."""
        share = np.clip(share, 1e-6, 1 - 1e-6)
        width = 8 / self.surrogate.sharpness
        low, high = np.full(share.shape, -width), np.full(share.shape, width)
        for _ in range(60):
            middle = (low + high) / 2
            below = value(self.surrogate, middle) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2
