"""The constraints of the linear solvers as functions of a batch of scores that come out of any network.

Source: Partial fairness paper, section 5: thresholds theta are trained along with the network, and shares above
them are smoothed by the clipped linear function. Values keep the graph of the scores.
"""

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from partialfair.constraints.family import built
from partialfair.constraints.program import NONE, HingeProgram, Side, Term
from partialfair.constraints.stratum_means import LossMeans, sampled
from partialfair.errors import ConfigError, DataError
from partialfair.torch.replicas import mean_over_replicas, n_replicas

Table = tuple[Tensor, Tensor, Tensor]


class BatchConstraint(nn.Module):  # type: ignore[misc]
    """Values ``f`` (m,) of the constraints ``f <= 0`` of a family, on the scores of a batch.

    The module keeps its own tensors instead of using :class:`~partialfair.constraints.stratum_means.HingeMeans`: values
    must keep the graph of the scores and stay on their device, and a batch may lack a stratum.

    Families with thresholds (partial statistical parity) have them as a parameter ``thetas``: pass ``parameters()`` to
    the optimiser together with those of the network. Constraints on a group, or on a label of a group, without rows in
    the batch have the value 0 for that batch.

    Args:
        n_groups: number of groups, at least 2.
        constraint: name of a family on smoothed shares, for instance "partial_statistical_parity",
            "partial_demographic_parity", "partial_equal_opportunity" or "partial_equalized_odds", or on mean losses:
            "loss_parity", "loss_equal_opportunity", "loss_equalized_odds".
        interval: disjoint pairs of ranks (0 = highest score), or one such list per group.
        kappa: tolerance.
        kappa_scale: "relative" (kappa times the length of the interval) or "absolute".
        grid: number of ranks of partial statistical parity.
        width: scores between which the smoothed share rises from 0 to 1; below 1 it is nearer to the indicator.
        process_group: replicas of a data-parallel training that each have a part of the batch, for instance
            ``torch.distributed.group.WORLD``. Values are those of the rows of all replicas, also where a replica lacks
            a group. Derivatives are scaled so that the mean over replicas, which ``DistributedDataParallel`` takes, is
            the derivative by all rows. All replicas must call the constraint equally often. ``None`` for the rows of
            this process alone.

    Attributes:
        thetas: (P,) thresholds; empty for families without.
        labels: m texts that name the constraints, no two alike.

    Raises:
        PluginError: no such family.
        ConfigError: a family, interval, kappa, width or number of groups that cannot be used.
    """

    def __init__(
        self,
        n_groups: int,
        constraint: str = "partial_statistical_parity",
        *,
        interval: Any = ((0.0, 1.0),),
        kappa: float = 0.1,
        kappa_scale: str = "relative",
        grid: int = 10,
        width: float = 1.0,
        process_group: Any = None,
    ) -> None:
        super().__init__()
        if not is_finite(width) or not width > 0:
            raise ConfigError(f"width is {width!r}; use a positive number")
        if not is_finite(kappa):
            raise ConfigError(f"kappa is {kappa!r}; use a number, the tolerance")
        if isinstance(n_groups, bool) or not isinstance(n_groups, int | np.integer) or n_groups < 2:
            raise ConfigError(f"n_groups is {n_groups!r}; use a whole number of groups, at least 2")
        # one row per group and label suffices to read off the constraints and the stratum of such rows
        group, label = np.repeat(np.arange(n_groups), 2).astype(np.int16), np.tile([-1.0, 1.0], n_groups)
        options = {"interval": interval, "kappa": kappa, "kappa_scale": kappa_scale, "grid": grid}
        means = sampled(built(constraint, group, label, **options))
        if means is None:
            raise ConfigError(
                f"constraint {constraint!r} compares no mean shares or losses of groups, which is what batches can give"
            )
        self.n_groups, self.width, self.labels = n_groups, width, _full_labels(means.labels)
        self.process_group = process_group
        self.of_losses = isinstance(means, LossMeans)
        self.thetas = nn.Parameter(torch.as_tensor(means.start * width, dtype=torch.get_default_dtype()))
        in_stratum = np.zeros((2 * n_groups, means.n_strata))
        stratum = means.row_stratum
        in_stratum[stratum >= 0, stratum[stratum >= 0]] = 1
        self.needs_labels = self.of_losses or bool((in_stratum[::2] != in_stratum[1::2]).any())
        self._register("in_stratum", _floats(in_stratum))
        if isinstance(means, LossMeans):
            sides, n_features = _loss_sides(means), 1
        else:
            program: HingeProgram = means.program  # type: ignore[attr-defined]
            sides, n_features = (program.convex, program.concave), program.shift.size
            self._register("theta_index", torch.as_tensor(np.maximum(program.aux_index, 0)))
            self._register("has_theta", _floats(program.aux_index != NONE))
            self._register("shift", _floats(program.shift * width))
        scale = 1.0 if self.of_losses else width
        for name, values in zip(_PARTS, _table(sides, scale, means.n_strata, n_features), strict=True):
            self._register(name, values)
        self._register("uses_stratum", _floats(_uses_stratum(sides, means.n_strata)))

    def forward(self, scores: Tensor, group: Tensor, y: Tensor | None = None) -> Tensor:
        """Return values (m,) for scores (n,), group codes (n,) and, for families that look at labels, labels (n,).

        Args:
            scores: scores with their graph, one column at most.
            group: codes 0..G-1.
            y: labels 0 and 1, or -1 and 1, of any type.

        Raises:
            DataError: scores, groups or labels are missing or no tensor of such numbers, lengths differ, or a code is
                out of range.
        """
        convex, concave = self.convex_parts(scores, group, y)
        return convex - concave

    def convex_parts(
        self, scores: Tensor, group: Tensor, y: Tensor | None = None, thetas: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return two functions (m,), convex in scores and thresholds, whose difference gives the values.

        Shares are counted in single precision at least, also under ``autocast``: in half precision they would be off
        by a hundredth.

        Args:
            scores, group, y: see :meth:`forward`.
            thetas: (P,) thresholds in place of the module's own.
        """
        if not isinstance(scores, Tensor) or not scores.is_floating_point():
            kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
            raise DataError(f"scores are of type {kind}; pass a floating-point tensor, as the network gives them")
        with torch.autocast(scores.device.type, enabled=False):
            wide = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
            return self._convex_parts(wide.reshape(-1), group, y, thetas)

    def _convex_parts(
        self, scores: Tensor, group: Tensor, y: Tensor | None, thetas: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        cells, positive = self._cells(scores, group, y)
        wrong = f"group codes must lie in 0..{self.n_groups - 1}; pass n_groups as large as they go"
        # on a GPU an index out of range would end the CUDA context, so it is checked first
        if cells.is_cuda and bool(((cells < 0) | (cells >= len(self.in_stratum))).any()):
            raise DataError(wrong)
        try:
            in_stratum = self.in_stratum.index_select(0, cells).to(scores.dtype)  # (n, S)
        except (IndexError, RuntimeError) as error:
            raise DataError(wrong) from error
        counts = self._over_replicas(in_stratum.sum(dim=0))
        if positive is not None and self.of_losses:
            target = positive.to(scores.dtype)
            features = nn.functional.binary_cross_entropy_with_logits(scores, target, reduction="none")[:, None]
        else:
            thetas = self.thetas if thetas is None else thetas
            thresholds = thetas[self.theta_index] * self.has_theta + self.shift if thetas.numel() else self.shift
            features = torch.relu(scores[:, None] - thresholds.to(scores.dtype))
        complete = bool(counts.all())
        means = self._over_replicas(in_stratum.T @ features) / (counts if complete else counts.clamp(min=1))[:, None]
        alternatives = nn.functional.pad(means.reshape(-1), (0, 1))[self.mean_index] + self.constant  # (2 m, J, L)
        alternatives = alternatives.squeeze(2) if alternatives.shape[2] == 1 else alternatives.amax(dim=2)
        sides = (self.weight * alternatives).sum(dim=1).view(2, -1)
        if not complete:
            sides = sides * (self.uses_stratum @ (counts == 0).to(self.uses_stratum.dtype) == 0)
        return sides[0], sides[1]

    def violation(self, scores: Tensor, group: Tensor, y: Tensor | None = None) -> Tensor:
        """Return the largest constraint value of a batch, at least 0."""
        return self(scores, group, y).max().clamp(min=0)

    def signed(self, scores: Tensor, group: Tensor, y: Tensor | None = None) -> Tensor:
        """Return the signed gaps h (m / 2,) of constraints that come in pairs, ``h <= slack`` and ``-h <= slack``.

        Args:
            scores, group, y: see :meth:`forward`.

        Raises:
            ConfigError: the family has constraints without an opposite one.
        """
        upper, lower, _ = self._opposite_bounds
        values = self(scores, group, y)
        return (values[upper] - values[lower]) / 2

    @property
    def slack(self) -> Tensor:
        """Tolerances (m / 2,) of the signed gaps; kappa where the gaps are differences of groups.

        Raises:
            ConfigError: see :meth:`signed`.
        """
        return self._opposite_bounds[2]

    @cached_property
    def _opposite_bounds(self) -> Table:
        """Return the indices (m / 2,) of upper and lower bounds and their slacks.

        Two constraints are opposite if their sum is constant in the scores, which three random score tables test.
        """
        draw = torch.Generator().manual_seed(0)
        codes = torch.arange(self.n_groups).repeat_interleave(8)
        y = torch.tensor([-1.0, 1.0]).repeat(4 * self.n_groups)
        with torch.no_grad():
            trial = copy.deepcopy(self, {id(self.process_group): None}).cpu().double()
            table = []
            for _ in range(3):
                trial.thetas.copy_(torch.randn(trial.thetas.shape, generator=draw, dtype=torch.float64))
                scores = torch.randn(len(codes), generator=draw, dtype=torch.float64)
                table.append(trial(scores, codes, y))
        values = torch.stack(table, dim=1)  # (m, 3)
        sums = values[:, None] + values[None]
        opposite = (sums - sums.mean(dim=2, keepdim=True)).abs().amax(dim=2) < 1e-9
        opposite &= ~torch.eye(len(values), dtype=torch.bool)
        if not bool((opposite.sum(dim=1) == 1).all()):
            raise ConfigError("these constraints are no pairs of opposite bounds on a gap; use their values")
        upper, lower = torch.nonzero(opposite.triu()).T
        slack = -sums[upper, lower, 0] / 2
        return upper.to(self.mean_index.device), lower.to(self.mean_index.device), slack.to(self.weight)

    def _over_replicas(self, sums: Tensor) -> Tensor:
        """Return the sums over the rows of all replicas.

        The derivative is that of this replica's rows times the number of replicas. The mean of derivatives over the
        replicas, which data-parallel training takes, is then the derivative by all rows.
        """
        if self.process_group is None:
            return sums
        replicas = n_replicas(self.process_group)
        total = replicas * mean_over_replicas(sums, self.process_group)
        return total + replicas * (sums - sums.detach())

    def _cells(self, scores: Tensor, group: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return group and label (n,) of every row as one number, and whether the label is positive."""
        for name, column in (("group", group), ("y", y)):
            if column is not None and not isinstance(column, Tensor):
                raise DataError(
                    f"{name} is a {type(column).__name__}; pass a tensor: codes 0..{self.n_groups - 1} for groups, "
                    "numbers for labels"
                )
        codes = group.reshape(-1)
        if codes.is_complex() or (codes.is_floating_point() and bool((codes != codes.floor()).any())):
            raise DataError("group holds numbers that are not whole or NaN; pass a code for every row")
        if codes.shape != scores.shape or (y is not None and y.shape.numel() != scores.numel()):
            raise DataError(f"scores has {scores.numel()} rows; pass as many group codes and labels")
        cells = 2 * codes.long()
        if y is not None:
            positive = _positive(y.reshape(-1), scores.dtype)
            return cells + positive, positive
        if self.needs_labels:
            raise DataError("this constraint compares rows of one label; pass the labels y")
        return cells, None

    def _register(self, name: str, values: Tensor) -> None:
        self.register_buffer(name, values, persistent=False)


def _positive(y: Tensor, dtype: torch.dtype) -> Tensor:
    """Tell which labels (n,), 0 and 1 or -1 and 1, are 1.

    Raises:
        DataError: other labels, for instance smoothed labels such as 0.05.
    """
    if y.dtype == torch.bool:
        return y
    labels = y.real.to(dtype) if y.is_complex() else y.to(dtype)
    positive = labels == 1
    if y.is_complex() or not bool((positive | (labels == 0) | (labels == -1)).all()):
        if y.is_floating_point() and bool(y.isnan().any()):
            raise DataError("y holds NaN, which is no label; pass a label for every row, or leave such rows out")
        raise DataError(f"y holds labels like {y[~positive][:3].tolist()}; pass 0 and 1, or -1 and 1")
    return positive


_PARTS = ("weight", "mean_index", "constant")


def _table(sides: tuple[Side, Side], width: float, n_strata: int, n_features: int) -> Table:
    """Return weights (2 m, J), indices into the flat means (S Q + 1,) and constants (2 m, J, L) of both parts."""
    terms, choices = (max(side.subset.shape[axis] for side in sides) for axis in (1, 2))
    weights, mean_indices, constants = [], [], []
    for side in sides:
        m, more_terms, more_choices = len(side.weight), terms - side.subset.shape[1], choices - side.subset.shape[2]
        positions = np.where(side.subset == NONE, n_strata * n_features, side.subset * n_features + side.threshold)
        constant = np.concatenate([side.constant, np.full((m, side.subset.shape[1], more_choices), -np.inf)], axis=2)
        wide = ((0, 0), (0, more_terms), (0, 0))
        weights.append(np.pad(side.weight / width, wide[:2]))
        constants.append(np.pad(constant * width, wide))
        mean_indices.append(np.pad(positions, (*wide[:2], (0, more_choices)), constant_values=n_strata * n_features))
    indices = torch.as_tensor(np.concatenate(mean_indices))
    return _floats(np.concatenate(weights)), indices, _floats(np.concatenate(constants))


def _uses_stratum(sides: tuple[Side, Side], n_strata: int) -> Any:
    """Tell which strata each constraint uses, (m, S)."""
    uses_stratum = np.zeros((len(sides[0].weight), n_strata), bool)
    for side in sides:
        rows, _, _ = np.nonzero(side.subset >= 0)
        uses_stratum[rows, side.subset[side.subset >= 0]] = True
    return uses_stratum


def _loss_sides(means: LossMeans) -> tuple[Side, Side]:
    """Return a side of the positive entries of the matrix, and a side of the negative entries with the slack."""

    def side(weights: Any, slack: float) -> Side:
        terms: list[list[Term]] = [
            [(float(w), [(s, 0, 0.0)]) for s, w in enumerate(row) if w] + [(1.0, [(NONE, NONE, slack)])]
            for row in weights
        ]
        return Side.from_terms(terms)

    return side(np.maximum(means.matrix, 0), 0.0), side(np.maximum(-means.matrix, 0), means.slack)


def is_finite(value: Any) -> bool:
    """Tell whether a setting is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def _full_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels in full: "... <= b" continues the label before it."""
    full: list[str] = []
    for label in labels:
        full.append(full[-1].rpartition(" >= ")[0] + label.removeprefix("...") if label.startswith("...") else label)
    return tuple(full)


def _floats(values: Any) -> Tensor:
    return torch.as_tensor(values, dtype=torch.get_default_dtype())
