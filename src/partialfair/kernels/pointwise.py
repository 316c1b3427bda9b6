"""Functions of the scores: hinge means, the logistic loss, their residuals, and the slopes of the hinge means."""

import numpy as np

from partialfair.kernels.compiled import SUM_BLOCK, kernel
from partialfair.kernels.elementary import LOG2_E, SHIFT, exp_part, log
from partialfair.kernels.ordered_sums import lane_above, lane_excess, lane_product, lane_sum
from partialfair.kernels.row_sums import binned_adjoint

# Rational approximation of tanh on [-9, 9] (the coefficients in common use for float32, error below 2e-7);
# unlike a call to exp it vectorises: 234,000 losses with residuals take 0.18 ms instead of 1.5 ms.
_TANH_LIMIT = 8.9
_P = (
    4.89352455891786e-03,
    6.37261928875436e-04,
    1.48572235717979e-05,
    5.12229709037114e-08,
    -8.60467152213735e-11,
    2.00018790482477e-13,
    -2.76076847742355e-16,
)
_Q = (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)


@kernel
def hinge_means(scores, starts, thresholds, means):
    """Means of ``max(score - t, 0)`` per subset and threshold: ``thresholds`` (Q,), ``means`` (S, Q), float64.

    An empty subset has means 0.
    """
    for subset in range(starts.size - 1):
        start, stop = starts[subset], starts[subset + 1]
        means[subset, :] = 0
        for low in range(start, stop, SUM_BLOCK):
            # H[s, q] = mean max(score - t_q, 0): blocks of 1,024 rows in the scores' precision, added up in float64
            block = scores[low : min(low + SUM_BLOCK, stop)]
            for q in range(thresholds.size):
                means[subset, q] += lane_excess(block, thresholds[q])
        if stop > start:
            means[subset, :] /= stop - start


@kernel
def logistic(scores, y, scale, residual):
    """Return ``scale * sum log(1 + exp(-y s))`` and write its derivative by each score to ``residual``.

    Single-precision accuracy (relative error of the sum below 1e-6); use :func:`logistic_exact` where the
    value is to be driven to a tight optimum.
    """
    total = 0.0
    half = np.float32(0.5)
    unit = np.float32(1)
    weight = half * np.float32(scale)
    limit = np.float32(_TANH_LIMIT)
    terms = np.empty(SUM_BLOCK, np.float32)
    for low in range(0, scores.size, SUM_BLOCK):
        s = scores[low : low + SUM_BLOCK]
        label = y[low : low + SUM_BLOCK]
        out = residual[low : low + SUM_BLOCK]
        for i in range(s.size):
            # 1 / (1 + exp(-y s)) = (1 + tanh(y s / 2)) / 2; x is clipped to +-8.9 without a branch
            x = half * label[i] * s[i]
            clipped = half * (abs(x + limit) - abs(x - limit))
            q = clipped * clipped
            # tanh x = x P(x^2) / Q(x^2) by Horner's rule
            top = np.float32(_P[6])
            top = top * q + np.float32(_P[5])
            top = top * q + np.float32(_P[4])
            top = top * q + np.float32(_P[3])
            top = top * q + np.float32(_P[2])
            top = top * q + np.float32(_P[1])
            top = clipped * (top * q + np.float32(_P[0]))
            bottom = np.float32(_Q[3])
            bottom = bottom * q + np.float32(_Q[2])
            bottom = bottom * q + np.float32(_Q[1])
            bottom = bottom * q + np.float32(_Q[0])
            # tanh x = top / bottom, and log(1 + exp(-|2x|)) = -log((1 + |tanh x|) / 2) by the series of 2 artanh z,
            # z = (|tanh x| - 1) / (|tanh x| + 3): two fractions for one division.
            sum_ = abs(top) + np.float32(3) * bottom
            inverse = unit / (bottom * sum_)
            # derivative by the score: scale y (tanh x - 1) / 2 = -scale y / (1 + exp(y s))
            out[i] = weight * label[i] * (top * sum_ * inverse - unit)
            z = (abs(top) - bottom) * bottom * inverse
            w = z * z
            series = np.float32(1 / 11)
            series = series * w + np.float32(1 / 9)
            series = series * w + np.float32(1 / 7)
            series = series * w + np.float32(1 / 5)
            series = series * w + np.float32(1 / 3)
            series = series * w + unit
            # log(1 + exp(-2 x)) = max(-2 x, 0) + log(1 + exp(-|2 x|)), and max(-2 x, 0) = |x| - x
            terms[i] = abs(x) - x - np.float32(2) * z * series
        total += lane_sum(terms[: s.size])
    return total * scale


