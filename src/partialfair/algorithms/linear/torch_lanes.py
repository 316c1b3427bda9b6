"""The inner steps of IDCA on a device: the scores of eight configurations are one product with the rows.

Their gradients are one, too.

Partial fairness paper, Algorithm 2; the steps are those of :mod:`partialfair.algorithms.linear.kernels.switching`.
Points come to the device when an outer iteration of some configuration begins and go back when it ends; the steps
between wait for nothing. Products with the rows are in float32, as :mod:`partialfair.algorithms.linear.torch_problem`
says, and a method that switches on a sign does not keep the same path under another rounding: its results agree with
those of the compiled kernels as two runs of different rounding do.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from partialfair.algorithms.linear.idca_solver import Lanes, Run
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.algorithms.linear.torch_problem import TorchProblem, TorchRows, tensor
from partialfair.constraints.program import NONE, HingeProgram, Side

COLUMNS = 8


def advance(
    problem: TorchProblem,
    runs: Sequence[Run],
    rounds: int,
    keep: Sequence[int] = (),
    report: Callable[[Run], None] | None = None,
) -> None:
    """Bring every run to ``rounds`` outer iterations, in place, see :func:`.idca_solver.advance`.

    Args:
        problem: the problem of all runs, with constraints, on a device.
        runs, rounds, keep, report: as there.
    """
    waiting: deque[tuple[LinearProblem, Run]] = deque((problem, run) for run in runs)
    if waiting:
        DeviceLanes(waiting, COLUMNS, rounds, frozenset(keep), report).run()


class Sides:
    """One side of the constraints as tables on a device, with constants (C, m, J, L) of every column."""

    def __init__(self, side: Side, constant: Tensor, n_thresholds: int) -> None:
        device = constant.device
        self.weight = tensor(side.weight, device)
        mean = side.subset.astype(np.int64) * n_thresholds + side.threshold
        self.known = tensor(side.subset >= 0, device)
        self.mean = torch.as_tensor(np.where(side.subset >= 0, mean, 0), device=device)  # place among the means, S Q
        self.constant = constant

    def alternatives(self, means: Tensor) -> Tensor:
        """Values (C, m, J, L) of hinge means (C, S, Q)."""
        return self.constant + means.flatten(1)[:, self.mean] * self.known

    def spread(self, constraint: Tensor, choice: Tensor, means: Tensor) -> Tensor:
        """Weights (C, S, Q) of the hinge means in one side of one constraint of every column.

        Args:
            constraint: (C,); choice: (C, J) alternatives of its terms; means: for the shape.
        """
        pick = choice[..., None]
        places = self.mean[constraint].gather(2, pick)[..., 0]
        weights = self.weight[constraint] * self.known[constraint].gather(2, pick)[..., 0]
        return torch.zeros_like(means).flatten(1).scatter_add(1, places, weights).view_as(means)


class Steps:
    """Inner steps of C columns on a device.

    Args:
        rows, y: of the problem; program: its constraints.
        model: whose ``effective`` maps parameters (R, d+1) to group weights (G, d+1).
        tables: constants (C, m, J, L) of the convex and of the concave side; then choice (C, m, J), offset (C, S, Q),
            slope (C, S, Q, d+1) and fraction (C, S, Q) of the anchors.
    """

    def __init__(self, rows: TorchRows, y: Tensor, program: HingeProgram, model: Any, *tables: Tensor) -> None:
        convex, concave, self.choice, self.offset, self.slope, self.fraction = tables
        self.rows, self.y, self.device = rows, y, convex.device
        q = program.shift.size
        self.convex, self.concave = Sides(program.convex, convex, q), Sides(program.concave, concave, q)
        basis = np.eye(model.shape[0])[:, :, None]  # one parameter row at a time
        self.effective = tensor(np.stack([model.effective(row)[:, 0] for row in basis], axis=1), self.device)  # (G, R)
        self.shift = tensor(program.shift, self.device)
        moved = np.zeros((q, program.n_aux))
        moved[np.flatnonzero(program.aux_index != NONE), program.aux_index[program.aux_index != NONE]] = 1
        self.moved = tensor(moved, self.device)  # (Q, P)
        self.group = torch.as_tensor(np.asarray(program.subset_group, np.int64), device=self.device)

    def take(self, params: Tensor, aux: Tensor, best: tuple[Tensor, ...], tolerance: Tensor, active: Tensor) -> Any:
        """One step of every active column: new (params (C, R, d+1), aux (C, P), best)."""
        weights = torch.einsum("gr,crd->cgd", self.effective, params)
        thresholds = self.shift + aux @ self.moved.T
        scores = self.rows.forward(weights)
        means = self.rows.hinge_means(scores, thresholds)
        by_subset = weights[:, self.group]
        linear = (
            self.offset - self.fraction * thresholds[:, None] + torch.einsum("csqd,csd->csq", self.slope, by_subset)
        )
        above, chosen = self.convex.alternatives(means).max(dim=3)
        below = self.concave.alternatives(linear).gather(3, self.choice[..., None])[..., 0]
        majorants = (self.convex.weight * above).sum(2) - (self.concave.weight * below).sum(2)
        worst, constraint = majorants.max(dim=1)
        on_loss = worst <= tolerance
        loss, residual = self.rows.logistic(scores, self.y)
        better = active & on_loss & (loss < best[0])
        best = tuple(
            torch.where(better.view(-1, *[1] * (old.dim() - 1)), new, old)
            for new, old in zip((loss, params, aux), best, strict=True)
        )
        each = torch.arange(len(params), device=self.device)
        off = (~on_loss).to(means.dtype)[:, None, None]
        plus = off * self.convex.spread(constraint, chosen[each, constraint], means)
        minus = off * self.concave.spread(constraint, self.choice[each, constraint], means)
        residual = residual * on_loss[:, None]
        shares = torch.stack(
            [self.rows.hinge_residual(scores[c], thresholds[c], plus[c], residual[c]) for c in range(len(params))]
        )
        by_group = self.rows.adjoint(residual)
        by_group = by_group.index_add(1, self.group, -torch.einsum("csq,csqd->csd", minus, self.slope))
        by_params = torch.einsum("gr,cgd->crd", self.effective, by_group)
        by_aux = (minus * self.fraction - plus * shares).sum(1) @ self.moved
        square = (by_params**2).sum((1, 2)) + (by_aux**2).sum(1)
        length = torch.where(on_loss, tolerance, worst) / square
        length = torch.where(active & (square > 0), length, torch.zeros_like(length))
        return params - length[:, None, None] * by_params, aux - length[:, None] * by_aux, best


class DeviceLanes(Lanes):
    """Runs that move together, their inner steps on the device of the problem."""

    def _take(self, anchor: tuple[NDArray, ...], steps: int) -> None:
        problem: Any = self.problem
        device = problem.rows.device
        choice, offset, slope, fraction = anchor
        constants = (tensor(side[-1], device) for side in self.sides)
        inner = Steps(
            problem.rows, problem.labels, problem.program, problem.model, *constants,
            torch.as_tensor(choice, device=device), *(tensor(part, device) for part in (offset, slope, fraction)),
        )  # fmt: skip
        params, aux, tolerance = (tensor(part, device) for part in (self.params, self.aux, self.tolerance))
        best = tuple(tensor(part, device) for part in self.best)
        active = torch.as_tensor(self.active, device=device)
        for _ in range(steps):
            params, aux, best = inner.take(params, aux, best, tolerance, active)
        for mine, theirs in zip((self.params, self.aux, *self.best), (params, aux, *best), strict=True):
            mine[...] = theirs.cpu().numpy()
