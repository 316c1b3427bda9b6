"""A training problem whose rows lie on a device of PyTorch: the same methods, so the direct solver takes it as it is.

Rows lie there in float32 and are multiplied as they are: a pass reads four bytes an entry and writes none. Products are
in float32 over the columns of a row and over :data:`TILE` rows, everything beyond that (sums over rows, hinge means,
losses) in float64. Points and gradients are NumPy arrays; an evaluation fetches twice from the device, the hinge means
and then loss and gradient. The Hessian of the direct solver's start and its coordinates are still computed by the
compiled kernels, on the CPU. Rows are dense, sorted by subset: a GPU multiplies dense blocks faster than it gathers
codes.

It has been tested against the compiled kernels on PyTorch's CPU device and on a GPU; docs/estimator.md has times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from partialfair.algorithms.linear.problem import LinearProblem, State
from partialfair.models.design import GroupedDesign
from partialfair.models.torch_backend import pick_device

Vector = NDArray[np.float64]
ENTRIES = 1 << 24  # of a block of rows, times columns or thresholds: 128 MB in float64
TILE = 256  # rows whose products are added in float32


class TorchRows:
    """Rows of a training set on a device.

    Attributes:
        X: (n, d+1) float32, the first column one.
        starts: S+1 first rows of the subsets; groups: S groups of the subsets.
        counts: (S,) rows of every subset, at least 1, float64.
    """

    def __init__(self, design: GroupedDesign, device: torch.device) -> None:
        self.device = device
        self.starts, self.groups = design.starts.tolist(), design.subset_group.tolist()
        self.n_groups = max(self.groups) + 1
        # dense rows (n, d+2) from the coded layout: ones scattered to their positions, the padding's column cut off
        self.X = torch.zeros(design.n_rows, design.n_features + 2, device=device)
        self.X[:, 0] = 1.0
        self.X.scatter_(1, torch.as_tensor(design.ones.T.astype(np.int64), device=device), 1.0)
        columns = torch.as_tensor(design.dense_columns, device=device)
        self.X[:, columns] = torch.as_tensor(design.dense.T, device=device)
        self.X = self.X[:, :-1].contiguous()
        sizes = np.diff(design.starts)
        self.counts = torch.as_tensor(np.maximum(sizes, 1).astype(np.float64), device=device)

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        """Scores (C, n) of weights (C, G, d+1)."""
        out = torch.empty(len(weights), len(self.X), dtype=weights.dtype, device=self.device)
        narrow = weights.float()
        for subset, start, stop in self._subsets():
            out[:, start:stop] = narrow[:, self.groups[subset]] @ self.X[start:stop].T
        return out

    def adjoint(self, residual: torch.Tensor) -> torch.Tensor:
        """Adjoint of :meth:`forward`: (C, n) to (C, G, d+1), float64."""
        shape = (len(residual), self.n_groups, self.X.shape[1])
        out = torch.zeros(shape, dtype=torch.float64, device=self.device)
        for subset, start, stop in self._subsets():
            out[:, self.groups[subset]] += self._sums(residual[:, start:stop], start, stop)
        return out

    def hinge_means(self, scores: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
        """Means of ``max(score - t, 0)``, (C, S, Q), of scores (C, n) and thresholds (C, Q)."""
        out = torch.zeros(len(scores), len(self.groups), thresholds.shape[1], dtype=torch.float64, device=self.device)
        t = thresholds.to(scores.dtype)[:, :, None]
        for subset, start, stop in self._blocks():
            # H[s, q] = mean max(score - t_q, 0), summed in float64
            over = (scores[:, None, start:stop] - t).clamp_min(0)
            out[:, subset] += over.sum(2, dtype=torch.float64) / self.counts[subset]
        return out

    def hinge_residual(
        self, scores: torch.Tensor, thresholds: torch.Tensor, weights: torch.Tensor, residual: torch.Tensor
    ) -> torch.Tensor:
        """Add the slopes of weighted hinge means to a residual (n,), in place; shares above thresholds (S, Q).

        Args:
            scores: (n,); thresholds: (Q,); weights: (S, Q) of the subsets' hinge means.
            residual: (n,) derivatives by the scores so far.
        """
        shares = torch.zeros_like(weights)
        steps = weights / self.counts[:, None]
        for subset, start, stop in self._blocks():
            # dH[s, q] / d score_i = 1[score_i > t_q] / n_s
            above = (scores[None, start:stop] > thresholds[:, None]).to(residual.dtype)
            residual[start:stop] += steps[subset] @ above
            shares[subset] += above.sum(1)
        return shares / self.counts[:, None]

    def hinge_slopes(self, scores: torch.Tensor, thresholds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gradients of one column's hinge means by group weights (S, Q, d+1), and shares above thresholds (S, Q)."""
        shape = (len(self.groups), thresholds.numel(), self.X.shape[1])
        out = torch.zeros(shape, dtype=torch.float64, device=self.device)
        for subset, start, stop in self._blocks():
            out[subset] += self._sums(scores[None, start:stop] > thresholds[:, None], start, stop)
        out /= self.counts[:, None, None]
        return out, out[:, :, 0].clone()

    def lagrangian(
        self, scores: torch.Tensor, y: torch.Tensor, thresholds: torch.Tensor, weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Loss, its gradient with weighted hinge means by group weights (G, d+1), and shares above thresholds (S, Q).

        Args:
            scores, y: (n,); thresholds: (Q,); weights: (S, Q) of the subsets' hinge means.
        """
        value, residual = self.logistic(scores[None], y)
        shares = self.hinge_residual(scores, thresholds, weights, residual[0])
        return value[0], self.adjoint(residual)[0], shares

    def logistic(self, scores: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean logistic losses (C,), float64, of scores (C, n) and labels (n,); and their derivatives by the scores."""
        # mean log(1 + exp(-y s)), and its derivative -y / (1 + exp(y s)) / n
        margin = -y * scores
        loss = torch.nn.functional.softplus(margin, threshold=1e9).mean(1, dtype=torch.float64)
        return loss, -y * torch.sigmoid(margin) / y.numel()

    def _sums(self, weights: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Weighted sums (C, d+1), float64, of some rows: in float32 within a tile of rows, in float64 over tiles."""
        rows, narrow = self.X[start:stop], weights.float()
        tiled = (stop - start) // TILE * TILE
        tiles = narrow[:, :tiled].reshape(len(narrow), -1, TILE).transpose(0, 1) @ rows[:tiled].view(
            -1, TILE, rows.shape[1]
        )
        return tiles.sum(0, dtype=torch.float64) + (narrow[:, tiled:] @ rows[tiled:]).double()

    def _subsets(self) -> Iterator[tuple[int, int, int]]:
        """Subset, first row and end of the rows of every subset."""
        for subset, (start, stop) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            yield subset, start, stop

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """Subset, first and last row of blocks of bounded size that lie within a subset each."""
        step = max(1, ENTRIES // self.X.shape[1])
        for subset, start, stop in self._subsets():
            for low in range(start, stop, step):
                yield subset, low, min(low + step, stop)


def tensor(values: Any, device: torch.device, dtype: Any = torch.float64) -> torch.Tensor:
    """Values as a tensor on a device, in double precision by default."""
    return torch.as_tensor(np.asarray(values), dtype=dtype, device=device)


def fetched(*tensors: torch.Tensor) -> list[Any]:
    """Tensors of the device as float64 arrays, by one transfer."""
    flat = torch.cat([values.reshape(-1).double() for values in tensors]).cpu().numpy()
    ends = np.cumsum([values.numel() for values in tensors])[:-1]
    return [array.reshape(values.shape) for array, values in zip(np.split(flat, ends), tensors, strict=True)]


@dataclass(frozen=True, eq=False)
class TorchProblem(LinearProblem):
    """A :class:`LinearProblem` on a device; ``scores`` of its states are tensors.

    Attributes:
        device: "cpu", "cuda" or "auto".
    """

    device: str = "auto"

    @classmethod
    def on_device(cls, problem: LinearProblem, device: str) -> "TorchProblem":
        """The same problem on a device.

        Raises:
            ConfigError: there is no such device.
        """
        pick_device(device)
        return cls(problem.design, problem.y, problem.model, problem.program, device)

    @cached_property
    def rows(self) -> TorchRows:
        """The design on the device, copied when it is first asked for."""
        return TorchRows(self.design, pick_device(self.device))

    @cached_property
    def labels(self) -> torch.Tensor:
        """Labels on the device, float64."""
        return tensor(self.y, self.rows.device)

    def scores(self, params: Vector) -> Vector:
        """Scores (n,) in the design's order, as an array."""
        return np.asarray(self._scores(params).cpu().numpy())

    def state(self, params: Vector, aux: Vector) -> State:
        """See :meth:`LinearProblem.state`; the scores stay on the device."""
        scores: Any = self._scores(params)
        if self.program is None:
            return State(params, aux, scores, np.zeros(0), np.zeros((0, 0)))
        thresholds = self.program.thresholds(aux)
        (means,) = fetched(self.rows.hinge_means(scores[None], tensor(thresholds, self.rows.device)[None])[0])
        return State(params, aux, scores, thresholds, means)

    def loss(self, state: State) -> tuple[float, Vector]:
        """Mean logistic loss and its gradient by the parameters, (R, d+1)."""
        value, residual = self.rows.logistic(self._on_device(state)[None], self.labels)
        value, by_group = fetched(value, self.rows.adjoint(residual)[0])
        return float(value[0]), self.model.fold(by_group)

    def lagrangian(self, state: State, multipliers: Vector) -> tuple[float, Vector, Vector]:
        """See :meth:`LinearProblem.lagrangian`."""
        if self.program is None:
            return *self.loss(state), np.zeros(0)
        weights = self.program.slope_weights(state.means, multipliers)
        thresholds, per_mean = (tensor(values, self.rows.device) for values in (state.thresholds, weights))
        sums = self.rows.lagrangian(self._on_device(state), self.labels, thresholds, per_mean)
        value, by_group, shares = fetched(*sums)
        by_aux = self.program.fold_thresholds(-(weights * shares).sum(axis=0)[None])[0]
        return float(value), self.model.fold(by_group), by_aux

    def hinge_slopes(self, scores: Any, thresholds: Vector) -> tuple[Vector, Vector]:
        """See :meth:`LinearProblem.hinge_slopes`."""
        device = self.rows.device
        slope, fraction = fetched(
            *self.rows.hinge_slopes(torch.as_tensor(scores, device=device), tensor(thresholds, device))
        )
        return slope, fraction

    def pull_back(self, residual: Vector) -> Vector:
        """Gradient (R, d+1) of ``sum_i residual_i * score_i``."""
        return self.model.fold(fetched(self.rows.adjoint(tensor(residual, self.rows.device)[None])[0])[0])

    def _scores(self, params: Vector) -> torch.Tensor:
        return self.rows.forward(tensor(self.model.effective(params), self.rows.device)[None])[0]

    @staticmethod
    def _on_device(state: State) -> torch.Tensor:
        scores: Any = state.scores
        return scores
