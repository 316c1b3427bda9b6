"""What the compiled loops compute, in plain NumPy and double precision: start reading here.

Every function does what the kernel of the same name does, on a matrix of rows in place of coded columns, without
blocks, lanes or a stated order of additions. Tests compare the two. Nothing else uses these functions.

PlainRows are (n, d+1) with a leading column of ones. ``subset`` (n,) says to which of S subsets a row belongs, and
``subset_group`` (S,) of which of G groups a subset is a part.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Integers = NDArray[np.integer]


# Linear scores: row_sums, score_columns, gram, simd_tables


def effective_weights(theta: Vector, n_groups: int) -> Vector:
    """Weights (G, d+1) that each group sees: ``w_g = theta_0 + theta_g``; with one row of theta all see theta_0."""
    shared = np.repeat(theta[:1], n_groups, axis=0)
    shared[1 : len(theta)] += theta[1:]
    return shared


def forward(X: Vector, group: Integers, weights: Vector) -> Vector:
    """Scores ``s_i = w_g(i) . x_i`` (n,)."""
    return np.einsum("ij,ij->i", X, weights[group])


def adjoint(X: Vector, group: Integers, residual: Vector, n_groups: int) -> Vector:
    """``sum_i residual_i x_i`` over the rows of each group, (G, d+1): the gradient of ``residual . s``."""
    return np.array([X[group == g].T @ residual[group == g] for g in range(n_groups)])


def by_parameters(gradient: Vector, rows: int) -> Vector:
    """Gradient (R, d+1) by theta from that by each group's weights (G, d+1): the adjoint of the effective weights."""
    return np.concatenate([gradient.sum(axis=0, keepdims=True), gradient[1:rows]])


def gram(X: Vector, group: Integers, weight: Vector, n_groups: int) -> Vector:
    """``sum_i weight_i x_i x_i'`` over the rows of each group, (G, d+1, d+1)."""
    return np.array([(X[group == g].T * weight[group == g]) @ X[group == g] for g in range(n_groups)])


# Losses and hinges of scores: pointwise, weighted_loss


def logistic(scores: Vector, y: Vector, weight: Vector | float) -> tuple[float, Vector]:
    """``sum_i weight_i log(1 + exp(-y_i s_i))`` and ``-weight y / (1 + exp(y s))`` (n,), its slope."""
    margin = y * scores
    return float(np.sum(weight * np.logaddexp(0, -margin))), -weight * y * np.exp(-np.logaddexp(0, margin))


def hinge_means(scores: Vector, subset: Integers, n_subsets: int, thresholds: Vector) -> Vector:
    """``H[s, q] = mean over subset s of max(score - t_q, 0)``, (S, Q); 0 for an empty subset."""
    means = np.zeros((n_subsets, thresholds.size))
    for s in np.unique(subset):
        means[s] = np.maximum(scores[subset == s, None] - thresholds, 0.0).mean(axis=0)
    return means


def hinge_slopes(
    X: Vector, scores: Vector, subset: Integers, n_subsets: int, thresholds: Vector
) -> tuple[Vector, Vector]:
    """Slopes of the hinge means: ``mean 1[s > t_q] x`` (S, Q, d+1), and minus that by t_q, a share (S, Q)."""
    slope = np.zeros((n_subsets, thresholds.size, X.shape[1]))
    for s in np.unique(subset):
        rows = subset == s
        above = (scores[rows, None] > thresholds).astype(float)
        slope[s] = above.T @ X[rows] / rows.sum()
    return slope, slope[:, :, 0]


# Constraints as differences of convex functions of hinge means: program_sides, subgradient_steps, switching_steps


@dataclass(frozen=True, eq=False)
class PlainPart:
    """A convex part of m constraints, ``f_i = sum_j weight_ij max_k (H[subset_ijk, threshold_ijk] + constant_ijk)``.

    Attributes:
        weight: (m, J); subset, threshold: (m, J, K), -1 for an alternative that is its constant alone.
        constant: (m, J, K).
    """

    weight: Vector
    subset: Integers
    threshold: Integers
    constant: Vector

    def alternatives(self, means: Vector) -> Vector:
        """Values (m, J, K) of all alternatives for hinge means (S, Q)."""
        return self.constant + np.where(self.subset < 0, 0.0, means[self.subset, self.threshold])

    def values(self, means: Vector) -> Vector:
        """Values (m,)."""
        return np.asarray((self.weight * self.alternatives(means).max(axis=2)).sum(axis=1))

    def at_choice(self, means: Vector, choice: Integers) -> Vector:
        """Values (m,) where term j takes the alternative choice_ij instead of the largest."""
        chosen = np.take_along_axis(self.alternatives(means), choice[:, :, None], axis=2)[:, :, 0]
        return np.asarray((self.weight * chosen).sum(axis=1))

    def by_means(self, i: int, choice: Integers, shape: tuple[int, int]) -> Vector:
        """Derivative (S, Q) of constraint i by the hinge means, where term j takes the alternative choice_ij."""
        out = np.zeros(shape)
        for j, k in enumerate(choice[i]):
            if self.subset[i, j, k] >= 0:
                out[self.subset[i, j, k], self.threshold[i, j, k]] += self.weight[i, j]
        return out


