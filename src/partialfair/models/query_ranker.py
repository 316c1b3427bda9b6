"""Scores of documents by a small network that also reads the group and the means of the query's documents."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from partialfair.data.dataset import Matrix
from partialfair.models.features import Standardiser, dense_features
from partialfair.models.stacked import StackedMLP
from partialfair.models.stored import NOT_STORED, StoredModel, check_features, group_codes

QUERY = "query"


@dataclass(frozen=True, eq=False)
class QueryRanker(StoredModel):
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
    uses_group: bool = field(default=True, metadata=NOT_STORED)

    @property
    def usable(self) -> bool:
        """Tell whether the model can score rows."""
        return self.theta.size > 0

    def scores(self, X: Matrix, group: NDArray[np.integer] | None = None) -> NDArray[np.float64]:
        """Scores (n,) of documents; those of a query must be among the rows together, for its means are inputs.

        Raises:
            DataError: another number of features, or groups missing or out of range.
        """
        check_features(X, len(self.feature_names))
        codes = group_codes(group, X.shape[0], self.group_names, self.uses_group)
        inputs = inputs_of(X, codes, self.standardiser, self.feature_names)[0]
        model = StackedMLP(inputs.shape[1], self.hidden)
        outputs = model.forward(self.theta[None].astype(np.float64), inputs[None].astype(np.float64))
        return np.asarray(outputs[0][0], np.float64)


def inputs_of(
    X: Matrix, group: NDArray[np.integer], standardiser: Standardiser, names: tuple[str, ...]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return inputs (n, 2 d + 1) and a number (n,) of each row's query; rows without a query column are one query.

    Inputs are the standardised features, the group bit, and the means of the features over the query.
    """
    dense = dense_features(X, standardiser)
    query = np.zeros(len(dense), np.int64)
    if QUERY in names:
        column = names.index(QUERY)
        query = np.unique(dense[:, column], return_inverse=True)[1].reshape(-1)
        dense = np.delete(dense, column, axis=1)
    means = np.zeros((int(query.max()) + 1 if len(query) else 0, dense.shape[1]))
    np.add.at(means, query, dense)
    means /= np.maximum(np.bincount(query, minlength=len(means)), 1)[:, None]
    inputs = np.hstack([dense, (group > 0)[:, None], means[query]])
    return inputs.astype(np.float32), query


MODEL = QueryRanker
