"""What the kernels that run configurations as columns share: scores, hinges of rows, gradients and the step.

A column c is one configuration with parameters ``theta`` (R, d+1) and auxiliaries (P,). Row 0 of theta is common to
all groups, row g > 0 is added for group g: the weights that group g sees are ``w_g = theta_0 + theta_g``, its scores
``s = w_g . (1, x)``.
"""

import numpy as np
from numpy.typing import NDArray

from partialfair.kernels.compiled import LANES, SUM_BLOCK, kernel
from partialfair.kernels.ordered_sums import lane_above
from partialfair.kernels.row_sums import adjoint_eight, adjoint_one, forward_eight, forward_one

MIN_LANES = 4  # from this number of columns on, eight lanes are used
MIN_TOGETHER = 3  # from this number of columns on, eight lanes cost less than the columns one by one


def lanes_for(columns: int) -> int:
    """Lanes in which this number of columns costs least, 1 or 8; columns of other problems may join them."""
    return LANES if columns >= MIN_LANES else 1


def columns_for(lanes: int, runs: int) -> int:
    """Columns of the arrays for runs of 1 or 8 lanes: those of one lane move together where there are several."""
    return LANES if lanes > 1 or runs >= MIN_TOGETHER else 1


def passes(active: NDArray[np.bool_], alone: bool) -> list[slice]:
    """Columns that a kernel takes together: all, or those that move one by one where few do and each is as if alone."""
    moving = np.flatnonzero(active)
    return [slice(c, c + 1) for c in moving] if alone and len(moving) < MIN_TOGETHER else [slice(None)]


@kernel
def pack(effective, members, coded):
    """Coded tables (G, E*C), lanes innermost, of weights (C, G, d+2) whose last entry is zero."""
    lanes, groups, _ = effective.shape
    for g in range(groups):
        for e in range(members.shape[0]):
            for c in range(lanes):
                # coded[g, e] = sum of the weights that combination e stands for: a row then needs F' additions instead
                # of its ones
                total = 0.0
                for m in range(members.shape[1]):
                    total += effective[c, g, members[e, m]]
                coded[g, e * lanes + c] = total


@kernel
def unpack(coded, members, lanes, gradient):
    """Adjoint of :func:`pack`: adds coded gradients (G, E*C) up to gradients (C, G, d+2)."""
    gradient[:] = 0
    for g in range(coded.shape[0]):
        for e in range(members.shape[0]):
            for m in range(members.shape[1]):
                for c in range(lanes):
                    gradient[c, g, members[e, m]] += coded[g, e * lanes + c]


@kernel
def effective_weights(params, groups, out):
    """Weights ``w_g = theta_0 + theta_g`` from parameters (R, d+1): the first d+1 columns of ``out`` (G, d+2)."""
    for g in range(groups):
        for j in range(params.shape[1]):
            out[g, j] = params[0, j] + (params[g, j] if 0 < g < params.shape[0] else 0.0)


@kernel
def hinge_rows(scores, start, stop, threshold, weight, residual):
    """Add ``weight / (stop - start)`` to the residual of rows above ``threshold``; return their share."""
    step, t = np.float32(weight / (stop - start)), np.float32(threshold)
    count = 0
    for low in range(start, stop, SUM_BLOCK):
        block = scores[low : min(low + SUM_BLOCK, stop)]
        out = residual[low : min(low + SUM_BLOCK, stop)]
        for i in range(block.size):
            # residual += weight / n_s 1[s > t]: derivative of weight H[s, q] by the scores
            out[i] += step if block[i] > t else np.float32(0)
        count += lane_above(block, t)
    return count / (stop - start)


@kernel
def program_thresholds(shift, aux_index, aux, thresholds):
    """Thresholds (Q,) of a program: ``t_q = shift_q + aux[aux_index_q]``, without an auxiliary ``shift_q``."""
    for q in range(thresholds.size):
        thresholds[q] = shift[q] + (aux[aux_index[q]] if aux_index[q] >= 0 else 0.0)


