"""IDCA for pSP as one would write it down from the paper: float64 NumPy, one configuration at a time.

It is the oracle of the solver's tests and the yardstick of its benchmark. It shares no code with the solver.
"""

import numpy as np


def hinge(x):
    return np.maximum(x, 0.0)


class NaivePSP:
    """Partial statistical parity with a group-interaction linear score on dense rows."""

    def __init__(self, X, y, group, ranks, slack):
        order = np.argsort(group, kind="stable")
        self.X = np.hstack([np.ones((len(y), 1)), np.asarray(X, np.float64)])[order]
        self.y, self.group = y[order], group[order]
        self.ranks, self.slack = np.asarray(ranks), slack
        self.n_groups = int(group.max()) + 1
        ends = np.concatenate([[0], np.cumsum(np.bincount(self.group))])
        self.blocks = [slice(a, b) for a, b in zip(ends, ends[1:], strict=False)]

    def start(self):
        return np.zeros((self.n_groups, self.X.shape[1])), 0.5 - self.ranks - self.slack / 2

    def scores(self, w):
        return [self.X[b] @ (w[0] + (w[k] if k else 0.0)) for k, b in enumerate(self.blocks)]

    def loss(self, scores):
        margin = -self.y * np.concatenate(scores)
        residual = -self.y / (1 + np.exp(-margin)) / self.y.size
        return np.logaddexp(0, margin).mean(), self.fold([self.X[b].T @ residual[b] for b in self.blocks])

    def fold(self, by_group):
        return np.array([sum(by_group), *by_group[1:]])

    def part(self, k, score, t):
        """Mean hinge of group k above t, with its gradients by w and by t."""
        above = (score > t) / score.size
        by_group = [np.zeros(self.X.shape[1]) for _ in self.blocks]
        by_group[k] = self.X[self.blocks[k]].T @ above
        return hinge(score - t).mean(), self.fold(by_group), -above.sum()

    def constraints(self, scores, theta):
        """f (P, G, 2): lower and upper constraint of every rank and group."""
        out = np.empty((len(theta), self.n_groups, 2))
        for j, (p, t) in enumerate(zip(self.ranks, theta, strict=True)):
            for k, s in enumerate(scores):
                c = hinge(s - t + 0.5).mean() - hinge(s - t - 0.5).mean()
                out[j, k] = p - c, c - p - self.slack
        return out

    def linearise(self, w, theta):
        scores = self.scores(w)
        wide = [[self.part(k, s, t - 0.5) for k, s in enumerate(scores)] for t in theta]
        narrow = [[self.part(k, s, t + 0.5) for k, s in enumerate(scores)] for t in theta]
        return w, theta, wide, narrow

    def worst_majorant(self, w, theta, anchor):
        """Value and gradients of the largest majorant."""
        w0, theta0, wide, narrow = anchor
        scores = self.scores(w)
        best = (-np.inf,)
        for j, (p, t) in enumerate(zip(self.ranks, theta, strict=True)):
            for k, s in enumerate(scores):
                a, a_w, a_t = wide[j][k]
                b, b_w, b_t = narrow[j][k]
                a = a + np.sum(a_w * (w - w0)) + a_t * (t - theta0[j])
                b = b + np.sum(b_w * (w - w0)) + b_t * (t - theta0[j])
                lower = hinge(s - t - 0.5).mean() - (a - p)
                upper = hinge(s - t + 0.5).mean() - (b + p + self.slack)
                for value, shift, fixed in ((lower, 0.5, (a_w, a_t)), (upper, -0.5, (b_w, b_t))):
                    if value > best[0]:
                        best = (value, j, k, shift, fixed)
        value, j, k, shift, (fixed_w, fixed_t) = best
        _, g_w, g_t = self.part(k, scores[k], theta[j] + shift)
        g_theta = np.zeros(len(theta))
        g_theta[j] = g_t - fixed_t
        return value, g_w - fixed_w, g_theta, scores

    def switching(self, anchor, steps, eps):
        """The SSG subsolver; returns the best remembered point, or the anchor."""
        w, theta = anchor[0].copy(), anchor[1].copy()
        best = (np.inf, anchor[0], anchor[1])
        for _ in range(steps):
            value, g_w, g_theta, scores = self.worst_majorant(w, theta, anchor)
            if value <= eps:
                loss, g_w = self.loss(scores)
                g_theta, value = np.zeros(len(theta)), eps
                if loss < best[0]:
                    best = (loss, w.copy(), theta.copy())
            square = np.sum(g_w**2) + np.sum(g_theta**2)
            w = w - value / square * g_w
            theta = theta - value / square * g_theta
        return best

    def idca(self, steps, eps, rounds):
        w, theta = self.start()
        for _ in range(rounds):
            _, w, theta = self.switching(self.linearise(w, theta), steps, eps)
        return w, theta
