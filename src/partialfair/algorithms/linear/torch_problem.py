"""A training problem whose rows lie on a device of PyTorch: the same methods, so the direct solver takes it as it is.

Scores, hinge means, losses and residuals are computed on the device in float64 from rows in float32; points and
gradients are
NumPy arrays. The Hessian of the direct solver's start and its coordinates are still computed by the compiled
kernels, on the CPU.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from partialfair.algorithms.linear.problem import LinearProblem, State
from partialfair.algorithms.linear.torch_rows import TorchRows, tensor
from partialfair.models.torch_backend import pick_device

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TorchProblem(LinearProblem):
    """A :class:`LinearProblem` on a device; ``scores`` of its states are tensors.

    Attributes:
        device: "cpu", "cuda" or "auto".
    """

    device: str = "auto"

    @classmethod
    def of(cls, problem: LinearProblem, device: str) -> "TorchProblem":
        """The same problem on a device.

        Raises:
            ConfigError: there is no such device.
        """
        pick_device(device)
        return cls(problem.design, problem.y, problem.model, problem.program, device)

    @cached_property
    def rows(self) -> TorchRows:
        """The rows on the device."""
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
        means = self.rows.hinge_means(scores[None], tensor(thresholds, self.rows.device)[None])[0]
        return State(params, aux, scores, thresholds, means.cpu().numpy())

    def loss(self, state: State) -> tuple[float, Vector]:
        """Mean logistic loss and its gradient by the parameters, (R, d+1)."""
        value, residual = self.rows.logistic(self._of(state)[None], self.labels)
        return float(value[0]), self._pull_back(residual)

    def lagrangian(self, state: State, multipliers: Vector) -> tuple[float, Vector, Vector]:
        """See :meth:`LinearProblem.lagrangian`."""
        scores = self._of(state)
        value, residual = self.rows.logistic(scores[None], self.labels)
        if self.program is None:
            return float(value[0]), self._pull_back(residual), np.zeros(0)
        weights = self.program.slope_weights(state.means, multipliers)
        shares = np.zeros_like(weights)
        for s, q in zip(*np.nonzero(weights), strict=True):
            first, stop = self.rows.starts[s], self.rows.starts[s + 1]
            above = (scores[first:stop] > state.thresholds[q]).to(residual.dtype)
            residual[0, first:stop] += (weights[s, q] / max(stop - first, 1)) * above
            shares[s, q] = float(above.sum()) / max(stop - first, 1)
        by_aux = self.program.fold_thresholds(-(weights * shares).sum(axis=0)[None])[0]
        return float(value[0]), self._pull_back(residual), by_aux

    def hinge_slopes(self, scores: Any, thresholds: Vector) -> tuple[Vector, Vector]:
        """See :meth:`LinearProblem.hinge_slopes`."""
        device = self.rows.device
        slope, fraction = self.rows.hinge_slopes(torch.as_tensor(scores, device=device), tensor(thresholds, device))
        return slope.cpu().numpy(), fraction.cpu().numpy()

    def pull_back(self, residual: Vector) -> Vector:
        """Gradient (R, d+1) of ``sum_i residual_i * score_i``."""
        return self._pull_back(tensor(residual, self.rows.device)[None])

    def _pull_back(self, residual: torch.Tensor) -> Vector:
        return self.model.fold(self.rows.adjoint(residual)[0].cpu().numpy())

    def _scores(self, params: Vector) -> torch.Tensor:
        return self.rows.forward(tensor(self.model.effective(params), self.rows.device)[None])[0]

    @staticmethod
    def _of(state: State) -> torch.Tensor:
        scores: Any = state.scores
        return scores
