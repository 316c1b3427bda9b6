"""Newton's method on the loss, against dense algebra and scikit-learn's optimum."""

import numpy as np
import pytest
from scipy import sparse

from partialfair.algorithms.linear.newton import RIDGE, hessian, minimise_loss
from partialfair.algorithms.linear.problem import LinearProblem
from partialfair.models.features import Standardiser


def sample(n=900, seed=0):
    """Rows with two groups, ones (the last of them rare) and two numeric columns."""
    rng = np.random.default_rng(seed)
    ones = rng.random((n, 5)) < [0.4, 0.3, 0.3, 0.2, 0.01]
    X = np.hstack([ones, rng.normal(1.0, 2.0, (n, 2))]).astype(np.float32)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-X[:, 0] + X[:, 5] / 2)), 1.0, -1.0)
    group = rng.integers(0, 2, n)
    standardiser = Standardiser.fit(X, np.array([5, 6]))
    dense = X.astype(np.float64)
    dense[:, 5:] = standardiser.values(X)
    problem = LinearProblem.build(sparse.csr_array(X), y, group, standardiser=standardiser)
    return rng, problem, np.hstack([np.ones((n, 1)), dense])[problem.design.order], group[problem.design.order]


def weighted(rows, group, scores):
    """Hessians of the mean loss by each group's weights, by dense products."""
    share = 1 / (1 + np.exp(-scores))
    parts = [(rows[group == g], (share * (1 - share) / len(rows))[group == g]) for g in (0, 1)]
    return np.array([(x * w[:, None]).T @ x for x, w in parts])


def test_hessian_equals_dense_products():
    rng, problem, rows, group = sample()
    scores = rng.normal(size=len(rows))
    expected = weighted(rows, group, scores)
    curvature = np.trace(expected, axis1=1, axis2=2) / rows.shape[1]
    expected += RIDGE * curvature[:, None, None] * np.eye(rows.shape[1])
    assert np.allclose(hessian(problem, scores), expected, atol=1e-9)


@pytest.mark.parametrize("every", [2, 4, 7])
def test_estimate_from_some_rows_has_the_curvature_of_rare_features(every):
    rng, problem, rows, group = sample()
    scores = rng.normal(size=len(rows))
    exact, estimate = hessian(problem, scores), hessian(problem, scores, stride=every)
    diagonal = np.arange(rows.shape[1])
    assert (estimate[:, diagonal, diagonal] >= exact[:, diagonal, diagonal] * (1 - 1e-6)).all()
    assert np.linalg.eigvalsh(estimate).min() > 0
    picked = (np.arange(len(rows)) % every) == 0
    dense = weighted(rows[picked], group[picked], scores[picked])
    outside = ~np.eye(rows.shape[1], dtype=bool)
    assert np.allclose(estimate[:, outside], dense[:, outside] * every * picked.mean(), atol=1e-9)


def test_loss_is_at_its_minimum_also_along_nearly_flat_directions():
    """Features that occur with one class alone have no finite best weight; the rest must still be at rest."""
    _, problem, _, _ = sample(n=400)
    params = minimise_loss(problem, tolerance=1e-9)
    gradient = problem.loss(problem.state(params, np.zeros(0)))[1]
    assert np.abs(gradient).max() < 1e-4