_LEAST = -700.0  # exp of less is as good as 0 beside 1


@kernel
def _exponentials(scores, y, power, e):
    """``e = exp(-|y s|)``; ``power`` is of the same size, to work in.

    In passes over the block, because integers and numbers in one loop do not vectorise.
    """
    for i in range(e.size):
        x = max(-abs(y[i] * scores[i]), _LEAST)
        # exp(x) = exp_part 2^n, as in :func:`partialfair.kernels.elementary.exp`; here 2^n is made in a pass of its own
        power[i] = x * LOG2_E + SHIFT
        e[i] = exp_part(x) + 1.0
    bits = power.view(np.int64)
    for i in range(e.size):
        bits[i] = bits[i] << 52
    for i in range(e.size):
        e[i] *= power[i]


@kernel
def logistic_exact(scores, y, scale, residual):
    """The same as :func:`logistic` in double precision.

    The logarithms of 512 sums in [1, 2] are one logarithm of their product.
    """
    work, e, hinges = np.empty(512), np.empty(512), np.empty(512)
    total = 0.0
    for low in range(0, scores.size, 512):
        s = scores[low : low + 512]
        label = y[low : low + 512]
        out = residual[low : low + 512]
        _exponentials(s, label, work[: s.size], e[: s.size])
        for i in range(s.size):
            # log(1 + exp(x)) = max(x, 0) + log(1 + e), e = exp(-|x|); hinges holds 2 max(x, 0) = x + |x|
            x = -label[i] * s[i]
            hinges[i] = x + abs(x)
            top = 1.0 if x > 0 else e[i]
            e[i] += 1.0
            out[i] = -scale * label[i] * top / e[i]
        # sum of log(1 + e_i) = log of the product of the 1 + e_i: 512 factors of at most 2 stay below 2^512
        total += 0.5 * lane_sum(hinges[: s.size]) + log(lane_product(e[: s.size]))
    return total * scale


@kernel
def add_hinge_residual(scores, starts, thresholds, weights, residual, shares):
    """Add ``sum_q weights[subset, q] * 1[score > t_q] / n_subset`` to the residual of every row.

    ``shares`` (S, Q), zero at first, receives the share of each subset's rows above each threshold that has a weight.
    """
    for subset in range(starts.size - 1):
        start, stop = starts[subset], starts[subset + 1]
        for low in range(start, stop, SUM_BLOCK):
            block = scores[low : min(low + SUM_BLOCK, stop)]
            out = residual[low : min(low + SUM_BLOCK, stop)]
            for q in range(thresholds.size):
                w = weights[subset, q]
                if w == 0:
                    continue
                # dH[s, q] / d score_i = 1[score_i > t_q] / n_s; dH[s, q] / d t_q is minus the share above t_q
                step, t = w / (stop - start), thresholds[q]
                for i in range(block.size):
                    out[i] += step if block[i] > t else 0.0
                shares[subset, q] += lane_above(block, t) / (stop - start)


@kernel
def hinge_slopes(design, members, scores, thresholds, order, slope, fraction):
    """Gradients of all hinge means by the group's weights, one pass over the rows.

    Args:
        design: (codes, dense, dense_columns, starts, subset_group) of the rows.
        members: (E, M) of the coded table.
        scores: (n,).
        thresholds: (Q,) ascending; ``order`` (Q,) the threshold index of each.
        slope: (S, Q, d+1) output; fraction: (S, Q) output, the share of rows above each threshold.
    """
    codes, dense, dense_columns, starts, _ = design
    width = slope.shape[2]
    coded = np.empty((thresholds.size + 1, len(members)))
    total = np.empty(width + 1)
    for s in range(starts.size - 1):
        count = starts[s + 1] - starts[s]
        # one pass sorts the rows into Q + 1 bins between the ascending thresholds; sums from the top bin down are the
        # slopes: dH[s, q] / dw = mean over subset s of 1[score > t_q] (1, x)
        binned_adjoint(codes, dense, dense_columns, starts[s], starts[s + 1], scores, thresholds, coded)
        total[:] = 0
        for b in range(thresholds.size - 1, -1, -1):
            for e in range(len(members)):
                for m in range(members.shape[1]):
                    total[members[e, m]] += coded[b + 1, e]
            for p in range(width):
                slope[s, order[b], p] = total[p] / max(count, 1)
            # the intercept's entry counts rows: the share above the threshold
            fraction[s, order[b]] = slope[s, order[b], 0]
