"""Subgradient steps on the constraints themselves, for linear scores, for one or eight configurations at once.

Two methods of the Partial fairness paper, appendices G.4 and G.7, work on ``f_i = f+_i - f-_i`` without linearisation:
Regularization descends ``f0 + weight max_i f_i``, and SSG direct applies the switching rule to the f_i. A
"subgradient" of f_i is one of its convex part minus one of its concave part.

:mod:`partialfair.kernels.switching_steps` is a separate loop: there f-_i is linear in the parameters and its slope is
precomputed. Here its subgradient is taken from the rows at every step, and the tolerance may fall.
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
def largest_constraint(convex, concave, means, chosen, work):
    """Return (index, value) of the largest f_i.

    ``chosen`` (J,) and (J',), a pair, receives the alternatives that its two parts attain; ``work`` is a pair of
    the same sizes.
    """
    weight, subset, threshold, constant = convex
    k_weight, k_subset, k_threshold, k_constant = concave
    best, worst = -1, -np.inf
    for i in range(weight.shape[0]):
        # f_i = f+_i - f-_i of problem (27), not linearised
        value = side_value(i, weight, subset, threshold, constant, means, work[0])
        value -= side_value(i, k_weight, k_subset, k_threshold, k_constant, means, work[1])
        if value > worst:
            best, worst = i, value
            chosen[0][:] = work[0]
            chosen[1][:] = work[1]
    return best, worst


@kernel
def squared_norm(direction, aux_gradient):
    """Squared norm of a gradient by parameters (R, d+1) and auxiliaries (P,)."""
    square = 0.0
    for r in range(direction.shape[0]):
        square += lane_dot(direction[r], direction[r])
    return square + lane_dot(aux_gradient, aux_gradient)


@kernel
def subgradient_steps(
    design, y, aux_index, shift, convex, concave, params, aux, best, rule, active, taken, steps, work, alone
):
    """Take ``steps`` steps of every active column, in place.

    A column either descends ``f0 + weight max_i f_i`` by a constant step, or switches: with
    ``eps = static + diminishing / (t + 1)`` at step t, it steps ``eps / |g|^2`` along the loss gradient where no
    f_i exceeds eps, and ``f_i / |g|^2`` along a subgradient of the largest f_i elsewhere. Only a switching column
    remembers a point: the one of lowest loss among those within eps. A remembered point that exceeds the present eps is
    replaced by the next point within eps, even at a higher loss.

    Args:
        design: (codes, dense, dense_columns, starts, subset_group, members) of the rows.
        y: (n,) labels, float32, in the order of the design.
        aux_index, shift: index of the auxiliary and shift of every threshold of the program.
        convex, concave: (weight, subset, threshold, constant) tables of the program.
        params: (C, R, d+1) current parameters; aux: (C, P) current auxiliaries.
        best: (loss (C,), largest f_i (C,), params (C, R, d+1), aux (C, P)) of the remembered points.
        rule: (weight (C,), constant step (C,), static (C,), diminishing (C,)); a constant step of 0 means switching.
        active: (C,) columns to move.
        taken: (C,) steps taken so far; advanced.
        steps: steps to take.
        work: (scores (C, n), residual (C, n)), float32.
        alone: whether each of eight columns must give exactly the result of the one-column kernel.
    """
    starts, members = design[3], design[5]
    weight, constant, static, diminishing = rule
    scores, residual = work
    lanes, rows, width = params.shape
    groups = design[4].max() + 1
    # to work in, allocated once: weights by group (C, G, d+2), coded weights and gradients (G, E*C), hinge means (S, Q)
    effective = np.zeros((lanes, groups, width + 1))
    packed = np.zeros((groups, len(members) * lanes), np.float32)
    coded = np.empty((groups, len(members) * lanes))
    gradient = np.empty((lanes, groups, width + 1))
    direction = np.empty((lanes, rows, width))
    means = np.empty((starts.size - 1, shift.size))
    thresholds = np.empty(shift.size)
    chosen = (np.zeros(convex[0].shape[1], np.int64), np.zeros(concave[0].shape[1], np.int64))
    scratch = (np.zeros_like(chosen[0]), np.zeros_like(chosen[1]))
    aux_gradient = np.zeros(aux.shape)
    length = np.zeros(lanes)
    residual[:] = 0
    for _ in range(steps):
        # one pass over the rows for the scores of all columns, then each column decides on its own residual
        compute_scores(design, params, effective, packed, scores, active, alone)
        aux_gradient[:] = 0
        for c in range(lanes):
            if not active[c]:
                continue
            # max_i f_i(v) and the index i that attains it
            program_thresholds(shift, aux_index, aux[c], thresholds)
            hinge_means(scores[c], starts, thresholds, means)
            i, worst = largest_constraint(convex, concave, means, chosen, scratch)
            factor = 1.0
            if constant[c] > 0:
                # Regularization, equations (114) and (119): the derivative of f0 by the scores, to which that of
                # weight max_i f_i is added below
                factor = weight[c]
                logistic(scores[c], y, 1.0 / y.size, residual[c])
            else:
                # SSG, Algorithm 3, lines 4 to 10, with eps_t = static + diminishing / (t + 1)
                eps = static[c] + diminishing[c] / (taken[c] + 1)
                if worst <= eps:
                    loss = logistic(scores[c], y, 1.0 / y.size, residual[c])
                    length[c] = eps
                    if loss < best[0][c] or best[1][c] > eps:
                        best[0][c], best[1][c] = loss, worst
                        best[2][c] = params[c]
                        best[3][c] = aux[c]
                    continue
                length[c] = worst
                residual[c, :] = 0
            # factor times the subgradient of f_i = f+_i - f-_i
            add_side_rows(
                i, convex, chosen[0], factor, scores[c], starts, thresholds, aux_index, residual[c], aux_gradient[c]
            )
            add_side_rows(
                i, concave, chosen[1], -factor, scores[c], starts, thresholds, aux_index, residual[c], aux_gradient[c]
            )
        pull_back(design, residual, coded, gradient, active, alone)
        for c in range(lanes):
            if not active[c]:
                continue
            by_parameters(gradient[c], direction[c])
            taken[c] += 1
            # the constant step, or by Algorithm 3, lines 6 and 10, eps_t / |h|^2 and f_i / |h|^2
            step = constant[c]
            if step == 0:
                square = squared_norm(direction[c], aux_gradient[c])
                if square == 0:
                    continue
                step = length[c] / square
            descend(params[c], aux[c], direction[c], aux_gradient[c], step)