@kernel
def compute_scores(design, params, effective, packed, scores, active, alone):
    """Scores (C, n) of all columns from parameters (C, R, d+1).

    Args:
        design: (codes, dense, dense_columns, starts, subset_group, members) of the rows.
        effective: (C, G, d+2) and packed: (G, E*C), to work in; the last column of ``effective`` stays 0.
        active: (C,) columns whose scores are wanted; alone: whether eight columns are computed as each would be alone.
    """
    codes, dense, dense_columns, starts, subset_group, members = design
    # w_g = theta_0 + theta_g, coded for all columns c side by side, then s_i = w_g . (1, x_i)
    for c in range(params.shape[0]):
        effective_weights(params[c], effective.shape[1], effective[c])
    pack(effective, members, packed)
    if params.shape[0] == 1:
        forward_one(codes, dense, dense_columns, starts, subset_group, packed, scores[0])
    else:
        forward_eight(codes, dense, dense_columns, starts, subset_group, packed, scores, active, alone)


@kernel
def add_side_rows(i, side, chosen, factor, scores, starts, thresholds, aux_index, residual, aux_gradient):
    """Add ``factor`` times a subgradient of one part of constraint i, by the scores (n,) and by the auxiliaries (P,).

    The part is ``sum_j weight_ij mean over subset s_j of max(score - t_j, 0)``, at the alternatives ``chosen`` (J,):
    its derivative by the score of a row of s_j is ``weight_ij / n_s 1[score > t_j]``, by t_j minus their share.
    """
    weight, subset, threshold, _ = side
    for j in range(weight.shape[1]):
        # by the chain rule through H[s, q] at the attained alternative; t_q = shift_q + aux moves by minus the share
        # above
        s, q = subset[i, j, chosen[j]], threshold[i, j, chosen[j]]
        step = factor * weight[i, j]
        if s >= 0 and step != 0 and starts[s + 1] > starts[s]:
            share = hinge_rows(scores, starts[s], starts[s + 1], thresholds[q], step, residual)
            if aux_index[q] >= 0:
                aux_gradient[aux_index[q]] -= step * share


@kernel
def pull_back(design, residual, coded, gradient, active, alone):
    """Gradients (C, G, d+2) of ``sum_i residual[c, i] score_i`` by the weights of each group: ``X_g' residual``.

    Args:
        design, active, alone: see :func:`compute_scores`.
        residual: (C, n); coded: (G, E*C), to work in.
    """
    codes, dense, dense_columns, starts, subset_group, members = design
    lanes = gradient.shape[0]
    coded[:] = 0
    if lanes == 1:
        adjoint_one(codes, dense, dense_columns, starts, subset_group, residual[0], coded)
    else:
        adjoint_eight(codes, dense, dense_columns, starts, subset_group, residual, coded, active, alone)
    unpack(coded, members, lanes, gradient)


@kernel
def by_parameters(gradient, direction):
    """Gradient (R, d+1) by the parameters of one column, from that by each group's weights (G, d+2).

    Adjoint of :func:`effective_weights`: ``direction_0 = sum_g gradient_g`` and ``direction_g = gradient_g``.
    """
    rows, width = direction.shape
    direction[:] = 0
    for g in range(gradient.shape[0]):
        for p in range(width):
            direction[0, p] += gradient[g, p]
            if 0 < g < rows:
                direction[g, p] = gradient[g, p]


@kernel
def descend(params, aux, direction, aux_gradient, length):
    """Move parameters (R, d+1) and auxiliaries (P,) of one column against a gradient, in place."""
    for r in range(params.shape[0]):
        for p in range(params.shape[1]):
            params[r, p] -= length * direction[r, p]
    for p in range(aux.size):
        aux[p] -= length * aux_gradient[p]
