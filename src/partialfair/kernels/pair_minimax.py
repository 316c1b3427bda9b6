"""Stochastic mirror descent on the min-max form of AUC-constrained AUC maximisation, for many runs at once.

The method is Algorithm 2 of the AUC fairness paper. The problem (Lemma 1, section 4): five ordered pairs (P, N) of six
sets, D+ = 0, D- = 1, G1 = 2, G1' = 3, G2 = 4, G2' = 5. Pair 0 makes f0, pairs 1 and 2 make f1, pairs 3 and 4 make f2.
Per pair there are two minimised scalars a, b and a maximised alpha; per row one weight y of the simplex. All arrays
hold R independent runs in their last axis, which share the batch.
"""

import numpy as np

from partialfair.kernels.compiled import kernel
from partialfair.kernels.elementary import exp

# Equations (11) to (13): f0 has the pair (D+, D-), f1 (G1', G1) and (G2, G2'), f2 (G2', G2) and (G1, G1').
# The vector G below (22) prints pairs 1 to 4 with P and N exchanged. As G_{P,N} = -G_{N,P} and the interval of alpha is
# symmetric, only the signs of those alphas differ.
PAIR_P = np.array([0, 3, 4, 5, 2])
PAIR_N = np.array([1, 2, 5, 4, 3])
ROW = np.array([0, 1, 1, 2, 2])


@kernel
def dual_step(values, gaps, y, alpha, tau, weight, bound):
    """Lemma 3: the exact maximiser of the linearised dual step, in place; one run.

    It maximises ``tau (<y, values> + sum_m y_row(m) (alpha_m gaps_m - alpha_m^2)) - V_y((y, alpha), old)`` over the
    simplex and ``|alpha| <= bound``.

    Args:
        values: (3,) F of each row; gaps: (5,) G of each pair.
        y, alpha: (3,) and (5,) the old point; overwritten by the new one.
        tau: step; weight: K of the mirror map; bound: I.
    """
    # Equation (32): -alpha G_m + alpha^2 + (alpha - alpha_m)^2 / tau has its minimum over [-I, I], mu_m, at the point
    # clip((tau G_m + 2 alpha_m) / (2 tau + 2), -I, I). The code adds the mu_m of the pairs of row k to one mu_k.
    mu = np.zeros(3)
    for m in range(5):
        new = (tau * gaps[m] + 2.0 * alpha[m]) / (2.0 * tau + 2.0)
        new = min(max(new, -bound), bound)
        change = new - alpha[m]
        mu[ROW[m]] += new * new - new * gaps[m] + change * change / tau
        alpha[m] = new
    # y_k <- y_k exp((F_k - mu_k) tau / K), normalised; the largest exponent is taken out of all of them
    exponent = np.empty(3)
    for k in range(3):
        exponent[k] = (values[k] - mu[k]) * tau / weight
    top = exponent.max()
    total = 0.0
    for k in range(3):
        y[k] *= exp(exponent[k] - top)
        total += y[k]
    for k in range(3):
        y[k] /= total


@kernel
def upper_bound(u, v, bound):
    """Lemma 4 without its proximal term: ``max_(y, alpha) <y, u> + sum_m y_row(m) (alpha_m v_m - alpha_m^2)``; one run.

    Args:
        u: (3,) averaged values; v: (5,) averaged gaps; bound: I.
    """
    # max over |alpha| <= I of alpha v - alpha^2 is attained at clip(v / 2, -I, I); the simplex then takes the best row
    best = u.copy()
    for m in range(5):
        alpha = min(max(v[m] / 2.0, -bound), bound)
        best[ROW[m]] += alpha * v[m] - alpha * alpha
    return best.max()


@kernel
def set_moments(scores, cells, sets, mean_h, mean_h2):
    """Compute the batch means of ``w``, ``w h`` and ``w h^2``, with the scores h and the sets' weights w.

    Args:
        scores: (B, R) scores of the batch; cells: (B,) cell codes.
        sets: (6, 4) weight of a row of each cell in each set, 1 / share of the set, or 0.
        mean_h, mean_h2: outputs (6, R).

    Returns:
        (6,) means of w.
    """
    batch, runs = scores.shape
    # sums of h and h^2 per cell first: a batch has B rows, but only four cells for the six sets
    by_cell = np.zeros((4, 2, runs))
    count = np.zeros(4)
    for i in range(batch):
        cell = cells[i]
        count[cell] += 1.0
        for r in range(runs):
            h = scores[i, r]
            by_cell[cell, 0, r] += h
            by_cell[cell, 1, r] += h * h
    mass = np.zeros(6)
    for s in range(6):
        mean_h[s, :] = 0.0
        mean_h2[s, :] = 0.0
        for cell in range(4):
            w = sets[s, cell] / batch
            if w > 0.0:
                mass[s] += w * count[cell]
                for r in range(runs):
                    mean_h[s, r] += w * by_cell[cell, 0, r]
                    mean_h2[s, r] += w * by_cell[cell, 1, r]
    return mass


