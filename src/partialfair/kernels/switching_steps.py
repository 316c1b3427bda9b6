"""The switching subgradient inner loop of IDCA for linear scores, for one or eight configurations at once.

Partial fairness paper, Algorithm 2. At a point v: if the largest majorant is at most eps, step
``v -= eps / |g|^2 g`` along the loss gradient and remember v if its loss is the best so far; otherwise
``v -= (g_max / |g|^2) g`` along a subgradient of the largest majorant. The majorants are those of
:mod:`partialfair.constraints.program` with every concave part replaced by its linearisation at the anchor, of which
each column has its own; :mod:`partialfair.kernels.subgradient_steps` steps on the constraints themselves.
"""

import numpy as np

from partialfair.kernels.compiled import kernel
from partialfair.kernels.ordered_sums import lane_dot
from partialfair.kernels.pointwise import hinge_means, logistic
from partialfair.kernels.program_sides import side_value
from partialfair.kernels.row_sums import adjoint_eight, adjoint_one, forward_eight, forward_one
from partialfair.kernels.score_columns import effective_weights, hinge_rows, pack, unpack


@kernel
def linearised_means(offset, slope, fraction, effective, subset_group, thresholds, out):
    """Hinge means (S, Q) linearised at the anchor: ``offset + slope . u - fraction * t``."""
    for s in range(offset.shape[0]):
        u = effective[subset_group[s]]
        for q in range(offset.shape[1]):
            out[s, q] = offset[s, q] + lane_dot(slope[s, q], u) - fraction[s, q] * thresholds[q]


@kernel
def largest_majorant(convex, concave, anchor_choice, means, linear, chosen, work):
    """Return (index, value) of the largest majorant; ``chosen`` (J,) receives its convex alternatives."""
    weight, subset, threshold, constant = convex
    k_weight, k_subset, k_threshold, k_constant = concave
    best, worst = -1, -np.inf
    for i in range(weight.shape[0]):
        value = side_value(i, weight, subset, threshold, constant, means, work)
        for j in range(k_weight.shape[1]):
            k = anchor_choice[i, j]
            part = k_constant[i, j, k]
            if k_subset[i, j, k] >= 0:
                part += linear[k_subset[i, j, k], k_threshold[i, j, k]]
            value -= k_weight[i, j] * part
        if value > worst:
            best, worst = i, value
            for j in range(weight.shape[1]):
                chosen[j] = work[j]
    return best, worst


