"""Trained score models on disk: plain arrays, loaded without executing code."""

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError
from partialfair.models.design import Standardiser
from partialfair.tables.dataset import UNREADABLE, Matrix
from partialfair.tables.files import atomic_path


class ScoreModel(Protocol):
    """What a stored model can do, whatever it is made of."""

    @property
    def status(self) -> str:
        """State "ok", or why there is no usable model."""
        ...

    @property
    def usable(self) -> bool:
        """Whether the model can score rows."""
        ...

    @property
    def uses_group(self) -> bool:
        """Whether the score depends on the group."""
        ...

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of raw features (n, d) and group codes (n,)."""
        ...

    def save(self, path: str | Path) -> None:
        """Write plain arrays, atomically; the entry ``kind`` names the module of this package that reads them."""
        ...


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

    @property
    def usable(self) -> bool:
        """Whether the model can score rows."""
        return self.weights.size > 0

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of raw features (n, d) and group codes (n,).

        Raises:
            DataError: no usable model, another number of features, or groups missing or out of range.
        """
        if not self.usable:
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

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "LinearScore":
        """The model whose arrays ``save`` wrote."""
        return cls(
            weights=arrays["weights"],
            standardiser=Standardiser(arrays["columns"], arrays["mean"], arrays["scale"]),
            aux=arrays["aux"],
            group_names=tuple(arrays["group_names"].tolist()),
            feature_names=tuple(arrays["feature_names"].tolist()),
            uses_group=bool(arrays["uses_group"]),
            status=str(arrays["status"]),
        )


def load_model(path: str | Path) -> Any:
    """Read a model written by the ``save`` of any :class:`ScoreModel`.

    Kinds other than ``linear`` are read by ``from_arrays`` of the module ``partialfair.models.<kind>``.

    Raises:
        DataError: the file is missing, truncated or not a model.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
        kind = str(arrays["kind"])
        if kind == "linear":
            return _checked(LinearScore.from_arrays(arrays), path)
        module = f"{__package__}.{kind}"
        if not kind.isidentifier() or importlib.util.find_spec(module) is None:
            raise ValueError(f"unknown kind of model {kind!r}")
        return importlib.import_module(module).from_arrays(arrays)
    except UNREADABLE as error:
        raise DataError(f"{path}: not a readable model ({error}); delete the file and train again") from error


def _checked(model: LinearScore, path: str | Path) -> LinearScore:
    """Refuse a model that cannot score, though its file is whole."""
    fault = _fault(model)
    if fault:
        raise DataError(f"{path}: {fault}; delete the file and train again")
    return model


def _fault(model: LinearScore) -> str:
    """Say why a model cannot score; empty if it can, or if it says itself that it is none."""
    weights, columns = model.weights, model.standardiser.columns
    if not weights.size:
        return "" if model.status != "ok" else "there are no weights, though its status is ok"
    expected = (len(model.group_names), len(model.feature_names) + 1)
    if weights.shape != expected:
        return f"weights have shape {weights.shape}, not {expected} (groups, features + 1)"
    bad = np.argwhere(~np.isfinite(weights))
    if bad.size:
        return f"weight {tuple(bad[0].tolist())} is {weights[tuple(bad[0])]}"
    if columns.size and (columns.min() < 0 or columns.max() >= len(model.feature_names)):
        return f"numeric column {columns.max()} is none of its {len(model.feature_names)} features"
    if {columns.shape} != {model.standardiser.mean.shape, model.standardiser.scale.shape}:
        return "numeric columns, their means and their scales differ in number"
    return "" if (model.standardiser.scale > 0).all() else "a scale is not positive"
