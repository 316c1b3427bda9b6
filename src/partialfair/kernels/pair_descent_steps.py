"""Stochastic gradient descent of the baselines on the quadratic pair loss, for many runs at once.

The pair losses of a batch are taken over all its pairs, from batch means and variances. Sets and pairs are those of
:mod:`partialfair.kernels.pair_minimax`; arrays hold R independent runs in their last axis.
"""

import numpy as np

from partialfair.kernels.compiled import kernel
from partialfair.kernels.elementary import exp
from partialfair.kernels.pair_minimax import PAIR_N, PAIR_P, ROW, descend, gather_scores

PLAIN, PROXY, CORRELATION, SWAP = 0, 1, 2, 3
"""Terms added to f0: none, the proxy constraints by their multipliers, the correlation with the group.

SWAP has the proxy constraints, too, with weights that a player without swap regret chooses (:func:`swap_weights`).
"""


@kernel
def batch_auc(scores, rows_p, rows_n, out):
    """``AUC(A, B)`` (R,) on a batch, ties one half; ``rows_p`` and ``rows_n`` are the rows of A and B in the batch."""
    runs = scores.shape[1]
    out[:] = 0.0
    for i in rows_p:
        for j in rows_n:
            for r in range(runs):
                if scores[i, r] > scores[j, r]:
                    out[r] += 1.0
                elif scores[i, r] == scores[j, r]:
                    out[r] += 0.5
    for r in range(runs):
        out[r] /= rows_p.size * rows_n.size


@kernel
def batch_gap(scores, cells, table, delta):
    """The batch's true gap (R,), which counts wins, ties one half.

    Returns:
        Whether all sets had rows; if not, ``delta`` means nothing.
    """
    runs = scores.shape[1]
    share = np.empty(runs)
    delta[:] = 0.0
    for half in range(2):
        # half 0 is (G1, G1'), half 1 (G2, G2'): Delta = AUC(G1, G1') - AUC(G2, G2')
        p, n = 2 + 2 * half, 3 + 2 * half
        identical = True
        for cell in range(4):
            identical = identical and table[p, cell] == table[n, cell]
        if identical:  # AUC(A, A) is 1/2
            share[:] = 0.5
        else:
            rows_p = np.array([i for i in range(cells.size) if table[p, cells[i]]])
            rows_n = np.array([i for i in range(cells.size) if table[n, cells[i]]])
            if rows_p.size == 0 or rows_n.size == 0:
                return False
            batch_auc(scores, rows_p, rows_n, share)
        for r in range(runs):
            delta[r] += share[r] if half == 0 else -share[r]
    return True


@kernel
def proxy_multipliers(scores, cells, table, multipliers, kappa, eta, cap):
    """Raise the two multipliers (2, R) by the batch's true gap minus kappa, and by its negative, within [0, cap].

    A batch without rows of some set changes nothing.

    Returns:
        Whether all sets had rows.
    """
    runs = scores.shape[1]
    delta = np.empty(runs)
    if not batch_gap(scores, cells, table, delta):
        return False
    for r in range(runs):
        # constraints Delta <= kappa and -Delta <= kappa: the true gap moves the multipliers, its proxies the weights;
        # lambda <- clip(lambda + eta (+-(AUC_1 - AUC_2) - kappa), 0, cap)
        up = multipliers[0, r] + eta[r] * (delta[r] - kappa[r])
        down = multipliers[1, r] + eta[r] * (-delta[r] - kappa[r])
        multipliers[0, r] = min(max(up, 0.0), cap)
        multipliers[1, r] = min(max(down, 0.0), cap)
    return True


@kernel
def swap_weights(matrix, weights):
    """The stationary distribution (3, R), ``M lambda = lambda``, of column-stochastic matrices M (9, R), row by row.

    By the Markov chain tree theorem lambda_i is in proportion to the sum over trees into i; that of state 0 is
    ``M01 M02 + M01 M12 + M02 M21``, where Mij is the chance of i after j.
    """
    for r in range(weights.shape[1]):
        # entry (i, j) of M stands at 3 i + j; the diagonal is not needed
        m01, m02 = matrix[1, r], matrix[2, r]
        m10, m12 = matrix[3, r], matrix[5, r]
        m20, m21 = matrix[6, r], matrix[7, r]
        minor_0 = m01 * m02 + m01 * m12 + m02 * m21
        minor_1 = m10 * m12 + m10 * m02 + m12 * m20
        minor_2 = m20 * m21 + m20 * m01 + m21 * m10
        total = minor_0 + minor_1 + minor_2
        weights[0, r], weights[1, r], weights[2, r] = minor_0 / total, minor_1 / total, minor_2 / total


