"""Scores of documents by a small network that also reads the group and the means of the query's documents."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partialfair.errors import DataError
from partialfair.models.design import Standardiser
from partialfair.models.stacked import StackedMLP
from partialfair.tables.dataset import Matrix
from partialfair.tables.files import atomic_path

KIND = "query_ranker"
QUERY = "query"


@dataclass(frozen=True, eq=False)
class QueryRanker:
    """A trained ranker; scores compare documents of one query.

    Attributes:
        theta: (size,) parameters.
        hidden: widths of the hidden layers, ReLU.
        standardiser: of the features.
        group_names, feature_names: of the table; the feature ``query`` tells queries apart and is no input.
        status: "ok", or why there is no usable model.
    """

    theta: NDArray[np.floating]
    hidden: tuple[int, ...]
    standardiser: Standardiser
    group_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    status: str = "ok"
    uses_group: bool = True

    @property
    def usable(self) -> bool:
        """Whether the model can score rows."""
        return self.theta.size > 0

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of documents; those of a query must be among the rows together, for its means are inputs.

        Raises:
            DataError: groups or features missing.
        """
        if group is None:
            raise DataError("this model's scores depend on the group; pass the group codes of the rows")
        if X.shape[1] != len(self.feature_names):
            raise DataError(f"X has {X.shape[1]} features, the model was trained on {len(self.feature_names)}")
        inputs = inputs_of(X, np.asarray(group), self.standardiser, self.feature_names)[0]
        model = StackedMLP(inputs.shape[1], self.hidden)
        found = model.forward(self.theta[None].astype(np.float64), inputs[None].astype(np.float64))
        return np.asarray(found[0][0], np.float64)

    def save(self, path: str | Path) -> None:
        """Write the model as an ``.npz`` file of plain arrays, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez(
                stream,
                kind=np.array(KIND),
                theta=self.theta,
                hidden=np.array(self.hidden, np.int64),
                columns=self.standardiser.columns,
                mean=self.standardiser.mean,
                scale=self.standardiser.scale,
                group_names=np.array(self.group_names, np.str_),
                feature_names=np.array(self.feature_names, np.str_),
                status=np.array(self.status),
            )


def from_arrays(arrays: dict[str, NDArray[Any]]) -> QueryRanker:
    """The model whose arrays ``save`` wrote."""
    return QueryRanker(
        theta=arrays["theta"],
        hidden=tuple(arrays["hidden"].tolist()),
        standardiser=Standardiser(arrays["columns"], arrays["mean"], arrays["scale"]),
        group_names=tuple(arrays["group_names"].tolist()),
        feature_names=tuple(arrays["feature_names"].tolist()),
        status=str(arrays["status"]),
    )


def inputs_of(
    X: Matrix, group: NDArray[np.integer], standardiser: Standardiser, names: tuple[str, ...]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return inputs (n, 2 d + 1) and a number (n,) of each row's query; rows without a query column are one query.

    Inputs are the standardised features, the group bit, and the means of the features over the query.
    """
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float64).copy()
    if standardiser.columns.size and len(dense):
        dense[:, standardiser.columns] = standardiser.values(X)
    query = np.zeros(len(dense), np.int64)
    if QUERY in names:
        place = names.index(QUERY)
        query = np.unique(dense[:, place], return_inverse=True)[1].reshape(-1)
        dense = np.delete(dense, place, axis=1)
    means = np.zeros((int(query.max()) + 1 if len(query) else 0, dense.shape[1]))
    np.add.at(means, query, dense)
    means /= np.maximum(np.bincount(query, minlength=len(means)), 1)[:, None]
    both = np.hstack([dense, (group > 0)[:, None], means[query]])
    return both.astype(np.float32), query
