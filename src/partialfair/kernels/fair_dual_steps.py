"""Stochastic steps on the dual of demographic-parity post-processing (DP post-processing paper, Algorithms 2 and 3).

One step sees one row: its weights ``t`` (K,) and costs ``r`` (G,). Points are pairs (Lambda, V) of shape (2, K, G) in
the non-negative orthant. Everything is float64: differences between atoms far out are of the order of exp(-50).
"""

import numpy as np

from partialfair.kernels.compiled import kernel
from partialfair.kernels.elementary import exp

NEGLIGIBLE = 1e-14


@kernel
def softmax_row(point, weights, costs, beta, out):
    """Probabilities (G,) of the atoms at a point (2, K, G) for one row.

    ``out_j`` is proportional to ``exp(beta (sum_s t_s (Lambda_sj - V_sj) - r_j))``.
    """
    # Equation (7): logits beta (<lambda_j - nu_j, t> - r_j). The largest is taken out, so that no power overflows.
    top = -1e300
    for j in range(out.size):
        value = -costs[j]
        for s in range(weights.size):
            value += weights[s] * (point[0, s, j] - point[1, s, j])
        out[j] = beta * value
        top = max(top, out[j])
    total = 0.0
    for j in range(out.size):
        out[j] = exp(out[j] - top)
        total += out[j]
    for j in range(out.size):
        out[j] /= total