@dataclass(frozen=True, eq=False)
class PlainRows:
    """PlainRows under the constraints ``f_i = convex_i - concave_i <= 0`` of scores and thresholds ``t = shift + aux``.

    Attributes:
        X: (n, d+1); y: (n,) labels -1 and 1; subset: (n,); subset_group: (S,).
        shift: (Q,); aux_index: (Q,) auxiliary of each threshold, -1 for none.
        convex, concave: the two parts.
    """

    X: Vector
    y: Vector
    subset: Integers
    subset_group: Integers
    shift: Vector
    aux_index: Integers
    convex: PlainPart
    concave: PlainPart

    @property
    def group(self) -> Integers:
        """Group (n,) of every row."""
        return self.subset_group[self.subset]

    def thresholds(self, aux: Vector) -> Vector:
        """``t_q = shift_q + aux[aux_index_q]``, (Q,)."""
        return self.shift + np.where(self.aux_index < 0, 0.0, np.append(aux, 0.0)[self.aux_index])

    def means(self, theta: Vector, aux: Vector) -> Vector:
        """Hinge means (S, Q) at a point."""
        return hinge_means(self.scores(theta), self.subset, len(self.subset_group), self.thresholds(aux))

    def scores(self, theta: Vector) -> Vector:
        """Scores (n,)."""
        return forward(self.X, self.group, effective_weights(theta, int(self.subset_group.max()) + 1))

    def loss_gradient(self, theta: Vector) -> tuple[float, Vector]:
        """``f0 = mean log(1 + exp(-y s))`` and its gradient (R, d+1)."""
        loss, residual = logistic(self.scores(theta), self.y, 1 / self.y.size)
        return loss, self._by_theta(residual, len(theta))

    def pull_back(self, by_means: Vector, theta: Vector, aux: Vector) -> tuple[Vector, Vector]:
        """Gradient by theta (R, d+1) and aux (P,) of a function with derivative (S, Q) by the hinge means."""
        thresholds = self.thresholds(aux)
        above = self.scores(theta)[:, None] > thresholds
        size = np.bincount(self.subset, minlength=len(self.subset_group))
        per_row = by_means[self.subset] * above / size[self.subset][:, None]
        by_aux = np.zeros(aux.size)
        used = self.aux_index >= 0
        np.add.at(by_aux, self.aux_index[used], -per_row.sum(axis=0)[used])
        return self._by_theta(per_row.sum(axis=1), len(theta)), by_aux

    def _by_theta(self, residual: Vector, rows: int) -> Vector:
        return by_parameters(adjoint(self.X, self.group, residual, int(self.subset_group.max()) + 1), rows)


def switching_steps(rows: PlainRows, theta: Vector, aux: Vector, tolerance: float, steps: int) -> Any:
    """Inner loop of IDCA (Partial fairness paper, Algorithm 2) from its anchor (theta, aux).

    Returns:
        The last point (theta, aux), and the best one as (loss, theta, aux) or ``None``.
    """
    anchor_theta, anchor_aux, best = theta, aux, None
    shape = rows.means(theta, aux).shape
    choice = rows.concave.alternatives(rows.means(theta, aux)).argmax(axis=2)
    for _ in range(steps):
        # g_i(v) = f+_i(v) - f-_i(v0) - <slope of f-_i at v0, v - v0>
        means = rows.means(theta, aux)
        anchor_value = rows.concave.at_choice(rows.means(anchor_theta, anchor_aux), choice)
        slopes = [
            rows.pull_back(rows.concave.by_means(i, choice, shape), anchor_theta, anchor_aux)
            for i in range(len(choice))
        ]
        linear = np.array([(a * (theta - anchor_theta)).sum() + b @ (aux - anchor_aux) for a, b in slopes])
        majorants = rows.convex.values(means) - anchor_value - linear
        i = int(majorants.argmax())
        if majorants[i] <= tolerance:
            loss, by_theta = rows.loss_gradient(theta)
            by_aux, value = np.zeros(aux.size), tolerance
            if best is None or loss < best[0]:
                best = (loss, theta, aux)
        else:
            attained = rows.convex.alternatives(means).argmax(axis=2)
            by_theta, by_aux = rows.pull_back(rows.convex.by_means(i, attained, shape), theta, aux)
            by_theta, by_aux, value = by_theta - slopes[i][0], by_aux - slopes[i][1], majorants[i]
        square = (by_theta**2).sum() + (by_aux**2).sum()
        if square > 0:
            theta, aux = theta - value / square * by_theta, aux - value / square * by_aux
    return (theta, aux), best


