"""The switching subgradient inner loop of IDCA for linear scores, for one or eight configurations at once.

Partial fairness paper, Algorithm 2, on the convex subproblem of Algorithm 1 at an anchor v0. With the parts
``f_i = f+_i - f-_i`` of every constraint (:mod:`partialfair.constraints.program`), the majorants are

    g_i(v) = f+_i(v) - f-_i(v0) - <slope of f-_i at v0, v - v0>,    g_max(v) = max_i g_i(v).

A step from v, with the tolerance eps of Algorithm 2, is

    g_max(v) <= eps:  v <- v - eps / |h|^2 h,          h the gradient of f0; v is kept if f0(v) is the least yet
    g_max(v) >  eps:  v <- v - g_max(v) / |h|^2 h,     h a subgradient of the largest majorant

The loss needs no majorant (g_0 = f_0), since it is convex. Columns are configurations (tolerances, starts), each with
its own anchor. :mod:`partialfair.kernels.subgradient_steps` steps on the constraints themselves. Shapes: C columns, n
rows, d features, G groups, R parameter rows, P auxiliaries, S subsets, Q thresholds, m constraints, J terms per
constraint, L alternatives per term, E entries of the coded table.
"""

import numpy as np

from partialfair.kernels.compiled import kernel
from partialfair.kernels.ordered_sums import lane_dot
from partialfair.kernels.pointwise import hinge_means, logistic
from partialfair.kernels.program_sides import side_value
from partialfair.kernels.score_columns import (
    add_side_rows,
    by_parameters,
    compute_scores,
    descend,
    program_thresholds,
    pull_back,
)


@kernel
def linearised_means(offset, slope, fraction, effective, subset_group, thresholds, out):
    """Hinge means (S, Q) linearised at the anchor: ``offset + slope . u - fraction * t``."""
    for s in range(offset.shape[0]):
        u = effective[subset_group[s]]
        for q in range(offset.shape[1]):
            out[s, q] = offset[s, q] + lane_dot(slope[s, q], u) - fraction[s, q] * thresholds[q]


@kernel
def largest_majorant(convex, concave, anchor_choice, means, linear, chosen, work):
    """Return (index, value) of the largest majorant g_i; ``chosen`` (J,) receives its convex alternatives.

    Args:
        convex, concave: tables of one column, see :func:`switching_steps`; anchor_choice: (m, J) alternatives of the
            concave parts at the anchor.
        means, linear: (S, Q) hinge means, and their linearisations at the anchor.
        work: (J,) to work in.
    """
    weight, subset, threshold, constant = convex
    k_weight, k_subset, k_threshold, k_constant = concave
    best, worst = -1, -np.inf
    for i in range(weight.shape[0]):
        # f+_i(v), then minus the linearised f-_i
        value = side_value(i, weight, subset, threshold, constant, means, work)
        for j in range(k_weight.shape[1]):
            k = anchor_choice[i, j]
            linear_part = k_constant[i, j, k]
            if k_subset[i, j, k] >= 0:
                linear_part += linear[k_subset[i, j, k], k_threshold[i, j, k]]
            value -= k_weight[i, j] * linear_part
        if value > worst:
            best, worst = i, value
            for j in range(weight.shape[1]):
                chosen[j] = work[j]
    return best, worst


@kernel
def subtract_linearisation(i, concave, choice, slope, fraction, aux_index, subset_group, gradient, aux_gradient):
    """Subtract the slope of f-_i at the anchor from the gradients by group weights (G, d+2) and auxiliaries (P,).

    The hinge mean ``mean max(s - t, 0)`` has ``slope`` (d+1,) by the weights and ``-fraction`` by its threshold t.
    """
    weight, subset, threshold, _ = concave
    for j in range(weight.shape[1]):
        k = choice[i, j]
        s, q = subset[i, j, k], threshold[i, j, k]
        if s >= 0 and weight[i, j] > 0:
            for p in range(slope.shape[2]):
                gradient[subset_group[s], p] -= weight[i, j] * slope[s, q, p]
            if aux_index[q] >= 0:
                aux_gradient[aux_index[q]] += weight[i, j] * fraction[s, q]


