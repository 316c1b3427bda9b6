"""IDCA's inner steps on a device against the compiled kernels: on PyTorch's CPU device and on empty tensors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from partialfair.algorithms.linear import idca_solver, torch_lanes  # noqa: E402
from partialfair.algorithms.linear.idca_solver import Configuration, start_runs  # noqa: E402
from partialfair.algorithms.linear.torch_problem import TorchProblem, TorchRows  # noqa: E402
from tests.algorithms.linear.test_torch_problem import FAMILIES, build  # noqa: E402

EIGHT = [Configuration(steps, eps) for steps in (10, 20) for eps in (1e-3, 3e-3, 1e-2, 3e-2)]


def away(runs):
    """Runs away from their start, where several majorants are equal and rounding chooses among them."""
    draw = np.random.default_rng(0)
    noise = [0.2 * draw.normal(size=part.shape) for part in (runs[0].params, runs[0].aux)]
    for run in runs:
        run.params, run.aux = run.params + noise[0], run.aux + noise[1]
    return runs


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("uses_group", [True, False])
def test_short_runs_of_eight_configurations_are_those_of_the_kernels(family, uses_group):
    problem = build(family, uses_group)
    wanted, found = away(start_runs(problem, EIGHT)), away(start_runs(problem, EIGHT))
    idca_solver.advance(problem, wanted, 2)
    torch_lanes.advance(TorchProblem.of(problem, "cpu"), found, 2)
    for one, other in zip(wanted, found, strict=True):
        assert (one.round, one.inner_steps, one.fixed) == (other.round, other.inner_steps, other.fixed)
        np.testing.assert_allclose(other.params, one.params, atol=2e-5)
        np.testing.assert_allclose(other.aux, one.aux, atol=2e-5)
    assert max(np.abs(run.params).max() for run in found) > 1e-3


def test_a_longer_run_ends_at_the_same_loss_within_the_constraints():
    problem = build(FAMILIES[0], rows=600)
    settings = [Configuration(200, 1e-3), Configuration(200, 1e-2)]
    wanted, found = start_runs(problem, settings), start_runs(problem, settings)
    idca_solver.advance(problem, wanted, 4)
    torch_lanes.advance(TorchProblem.of(problem, "cpu"), found, 4)
    for one, other in zip(wanted, found, strict=True):
        losses = [problem.loss(problem.state(run.params, run.aux))[0] for run in (one, other)]
        assert losses[1] == pytest.approx(losses[0], abs=2e-3)
        worst = problem.constraints(problem.state(other.params, other.aux)).max()
        assert worst <= other.configuration.tolerance + 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_wait_for_nothing(family):
    """On tensors without content, whatever would ask the device for a number raises an error."""
    problem = build(family)
    program, model, meta = problem.program, problem.model, torch.device("meta")
    rows = TorchRows(problem.design, meta)
    m, terms = program.concave.weight.shape
    shape = (8, program.n_subsets, program.shift.size)

    def empty(*size, dtype=torch.float64):
        return torch.empty(size, dtype=dtype, device=meta)

    constants = [empty(8, *side.constant.shape) for side in (program.convex, program.concave)]
    inner = torch_lanes.Steps(
        rows, empty(len(rows.X)), program, model, *constants, empty(8, m, terms, dtype=torch.int64), empty(*shape),
        empty(*shape, model.n_features + 1), empty(*shape),
    )  # fmt: skip
    params, aux = empty(8, *model.shape), empty(8, program.n_aux)
    best = empty(8), params, aux
    active = empty(8, dtype=torch.bool)
    for _ in range(2):
        params, aux, best = inner.take(params, aux, best, empty(8), active)
    assert params.shape == (8, *model.shape) and aux.shape == (8, program.n_aux) and best[0].shape == (8,)


def test_eight_columns_are_one_product(monkeypatch):
    problem, shapes = TorchProblem.of(build(FAMILIES[0]), "cpu"), []
    forward = TorchRows.forward

    def noted(self, weights):
        shapes.append(tuple(weights.shape))
        return forward(self, weights)

    runs = start_runs(problem, EIGHT)
    monkeypatch.setattr(TorchRows, "forward", noted)
    torch_lanes.advance(problem, runs, 1)
    inside = [shape for shape in shapes if shape[0] == 8]
    assert len(inside) == 20, "as many products as the longest inner loop has steps"
