"""A linear score per group, followed by one increasing map of its values per group."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from partialfair.models.rank_map import RankMap
from partialfair.models.stored import StoredModel, group_codes

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankMapped(StoredModel):
    """A linear score per group, then a map of its values per group.

    Attributes:
        weights, standardiser, aux, feature_names: of the linear score, see :class:`LinearScore`.
        group_names, knot_starts, knot_x, knot_y: of the maps, see :class:`RankMap`.
        uses_group: always true, for each group has a map of its own.
    """

    weights: Vector
    standardiser: Standardiser
    aux: Vector
    feature_names: tuple[str, ...]
    group_names: tuple[str, ...]
    knot_starts: NDArray[np.int64]
    knot_x: Vector
    knot_y: Vector
    uses_group: bool = True
    status: str = "ok"

    @classmethod
    def of(cls, score: LinearScore, mapping: RankMap) -> "RankMapped":
        """Return a linear score followed by the map of each group's scores."""
        knots = (mapping.group_names, mapping.knot_starts, mapping.knot_x, mapping.knot_y)
        return cls(score.weights, score.standardiser, score.aux, score.feature_names, *knots)

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        return self.weights.size > 0

    @cached_property
    def linear(self) -> LinearScore:
        """Return the score before the maps."""
        return LinearScore(self.weights, self.standardiser, self.aux, self.group_names, self.feature_names)

    @cached_property
    def mapping(self) -> RankMap:
        """Return the maps."""
        return RankMap(self.group_names, self.knot_starts, self.knot_x, self.knot_y)

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> Vector:
        """Mapped scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: another number of features, or groups missing or out of range.
        """
        codes = group_codes(group, X.shape[0], self.group_names, True)
        return self.mapping.apply(self.linear.scores(X, codes), codes)

    def fault(self) -> str:
        """Say why the model cannot score; empty if it can."""
        return self.linear.fault() or self.mapping.fault()


MODEL = RankMapped
