"""Which mixture of linear decisions keeps a tolerance in what its lots decide, not on average alone.

A mixture meets the tolerance in expectation. What the training rows draw differs from it, by a tenth where a group has
some ten rows of a label: more than usual tolerances. A mixture for a smaller tolerance helps as long as the difference
is small beside it. Where it is not, mixtures for several tolerances are drawn with several lots, and the best is kept:
lots are as much a part of the model as its weights. What other rows decide keeps the tolerance of the mixture in
expectation, with any lots.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.linear.calibrated import in_order_of_rows
from partialfair.algorithms.linear.equal_rates.fits import ParityFits
from partialfair.algorithms.linear.equal_rates.mixture import Mixture
from partialfair.data.dataset import Dataset
from partialfair.models.linear_mixture import choice_of
from partialfair.models.row_lots import row_lots

Vector = NDArray[np.float64]
NARROWINGS, LEAST = 8, 0.5
"""Mixtures for smaller tolerances that are tried one after another, down to this part of the tolerance."""
SALTS, PARTS = 8, np.linspace(1.0, 0.0, 11)
"""Lots, and parts of the tolerance, of which every pair is tried where that does not help."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A mixture with its lots.

    Attributes:
        mixture: the decisions and their probabilities.
        salt: of the lots.
        gap: largest difference of rates that the rows draw.
        wrong: weight of the rows that draw a wrong decision.
    """

    mixture: Mixture
    salt: int
    gap: float
    wrong: float


@dataclass(eq=False)
class Lottery:
    """Mixtures that are drawn by the training rows.

    Attributes:
        fits: the decisions found so far.
        rows: training rows.
        weights: (n,) of the rows.
        gap_of: the metric of scores (n,) that the tolerance bounds.
    """

    fits: ParityFits
    rows: Dataset
    weights: Vector
    gap_of: Callable[[Vector], float]
    _lots: dict[int, Vector] = field(default_factory=dict, init=False)
    _scores: dict[int, Vector] = field(default_factory=dict, init=False)

    def best(self, kappa: float, salt: int) -> Drawn:
        """Return the mixture to take for a tolerance.

        Args:
            kappa: largest difference of rates.
            salt: of the lots that are drawn first.

        Returns:
            Of those that keep the tolerance one with few wrong decisions, else the one that exceeds it least.
        """
        candidates = []
        for candidate in self._narrowed(kappa, salt):
            if candidate.gap <= kappa:
                return candidate
            candidates.append(candidate)
        mixtures = [self.fits.mixture(tolerance) for tolerance in np.unique(kappa * PARTS)[::-1]]
        candidates += [self._drawn(mixture, salt + more) for more in range(SALTS) for mixture in mixtures]
        return min(candidates, key=lambda candidate: (max(candidate.gap - kappa, 0.0), candidate.wrong))

    def _narrowed(self, kappa: float, salt: int) -> Iterator[Drawn]:
        """Mixtures for tolerances that are smaller by what the one before exceeds kappa."""
        tolerance, mixture = kappa, self.fits.solve(kappa)
        for _ in range(NARROWINGS):
            drawn = self._drawn(mixture, salt)
            yield drawn
            tolerance -= 1.1 * (drawn.gap - kappa)
            if not tolerance >= LEAST * kappa:
                return
            mixture = self.fits.mixture(tolerance)

    def _drawn(self, mixture: Mixture, salt: int) -> Drawn:
        if salt not in self._lots:
            self._lots[salt] = row_lots(self.rows.X, salt)
        table = np.array([self._scores_of(index) for index in mixture.used])
        choice = choice_of(self._lots[salt], mixture.shares)
        scores = np.take_along_axis(table, choice[None], axis=0)[0]
        wrong = float(self.weights @ ((scores > 0) != (self.rows.y > 0)))
        return Drawn(mixture, salt, self.gap_of(scores), wrong)

    def _scores_of(self, index: int) -> Vector:
        """Return the scores (n,) of one decision."""
        if index not in self._scores:
            problem = self.fits.problem
            self._scores[index] = in_order_of_rows(problem, problem.scores(self.fits.decisions[index].params))
        return self._scores[index]
