"""The network of the AUC fairness paper: one hidden layer of sigmoid units, and a sigmoid output; many at once.

Source: AUC fairness paper, section 6. :class:`partialfair.models.stacked.StackedMLP` computes the same with dense
matrix products; on a9a a step of 60 networks takes it more than twice as long.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partialfair.algorithms.auc.level_set import CSR
from partialfair.kernels import sigmoid_network_steps as kernels
from partialfair.models.stacked import StackedMLP

Vector = NDArray[np.float64]
BLOCK = 256
"""Rows whose hidden values are held at once: with 60 networks of 10 units a megabyte."""


@dataclass(frozen=True)
class SigmoidNetwork:
    """Parameters of R networks, as models store them (R, n) and as the kernels take them (n, R).

    Attributes:
        n_inputs: width of the input, p.
        hidden: number of hidden units, h.
    """

    n_inputs: int
    hidden: int

    @cached_property
    def stored(self) -> StackedMLP:
        """The same network with the parameters in the order of the models."""
        return StackedMLP(self.n_inputs, (self.hidden,), "sigmoid", squash=True)

    @property
    def size(self) -> int:
        """Number of parameters, n."""
        return self.stored.size

    def initial(self, generator: np.random.Generator) -> Vector:
        """Parameters (n,) from which a run begins, in the order of the models."""
        return self.stored.initial(generator).astype(np.float64)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Place in the models' order of each of the kernels' parameters: weights by input, not by unit."""
        # models store W1 as (h, p), kernels as (p, h): a row's entry then meets its h weights side by side
        weights = np.arange(self.hidden * self.n_inputs).reshape(self.hidden, self.n_inputs).T.ravel()
        return np.concatenate([weights, np.arange(weights.size, self.size)])

    def table(self, theta: Vector) -> Vector:
        """Parameters (n, R) for the kernels of (R, n)."""
        return np.ascontiguousarray(theta[:, self._order].T)

    def theta(self, table: Vector) -> Vector:
        """Parameters (R, n) of models of (n, R)."""
        parameters = np.empty(table.shape[::-1])
        parameters[:, self._order] = table.T
        return parameters

    def scores(self, table: Vector, rows: CSR) -> Vector:
        """Scores (n_rows, R) of all rows under parameters (n, R)."""
        n_rows, runs = rows[0].size - 1, table.shape[1]
        scores, hidden = np.empty((n_rows, runs)), np.empty((BLOCK, self.hidden, runs))
        for start in range(0, n_rows, BLOCK):
            block = np.arange(start, min(start + BLOCK, n_rows))
            kernels.forward(*rows, block, table, self.hidden, hidden, scores[start : start + BLOCK])
        return scores