@kernel
def minimax_step(
    scores, cells, sets, a, b, y, alpha, level, limit, c1, c2, eta, tau, weight, bound, prox, a0, b0, sums, residual
):
    """One step of Algorithm 2 on everything but the score's own parameters, whose gradient it returns.

    Args:
        scores, cells, sets: see :func:`set_moments`.
        a, b, alpha: (5, R); y: (3, R): the state, overwritten.
        level: (R,) r of f0; limit: (R,) bound 1 + kappa of f1 and f2.
        c1, c2: of the loss ``c1 (t - c2)^2``.
        eta, tau: (R,) primal and dual steps; weight: K; bound: I.
        prox, a0, b0: proximal weight and its centre (5, R).
        sums: (10, R): tau, tau U (3), tau G (5), tau (|a - a0|^2 + |b - b0|^2), to which is added
            if the caller wants averages; a first dimension of 0 for none.
        residual: output (B, R), the derivative of the Lagrangian by the scores of the batch, 1/B included.
    """
    batch, runs = scores.shape
    mean_h, mean_h2 = np.empty((6, runs)), np.empty((6, runs))
    mass = set_moments(scores, cells, sets, mean_h, mean_h2)
    linear, square = np.zeros((6, runs)), np.zeros((6, runs))
    root = 2.0 * np.sqrt(c1)
    values, gaps, own_y, own_alpha = np.empty(3), np.empty(5), np.empty(3), np.empty(5)
    for r in range(runs):
        # F of equation (22): F_0 - r, F_1 + F_2 - 1 - kappa, F_3 + F_4 - 1 - kappa; the F_m are added below
        values[0], values[1], values[2] = -level[r], -limit[r], -limit[r]
        far = 0.0
        # Lemma 1 for pair m in row k, with E_P[u] the batch estimate (1 / B) sum_i u_i 1[i in P] / Pr(P):
        #   F_k += c1 (c2^2 + E_P[(h - a)^2 - 2 c2 h] + E_N[(h - b)^2 + 2 c2 h]),
        #   G_m = 2 sqrt(c1) (E_P[h] - E_N[h]).
        for m in range(5):
            p, n, k = PAIR_P[m], PAIR_N[m], ROW[m]
            am, bm, share = a[m, r], b[m, r], y[k, r]
            values[k] += c1 * (
                c2 * c2
                - 2.0 * c2 * mean_h[p, r]
                + mean_h2[p, r]
                - 2.0 * am * mean_h[p, r]
                + am * am * mass[p]
                + 2.0 * c2 * mean_h[n, r]
                + mean_h2[n, r]
                - 2.0 * bm * mean_h[n, r]
                + bm * bm * mass[n]
            )
            # 2 sqrt(c1), where equation (8) prints 2 c1, with which the maximum over alpha is right only if c1 is 1
            gaps[m] = root * (mean_h[p, r] - mean_h[n, r])
            # derivative by the score h of a row: linear + square h, for the rows of P and those of N
            pull = root * alpha[m, r]
            linear[p, r] += share * (pull - 2.0 * c1 * (c2 + am))
            linear[n, r] += share * (2.0 * c1 * (c2 - bm) - pull)
            square[p, r] += share * 2.0 * c1
            square[n, r] += share * 2.0 * c1
            # derivatives by a and b, then the proximal step a <- (a - eta g_a + eta rho a0) / (1 + eta rho) in [-I, I]
            by_a = -2.0 * c1 * share * (mean_h[p, r] - am * mass[p])
            by_b = -2.0 * c1 * share * (mean_h[n, r] - bm * mass[n])
            far += (am - a0[m, r]) ** 2 + (bm - b0[m, r]) ** 2
            shrink = 1.0 + eta[r] * prox
            new_a = (am - eta[r] * by_a + eta[r] * prox * a0[m, r]) / shrink
            new_b = (bm - eta[r] * by_b + eta[r] * prox * b0[m, r]) / shrink
            a[m, r] = min(max(new_a, -bound), bound)
            b[m, r] = min(max(new_b, -bound), bound)
        # sums of the averages u, v of (36), weighted by tau as in (26); (36) prints no tau in the numerators
        if sums.shape[0] > 0:
            sums[0, r] += tau[r]
            for k in range(3):
                sums[1 + k, r] += tau[r] * values[k]
            for m in range(5):
                sums[4 + m, r] += tau[r] * gaps[m]
            sums[9, r] += tau[r] * far
        # equation (25): the dual step uses the values at the old point, as the primal one did
        own_y[:] = y[:, r]
        own_alpha[:] = alpha[:, r]
        dual_step(values, gaps, own_y, own_alpha, tau[r], weight, bound)
        y[:, r] = own_y
        alpha[:, r] = own_alpha
    # Derivative by the score of a row of cell c: the sum over its sets of weight (linear + square h).
    by_cell, slope = np.zeros((4, runs)), np.zeros((4, runs))
    for s in range(6):
        for cell in range(4):
            w = sets[s, cell] / batch
            if w > 0.0:
                for r in range(runs):
                    by_cell[cell, r] += w * linear[s, r]
                    slope[cell, r] += w * square[s, r]
    for i in range(batch):
        cell = cells[i]
        for r in range(runs):
            residual[i, r] = by_cell[cell, r] + slope[cell, r] * scores[i, r]


