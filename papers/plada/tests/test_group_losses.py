"""Losses of overlapping groups: means, derivatives, the cost of many constraints, and the methods that use them."""

import time

import numpy as np
import pytest

from papers.plada.algorithms.group_losses import GroupLosses, group_gaps, loss_of
from papers.plada.algorithms.network_plada import MultiplierModel, Network, NetworkPlada, best_candidate
from papers.plada.algorithms.plada_solver import Parameters
from papers.plada.constraints.intersectional_loss import build, row_weights
from partialfair.models.stacked import StackedMLP

TABLE2 = Parameters(eta=0.1, tau=0.01, beta=0.5, u_max=10.0)


def rows(n=200, d=6, k=12, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.35, 1.0, -1.0)
    members = rng.random((k, n)) < 0.3
    return X + y[:, None] * 0.5, y, members


def network(X, y, kind="hinge", hidden=(8, 8)):
    model = StackedMLP(X.shape[1], hidden)
    return Network(model, model.initial(np.random.default_rng(1)), X, y, kind)


def test_values_are_the_definition():
    X, y, members = rows()
    losses, _ = loss_of(X[:, 0], y, "hinge")
    direct = [losses[g].mean() - losses.mean() for g in members]
    assert GroupLosses(members, 0.01, "each").values(losses) == pytest.approx(np.array(direct) - 0.01, abs=1e-6)
    assert GroupLosses(members, 0.01).values(losses)[0] == pytest.approx(np.mean(direct) - 0.01, abs=1e-6)
    shares = GroupLosses(members, 0.01, "shares").values(losses)
    assert shares.sum() == pytest.approx(np.mean(direct) - 0.01, abs=1e-6)


def test_equation_18_is_linear_in_the_losses():
    X, y, members = rows()
    losses, _ = loss_of(X[:, 0], y, "hinge")
    v = row_weights(members)
    assert v @ losses == pytest.approx(np.mean([losses[g].mean() for g in members]) - losses.mean())
    group = (X[:, 1] > 0).astype(int)
    parts = build(group, y, interval=((0.0, 1.0),), kappa=0.01).on(None).parts(X[:, 0], np.zeros(0))
    two = [losses[group == g].mean() for g in (0, 1)]
    assert parts.convex - parts.concave == pytest.approx(np.mean(two) - losses.mean() - 0.01)


@pytest.mark.parametrize("kind", ["hinge", "logistic"])
def test_gradient_of_the_lagrangian(kind):
    X, y, members = rows()
    groups, net = GroupLosses(members, 0.01, "each"), network(X, y, kind)
    lam = np.random.default_rng(2).uniform(0, 1, groups.m)
    direction = np.random.default_rng(3).normal(size=net.theta.shape).astype(np.float32)
    weights = np.full(len(y), 1 / len(y), np.float32) + groups.pull(lam)
    found = float(np.sum(net.gradient(weights) * direction))

    def value(step):
        moved = net.model.forward((net.theta + step * direction).astype(np.float64), X[None])[0][0]
        losses, _ = loss_of(moved, y, kind)
        return losses.mean() + lam @ (groups.values(losses))

    assert found == pytest.approx((value(1e-4) - value(-1e-4)) / 2e-4, rel=2e-2, abs=1e-3)


def test_gaps_of_overlapping_groups():
    y, scores = np.array([1.0, 1, -1, -1]), np.array([1.0, -1, 0, -1])  # rows 1 and 2 are wrong
    members = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], bool)
    found = group_gaps(scores, y, members)
    assert found.error == 0.5 and found.mean == pytest.approx((0 + 0.5 - 0.5) / 3) and found.largest == 0.5


def test_plada_bounds_the_excess_of_a_group():
    rng = np.random.default_rng(4)
    X, members = rng.normal(size=(600, 4)), rng.random((1, 600)) < 0.3
    y = np.where(members[0], np.sign(X[:, 1]), np.sign(X[:, 0]))  # the group follows another rule, which it cannot show
    free = NetworkPlada(network(X, y), GroupLosses(members, 0.05), TABLE2, "none")
    bound = NetworkPlada(network(X, y), GroupLosses(members, 0.05), TABLE2)
    for _ in range(400):
        free.step()
        bound.step()
    assert free.groups.values(free.network.losses)[0] > 0.1
    assert bound.groups.values(bound.network.losses)[0] < 0.02
    assert bound.lam[0] == pytest.approx(bound.mu[0], abs=0.1)


def test_a_sampled_iteration_moves_one_multiplier():
    X, y, members = rows()
    stream = np.random.default_rng(0)
    method = NetworkPlada(network(X, y), GroupLosses(members, 0.01, "each"), TABLE2, "sampled", stream)
    for _ in range(30):
        before = method.lam.copy()
        method.step()
        assert np.sum(method.lam != before) <= 1


def test_multipliers_grow_where_a_group_is_worse():
    X, y, members = rows(400, seed=4)
    members = np.vstack([(X[:, 0] * y < 0), np.ones(400, bool)])
    groups, model = GroupLosses(members, 0.05, "each"), StackedMLP(2, (16,))
    phi = model.initial(np.random.default_rng(5))
    method = MultiplierModel(network(X, y), groups, model, phi, np.eye(2), 0.05, 1.0, np.random.default_rng(6))
    assert method.phi[0, -1] == 1.0
    for _ in range(200):
        method.step()
    assert method.multipliers()[0] > method.multipliers()[1]
    assert np.isfinite(method.network.losses).all()


def test_best_candidate():
    violations = np.array([[0.3, -1.0], [0.1, 0.2], [0.2, 0.1], [0.1, 0.2]])
    # Ranks within constraints: (3, 0), (0, 2), (2, 1), (0, 2): worst 3, 2, 2, 2; the objective decides.
    assert best_candidate(violations, np.array([0.0, 0.5, 0.4, 0.6])) == 2
    assert best_candidate(-np.ones((3, 2)), np.array([0.3, 0.1, 0.2])) == 1


def test_535_constraints_cost_at_most_three_times_one():
    """Processor time per iteration, both measured in turns in one run; the smaller of five is compared."""
    X, y, members = rows(996, 145, 535)
    hidden = (64,) * 5

    def method(reading):
        return NetworkPlada(network(X, y, hidden=hidden), GroupLosses(members, 0.01, reading), TABLE2)

    one, many = method("expected"), method("shares")
    times = {"one": [], "many": []}
    for _ in range(6):
        for name, run in (("one", one), ("many", many)):
            began = time.process_time()
            for _ in range(8):
                run.step()
            times[name].append(time.process_time() - began)
    ratio = min(times["many"][1:]) / min(times["one"][1:])
    assert one.groups.m == 1 and many.groups.m == 535
    assert ratio <= 3, f"535 constraints cost {ratio:.2f} times one"
