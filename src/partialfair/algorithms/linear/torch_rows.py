"""The row products and sums of the compiled kernels as PyTorch operations, for a GPU; all columns at once.

The twin of :mod:`partialfair.models.rows` and :mod:`partialfair.algorithms.linear.kernels.pointwise`. Rows are dense
here, float32,
sorted by subset: a GPU multiplies dense blocks faster than it gathers codes. Products are taken in the precision of
their argument, sums over rows in float64.

It has been tested on PyTorch's CPU device, against the compiled kernels; on a GPU it has not been measured.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from partialfair.models.design import GroupedDesign

ENTRIES = 1 << 24  # of a block of rows that is brought to the precision of a product: 128 MB in float64


class TorchRows:
    """Rows of a training set on a device.

    Attributes:
        X: (n, d+1) float32, the first column one.
        starts: S+1 first rows of the subsets; groups: S groups of the subsets.
        row_subset: (n,) subset of every row.
        counts: (S,) rows of every subset, at least 1, float64.
    """

    def __init__(self, design: GroupedDesign, device: torch.device) -> None:
        self.device = device
        self.starts, self.groups = design.starts.tolist(), design.subset_group.tolist()
        self.n_groups = max(self.groups) + 1
        self.X = torch.zeros(design.n_rows, design.n_features + 2, device=device)
        self.X[:, 0] = 1.0
        self.X.scatter_(1, torch.as_tensor(design.ones.T.astype(np.int64), device=device), 1.0)
        columns = torch.as_tensor(design.dense_columns, device=device)
        self.X[:, columns] = torch.as_tensor(design.dense.T, device=device)
        self.X = self.X[:, :-1].contiguous()
        sizes = np.diff(design.starts)
        self.row_subset = torch.as_tensor(np.repeat(np.arange(sizes.size), sizes), device=device)
        self.counts = torch.as_tensor(np.maximum(sizes, 1).astype(np.float64), device=device)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        """Scores (C, n) of weights (C, G, d+1)."""
        out = torch.empty(len(weights), len(self.X), dtype=weights.dtype, device=self.device)
        for subset, first, stop in self._blocks():
            out[:, first:stop] = weights[:, self.groups[subset]] @ self.X[first:stop].to(weights.dtype).T
        return out

    def adjoint(self, residual: torch.Tensor) -> torch.Tensor:
        """Adjoint of :meth:`forward`: (C, n) to (C, G, d+1), float64."""
        shape = (len(residual), self.n_groups, self.X.shape[1])
        out = torch.zeros(shape, dtype=torch.float64, device=self.device)
        for subset, first, stop in self._blocks():
            out[:, self.groups[subset]] += residual[:, first:stop] @ self.X[first:stop].to(residual.dtype)
        return out

    def hinge_means(self, scores: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
        """Means of ``max(score - t, 0)``, (C, S, Q), of scores (C, n) and thresholds (C, Q)."""
        out = torch.zeros(len(scores), len(self.groups), thresholds.shape[1], dtype=torch.float64, device=self.device)
        t = thresholds.to(scores.dtype)
        for subset, (first, stop) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            for q in range(t.shape[1]):
                over = (scores[:, first:stop] - t[:, q, None]).clamp_min(0)
                out[:, subset, q] = over.sum(1, dtype=torch.float64) / self.counts[subset]
        return out

    def hinge_slopes(self, scores: torch.Tensor, thresholds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gradients of one column's hinge means by group weights (S, Q, d+1), and shares above thresholds (S, Q)."""
        shape = (len(self.groups), thresholds.numel(), self.X.shape[1])
        out = torch.zeros(shape, dtype=torch.float64, device=self.device)
        for subset, first, stop in self._blocks():
            above = (scores[None, first:stop] > thresholds[:, None]).double()
            out[subset] += above @ self.X[first:stop].double()
        out /= self.counts[:, None, None]
        return out, out[:, :, 0].clone()

    def logistic(self, scores: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean logistic losses (C,), float64, of scores (C, n) and labels (n,); and their derivatives by the scores."""
        margin = -y * scores
        loss = torch.nn.functional.softplus(margin, threshold=1e9).mean(1, dtype=torch.float64)
        return loss, -y * torch.sigmoid(margin) / y.numel()

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """Subset, first and last row of blocks of bounded size that lie within a subset each."""
        step = max(1, ENTRIES // self.X.shape[1])
        for subset, (first, stop) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            for low in range(first, stop, step):
                yield subset, low, min(low + step, stop)


def tensor(values: Any, device: torch.device, dtype: Any = torch.float64) -> torch.Tensor:
    """An array on a device."""
    return torch.as_tensor(np.asarray(values), dtype=dtype, device=device)
