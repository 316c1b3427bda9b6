"""Stochastic IDCA: its majorants and their derivatives, and its result against the exact method's."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from papers.partial_fairness.algorithms.network_problem import NetworkProblem  # noqa: E402
from papers.partial_fairness.algorithms.networks import DeepIDCASettings  # noqa: E402
from papers.partial_fairness.algorithms.stochastic_idca import _Batch, _batches, first_state, outer_iteration  # noqa: E402
from partialfair.algorithms.contract import Task  # noqa: E402
from partialfair.algorithms.linear.idca import ALGORITHM as EXACT  # noqa: E402
from partialfair.constraints.family import built  # noqa: E402
from partialfair.models.linear_network import LinearNetwork  # noqa: E402
from partialfair.models.network_function import NetworkFunction  # noqa: E402
from partialfair.seeding import generator  # noqa: E402
from reproduction.datasets import simulated  # noqa: E402
from reproduction.datasets.splits import make_split  # noqa: E402

RHO = 0.7


class Curved(torch.nn.Module):
    """A smooth score that is not linear in its weights."""

    def __init__(self):
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.first = torch.nn.Parameter(torch.randn(4, 3, generator=draw, dtype=torch.float64))
        self.last = torch.nn.Parameter(torch.randn(3, generator=draw, dtype=torch.float64))

    def forward(self, x, group):
        return torch.tanh(x.double() @ self.first) @ self.last


def make_problem(family, network=None):
    stream = np.random.default_rng(1)
    n = 40
    X = stream.standard_normal((n, 4)).astype(np.float32)
    group = stream.permutation(np.repeat([0, 1], [24, 16])).astype(np.int16)
    y = np.where(stream.random(n) < 0.5, 1.0, -1.0)
    program = built(family, group, y, interval=((0.2, 0.6),), kappa=0.1, grid=4, kappa_scale="absolute")
    return NetworkProblem(NetworkFunction(network or Curved(), torch.device("cpu")), X, y, group, program)


def whole_batch(problem, anchor):
    """The sample that consists of all rows, so that what it says is exact."""
    largest = max(len(rows) for rows in problem.subset_rows)
    settings = DeepIDCASettings(batch=largest * problem.program.n_subsets, rho=RHO)
    return _batches(problem, settings, anchor, np.random.default_rng(0))(0)


@pytest.fixture(params=["partial_statistical_parity", "partial_demographic_parity"], ids=["pSP", "pDP"])
def problem(request):
    return make_problem(request.param)


@pytest.fixture
def points(problem):
    stream = np.random.default_rng(2)
    w = problem.function.start()
    aux = problem.program.start + 0.3 * stream.standard_normal(problem.program.n_aux)
    anchor = problem.point(w, aux)
    return anchor, anchor + torch.as_tensor(0.2 * stream.standard_normal(len(anchor)))


def majorants(problem, anchor, x):
    """g_i at ``x``, by asking for the extrapolation over no distance."""
    batch = whole_batch(problem, anchor)
    batch.gradient(x, 0.0, np.zeros(problem.program.n_constraints))
    return batch.extrapolated(x, x)


def constraints(problem, x):
    value = problem.value(x)
    return problem.program.values(value.scores, value.aux)


def test_majorants_touch_the_constraints_where_they_are_linearised_and_lie_above_elsewhere(problem, points):
    anchor, x = points
    assert np.allclose(majorants(problem, anchor, anchor), constraints(problem, anchor), atol=1e-12)
    excess = majorants(problem, anchor, x) - constraints(problem, x)
    # The score is curved: rho has to bound its weak convexity for this to hold, and here it does.
    assert (excess >= 0).all() and excess.max() > 1e-3


def test_gradients_and_extrapolations_are_those_of_loss_and_majorants(problem, points):
    anchor, x = points
    m = problem.program.n_constraints
    stream = np.random.default_rng(3)
    queues, weight, step = stream.random(m), 1.7, 1e-6
    direction = torch.as_tensor(stream.standard_normal(len(x)))

    def lagrangian(point):
        w, _ = problem.weights_and_aux(point)
        moved = w - problem.weights_and_aux(anchor)[0]
        proximal = RHO / 2 * float(moved @ moved)
        return weight * (problem.value(point).objective + proximal) + queues @ majorants(problem, anchor, point)

    batch = whole_batch(problem, anchor)
    gradient = batch.gradient(x, weight, queues)
    slope = (lagrangian(x + step * direction) - lagrangian(x - step * direction)) / (2 * step)
    assert float(gradient @ direction) == pytest.approx(slope, rel=1e-4, abs=1e-6)
    ahead = batch.extrapolated(x, x + 0.01 * direction)
    here, there = (majorants(problem, anchor, x + sign * step * direction) for sign in (-1, 1))
    assert np.allclose(ahead, majorants(problem, anchor, x) + 0.01 * (there - here) / (2 * step), atol=1e-6)


def test_batches_of_equal_parts_estimate_loss_gradient_and_hinge_means_without_bias(problem, points):
    """Over batches in which every row occurs equally often among those of its group, the mean is exact."""
    anchor, x = points
    nothing = np.zeros(problem.program.n_constraints)
    small, large = (np.array_split(rows, len(rows) // 4) for rows in reversed(problem.subset_rows))
    pairs = [(large[i % len(large)], small[i % len(small)]) for i in range(math.lcm(len(large), len(small)))]
    samples = [_Batch(problem, RHO, anchor, np.concatenate(pair), [4, 4]) for pair in pairs]
    mean = torch.stack([sample.gradient(x, 1.0, nothing) for sample in samples]).mean(0)
    exact = whole_batch(problem, anchor).gradient(x, 1.0, nothing)
    assert float(exact.norm()) > 0.01
    assert np.allclose(mean, exact, atol=1e-12)
    value = problem.value(x)
    means = np.mean([sample.hinges.means for sample in samples], axis=0)
    assert np.allclose(means, problem.program.hinge_means(value.scores, value.aux), atol=1e-12)


def test_a_batch_has_as_many_rows_of_one_subset_as_of_another():
    problem = make_problem("partial_statistical_parity")
    anchor = problem.point(problem.function.start(), problem.program.start)
    draw = _batches(problem, DeepIDCASettings(batch=8), anchor, np.random.default_rng(4))
    drawn = [draw(step) for step in range(30)]
    assert all(np.bincount(sample.subset).tolist() == [4, 4] for sample in drawn)
    sums = {float(sample.anchor_scores.detach().sum()) for sample in drawn}
    assert len(sums) > 20, "every step has a batch of its own"


def test_the_full_gradient_is_that_of_the_lagrangian(problem, points):
    _, x = points
    stream = np.random.default_rng(5)
    multipliers = stream.random(problem.program.n_constraints)
    direction = torch.as_tensor(stream.standard_normal(len(x)))
    gradient = problem.gradient(x, multipliers)

    def lagrangian(point):
        return problem.value(point).objective + multipliers @ constraints(problem, point)

    step = 1e-6
    slope = (lagrangian(x + step * direction) - lagrangian(x - step * direction)) / (2 * step)
    assert float(gradient @ direction) == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_thresholds_suit_any_scores():
    problem = make_problem("partial_statistical_parity")
    equal = problem.feasible_aux(np.zeros(40))
    assert np.allclose(equal, problem.program.start, atol=1e-9)
    scores = 3 * np.random.default_rng(6).standard_normal(40)
    aux = problem.feasible_aux(scores)
    shares = [np.clip(scores[rows, None] - aux + 0.5, 0, 1).mean(axis=0) for rows in problem.subset_rows]
    assert np.allclose(np.mean(shares, axis=0), 0.5 - problem.program.start, atol=1e-9)


def test_the_result_agrees_with_the_exact_method_on_a_linear_score():
    """Tolerances: 0.01 in the loss (the price of the constraint is 0.012), 0.02 in the violation."""
    data = simulated.load(rows=2000)
    split = make_split(data, 0)
    task = Task(
        train=data.take(split.train),
        validation=data.take(split.validation),
        constraint="partial_statistical_parity",
        interval=[[0.1, 0.4]],
        kappa=0.1,
        kappa_scale="absolute",
        report=lambda line: None,
    )
    settings = EXACT.settings(inner_steps=[150], tolerances=[0.001], tuning_rounds=50, rounds=[100])
    exact = EXACT.fit(task, settings).evaluated_point
    network = LinearNetwork(6, 2)
    network.centre.copy_(torch.as_tensor(task.standardiser.mean))
    network.scale.copy_(torch.as_tensor(task.standardiser.scale))
    train = task.train
    problem = NetworkProblem(
        NetworkFunction(network, torch.device("cpu")), train.X, train.y, train.group, task.program()
    )
    state = first_state(problem, problem.function.start(), problem.program.start)
    settings = DeepIDCASettings(inner_steps=50, rho=0.0, next_iterate="last")
    for outer in range(16):
        state = outer_iteration(problem, settings, state, generator("test", outer))
    value = problem.value(state.x)
    assert exact.objective() - 0.003 < value.objective < exact.objective() + 0.01
    assert value.violation < 0.02
    assert problem.true_violation(value.scores, value.aux) < 0.05
    assert state.multipliers.max() > 0 and len(state.multipliers) == problem.program.n_constraints
