"""IDCA's outer loop with the inner steps on a device of PyTorch, any number of configurations side by side.

The twin of :func:`partialfair.algorithms.linear.kernels.switching.switching_steps`; everything around it is
:mod:`partialfair.algorithms.linear.idca_solver`'s.
Scores and residuals are float32 as there, sums over rows and parameters float64.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from numpy.typing import NDArray

from partialfair.algorithms.linear.idca_solver import Lanes, Run
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.torch_problem import TorchProblem
from partialfair.algorithms.linear.torch_rows import TorchRows, tensor
from partialfair.constraints.program import Side


def advance(
    problem: TorchProblem,
    runs: Sequence[Run],
    rounds: int,
    keep: Sequence[int] = (),
    report: Callable[[Run], None] | None = None,
) -> None:
    """Bring every run to ``rounds`` outer iterations, in place.

    See :func:`partialfair.algorithms.linear.idca_solver.advance`.
    """
    if runs:
        waiting: deque[tuple[LinearProblem, Run]] = deque((problem, run) for run in runs)
        _TorchLanes(waiting, len(runs), rounds, frozenset(keep), report).run()


class _TorchLanes(Lanes):
    """Runs that move together on the device."""

    @cached_property
    def _steps(self) -> "SwitchingSteps":
        problem = self.problem
        assert isinstance(problem, TorchProblem)
        return SwitchingSteps(problem)

    def _take(self, anchor: tuple[NDArray, ...], steps: int) -> None:
        """Take inner steps with all active columns."""
        self._steps(anchor, self.params, self.aux, self.best, self.tolerance, self.active, steps)


class _Table:
    """A side of the constraints on the device, and its values for hinge means of every column."""

    def __init__(self, side: Side, device: torch.device) -> None:
        self.weight = tensor(side.weight, device)
        self.subset = tensor(side.subset, device, torch.int64)
        self.threshold = tensor(side.threshold, device, torch.int64)
        self.constant = tensor(side.constant, device)

    def candidates(self, means: torch.Tensor) -> torch.Tensor:
        """Values (C, m, J, L) of all alternatives for hinge means (C, S, Q)."""
        hinge = means[:, self.subset.clamp_min(0), self.threshold.clamp_min(0)]
        return torch.where(self.subset < 0, 0.0, hinge) + self.constant

    def picked(self, i: torch.Tensor, j: int, choice: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Weight (0 where there is no hinge), subset and threshold (C,) of term ``j`` of constraint ``i`` (C,)."""
        subset, threshold = self.subset[i, j, choice], self.threshold[i, j, choice]
        weight = torch.where(subset < 0, 0.0, self.weight[i, j])
        return weight, subset.clamp_min(0), threshold.clamp_min(0)


