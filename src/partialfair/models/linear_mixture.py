"""A few linear scores of which every row gets one by lot: what a decision at exact parity needs at most."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from partialfair.models.row_lots import row_lots
from partialfair.models.stored import StoredModel, check_features, group_codes

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearMixture(StoredModel):
    """Linear scores with probabilities; the lots depend on the features alone, so that predictions repeat themselves.

    Attributes:
        mixture: (m, G, d+1) weights of each score on standardised features, intercept first.
        shares: (m,) probabilities.
        salt: (1,) number that the lots depend on.
        standardiser, group_names, feature_names, uses_group, status: see :class:`LinearScore`.
    """

    mixture: Vector
    shares: Vector
    salt: NDArray[np.int64]
    standardiser: Standardiser
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    uses_group: bool = False
    status: str = "ok"

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        return self.mixture.size > 0

    @property
    def weights(self) -> Vector:
        """(G, d+1) weights of the score with the largest probability."""
        return np.asarray(self.mixture[int(np.argmax(self.shares))])

    def component(self, index: int) -> LinearScore:
        """One of the mixed linear scores, by its place."""
        no_thresholds = np.zeros(0)
        names = self.group_names, self.feature_names
        return LinearScore(self.mixture[index], self.standardiser, no_thresholds, *names, uses_group=self.uses_group)

    def choice(self, X: Matrix) -> NDArray[np.int64]:
        """Return which score each row (n,) gets."""
        if self.shares.size == 1:
            return np.zeros(X.shape[0], np.int64)
        return choice_of(row_lots(X, int(self.salt[0])), self.shares)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Vector:
        """Return the scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: another number of features, or groups missing or out of range.
        """
        check_features(X, self.mixture.shape[2] - 1)
        codes = group_codes(group, X.shape[0], self.group_names, self.uses_group)
        choice, out = self.choice(X), np.empty(X.shape[0])
        for index in range(self.shares.size):
            rows = np.flatnonzero(choice == index)
            if rows.size:
                out[rows] = self.component(index).scores(X[rows], codes[rows])
        return out

    def fault(self) -> str:
        """Say why the model cannot score; empty if it can."""
        if self.shares.shape != self.mixture.shape[:1] or not np.isclose(self.shares.sum(), 1.0):
            return f"probabilities {self.shares.tolist()} do not fit {len(self.mixture)} scores"
        return next((fault for index in range(self.shares.size) if (fault := self.component(index).fault())), "")


def choice_of(lots: Vector, shares: Vector) -> NDArray[np.int64]:
    """Return which of scores with probabilities (m,) rows get by their lots (n,)."""
    return np.searchsorted(np.cumsum(shares)[:-1], lots, side="right")


MODEL = LinearMixture
