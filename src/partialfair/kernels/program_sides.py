"""Values and slopes of the convex parts of the constraints (see :class:`partialfair.constraints.program.Side`)."""

import numpy as np

from partialfair.kernels.compiled import kernel


@kernel
def side_value(i, weight, subset, threshold, constant, means, chosen):
    """Value of one convex part of constraint i; ``chosen`` (J,) receives the alternative of each term."""
    total = 0.0
    for j in range(weight.shape[1]):
        # term j: a_ij max_l (H[s_ijl, q_ijl] + const_ijl); an alternative without a subset is its constant alone
        best = -np.inf
        chosen[j] = 0  # where no value is a number
        for k in range(subset.shape[2]):
            value = constant[i, j, k]
            if subset[i, j, k] >= 0:
                value += means[subset[i, j, k], threshold[i, j, k]]
            if value > best:
                best = value
                chosen[j] = k
        total += weight[i, j] * best
    return total


@kernel
def side_values(weight, subset, threshold, constant, means, values):
    """Values (m,) of a convex part of all constraints for hinge means (S, Q)."""
    chosen = np.empty(weight.shape[1], np.int64)
    for i in range(weight.shape[0]):
        values[i] = side_value(i, weight, subset, threshold, constant, means, chosen)


@kernel
def side_pull_back(weight, subset, threshold, constant, means, multipliers, out):
    """Add ``sum_i multipliers[i] * derivative[i]`` by the hinge means to ``out`` (S, Q); ties take the first."""
    chosen = np.empty(weight.shape[1], np.int64)
    for i in range(weight.shape[0]):
        if multipliers[i] == 0:
            continue
        # d f_i / d H[s, q] = sum of a_ij over the terms j whose maximum is attained at (s, q)
        side_value(i, weight, subset, threshold, constant, means, chosen)
        for j in range(weight.shape[1]):
            k = chosen[j]
            if subset[i, j, k] >= 0:
                out[subset[i, j, k], threshold[i, j, k]] += multipliers[i] * weight[i, j]