@kernel
def swap_update(scores, cells, table, matrix, weights, kappa, eta):
    """Multiply M (9, R) by ``exp(eta Delta lambda^T)`` entry by entry, and divide each column by its sum.

    ``Delta = (0, gap - kappa, -gap - kappa)`` is the derivative of the multipliers' own Lagrangian, in which the gap is
    the true one (Cotter et al. 2019, Algorithm 2). A batch without rows of some set changes nothing.
    """
    runs = scores.shape[1]
    delta = np.empty(runs)
    if not batch_gap(scores, cells, table, delta):
        return
    for r in range(runs):
        for j in range(3):
            # row i of column j by exp(eta lambda_j Delta_i); row 0 is that of the loss, whose Delta is 0
            step = eta[r] * weights[j, r]
            matrix[3 + j, r] *= exp(step * (delta[r] - kappa[r]))
            matrix[6 + j, r] *= exp(step * (-delta[r] - kappa[r]))
            total = matrix[j, r] + matrix[3 + j, r] + matrix[6 + j, r]
            # entries stay positive, so that the chain keeps one stationary distribution
            for i in range(3):
                matrix[3 * i + j, r] = max(matrix[3 * i + j, r] / total, 1e-300)


@kernel
def loss_residual(scores, cells, table, weights, c1, c2, residual):
    """Derivative (B, R) by the scores of ``sum_k weights[k] f_k`` on the batch; pairs with an empty set are left out.

    Args:
        scores: (B, R); cells: (B,); table: (6, 4) cells of each set; weights: (3, R).
        residual: output.
    """
    batch, runs = scores.shape
    # batch means E_S[h] (6, R) of the scores in the six sets, and the rows in each
    count = np.zeros(6)
    mean = np.zeros((6, runs))
    for i in range(batch):
        for s in range(6):
            if table[s, cells[i]]:
                count[s] += 1.0
                for r in range(runs):
                    mean[s, r] += scores[i, r]
    for s in range(6):
        for r in range(runs):
            mean[s, r] /= max(count[s], 1.0)
    # The mean over pairs of c1 (h_i - h_j - c2)^2 has the derivative -2 c1 (c2 - h_i + E_N[h]) / n_P by a score of P,
    # 2 c1 (c2 - E_P[h] + h_j) / n_N by one of N: a constant part and a part in the score itself.
    linear, square = np.zeros((6, runs)), np.zeros((6, runs))
    for m in range(5):
        p, n = PAIR_P[m], PAIR_N[m]
        if count[p] == 0.0 or count[n] == 0.0:
            continue
        for r in range(runs):
            weight = 2.0 * c1 * weights[ROW[m], r]
            gap = c2 - (mean[p, r] - mean[n, r])
            linear[p, r] -= weight * (gap + mean[p, r]) / count[p]
            linear[n, r] += weight * (gap - mean[n, r]) / count[n]
            square[p, r] += weight / count[p]
            square[n, r] += weight / count[n]
    # a row counts in every set that holds its cell: its derivative is linear + square h, summed over these sets
    by_cell, slope = np.zeros((4, runs)), np.zeros((4, runs))
    for s in range(6):
        for cell in range(4):
            if table[s, cell]:
                for r in range(runs):
                    by_cell[cell, r] += linear[s, r]
                    slope[cell, r] += square[s, r]
    for i in range(batch):
        cell = cells[i]
        for r in range(runs):
            residual[i, r] = by_cell[cell, r] + slope[cell, r] * scores[i, r]