class SwitchingSteps:
    """Inner steps of all columns; arrays go in and out as those of the compiled kernel do."""

    def __init__(self, problem: TorchProblem) -> None:
        assert problem.program is not None
        self.problem, self.rows = problem, problem.rows
        device, program = self.rows.device, problem.program
        self.convex, self.concave = _Table(program.convex, device), _Table(program.concave, device)
        self.y = problem.labels.float()
        self.subset_group = tensor(program.subset_group, device, torch.int64)
        self.aux_index = tensor(program.aux_index, device, torch.int64)
        self.shift = tensor(program.shift, device)
        self.moves = (self.aux_index[:, None] == torch.arange(program.n_aux, device=device)).double()  # (Q, P)

    def __call__(self, anchor: Any, params: Any, aux: Any, best: Any, tolerance: Any, active: Any, steps: int) -> None:
        """Take ``steps`` inner steps; see :func:`partialfair.algorithms.linear.kernels.switching.switching_steps`."""
        device = self.rows.device
        choice, offset, slope, fraction = anchor
        fixed = (
            tensor(choice, device, torch.int64),
            tensor(offset, device),
            tensor(slope, device),
            tensor(fraction, device),
        )
        point = [tensor(params, device), tensor(aux, device)]
        found = [tensor(part, device) for part in best]
        moving, eps = tensor(active, device, torch.bool), tensor(tolerance, device)
        for _ in range(steps):
            point, found = self.step(fixed, point, found, eps, moving)
        for target, source in zip((params, aux, *best), (*point, *found), strict=True):
            target[...] = source.cpu().numpy()

    def step(
        self,
        anchor: tuple[torch.Tensor, ...],
        point: list[torch.Tensor],
        best: list[torch.Tensor],
        eps: torch.Tensor,
        moving: torch.Tensor,
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """One step of every column that moves."""
        params, aux = point
        effective = self._effective(params)
        scores = self.rows.forward(effective.float())
        thresholds = aux @ self.moves.T + self.shift
        means = self.rows.hinge_means(scores, thresholds)
        i, worst, alternatives = self._largest(anchor, means, effective, thresholds)
        feasible = worst <= eps
        loss, residual = self.rows.logistic(scores, self.y)
        better = moving & feasible & (loss < best[0])
        best = [
            torch.where(better.view(-1, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip((loss, params, aux), best, strict=True)
        ]
        by_hinges, by_aux = self._hinge_residual(scores, thresholds, i, alternatives)
        gradient = self.rows.adjoint(torch.where(feasible[:, None], residual, by_hinges))
        gradient, by_aux = self._less_concave(anchor, i, feasible, gradient, by_aux)
        direction = gradient.sum(1, keepdim=True)
        if params.shape[1] > 1:
            direction = torch.cat([direction, gradient[:, 1:]], 1)
        square = direction.square().sum((1, 2)) + by_aux.square().sum(1)
        length = torch.where(feasible, eps, worst) / torch.where(square > 0, square, 1.0)
        length = torch.where(moving & (square > 0), length, 0.0)
        return [params - length[:, None, None] * direction, aux - length[:, None] * by_aux], best

    def _effective(self, params: torch.Tensor) -> torch.Tensor:
        shared = params[:, :1].expand(-1, self.rows.n_groups, -1)
        if params.shape[1] == 1:
            return shared
        return shared + torch.cat([torch.zeros_like(params[:, :1]), params[:, 1:]], 1)

    def _largest(
        self, anchor: tuple[torch.Tensor, ...], means: torch.Tensor, effective: torch.Tensor, thresholds: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Index and value (C,) of every column's largest majorant, and its convex alternatives (C, J)."""
        choice, offset, slope, fraction = anchor
        linear = offset + torch.einsum("csqp,csp->csq", slope, effective[:, self.subset_group])
        linear = linear - fraction * thresholds[:, None]
        convex = self.convex.candidates(means)
        highest, alternatives = convex.max(3)
        concave = self.concave.candidates(linear).gather(3, choice[..., None])[..., 0]
        value = (self.convex.weight * highest).sum(2) - (self.concave.weight * concave).sum(2)
        i = value.argmax(1)
        at = torch.arange(len(i), device=i.device)
        return i, value[at, i], alternatives[at, i]

    def _hinge_residual(
        self, scores: torch.Tensor, thresholds: torch.Tensor, i: torch.Tensor, alternatives: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Derivative of the chosen majorants' convex parts by the scores (C, n) and the auxiliaries (C, P)."""
        residual = torch.zeros_like(scores)
        by_aux = torch.zeros(len(i), self.moves.shape[1], dtype=torch.float64, device=scores.device)
        at = torch.arange(len(i), device=i.device)
        for j in range(self.convex.weight.shape[1]):
            weight, subset, q = self.convex.picked(i, j, alternatives[:, j])
            t = thresholds[at, q].to(scores.dtype)
            above = (self.rows.row_subset[None] == subset[:, None]) & (scores > t[:, None])
            residual += (weight / self.rows.counts[subset]).to(scores.dtype)[:, None] * above
            by_aux -= (weight * above.sum(1) / self.rows.counts[subset])[:, None] * self.moves[q]
        return residual, by_aux

    def _less_concave(
        self,
        anchor: tuple[torch.Tensor, ...],
        i: torch.Tensor,
        feasible: torch.Tensor,
        gradient: torch.Tensor,
        by_aux: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Subtract the slopes at the anchor where a majorant is violated; elsewhere the loss alone counts."""
        choice, _, slope, fraction = anchor
        at = torch.arange(len(i), device=i.device)
        gradient = gradient.clone()
        for j in range(self.concave.weight.shape[1]):
            weight, subset, q = self.concave.picked(i, j, choice[at, i, j])
            weight = torch.where(feasible, 0.0, weight)
            group = self.subset_group[subset]
            gradient[at, group] -= weight[:, None] * slope[at, subset, q]
            by_aux = by_aux + (weight * fraction[at, subset, q])[:, None] * self.moves[q]
        return gradient, torch.where(feasible[:, None], 0.0, by_aux)


__all__ = ["SwitchingSteps", "TorchRows", "advance"]