def subgradient_steps(
    rows: PlainRows, theta: Vector, aux: Vector, steps: int, *, weight: float = 0.0, constant: float = 0.0,
    static: float = 0.0, diminishing: float = 0.0,
) -> tuple[Vector, Vector]:  # fmt: skip
    """Regularization and SSG direct (Partial fairness paper, appendices G.4 and G.7): the last point (theta, aux).

    With a ``constant`` step the first, which descends ``f0 + weight max_i f_i``; else the second, with the tolerance
    ``static + diminishing / (t + 1)`` at step t.
    """
    for t in range(steps):
        means = rows.means(theta, aux)
        values = rows.convex.values(means) - rows.concave.values(means)
        i = int(values.argmax())
        convex, concave = (side.alternatives(means).argmax(axis=2) for side in (rows.convex, rows.concave))
        by_means = rows.convex.by_means(i, convex, means.shape) - rows.concave.by_means(i, concave, means.shape)
        by_theta, by_aux = rows.pull_back(by_means, theta, aux)
        if constant > 0:
            step, by_theta, by_aux = constant, rows.loss_gradient(theta)[1] + weight * by_theta, weight * by_aux
        else:
            eps = static + diminishing / (t + 1)
            if values[i] <= eps:
                by_theta, by_aux = rows.loss_gradient(theta)[1], np.zeros(aux.size)
            square = (by_theta**2).sum() + (by_aux**2).sum()
            step = max(values[i], eps) / square if square > 0 else 0.0
        theta, aux = theta - step * by_theta, aux - step * by_aux
    return theta, aux


# Pairs of scores: pair_sums, cell_auc, pair_descent_steps


def pair_hinge(x: Vector, p: Vector, y: Vector, q: Vector, shift: float, power: int) -> tuple[float, Vector, Vector]:
    """``sum_ij p_i q_j max(x_i - y_j + shift, 0)^power`` for powers 1 and 2, and its derivatives by x and y."""
    difference = np.maximum(x[:, None] - y + shift, 0.0)
    slope = (difference > 0) * 1.0 if power == 1 else 2 * difference
    return float(p @ difference**power @ q), p * (slope @ q), -q * (p @ slope)


def wins(x: Vector, y: Vector) -> float:
    """Number of pairs with ``x_i > y_j`` plus half of those with ``x_i = y_j``."""
    return float((x[:, None] > y).sum() + 0.5 * (x[:, None] == y).sum())


def pair_loss(scores: Vector, members: NDArray[np.bool_], pairs: Any, weights: Vector, c1: float, c2: float) -> float:
    """``sum_m weights_m mean over pairs (i, j) of P_m, N_m of c1 (h_i - h_j - c2)^2``; pairs with an empty set add 0.

    Args:
        scores: (B,); members: (6, B) rows of each set; pairs: P and N of each m; weights: one per m.
    """
    total = 0.0
    for weight, p, n in zip(weights, *pairs, strict=True):
        differences = scores[members[p], None] - scores[members[n]]
        total += weight * c1 * float(np.mean((differences - c2) ** 2)) if differences.size else 0.0
    return total


# The min-max form of AUC-constrained AUC maximisation: pair_minimax


