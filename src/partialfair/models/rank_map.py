"""One increasing map of scores per group: what makes the score distributions of groups agree on ranks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.models.stored import StoredModel, group_codes

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankMap(StoredModel):
    """Strictly increasing maps of scores, linear between knots and of slope 1 beyond the outermost ones.

    Order within a group stays as it was, and with it every measure of ranking within a group.

    Attributes:
        group_names: names of the G groups.
        knot_starts: (G+1,) first knot of each group.
        knot_x, knot_y: scores before and after, strictly increasing within a group.
        status: "ok"; a map always applies.
    """

    group_names: tuple[str, ...]
    knot_starts: NDArray[np.int64]
    knot_x: Vector
    knot_y: Vector
    status: str = "ok"

    def apply(self, scores: Vector, group: NDArray[np.integer]) -> Vector:
        """Mapped scores (n,) of scores (n,) and group codes (n,).

        Raises:
            DataError: a group code is out of range.
        """
        codes = group_codes(group, scores.size, self.group_names, True)
        out = np.empty(scores.size)
        for k in range(len(self.group_names)):
            rows = codes == k
            knots = slice(*self.knot_starts[k : k + 2])
            out[rows] = _mapped(np.asarray(scores, np.float64)[rows], self.knot_x[knots], self.knot_y[knots])
        return out

    def fault(self) -> str:
        """Say why the maps cannot be applied; empty if they can."""
        starts = self.knot_starts
        if starts.shape != (len(self.group_names) + 1,) or self.knot_x.shape != self.knot_y.shape:
            return "knots of the rank map differ in number from its groups"
        for k in range(len(self.group_names)):
            knots = slice(*starts[k : k + 2])
            if self.knot_x[knots].size == 0 or not np.isfinite([self.knot_x[knots], self.knot_y[knots]]).all():
                return f"the rank map of group {self.group_names[k]} has no usable knots"
            if (np.diff(self.knot_x[knots]) <= 0).any() or (np.diff(self.knot_y[knots]) <= 0).any():
                return f"the rank map of group {self.group_names[k]} does not increase"
        return ""


def _mapped(scores: Vector, x: Vector, y: Vector) -> Vector:
    """Return the scores (n,) through one group's knots (x, y), with slope 1 beyond them."""
    inside = np.interp(scores, x, y)
    return inside + np.minimum(scores - x[0], 0.0) + np.maximum(scores - x[-1], 0.0)


MODEL = RankMap