@kernel
def gather_scores(starts, columns, entries, rows, table, scores):
    """Scores (B, R) of some rows of a CSR matrix under R linear models, the columns of ``table`` (p, R)."""
    runs = table.shape[1]
    for i in range(rows.size):
        for r in range(runs):
            scores[i, r] = 0.0
        # scores_i += x_ij w_j over the entries of row i, for all R models at once
        for position in range(starts[rows[i]], starts[rows[i] + 1]):
            x, column = entries[position], columns[position]
            for r in range(runs):
                scores[i, r] += x * table[column, r]


@kernel
def descend(starts, columns, entries, rows, table, residual, eta, radius):
    """``table -= eta X' residual`` on the rows of a batch, then projection of every model on a ball."""
    runs = table.shape[1]
    for i in range(rows.size):
        for position in range(starts[rows[i]], starts[rows[i] + 1]):
            x, column = entries[position], columns[position]
            for r in range(runs):
                table[column, r] -= eta[r] * x * residual[i, r]
    # projection on |w| <= radius
    norm = np.zeros(runs)
    for column in range(table.shape[0]):
        for r in range(runs):
            norm[r] += table[column, r] * table[column, r]
    for r in range(runs):
        if norm[r] > radius * radius:
            factor = radius / np.sqrt(norm[r])
            for column in range(table.shape[0]):
                table[column, r] *= factor


@kernel
def oracle(
    starts, columns, entries, row_cells, batches, sets, table, a, b, y, alpha, level, limit, c1, c2, c, weight, bound,
    radius, skip, marks, sums, mean, snapshots,
):  # fmt: skip
    """Algorithm 2 for R linear models: T steps with ``eta = c / sqrt(t + 1)`` and ``tau = K eta``.

    Args:
        starts, columns, entries: CSR features (n, p); row_cells: (n,) cell codes.
        batches: (T, B) rows of every step.
        table: (p, R) parameters, overwritten; a, b, y, alpha, level, limit: see :func:`minimax_step`.
        c: (R,) step constants; radius: of the ball of parameters.
        skip: steps that the averages leave out.
        marks: ascending step counts at which the iterate and the running average are stored.
        sums: (10, R) output, see :func:`minimax_step`; mean: (p, R) output, the averaged parameters.
        snapshots: (2 len(marks), p, R) output: iterate, average, iterate, ...
    """
    steps, batch = batches.shape
    p, runs = table.shape
    scores, residual = np.empty((batch, runs)), np.empty((batch, runs))
    eta, tau = np.empty(runs), np.empty(runs)
    nothing = np.empty((0, runs))
    a0, b0 = np.zeros(a.shape), np.zeros(b.shape)
    cells = np.empty(batch, np.int64)
    sums[:] = 0.0
    mean[:] = 0.0
    mark = 0
    for t in range(steps):
        rows = batches[t]
        for r in range(runs):
            # appendix E.3 gives eta_t = c / sqrt(t + 1) and no tau_t; here tau_t = K eta_t, with K of the mirror map
            eta[r] = c[r] / np.sqrt(t + 1.0)
            tau[r] = weight * eta[r]
        for i in range(batch):
            cells[i] = row_cells[rows[i]]
        gather_scores(starts, columns, entries, rows, table, scores)
        # line 8 prints a plain mean of the iterates; here they are weighted by tau, as the bound (26) is. The first
        # steps may be left out of both.
        counted = t >= skip
        if counted:
            for j in range(p):
                for r in range(runs):
                    mean[j, r] += tau[r] * table[j, r]
        minimax_step(
            scores, cells, sets, a, b, y, alpha, level, limit, c1, c2, eta, tau, weight, bound, 0.0, a0, b0,
            sums if counted else nothing, residual,
        )  # fmt: skip
        descend(starts, columns, entries, rows, table, residual, eta, radius)
        # candidates of the choice on validation rows: the iterate, and the average so far
        if mark < marks.size and t + 1 == marks[mark]:
            snapshots[2 * mark] = table
            for r in range(runs):
                if sums[0, r] > 0.0:
                    snapshots[2 * mark + 1, :, r] = mean[:, r] / sums[0, r]
                else:
                    snapshots[2 * mark + 1, :, r] = table[:, r]
            mark += 1
    for r in range(runs):
        for j in range(p):
            mean[j, r] /= sums[0, r]