def minimax_values(
    scores: Vector, shares: Vector, pairs: Any, rows: Any, a: Vector, b: Vector, c1: float, c2: float, limits: Vector
) -> tuple[Vector, Vector]:
    """``F`` (3,) and ``G`` (5,) of AUC fairness paper, Lemma 1, on a batch.

    ``F_k = -limit_k + c1 sum over pairs m of row k of (c2^2 + E_P[(h - a_m)^2 - 2 c2 h] + E_N[(h - b_m)^2 + 2 c2 h])``
    and ``G_m = 2 sqrt(c1) (E_P[h] - E_N[h])``, where ``E_P[v] = mean over the batch of share_P v``.

    Args:
        scores: (B,); shares: (6, B), the weight of each row in each set; pairs: P and N of each m; rows: k of each m.
    """
    values, gaps = -limits.astype(float), np.empty(len(rows))
    for m, (p, n, k) in enumerate(zip(*pairs, rows, strict=True)):
        on_p = np.mean(shares[p] * ((scores - a[m]) ** 2 - 2 * c2 * scores))
        on_n = np.mean(shares[n] * ((scores - b[m]) ** 2 + 2 * c2 * scores))
        values[k] += c1 * (c2**2 + on_p + on_n)
        gaps[m] = 2 * np.sqrt(c1) * (np.mean(shares[p] * scores) - np.mean(shares[n] * scores))
    return values, gaps


# Networks with one hidden layer of sigmoid units: sigmoid_network_steps


def sigmoid_network(X: Vector, inner: Vector, bias: Vector, outer: Vector, shift: float) -> Vector:
    """Scores (n,), ``sigmoid(sum_k outer_k sigmoid(x . inner_k + bias_k) + shift)``; inner (d, h), the others (h,)."""
    hidden = 1 / (1 + np.exp(-(X @ inner + bias)))
    return np.asarray(1 / (1 + np.exp(-(hidden @ outer + shift))))


# The dual of demographic-parity post-processing: fair_dual_steps


def softmax_row(point: Vector, weights: Vector, costs: Vector, beta: float) -> Vector:
    """Probabilities (G,) of the atoms: proportional to ``exp(beta (sum_s t_s (Lambda_s - V_s) - r))``."""
    logits = beta * (weights @ (point[0] - point[1]) - costs)
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


def _dual_gradient(point: Vector, weights: Vector, costs: Vector, eps: Vector, beta: float) -> Vector:
    """Gradient (2, K, G) of the dual on one row: ``t q + eps`` by Lambda, ``eps - t q`` by V."""
    drift = np.outer(weights, softmax_row(point, weights, costs, beta))
    return np.stack([drift + eps[:, None], eps[:, None] - drift])


def sgd(
    t: Vector, r: Vector, eps: Vector, beta: float, rows: Integers, size: float, w: Vector
) -> tuple[Vector, Vector]:
    """Projected stochastic gradient steps ``w <- max(w - size gradient, 0)``: the last point and the mean of all."""
    points = []
    for i in rows:
        w = np.maximum(w - size * _dual_gradient(w, t[i], r[i], eps, beta), 0.0)
        points.append(w)
    return w, np.asarray(np.mean(points, axis=0))


def acsa(
    t: Vector, r: Vector, eps: Vector, beta: float, rows: Integers, smoothness: float, mu: float, weight: float,
    centre: Vector, shift: float, w: Vector, average: Vector,
) -> tuple[Vector, Vector]:  # fmt: skip
    """AC-SA on the dual plus ``weight |w|^2 / 2 - <centre, w>`` (DP post-processing paper, Algorithm 2).

    Returns:
        The last point w, and the averaged one.
    """
    for step, i in enumerate(rows, start=1):
        alpha, gamma = 2 / (step + shift), 4 * smoothness / (step * (step + 1))
        scale = gamma + (1 - alpha**2) * mu
        middle = (1 - alpha) * (mu + gamma) / scale * average + alpha * ((1 - alpha) * mu + gamma) / scale * w
        slope = _dual_gradient(middle, t[i], r[i], eps, beta) + weight * middle - centre
        w = np.maximum((((1 - alpha) * mu + gamma) * w + alpha * mu * middle - alpha * slope) / (mu + gamma), 0.0)
        average = alpha * w + (1 - alpha) * average
    return w, average


def l1_optimality(curvature: Vector, slope: Vector, eps: Vector, x: Vector) -> float:
    """How far x is from minimising ``x' curvature x / 2 - slope . x + sum eps |x|``.

    It is the largest entry of the least subgradient.
    """
    gradient = curvature @ x - slope
    at_zero = np.maximum(np.abs(gradient) - eps, 0.0)
    return float(np.max(np.where(x == 0, at_zero, np.abs(gradient + eps * np.sign(x)))))
