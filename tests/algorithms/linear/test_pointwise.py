"""Scalar kernels against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partialfair.kernels.pointwise import add_hinge_residual, hinge_means, logistic, logistic_exact
from partialfair.kernels.weighted_loss import weighted_logistic

STARTS = np.array([0, 700, 700, 2500])


@pytest.mark.parametrize(
    ("kernel", "kind", "tolerance"),
    [(hinge_means, np.float32, 3e-6), (hinge_means, np.float64, 1e-12)],
)
def test_hinge_means_equal_numpy(kernel, kind, tolerance):
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 3, 2500).astype(kind)
    thresholds = rng.normal(0, 2, 7)
    means = np.empty((3, 7))
    kernel(scores, STARTS, thresholds, means)
    for s, (a, b) in enumerate(zip(STARTS, STARTS[1:], strict=False)):
        part = scores[a:b].astype(np.float64)
        expected = np.maximum(part[:, None] - thresholds, 0).mean(axis=0) if b > a else np.zeros(7)
        assert np.allclose(means[s], expected, atol=tolerance)


@settings(max_examples=50)
@given(scale=st.floats(0.01, 60), seed=st.integers(0, 1000))
def test_logistic_loss_and_derivative(scale, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, scale, 1500)
    y = rng.choice([-1.0, 1.0], 1500)
    loss = np.logaddexp(0, -y * scores).mean()
    derivative = -y / (1 + np.exp(np.minimum(y * scores, 700))) / 1500
    exact, fast = np.empty(1500), np.empty(1500, np.float32)
    assert logistic_exact(scores, y, 1 / 1500, exact) == pytest.approx(loss, rel=1e-12)
    assert np.allclose(exact, derivative, rtol=1e-10, atol=1e-18)
    value = logistic(scores.astype(np.float32), y.astype(np.float32), 1 / 1500, fast)
    assert value == pytest.approx(loss, rel=2e-6, abs=2e-7)
    assert np.abs(fast - derivative).max() * 1500 < 5e-7


def test_hinge_residual_is_the_derivative_of_weighted_means():
    rng = np.random.default_rng(1)
    scores, thresholds, weights = rng.normal(size=2500), rng.normal(size=4), rng.normal(size=(3, 4))
    residual, shares = np.zeros(2500), np.zeros((3, 4))
    add_hinge_residual(scores, STARTS, thresholds, weights, residual, shares)

    def value(s, t):
        means = np.empty((3, 4))
        hinge_means(s, STARTS, t, means)
        return np.sum(weights * means)

    step = 1e-7
    by_score, by_threshold = rng.normal(size=2500), rng.normal(size=4)
    difference = value(scores + step * by_score, thresholds) - value(scores - step * by_score, thresholds)
    assert difference / (2 * step) == pytest.approx(residual @ by_score, rel=1e-4, abs=1e-6)
    difference = value(scores, thresholds + step * by_threshold) - value(scores, thresholds - step * by_threshold)
    assert difference / (2 * step) == pytest.approx(-np.sum(weights * shares * by_threshold), rel=1e-2, abs=1e-3)


@settings(max_examples=50)
@given(scale=st.floats(0.01, 60), seed=st.integers(0, 1000))
def test_weighted_logistic_loss_and_derivative(scale, seed):
    rng = np.random.default_rng(seed)
    scores, weight, residual = rng.normal(0, scale, 700), rng.exponential(size=700), np.empty(700)
    y = rng.choice([-1.0, 1.0], 700)
    value = weighted_logistic(scores, y, weight, residual)
    assert value == pytest.approx(float(np.sum(weight * np.logaddexp(0, -y * scores))), rel=1e-14)
    assert np.allclose(residual, -weight * y * np.exp(-np.logaddexp(0, y * scores)), rtol=1e-13, atol=1e-300)