@kernel
def switching_steps(
    design, y, aux_index, shift, convex, concave, anchor, params, aux, best, tolerance, active, steps, work, alone
):
    """Take ``steps`` inner steps of every active column, in place.

    Args:
        design: (codes, dense, dense_columns, starts, subset_group, members) of the rows.
        y: (n,) labels, float32, in the order of the design.
        aux_index, shift: index of the auxiliary and shift of every threshold of the program.
        convex, concave: (weight, subset, threshold, constant) tables of the program, the constants (C, m, J, L) one
            table per column: columns may differ in the slack of their constraints.
        anchor: (choice (C, m, J), offset (C, S, Q), slope (C, S, Q, d+1), fraction (C, S, Q)).
        params: (C, R, d+1) current parameters; aux: (C, P) current auxiliaries.
        best: (loss (C,), params (C, R, d+1), aux (C, P)) of the best point with no majorant above eps.
        tolerance: (C,) eps of each column.
        active: (C,) columns to move; steps: inner steps to take, at most what is left of T.
        work: (scores (C, n), residual (C, n)), float32.
        alone: whether each of eight columns must give exactly the result of the one-column kernel.
    """
    starts, subset_group, members = design[3], design[4], design[5]
    anchor_choice, offset, slope, fraction = anchor
    best_loss, best_params, best_aux = best
    scores, residual = work
    lanes, rows, width = params.shape
    groups = subset_group.max() + 1
    # to work in, allocated once: weights by group (C, G, d+2), coded weights and gradients (G, E*C), hinge means (S, Q)
    effective = np.zeros((lanes, groups, width + 1))
    packed = np.zeros((groups, len(members) * lanes), np.float32)
    coded = np.empty((groups, len(members) * lanes))
    gradient = np.empty((lanes, groups, width + 1))
    means = np.empty((offset.shape[1], offset.shape[2]))
    linear = np.empty((offset.shape[1], offset.shape[2]))
    thresholds = np.empty(offset.shape[2])
    chosen = np.zeros(convex[0].shape[1], np.int64)
    scratch = np.zeros(convex[0].shape[1], np.int64)
    violated = np.full(lanes, -1)
    value = np.zeros(lanes)
    aux_gradient = np.zeros((lanes, aux.shape[1]))
    direction = np.empty((rows, width))
    residual[:] = 0
    for _ in range(steps):
        # one pass over the rows for the scores of all columns, then each column decides on its own residual
        compute_scores(design, params, effective, packed, scores, active, alone)
        aux_gradient[:] = 0
        for c in range(lanes):
            if not active[c]:
                continue
            # line 4: g_max(v) and the index i that attains it, equations (31) and (32)
            program_thresholds(shift, aux_index, aux[c], thresholds)
            hinge_means(scores[c], starts, thresholds, means)
            linearised_means(offset[c], slope[c], fraction[c], effective[c], subset_group, thresholds, linear)
            plus = (convex[0], convex[1], convex[2], convex[3][c])
            minus = (concave[0], concave[1], concave[2], concave[3][c])
            i, worst = largest_majorant(plus, minus, anchor_choice[c], means, linear, chosen, scratch)
            if worst <= tolerance[c]:
                # lines 4, 5 and 10: within eps the step follows f0, whose derivative by the scores is the residual;
                # of the points within eps that of the least loss is kept
                violated[c] = -1
                loss = logistic(scores[c], y, 1.0 / y.size, residual[c])
                if loss < best_loss[c]:
                    best_loss[c] = loss
                    best_params[c] = params[c]
                    best_aux[c] = aux[c]
                continue
            # line 7: else it follows g_i, whose convex part f+_i gives the residual, at the alternatives that attain it
            violated[c], value[c] = i, worst
            residual[c, :] = 0
            add_side_rows(
                i, convex, chosen, 1.0, scores[c], starts, thresholds, aux_index, residual[c], aux_gradient[c]
            )
        # X' residual: by the weights of each group
        pull_back(design, residual, coded, gradient, active, alone)
        for c in range(lanes):
            if not active[c]:
                continue
            i = violated[c]
            if i >= 0:
                # the majorant's linear part, whose slope has been precomputed at the anchor
                subtract_linearisation(
                    i, concave, anchor_choice[c], slope[c], fraction[c], aux_index, subset_group, gradient[c],
                    aux_gradient[c],
                )  # fmt: skip
            by_parameters(gradient[c], direction)
            # lines 5 and 7: h by theta and by the thresholds, and the length eps / |h|^2 or g_max / |h|^2
            square = lane_dot(aux_gradient[c], aux_gradient[c])
            for r in range(rows):
                square += lane_dot(direction[r], direction[r])
            if square == 0:
                continue
            length = (value[c] if i >= 0 else tolerance[c]) / square
            descend(params[c], aux[c], direction, aux_gradient[c], length)
