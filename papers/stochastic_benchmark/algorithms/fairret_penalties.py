"""Penalties on unequal expected accuracies of groups, as derivatives by the scores: fairret's, and in closed form.

Source: Benchmark of stochastic approximation algorithms, section 4.2 (SGD-Fairret); Buyl, Defrance, De Bie, "fairret: a
framework for differentiable fairness regularization terms", ICLR 2024 (library fairret 0.1.3, MIT licence).

The expected accuracy of a row is ``r = sigmoid(t)``, ``t = (2 Y - 1) z``. The KL penalty is the mean divergence
``KL(q || p)`` of the predictions p from their projection q, the nearest predictions whose groups all have the batch's
mean accuracy. Scores and labels 0/1 come as (R, G, b): equally many rows b of each of G groups.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from partialfair.constraints.stratum_means import sigmoid
from partialfair.errors import ConfigError
from partialfair.models.stacked import Array

Penalty = Callable[[Array, Array], Array]
BISECTIONS = 50
LARGEST_SHIFT = 60.0


def projection(scores: Array, positive: Array) -> tuple[Array, Array]:
    """Projected predictions q (R, G, b) and the shifts (R, G) that make them.

    The projection moves every t of a group by one nu, at which the group's mean of ``sigmoid(t + nu)`` is the batch's
    accuracy; the mean is monotone in nu, which is found by bisection.
    """
    # t = (2 Y - 1) z, so that sigmoid(t) is the chance of the right label
    sign = 2 * positive - 1
    t = (sign * scores).astype(np.float64)
    target = sigmoid(t).mean(axis=(1, 2))[:, None]
    # at nu = -+(60 + max |t|) the group's mean accuracy is 0 or 1 to rounding
    low = np.full(t.shape[:2], -LARGEST_SHIFT) - np.abs(t).max(axis=2)
    high = -low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = sigmoid(t + middle[..., None]).mean(axis=2) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    shift = (low + high) / 2
    accuracy = sigmoid(t + shift[..., None])
    return np.where(positive > 0, accuracy, 1 - accuracy), shift


def kl(scores: Array, positive: Array) -> Array:
    """``(p - q) / B``: of the divergence from the exact projection."""
    q, _ = projection(scores, positive)
    return (sigmoid(scores) - q) / _rows(scores)


def kl_released(scores: Array, positive: Array) -> Array:
    """The same with the targets doubled, as the library's normalisation by a mean in place of a sum makes them."""
    q, _ = projection(scores, positive)
    # cross-entropy with the targets 2 q and 2 (1 - q), each cut off at 1
    up, down = np.minimum(1, 2 * q), np.minimum(1, 2 * (1 - q))
    return (sigmoid(scores) * (up + down) - up) / _rows(scores)


def norm(scores: Array, positive: Array) -> Array:
    """Of ``sum_g |acc_g / acc - 1|``, acc the mean over the batch."""
    sign = 2 * positive - 1
    accuracy = sigmoid(sign * scores)
    by_group, overall = accuracy.mean(axis=2), accuracy.mean(axis=(1, 2))[:, None]
    # d|acc_g / acc - 1| has a part by the group's own mean, +-1 / acc, and one by the overall mean in the denominator
    ahead = np.sign(by_group - overall)
    per_score = ahead / overall / scores.shape[2]
    shared = -(ahead * by_group).sum(axis=1, keepdims=True) / overall**2 / _rows(scores)
    return (per_score + shared)[..., None] * sign * accuracy * (1 - accuracy)


def log_sum_exp(scores: Array, positive: Array) -> Array:
    """Of ``log sum_g exp |acc_g / acc - 1| - log G``."""
    sign = 2 * positive - 1
    accuracy = sigmoid(sign * scores)
    by_group, overall = accuracy.mean(axis=2), accuracy.mean(axis=(1, 2))[:, None]
    violation = np.abs(by_group / overall - 1)
    # softmax of the violations: the derivative of their log-sum-exp
    share = np.exp(violation) / np.exp(violation).sum(axis=1, keepdims=True)
    ahead = np.sign(by_group - overall) * share
    per_score = ahead / overall / scores.shape[2]
    shared = -(ahead * by_group).sum(axis=1, keepdims=True) / overall**2 / _rows(scores)
    return (per_score + shared)[..., None] * sign * accuracy * (1 - accuracy)


class Library:
    """The penalty of the fairret library itself, one instance per run (it keeps the last projection as a start)."""

    def __init__(self, runs: int, n_groups: int, **options: Any) -> None:
        """Prepare one penalty per run; ``options`` go to the library's solver.

        Raises:
            ConfigError: the library, or the solver that it calls, is not installed.
        """
        try:
            from fairret.loss import KLProjectionLoss
            from fairret.statistic import Accuracy

            self.losses = [KLProjectionLoss(Accuracy(), **options) for _ in range(runs)]
        except ImportError as error:
            raise ConfigError(
                f"sgd_fairret: penalty library needs fairret, PyTorch and cvxpy ({error}); install "
                "`partialfair[peers,convex]`, or choose the penalty kl_released"
            ) from error
        self.n_groups = n_groups

    def __call__(self, scores: Array, positive: Array) -> Array:
        """Derivatives (R, G, b)."""
        import torch

        rows = scores.shape[1] * scores.shape[2]
        codes = torch.arange(self.n_groups).repeat_interleave(scores.shape[2])
        sensitive = torch.nn.functional.one_hot(codes, self.n_groups).float()
        out = np.empty(scores.shape)
        for r, loss in enumerate(self.losses):
            logits = torch.tensor(scores[r].reshape(rows, 1), dtype=torch.float32, requires_grad=True)
            labels = torch.tensor(positive[r].reshape(rows, 1), dtype=torch.float32)
            loss(logits, sensitive, labels).backward()
            assert logits.grad is not None
            out[r] = logits.grad.numpy().reshape(scores.shape[1:])
        return out


def _rows(scores: Array) -> int:
    return int(scores.shape[1] * scores.shape[2])


PENALTIES: dict[str, Penalty] = {"kl": kl, "kl_released": kl_released, "norm": norm, "log_sum_exp": log_sum_exp}
