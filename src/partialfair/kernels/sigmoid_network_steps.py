"""Networks with one hidden layer of sigmoid units and a sigmoid output, many at once, on rows of a sparse table.

The score of a row x is ``sigmoid(sum_k v_k sigmoid(w_k . x + b_k) + v_0)``. The parameters of R networks are a table
(n, R) in the order of :func:`places`: the h weights of the first input, of the second, ..., the hidden biases b, the
output's weights v, its bias v_0. The last axis is that of the vector instructions, and a row costs what it has entries:
on a9a 14 of 123.
"""

import numpy as np

from partialfair.kernels.compiled import kernel
from partialfair.kernels.elementary import exp


@kernel
def sigmoid(x):
    """``1 / (1 + exp(-x))``, to one unit in the last place; beyond 700 that of 700."""
    return 1.0 / (1.0 + exp(min(max(-x, -700.0), 700.0)))


@kernel
def forward(starts, columns, entries, rows, table, width, hidden, scores):
    """Scores of some rows of a CSR table (n_rows, p).

    Args:
        starts, columns, entries: the table; rows: (B,).
        table: (n, R) parameters; width: h, hidden units.
        hidden: output (B, h, R), values of the hidden units; scores: output (B, R).
    """
    runs = table.shape[1]
    # rows of the table: p h input weights, then b at ``bias``, v at ``bias + h``, v_0 last
    bias = table.shape[0] - 2 * width - 1
    last = table.shape[0] - 1
    # The units of all runs lie side by side: one long loop instead of many short ones.
    flat, units = table.reshape(-1), width * runs
    for i in range(rows.size):
        activations = hidden[i].reshape(-1)
        activations[:] = flat[bias * runs : bias * runs + units]
        # b_k + sum_j x_j w_jk, over the row's entries
        for position in range(starts[rows[i]], starts[rows[i] + 1]):
            x, offset = entries[position], columns[position] * units
            weights = flat[offset : offset + units]
            for k in range(units):
                activations[k] += x * weights[k]
        for r in range(runs):
            scores[i, r] = table[last, r]
        for k in range(units):
            activations[k] = sigmoid(activations[k])
        for k in range(width):
            for r in range(runs):
                scores[i, r] += hidden[i, k, r] * table[bias + width + k, r]
        for r in range(runs):
            scores[i, r] = sigmoid(scores[i, r])


@kernel
def backward(starts, columns, entries, rows, table, width, hidden, scores, residual, gradient):
    """Derivative of ``sum_b residual[b, r] score[b, r]`` by the parameters; see :func:`forward`.

    Args:
        residual: (B, R); gradient: output (n, R).
    """
    runs = table.shape[1]
    bias = table.shape[0] - 2 * width - 1
    last = table.shape[0] - 1
    gradient[:] = 0.0
    delta, inner = np.empty(runs), np.empty((width, runs))
    flat, hidden_slopes, units = gradient.reshape(-1), inner.reshape(-1), width * runs
    for i in range(rows.size):
        for r in range(runs):
            # with sigmoid' = sigmoid (1 - sigmoid): derivative by the output's argument, delta, and by v_0
            delta[r] = residual[i, r] * scores[i, r] * (1.0 - scores[i, r])
            gradient[last, r] += delta[r]
        for k in range(width):
            for r in range(runs):
                # by v_k: delta z_k; by b_k: delta v_k z_k (1 - z_k), which times x is that by w_k
                z = hidden[i, k, r]
                gradient[bias + width + k, r] += delta[r] * z
                inner[k, r] = delta[r] * table[bias + width + k, r] * (z * (1.0 - z))
                gradient[bias + k, r] += inner[k, r]
        # by w_jk: x_j delta v_k z_k (1 - z_k)
        for position in range(starts[rows[i]], starts[rows[i] + 1]):
            x, offset = entries[position], columns[position] * units
            slope = flat[offset : offset + units]
            for k in range(units):
                slope[k] += x * hidden_slopes[k]


@kernel
def proximal_step(table, gradient, centre, eta, proximal, radius):
    """``table <- (table - eta gradient + eta rho centre) / (1 + eta rho)``, then projection of every network on a ball.

    Args:
        table, gradient, centre: (n, R); the first is overwritten.
        eta: (R,); proximal: rho; radius: of the ball.
    """
    count, runs = table.shape
    norm, shrink = np.zeros(runs), np.empty(runs)
    for r in range(runs):
        # x-step of equation (25) with d_x = rho / 2 |x - centre|^2, in closed form
        shrink[r] = 1.0 + eta[r] * proximal
    for j in range(count):
        for r in range(runs):
            entry = (table[j, r] - eta[r] * gradient[j, r] + eta[r] * proximal * centre[j, r]) / shrink[r]
            table[j, r] = entry
            norm[r] += entry * entry
    for r in range(runs):
        # projection on the ball |x| <= radius
        shrink[r] = 1.0
        if norm[r] > radius * radius:
            shrink[r] = radius / np.sqrt(norm[r])
    for j in range(count):
        for r in range(runs):
            table[j, r] *= shrink[r]


@kernel
def add_to_average(table, centre, tau, mean, far):
    """Add ``tau table`` to ``mean`` (n, R), and ``tau |table - centre|^2`` to ``far`` (R,)."""
    count, runs = table.shape
    square = np.zeros(runs)
    for j in range(count):
        for r in range(runs):
            mean[j, r] += tau[r] * table[j, r]
            away = table[j, r] - centre[j, r]
            square[r] += away * away
    for r in range(runs):
        far[r] += tau[r] * square[r]


@kernel
def descend(table, gradient, eta, mean):
    """``table -= eta gradient``, and add it to ``mean``; all (n, R), eta (R,)."""
    count, runs = table.shape
    for j in range(count):
        for r in range(runs):
            table[j, r] -= eta[r] * gradient[j, r]
            mean[j, r] += table[j, r]
