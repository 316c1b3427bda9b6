"""Loss-gap families: values by their formulas, derivatives, templates, and hinge families on drawn rows."""

import numpy as np
import pytest

from partialfair.constraints.family import built
from partialfair.constraints.stratum_means import HingeMeans, sampled
from partialfair.constraints.surrogates import make
from partialfair.errors import ConfigError, NotEstimableError


def rows(seed=0, n=200):
    rng = np.random.default_rng(seed)
    group, y = (rng.random(n) < 0.4).astype(int), np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return group, y, rng.normal(size=n)


def gaps(scores, y, group, label=None):
    losses = np.logaddexp(0, -y * scores)
    keep = np.ones(len(y), bool) if label is None else y == label
    return losses[keep & (group == 0)].mean() - losses[keep & (group == 1)].mean()


def expected_values(name, scores, y, group, delta):
    if name == "loss_parity":
        d = gaps(scores, y, group)
        return [d - delta, -d - delta]
    if name == "loss_equal_opportunity":
        d = gaps(scores, y, group, 1.0)
        return [d - delta, -d - delta]
    d, e = gaps(scores, y, group, 1.0), gaps(scores, y, group, -1.0)
    return [d + e - delta, d - e - delta, -d + e - delta, -d - e - delta]


@pytest.mark.parametrize("name", ["loss_parity", "loss_equal_opportunity", "loss_equalized_odds"])
def test_values_and_derivatives(name):
    group, y, scores = rows()
    program = built(name, group, y, interval=[(0.0, 1.0)], kappa=0.02)
    family = program.on(make("clipped_linear"))
    parts = family.parts(scores, np.zeros(0))
    np.testing.assert_allclose(parts.values, expected_values(name, scores, y, group, 0.02), atol=1e-12)
    v, direction, h = np.arange(1.0, len(parts.values) + 1), np.random.default_rng(1).normal(size=len(y)), 1e-6
    ends = [v @ family.parts(scores + step * direction, np.zeros(0)).values for step in (h, -h)]
    assert parts.vjp(v)[0] @ direction == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)
    means = program.means
    features = means.features(scores[None], (y > 0)[None].astype(float), np.zeros((1, 0)))
    by_stratum = np.stack([features[:, means.row_stratum == s].mean(axis=1) for s in range(means.n_strata)], axis=1)
    np.testing.assert_allclose(means.values(by_stratum)[0], parts.values, atol=1e-12)


def test_equalized_odds_bounds_the_sum_of_both_differences():
    group, y, scores = rows(3)
    parts = built("loss_equalized_odds", group, y, interval=None, kappa=0.02).parts(scores, np.zeros(0))
    total = abs(gaps(scores, y, group, 1.0)) + abs(gaps(scores, y, group, -1.0))
    assert parts.values.max() == pytest.approx(total - 0.02, abs=1e-12)


def test_mistakes_are_refused():
    group, y, _ = rows()
    with pytest.raises(ConfigError, match="positive number"):
        built("loss_parity", group, y, interval=None, kappa=0.0)
    with pytest.raises(NotEstimableError, match="group 1: no rows with label"):
        built("loss_equal_opportunity", group, np.where(group == 1, -1.0, y), interval=None, kappa=0.1)


@pytest.mark.parametrize("name", ["partial_statistical_parity", "partial_demographic_parity"])
def test_hinge_families_as_functions_of_stratum_means(name):
    group, y, scores = rows(4)
    program = built(name, group, y, interval=[(0.1, 0.5)], kappa=0.1, grid=4)
    means = sampled(program)
    assert isinstance(means, HingeMeans)
    aux = program.start + 0.1
    features = means.features(scores[None], np.zeros((1, len(y))), aux[None])
    by_stratum = np.stack([features[:, group == s].mean(axis=1) for s in range(2)], axis=1)
    np.testing.assert_allclose(means.values(by_stratum)[0], program.values(scores, aux), atol=1e-12)
    v = np.random.default_rng(5).random(program.n_constraints)
    weights = means.weights(by_stratum, v[None])
    share = weights[0][group] / np.bincount(group)[group][:, None]
    by_scores, by_aux = means.pull_back(scores[None], np.zeros((1, len(y))), aux[None], share[None])
    expected = program.vjp(scores, aux, v)
    np.testing.assert_allclose(by_scores[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(by_aux[0], expected[1], atol=1e-12)