@kernel
def switching_steps(
    design, y, aux_index, shift, convex, concave, anchor, params, aux, best, tolerance, active, steps, work, alone
):
    """Take ``steps`` inner steps of every active column, in place.

    Args:
        design: (codes, dense, dense_columns, starts, subset_group, members) of the rows.
        y: (n,) labels, float32, in the order of the design.
        aux_index, shift: of the program.
        convex, concave: (weight, subset, threshold, constant) tables of the program, the constants (C, m, J, L) one
            table per column: columns may differ in the slack of their constraints.
        anchor: (choice (C, m, J), offset (C, S, Q), slope (C, S, Q, d+1), fraction (C, S, Q)).
        params: (C, R, d+1) current parameters; aux: (C, P) current auxiliaries.
        best: (loss (C,), params (C, R, d+1), aux (C, P)) of the best point with no majorant above eps.
        tolerance: (C,) eps of each column.
        active: (C,) columns to move.
        work: (scores (C, n), residual (C, n)), float32.
        alone: whether eight columns are computed as each would be alone.
    """
    codes, dense, dense_columns, starts, subset_group, members = design
    anchor_choice, offset, slope, fraction = anchor
    best_loss, best_params, best_aux = best
    scores, residual = work
    lanes, rows, width = params.shape
    groups = subset_group.max() + 1
    n_subsets, n_thresholds = offset.shape[1], offset.shape[2]
    n_terms, k_terms = convex[0].shape[1], concave[0].shape[1]
    effective = np.zeros((lanes, groups, width + 1))
    packed = np.zeros((groups, len(members) * lanes), np.float32)
    coded_gradient = np.empty((groups, len(members) * lanes))
    gradient = np.empty((lanes, groups, width + 1))
    means = np.empty((n_subsets, n_thresholds))
    linear = np.empty((n_subsets, n_thresholds))
    thresholds = np.empty(n_thresholds)
    chosen = np.zeros(n_terms, np.int64)
    scratch = np.zeros(n_terms, np.int64)
    violated = np.full(lanes, -1)
    value = np.zeros(lanes)
    aux_gradient = np.zeros((lanes, aux.shape[1]))
    direction = np.empty((rows, width))
    residual[:] = 0
    for _ in range(steps):
        for c in range(lanes):
            effective_weights(params[c], groups, effective[c])
        pack(effective, members, packed)
        if lanes == 1:
            forward_one(codes, dense, dense_columns, starts, subset_group, packed, scores[0])
        else:
            forward_eight(codes, dense, dense_columns, starts, subset_group, packed, scores, active, alone)
        aux_gradient[:] = 0
        for c in range(lanes):
            if not active[c]:
                continue
            for q in range(n_thresholds):
                thresholds[q] = shift[q] + (aux[c, aux_index[q]] if aux_index[q] >= 0 else 0.0)
            hinge_means(scores[c], starts, thresholds, means)
            linearised_means(offset[c], slope[c], fraction[c], effective[c], subset_group, thresholds, linear)
            plus = (convex[0], convex[1], convex[2], convex[3][c])
            minus = (concave[0], concave[1], concave[2], concave[3][c])
            i, worst = largest_majorant(plus, minus, anchor_choice[c], means, linear, chosen, scratch)
            if worst <= tolerance[c]:
                violated[c] = -1
                loss = logistic(scores[c], y, 1.0 / y.size, residual[c])
                if loss < best_loss[c]:
                    best_loss[c] = loss
                    best_params[c] = params[c]
                    best_aux[c] = aux[c]
                continue
            violated[c], value[c] = i, worst
            residual[c, :] = 0
            for j in range(n_terms):
                s, q = convex[1][i, j, chosen[j]], convex[2][i, j, chosen[j]]
                weight = convex[0][i, j]
                if s >= 0 and weight > 0:
                    share = hinge_rows(scores[c], starts[s], starts[s + 1], thresholds[q], weight, residual[c])
                    if aux_index[q] >= 0:
                        aux_gradient[c, aux_index[q]] -= weight * share
        coded_gradient[:] = 0
        if lanes == 1:
            adjoint_one(codes, dense, dense_columns, starts, subset_group, residual[0], coded_gradient)
        else:
            adjoint_eight(codes, dense, dense_columns, starts, subset_group, residual, coded_gradient, active, alone)
        unpack(coded_gradient, members, lanes, gradient)
        for c in range(lanes):
            if not active[c]:
                continue
            i = violated[c]
            if i >= 0:
                for j in range(k_terms):
                    k = anchor_choice[c, i, j]
                    s, q = concave[1][i, j, k], concave[2][i, j, k]
                    weight = concave[0][i, j]
                    if s >= 0 and weight > 0:
                        for p in range(width):
                            gradient[c, subset_group[s], p] -= weight * slope[c, s, q, p]
                        if aux_index[q] >= 0:
                            aux_gradient[c, aux_index[q]] += weight * fraction[c, s, q]
            direction[:] = 0
            for g in range(groups):
                for p in range(width):
                    d = gradient[c, g, p]
                    direction[0, p] += d
                    if 0 < g < rows:
                        direction[g, p] = d
            square = lane_dot(aux_gradient[c], aux_gradient[c])
            for r in range(rows):
                square += lane_dot(direction[r], direction[r])
            if square == 0:
                continue
            length = (value[c] if i >= 0 else tolerance[c]) / square
            for r in range(rows):
                for p in range(width):
                    params[c, r, p] -= length * direction[r, p]
            for p in range(aux.shape[1]):
                aux[c, p] -= length * aux_gradient[c, p]
