"""The group-interaction linear score ``h(x) = <w, (1, x, s, s x)>`` (Partial fairness paper, section 7.1)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Dataset, Matrix
from partialfair.models.features import Standardiser
from partialfair.models.stored import StoredModel, check_features, check_usable, group_codes


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
        """Return the number of parameters."""
        return self.shape[0] * self.shape[1]

    def effective(self, params: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights each group sees, (..., G, d+1), from parameters (..., R, d+1)."""
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


@dataclass(frozen=True, eq=False)
class LinearScore(StoredModel):
    """A trained group-interaction linear score.

    Attributes:
        weights: (G, d+1) weights of each group on standardised features, intercept first; shape (0, 0)
            if training gave no usable model.
        standardiser: applied to raw features before scoring.
        aux: (P,) auxiliary variables of the constraints (the thresholds theta of pSP).
        group_names, feature_names: of the dataset it was trained on.
        uses_group: whether the score depends on the group.
        status: "ok", or why there is no usable model.
    """

    weights: NDArray[np.float64]
    standardiser: Standardiser
    aux: NDArray[np.float64]
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    uses_group: bool = True
    status: str = "ok"

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        return self.weights.size > 0

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Return the scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: no usable model, another number of features, or groups missing or out of range.
        """
        check_usable(self)
        check_features(X, self.weights.shape[1] - 1)
        codes = group_codes(group, X.shape[0], self.group_names, self.uses_group)
        intercept, slope = self._raw_weights()
        by_group = np.asarray(X @ slope.T) + intercept
        return by_group[np.arange(codes.size), codes]

    def _raw_weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Intercepts (G,) and slopes (G, d) that apply to raw, unstandardised features."""
        columns = self.standardiser.columns
        slope = self.weights[:, 1:].copy()
        slope[:, columns] /= self.standardiser.scale
        return self.weights[:, 0] - slope[:, columns] @ self.standardiser.mean, slope

    def fault(self) -> str:
        """Say why the model cannot score; empty if it can, or if it says itself that it is none."""
        weights = self.weights
        if not weights.size:
            return "" if self.status != "ok" else "there are no weights, though its status is ok"
        expected = (len(self.group_names), len(self.feature_names) + 1)
        if weights.shape != expected:
            return f"weights have shape {weights.shape}, not {expected} (groups, features + 1)"
        bad = np.argwhere(~np.isfinite(weights))
        if bad.size:
            return f"weight {tuple(bad[0].tolist())} is {weights[tuple(bad[0])]}"
        return self.standardiser.fault(len(self.feature_names))


MODEL = LinearScore


def no_score(data: Dataset, status: str) -> LinearScore:
    """Return a stored model that says why there is none."""
    nothing = Standardiser(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    return LinearScore(np.zeros((0, 0)), nothing, np.zeros(0), data.group_names, data.feature_names, True, status)
