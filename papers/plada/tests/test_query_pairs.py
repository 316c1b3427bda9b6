"""Pairs of documents: values, derivatives, and methods on a small generated table."""

import numpy as np
import pytest

from papers.plada.algorithms.plada_solver import Parameters
from papers.plada.algorithms.query_pairs import Query, Ranker, RankingMultiplierModel, RankingPlada, ndcg
from partialfair.models.stacked import StackedMLP


def query(seed=0, n=40, bias=1.5):
    rng = np.random.default_rng(seed)
    group = (np.arange(n) % 2).astype(int)
    told = rng.normal(size=n)
    positive = told + bias * group + 0.5 * rng.normal(size=n) > 0.8
    positive[:4] = [True, True, False, False]
    X = np.column_stack([told, group, np.full(n, told.mean())]).astype(np.float32)
    return Query(X, positive, group)


def test_errors_by_pairs():
    q = query()
    scores = np.random.default_rng(1).normal(size=len(q.group)).round(1)  # with ties
    wrong = {}
    for a, b in ((0, 1), (1, 0)):
        pairs = [
            float(scores[i] < scores[j]) + 0.5 * float(scores[i] == scores[j])
            for i in np.flatnonzero(q.positive & (q.group == a))
            for j in np.flatnonzero(~q.positive & (q.group == b))
        ]
        wrong[a] = np.mean(pairs)
    assert q.errors(q.margins(scores))[1] == pytest.approx(wrong[0] - wrong[1])


def test_derivatives():
    q = query()
    model = StackedMLP(3, (6,))
    theta = model.initial(np.random.default_rng(2))
    ranker = Ranker(model, theta)
    margins, cache = ranker.margins(q)
    direction = np.random.default_rng(3).normal(size=theta.size)

    def value(step):
        moved = model.forward((theta + step * direction)[None], q.X[None].astype(float))[0][0]
        found = q.margins(moved)
        return q.loss(found)[0] + 0.7 * q.hinge_gap(found)[0]

    gradient = ranker.gradient(q, cache, q.loss(margins)[1] + 0.7 * q.hinge_gap(margins)[1])
    assert float(gradient[0] @ direction) == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("method", ["plada", "multiplier model"])
def test_constrained_rankers_have_a_smaller_gap(method):
    queries = [query(seed) for seed in range(12)]
    model = StackedMLP(3, (16,))
    start = model.initial(np.random.default_rng(4))
    steps = Parameters(eta=0.5, tau=0.01, beta=0.5, u_max=10.0)
    free = RankingPlada(Ranker(model, start), steps, 0.1, constrained=False)
    if method == "plada":
        bound = RankingPlada(Ranker(model, start), steps, 0.1)
    else:
        phi_model = StackedMLP(2, (8,))
        phi = phi_model.initial(np.random.default_rng(5))
        bound = RankingMultiplierModel(Ranker(model, start), phi_model, phi, 0.05, 2.0, 0.1, 1)
    for _ in range(40):
        for one in queries:
            free.step(one)
            bound.step(one)
    gaps = [np.mean([abs(one.errors(m.ranker.margins(one)[0])[1]) for one in queries]) for m in (free, bound)]
    assert gaps[1] < gaps[0] - 0.05


def test_ndcg():
    positive = np.array([True, False, True, False])
    assert ndcg(np.array([4.0, 1, 3, 2]), positive) == 1.0
    expected = (1 / np.log2(3) + 1 / np.log2(5)) / (1 + 1 / np.log2(3))
    assert ndcg(np.array([3.0, 4, 1, 2]), positive) == pytest.approx(expected)
