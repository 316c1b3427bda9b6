"""Penalties of fairret: known answers, finite differences, and the library itself."""

import numpy as np
import pytest
from scipy.special import expit

from papers.stochastic_benchmark.algorithms.fairret_penalties import PENALTIES, Library, kl, kl_released, projection

SCORES = np.array([[[1.0, -0.5], [0.2, -1.0]]])
POSITIVE = np.array([[[1.0, 0.0], [0.0, 1.0]]])


def penalty_value(name: str, scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Value (R,) of ``kl``, ``norm`` or ``log_sum_exp``, whose derivatives the package has."""
    if name == "kl":
        q, _ = projection(scores, positive)
        p = expit(scores)
        return (q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))).mean(axis=(1, 2))
    accuracy = expit((2 * positive - 1) * scores)
    violation = np.abs(accuracy.mean(axis=2) / accuracy.mean(axis=(1, 2))[:, None] - 1)
    if name == "norm":
        return violation.sum(axis=1)
    return np.log(np.exp(violation).mean(axis=1))


def test_projection_and_divergence_have_the_known_values():
    q, shift = projection(SCORES, POSITIVE)
    np.testing.assert_allclose(shift[0], [-0.67620205, 0.67560107], atol=1e-8)
    np.testing.assert_allclose(q.ravel(), [0.58024956, 0.54393689, 0.3832914, 0.41960407], atol=1e-8)
    assert penalty_value("kl", SCORES, POSITIVE)[0] == pytest.approx(0.05452374, abs=1e-8)
    derivative = [0.03770225, -0.04159906, 0.04163565, -0.03766566]
    np.testing.assert_allclose(kl(SCORES, POSITIVE).ravel(), derivative, atol=1e-8)


def test_other_losses_have_the_known_values():
    assert penalty_value("norm", SCORES, POSITIVE)[0] == pytest.approx(0.61218058, abs=1e-8)
    assert penalty_value("log_sum_exp", SCORES, POSITIVE)[0] == pytest.approx(0.30609029, abs=1e-8)


@pytest.mark.parametrize("name", ["norm", "log_sum_exp"])
def test_derivatives_against_central_differences(name):
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=(3, 2, 4)), (rng.random((3, 2, 4)) < 0.5).astype(float)
    found = PENALTIES[name](scores, positive)
    for index in ((0, 1, 2), (2, 0, 3), (1, 1, 0)):
        ends = []
        for h in (1e-6, -1e-6):
            moved = scores.copy()
            moved[index] += h
            ends.append(penalty_value(name, moved, positive)[index[0]])
        assert found[index] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_the_library_solved_to_convergence_has_the_doubled_targets():
    pytest.importorskip("fairret")
    pytest.importorskip("cvxpy")
    import torch

    own = Library(1, 2, max_iters=20_000, eps=1e-9)
    found = own(SCORES, POSITIVE)
    np.testing.assert_allclose(found, kl_released(SCORES, POSITIVE), atol=1e-4)
    sensitive = torch.eye(2).repeat_interleave(2, dim=0)
    logits, labels = (torch.tensor(part.reshape(4, 1), dtype=torch.float32) for part in (SCORES, POSITIVE))
    assert float(own.losses[0](logits, sensitive, labels)) == pytest.approx(1.2282, abs=2e-3)


def test_groups_of_equal_accuracy_are_left_alone():
    scores = np.array([[[0.3, -1.0], [0.3, -1.0]]])
    positive = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    np.testing.assert_allclose(kl(scores, positive), 0, atol=1e-12)
