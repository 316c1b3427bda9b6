"""The group-interaction linear score ``h(x) = <w, (1, x, s, s x)>`` (Partial fairness paper, section 3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class GroupLinear:
    """A linear score with its own intercept and coefficients per group.

    Parameters have shape (R, d+1), intercept first. Row 0 is shared; row g >= 1 is added for group g, so
    that with two groups the parameters are those of the paper (2d + 2 of them). With ``uses_group`` false
    there is only row 0, and the score needs no group at prediction time.
    """

    n_features: int
    n_groups: int
    uses_group: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the parameters, (R, d+1)."""
        return (self.n_groups if self.uses_group else 1, self.n_features + 1)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.shape[0] * self.shape[1]

    def effective(self, params: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights each group sees, (..., G, d+1), from parameters (..., R, d+1)."""
        shared = params[..., :1, :]
        if not self.uses_group:
            return np.repeat(shared, self.n_groups, axis=-2)
        out = np.repeat(shared, self.n_groups, axis=-2)
        out[..., 1:, :] += params[..., 1:, :]
        return out

    def fold(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Adjoint of :meth:`effective`: (..., G, d+1) to (..., R, d+1)."""
        shared = gradient.sum(axis=-2, keepdims=True)
        return np.concatenate([shared, gradient[..., 1:, :]], axis=-2) if self.uses_group else shared