@kernel
def record(point, step, stride, trace):
    """Keep Lambda - V (K, G) of every ``stride``-th step, counted from 1; a ``stride`` of 0 keeps none."""
    if stride > 0 and step % stride == 0 and step // stride <= trace.shape[0]:
        for s in range(point.shape[1]):
            for j in range(point.shape[2]):
                trace[step // stride - 1, s, j] = point[0, s, j] - point[1, s, j]


@kernel
def sgd(t, r, eps, beta, rows, size, w, mean, stride, trace):
    """Projected steps of one size on the rows named by ``rows``; ``w`` is moved, ``mean`` becomes their average.

    Args:
        t (N, K), r (N, G), eps (K,), beta: the dual; rows: (T,) row of each step; size: of a step.
        w, mean: (2, K, G), the latter 0 at first; stride, trace: see :func:`record`.
    """
    q = np.empty(r.shape[1])
    for step in range(1, rows.size + 1):
        # stochastic gradient of equation (11), on row i; the mean is a running one: m <- m + (w - m) / step
        i = rows[step - 1]
        softmax_row(w, t[i], r[i], beta, q)
        share = 1.0 / step
        for s in range(w.shape[1]):
            for j in range(w.shape[2]):
                # dF/dLambda = t q + eps, dF/dV = eps - t q; then the projection on the orthant
                drift = t[i, s] * q[j]
                w[0, s, j] = max(w[0, s, j] - size * (drift + eps[s]), 0.0)
                w[1, s, j] = max(w[1, s, j] - size * (eps[s] - drift), 0.0)
                mean[0, s, j] += share * (w[0, s, j] - mean[0, s, j])
                mean[1, s, j] += share * (w[1, s, j] - mean[1, s, j])
        record(w, step, stride, trace)


@kernel
def acsa(t, r, eps, beta, rows, smoothness, mu, weight, centre, shift, w, average, stride, done, trace):
    """AC-SA on the rows named by ``rows``, on F plus ``weight |w|^2 / 2 - <centre, w>``; moves ``w`` and ``average``.

    Args:
        t (N, K), r (N, G), eps (K,), beta: the dual.
        rows: (T,) row of each step.
        smoothness, mu: constants that the step lengths are made of.
        weight, centre (2, K, G): regulariser.
        shift: 1 for alpha = 2 / (step + 1), 0 for 2 / step.
        w, average (2, K, G): start, and where they are left; ``average`` is the output point.
        stride, done, trace: what to record, and steps done before this call.
    """
    q, middle = np.empty(r.shape[1]), np.empty_like(w)
    for step in range(1, rows.size + 1):
        # Algorithm 2, lines 5 to 7: alpha_t, gamma_t, and the point "md" between the average and the iterate
        alpha = 2.0 / (step + shift)
        gamma = 4.0 * smoothness / (step * (step + 1.0))
        scale = gamma + (1.0 - alpha * alpha) * mu
        from_average = (1.0 - alpha) * (mu + gamma) / scale
        from_w = alpha * ((1.0 - alpha) * mu + gamma) / scale
        for side in range(2):
            for s in range(w.shape[1]):
                for j in range(w.shape[2]):
                    middle[side, s, j] = from_average * average[side, s, j] + from_w * w[side, s, j]
        # line 8: the gradient (11) of row i at w^md, plus that of the regulariser, weight w^md - centre
        i = rows[step - 1]
        softmax_row(middle, t[i], r[i], beta, q)
        # w_t = argmin <slope, w> + mu |w - md|^2 / 2 + ..., in closed form; average_t = alpha w_t + (1 - alpha) average
        keep = ((1.0 - alpha) * mu + gamma) / (mu + gamma)
        pull, size = alpha * mu / (mu + gamma), alpha / (mu + gamma)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            for s in range(w.shape[1]):
                for j in range(w.shape[2]):
                    entry = middle[side, s, j]
                    slope = sign * t[i, s] * q[j] + eps[s] + weight * entry - centre[side, s, j]
                    new = max(keep * w[side, s, j] + pull * entry - size * slope, 0.0)
                    w[side, s, j] = new
                    average[side, s, j] = alpha * new + (1.0 - alpha) * average[side, s, j]
        # the averaged point w^ag of line 9 is the output of Algorithm 2
        record(average, done + step, stride, trace)


@kernel
def l1_quadratic(curvature, slope, eps, x, limit, tolerance):
    """Minimise ``x' curvature x / 2 - slope' x + sum eps |x|`` from x (n,), which is moved; return the steps taken.

    Feature-sign search: solve on the variables that are not zero, go along the segment to the best of the points
    where one of them changes its sign. Zeros whose slope exceeds eps are freed where the others are at their minimum:
    all of them, or where that does not help the worst. Freed earlier, a zero can be back at 0 after the next step, and
    the others never reach their minimum: the search then goes round in ever shorter steps far from the solution.
    """
    n = x.size
    sign = np.sign(x)
    for step in range(limit):
        for j in range(n):
            if abs(x[j]) < NEGLIGIBLE:  # left over from rounding: its way to 0 would be too short to count
                x[j] = 0.0
        # optimality: gradient_j + eps_j sign(x_j) = 0 where x_j != 0, |gradient_j| <= eps_j where x_j = 0
        # g = Q x - b (n,), Q the curvature
        gradient = curvature @ x - slope
        worst, worst_index = 0.0, -1
        error = 0.0
        for j in range(n):
            if x[j] != 0:
                sign[j] = np.sign(x[j])
                error = max(error, abs(gradient[j] + eps[j] * sign[j]))
            else:
                sign[j] = 0.0
                excess = abs(gradient[j]) - eps[j]
                if excess > tolerance and excess > worst:
                    worst, worst_index = excess, j
        if error <= tolerance and worst_index < 0:
            return step
        # Attempt 0 moves the variables that are not zero, 1 also frees every zero whose slope exceeds eps, 2 only the
        # worst of these. Attempt 0 is left out once those variables are at their minimum.
        moved = False
        for attempt in range(0 if error > tolerance else 1, 3):
            for j in range(n):
                if x[j] == 0:
                    free_it = attempt == 1 and abs(gradient[j]) - eps[j] > tolerance
                    sign[j] = -np.sign(gradient[j]) if free_it or (attempt == 2 and j == worst_index) else 0.0
            free = np.flatnonzero(sign)
            if free.size == 0:
                continue
            # on the free variables F with signs s: curvature_FF z = slope_F - eps_F s_F; the segment leads from x to z
            free_curvature = np.empty((free.size, free.size))
            free_slope = np.empty(free.size)
            for a in range(free.size):
                free_slope[a] = slope[free[a]] - eps[free[a]] * sign[free[a]]
                for b in range(free.size):
                    free_curvature[a, b] = curvature[free[a], free[b]]
            direction = np.zeros(n)
            direction[free] = np.linalg.solve(free_curvature, free_slope) - x[free]
            # along the segment x + a d the smooth part changes by a g'd + a^2 d'Q d / 2
            linear, bend = gradient @ direction, 0.5 * direction @ (curvature @ direction)
            best, length, crossing = 0.0, 0.0, -1
            # the objective's change at the end of the segment (a = -1) and where variable free[a] crosses 0
            for a in range(-1, free.size):
                fraction, j = 1.0, free[max(a, 0)]
                if a >= 0:
                    if x[j] * (x[j] + direction[j]) >= 0:
                        continue
                    fraction = -x[j] / direction[j]
                # the change of the whole objective, with sum eps_b (|x_b + a d_b| - |x_b|)
                change = fraction * linear + fraction * fraction * bend
                for b in free:
                    change += eps[b] * (abs(x[b] + fraction * direction[b]) - abs(x[b]))
                if change < best:
                    best, length, crossing = change, fraction, j if a >= 0 else -1
            if length > 0:
                x += length * direction
                if crossing >= 0:
                    x[crossing] = 0.0
                moved = True
                break
        if not moved:
            return step
    return limit
