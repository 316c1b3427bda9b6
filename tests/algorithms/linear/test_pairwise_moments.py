"""Constraints on score pairs from moments: against all pairs, by finite differences, convexity."""

import numpy as np
import pytest

from papers.partial_fairness.algorithms.pairwise_moments import PairwiseMoments, subsets_by_class, subsets_by_group
from partialfair import plugins
from partialfair.models.design import GroupedDesign

NAMES = ("group_auc", "inter_group", "intra_group")


def rows(groups=2, n=120, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n).astype(np.int16)
    y = np.where(rng.random(n) < 0.4 + 0.1 * group, 1.0, -1.0)
    X = np.hstack([rng.integers(0, 2, (n, 3)) * (rng.random((n, 3)) < 0.5), rng.normal(group[:, None], 1.0, (n, 2))])
    return X.astype(np.float32), y, group


def build(name, X, y, group, groups, kappa=0.3):
    algorithm = plugins.load("algorithms", name).ALGORITHM
    row_subset, subset_group = (
        subsets_by_class(group, y, groups) if algorithm.by_class else subsets_by_group(group, groups)
    )
    design = GroupedDesign.build(X, row_subset, subset_group)
    orders = [(k, o) for k in range(groups) for o in range(groups) if k != o]
    pairs = [algorithm.pairs(k, o) for k, o in orders]
    return PairwiseMoments.build(design, pairs, kappa, [str(o) for o in orders]), orders


def all_pairs(name, scores, y, group, k, other):
    """The constraint without kappa, by double loops over rows, as the paper writes it."""

    def mean(first, second):
        return np.mean([(1 + a - b) ** 2 / 2 for a in scores[first] for b in scores[second]])

    mine, others, positive = group == k, group == other, y > 0
    if name == "group_auc":
        return mean(mine, others) - 0.5
    if name == "inter_group":
        return mean(mine & positive, others & ~positive) + mean(mine & ~positive, others & positive) - 1
    return mean(mine & positive, mine & ~positive) + mean(others & ~positive, others & positive) - 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("groups", [2, 3])
def test_values_equal_the_mean_over_all_pairs(name, groups):
    X, y, group = rows(groups)
    moments, orders = build(name, X, y, group, groups)
    u = np.random.default_rng(1).normal(size=(groups, X.shape[1] + 1))
    scores = u[group, 0] + np.einsum("ij,ij->i", X.astype(float), u[group, 1:])
    expected = [all_pairs(name, scores, y, group, k, other) - 0.3 for k, other in orders]
    assert len(orders) == groups * (groups - 1)
    assert moments.values(u) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_equal_finite_differences_and_hessians_are_convex(name):
    X, y, group = rows(3)
    moments, orders = build(name, X, y, group, 3)
    rng = np.random.default_rng(2)
    u, direction = rng.normal(size=(2, 3, X.shape[1] + 1))
    step = 1e-4
    above, below = moments.values(u + step * direction), moments.values(u - step * direction)
    jacobian = moments.jacobian(u)
    assert np.einsum("igj,gj->i", jacobian, direction) == pytest.approx(
        (above - below) / (2 * step), rel=1e-6, abs=1e-8
    )
    for i in range(len(orders)):
        hessian = moments.hessian(np.eye(len(orders))[i])
        change = moments.jacobian(u + direction)[i] - jacobian[i]  # exact for a quadratic
        assert np.einsum("gjhl,hl->gj", hessian, direction) == pytest.approx(change, abs=1e-9)
        assert np.linalg.eigvalsh(hessian.reshape(direction.size, -1)).min() > -1e-12


@pytest.mark.parametrize("name", NAMES)
def test_both_orders_add_up_to_at_least_zero(name):
    """Why a negative kappa is infeasible for every model."""
    X, y, group = rows()
    moments, _ = build(name, X, y, group, 2, kappa=0.0)
    rng = np.random.default_rng(3)
    sums = [moments.values(scale * rng.normal(size=(2, X.shape[1] + 1))).sum() for scale in (0, 0.01, 0.1, 1, 10) * 4]
    assert min(sums) >= -1e-12