@kernel
def add_correlation(scores, cells, penalty, residual):
    """Add to the residual the derivative of ``penalty |corr(h, protected)|`` (Pearson, on the batch)."""
    batch, runs = scores.shape
    protected = np.empty(batch)
    for i in range(batch):
        protected[i] = 1.0 if cells[i] >= 2 else 0.0
    # z, the protected group's indicator, centred; sd(z) once for all runs
    protected -= protected.mean()
    deviation = max(np.sqrt((protected * protected).mean()), 1e-8)
    for r in range(runs):
        mean = 0.0
        for i in range(batch):
            mean += scores[i, r] / batch
        variance, covariance = 0.0, 0.0
        for i in range(batch):
            centred = scores[i, r] - mean
            variance += centred * centred / batch
            covariance += centred * protected[i] / batch
        spread = max(np.sqrt(variance), 1e-8)
        # rho = cov(h, z) / (sd(h) sd(z)); d rho / d h_i = ((z_i - E z) / sd(z) - rho (h_i - E h) / sd(h)) / (n sd(h))
        correlation = covariance / (spread * deviation)
        sign = 1.0 if correlation > 0.0 else (-1.0 if correlation < 0.0 else 0.0)
        for i in range(batch):
            slope = protected[i] / deviation - correlation * (scores[i, r] - mean) / spread
            residual[i, r] += penalty[r] * sign * slope / (batch * spread)


@kernel
def penalty_step(kind, scores, cells, table, multipliers, amount, eta, c1, c2, cap, residual):
    """The residual (B, R) of one step of a baseline at the present multipliers, which PROXY then updates.

    Args:
        kind: PLAIN, PROXY, CORRELATION or SWAP.
        multipliers: (2, R) of PROXY; (9, R) of SWAP, the matrix of :func:`swap_weights`.
        amount: (R,) kappa of PROXY and SWAP, penalty weight of CORRELATION.
    """
    runs = scores.shape[1]
    # weights (1, lambda_1, lambda_2) of f0, f1, f2
    weights = np.zeros((3, runs))
    weights[0] = 1.0
    if kind == PROXY:
        weights[1:] = multipliers
    elif kind == SWAP:
        swap_weights(multipliers, weights)
    loss_residual(scores, cells, table, weights, c1, c2, residual)
    if kind == PROXY:
        proxy_multipliers(scores, cells, table, multipliers, amount, eta, cap)
    elif kind == SWAP:
        swap_update(scores, cells, table, multipliers, weights, amount, eta)
    elif kind == CORRELATION:
        add_correlation(scores, cells, amount, residual)


@kernel
def linear_descent(
    kind, starts, columns, entries, row_cells, batches, begin, total, table, weights, multipliers, amount, c, c1, c2,
    cap, radius, mean, marks, snapshots,
):  # fmt: skip
    """Steps ``begin`` to ``begin + T - 1`` of a baseline for R linear models, with ``eta = c / sqrt(t + 1)``.

    Args:
        kind, amount, multipliers, cap: see :func:`penalty_step`; table: (6, 4) cells of each set.
        starts, columns, entries: CSR features (n, p); row_cells: (n,) cell codes; batches: (T, B) rows of each step.
        total: steps whose iterates ``mean`` (p, R), a running sum, already holds.
        weights: (p, R), overwritten; c: (R,) step constants; radius: of the ball of weights.
        marks: ascending step counts at which iterate and running mean are stored in ``snapshots`` (2M, p, R).
    """
    steps, batch = batches.shape
    p, runs = weights.shape
    scores, residual, eta = np.empty((batch, runs)), np.empty((batch, runs)), np.empty(runs)
    cells = np.empty(batch, np.int64)
    mark = 0
    for t in range(steps):
        rows = batches[t]
        for r in range(runs):
            # the paper's steps: eta_t = c / sqrt(t + 1) (appendix E.3)
            eta[r] = c[r] / np.sqrt(begin + t + 1.0)
        for i in range(batch):
            cells[i] = row_cells[rows[i]]
        gather_scores(starts, columns, entries, rows, weights, scores)
        penalty_step(kind, scores, cells, table, multipliers, amount, eta, c1, c2, cap, residual)
        descend(starts, columns, entries, rows, weights, residual, eta, radius)
        # running sum of the iterates; their mean is a candidate, too
        for j in range(p):
            for r in range(runs):
                mean[j, r] += weights[j, r]
        if mark < marks.size and begin + t + 1 == marks[mark]:
            snapshots[2 * mark] = weights
            snapshots[2 * mark + 1] = mean / (total + t + 1.0)
            mark += 1
