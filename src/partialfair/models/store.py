"""Trained score models on disk: plain arrays, loaded without executing code."""

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from partialfair.datasets.table import Matrix
from partialfair.errors import DataError
from partialfair.files import atomic_path
from partialfair.models.design import Standardiser


@dataclass(frozen=True, eq=False)
class LinearScore:
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

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: no usable model, another number of features, or groups missing or out of range.
        """
        if self.weights.size == 0:
            raise DataError(f"this model has no parameters (status {self.status!r}); train it again")
        if X.shape[1] != self.weights.shape[1] - 1:
            raise DataError(f"X has {X.shape[1]} features, the model was trained on {self.weights.shape[1] - 1}")
        if group is None and self.uses_group:
            raise DataError("this model's scores depend on the group; pass the group codes of the rows")
        codes = np.zeros(X.shape[0], np.int64) if group is None else np.asarray(group, np.int64)
        if codes.size and (codes.min() < 0 or codes.max() >= len(self.weights)):
            raise DataError(f"group codes must lie in 0..{len(self.weights) - 1} ({', '.join(self.group_names)})")
        intercept, slope = self._raw_weights()
        by_group = np.asarray(X @ slope.T) + intercept
        return by_group[np.arange(codes.size), codes]

    def _raw_weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Intercepts (G,) and slopes (G, d) that apply to raw, unstandardised features."""
        columns = self.standardiser.columns
        slope = self.weights[:, 1:].copy()
        slope[:, columns] /= self.standardiser.scale
        return self.weights[:, 0] - slope[:, columns] @ self.standardiser.mean, slope

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(
                stream,
                kind=np.array("linear"),
                weights=self.weights,
                columns=self.standardiser.columns,
                mean=self.standardiser.mean,
                scale=self.standardiser.scale,
                aux=self.aux,
                group_names=np.array(self.group_names, np.str_),
                feature_names=np.array(self.feature_names, np.str_),
                uses_group=np.array(self.uses_group),
                status=np.array(self.status),
            )


def load_model(path: str | Path) -> LinearScore:
    """Read a model written by ``save``.

    Raises:
        DataError: the file is missing, truncated or not a model.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            a = dict(stored)
        return LinearScore(
            weights=a["weights"],
            standardiser=Standardiser(a["columns"], a["mean"], a["scale"]),
            aux=a["aux"],
            group_names=tuple(a["group_names"].tolist()),
            feature_names=tuple(a["feature_names"].tolist()),
            uses_group=bool(a["uses_group"]),
            status=str(a["status"]),
        )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise DataError(f"{path}: not a readable model ({error}); delete the file and train again") from error
