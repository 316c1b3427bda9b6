"""Algorithms for networks: they go on after an interruption as if there was none, and choose by the stated rule."""

import dataclasses
import math

import numpy as np
import pytest

from papers.partial_fairness.algorithms.deep_idca import ALGORITHM as IDCA
from papers.partial_fairness.algorithms.deep_unconstrained import ALGORITHM as UNCONSTRAINED
from papers.partial_fairness.datasets import drawn_faces
from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from partialfair.data.checkpoint import Checkpoint
from partialfair.errors import ConfigError
from partialfair.models import torch_backend
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from reproduction.jobs.train import attempt

TINY = {"width": 2, "batch": 32, "epochs": 3, "learning_rate": 0.01}
SHORT = TINY | {"rounds": 4, "inner_steps": 3, "step_scale": 0.1}

with_torch = pytest.mark.skipif(not torch_backend.available(), reason="needs torch: make torch")


@pytest.fixture(scope="module")
def faces():
    return drawn_faces.load(images=200, size=16)


def make_task(data, kappa=0.1, **options):
    split = make_split(data, 0)
    settings = {"interval": [[0.2, 0.6]], "grid": 4, "kappa_scale": "absolute", "report": lambda line: None} | options
    return Task(
        data.take(split.train), data.take(split.validation), "partial_statistical_parity", kappa=kappa, **settings
    )


class InterruptedFitError(Exception):
    pass


class Failing(Checkpoint):
    """Saves as often as it is told, then the job dies."""

    left = 0

    def save(self, arrays):
        super().save(arrays)
        type(self).left -= 1
        if type(self).left == 0:
            raise InterruptedFitError


def taken_up(task, settings, path, survived):
    """A fit that dies at a checkpoint and goes on from there; ``task.report`` hears of the second part alone."""
    Failing.left = survived
    with pytest.raises(InterruptedFitError):
        IDCA.fit(dataclasses.replace(task, checkpoint=Failing(path, "key"), report=lambda line: None), settings)
    return IDCA.fit(dataclasses.replace(task, checkpoint=Checkpoint(path, "key")), settings)


@with_torch
@pytest.mark.parametrize("survived", [1, 2, 3, 4, 6], ids=lambda n: f"{n} checkpoints")
def test_an_interrupted_fit_goes_on_to_the_same_bits(faces, tmp_path, survived):
    """Three epochs, then four outer iterations: interruptions fall into each phase and between them."""
    settings = IDCA.settings(**SHORT, start="constant")
    whole, lines = IDCA.fit(make_task(faces), settings), []
    again = taken_up(make_task(faces, report=lines.append), settings, tmp_path / "checkpoint.npz", survived)
    assert any("taken up" in line for line in lines)
    assert sum(line.startswith("epoch") for line in lines) == max(3 - survived, 0), "work was done twice"
    assert set(again.model.state) == set(whole.model.state)
    assert all(np.array_equal(again.model.state[name], values) for name, values in whole.model.state.items())
    assert np.array_equal(again.model.aux, whole.model.aux)
    assert again.chosen == whole.chosen
    assert [r.objective for r in again.trace.records] == [r.objective for r in whole.trace.records]
    assert all(
        np.array_equal(a.point[0], b.point[0]) for a, b in zip(again.trace.records, whole.trace.records, strict=True)
    )


@with_torch
def test_a_checkpoint_of_other_settings_is_not_taken_up(faces, tmp_path):
    lines = []
    Failing.left = 2
    path = tmp_path / "checkpoint.npz"
    with pytest.raises(InterruptedFitError):
        UNCONSTRAINED.fit(make_task(faces, checkpoint=Failing(path, "a")), UNCONSTRAINED.settings(**TINY))
    task = make_task(faces, math.inf, checkpoint=Checkpoint(path, "b"), report=lines.append)
    UNCONSTRAINED.fit(task, UNCONSTRAINED.settings(**TINY))
    assert not any("taken up" in line for line in lines) and len(lines) == 3


@with_torch
def test_the_constrained_fit_starts_from_the_unconstrained_one(faces):
    plain = UNCONSTRAINED.fit(make_task(faces, math.inf), UNCONSTRAINED.settings(**TINY))
    settings = IDCA.settings(**SHORT | {"rounds": 1, "inner_steps": 1}, start="unconstrained")
    fit = IDCA.fit(make_task(faces), settings)
    first = fit.trace.records[0]
    train = make_task(faces).train
    assert np.allclose(first.point[0], plain.model.scores(train.X, train.group), atol=1e-5)
    assert first.objective == pytest.approx(
        measure(UNCONSTRAINED, make_task(faces, math.inf), plain).objective, abs=1e-6
    )


@with_torch
def test_the_returned_iterate_is_the_best_feasible_one_on_validation_rows(faces):
    task = make_task(faces)
    lines = []
    fit = IDCA.fit(dataclasses.replace(task, report=lines.append), IDCA.settings(**SHORT))
    records = fit.trace.records
    accuracies = [float(line.split()[-1]) for line in lines if line.startswith("round")]
    feasible = [i for i, record in enumerate(records) if i > 0 and record.violation <= 0.01]
    assert feasible and records[0].violation <= 0.01, "the constant start is feasible, and no candidate"
    assert fit.chosen["within_tolerance"]
    assert fit.chosen["validation_accuracy"] == pytest.approx(max(accuracies[i] for i in feasible), abs=1e-4)
    scores = records[fit.chosen["round"]].point[0]
    assert np.allclose(fit.model.scores(task.train.X, task.train.group), scores, atol=1e-5)
    loss = np.logaddexp(0, -task.train.y * scores).mean()
    assert fit.evaluated_point.objective() == pytest.approx(loss, abs=1e-6)
    violation = fit.evaluated_point.indicator_violation()
    program = task.program()
    shares = [[np.mean(scores[program.row_subset == k] > theta) for theta in fit.model.aux] for k in (0, 1)]
    ranks = 0.2 + 0.1 * np.arange(4)
    assert violation == pytest.approx(max((ranks - shares).max(), (np.array(shares) - ranks - 0.1).max()), abs=1e-6)


@with_torch
def test_nothing_feasible_returns_the_smallest_violation_and_says_so(faces):
    settings = IDCA.settings(**SHORT | {"tolerance": 1e-9}, start="unconstrained")
    fit = IDCA.fit(make_task(faces, kappa=0.001), settings)
    violations = [record.violation for record in fit.trace.records]
    assert not fit.chosen["within_tolerance"]
    assert violations[fit.chosen["round"]] == min(violations)


@with_torch
def test_constant_start_is_not_returned_though_it_alone_satisfies_the_constraints(faces):
    settings = IDCA.settings(**SHORT | {"tolerance": 1e-9}, start="constant")
    fit = IDCA.fit(make_task(faces, kappa=0.001), settings)
    violations = [record.violation for record in fit.trace.records]
    assert violations[0] <= 0.0 < min(violations[1:])
    assert fit.chosen["round"] > 0 and not fit.chosen["within_tolerance"]


@with_torch
def test_steps_that_are_too_long_end_the_run_with_a_remedy(faces):
    lines = []
    settings = IDCA.settings(**SHORT | {"step_scale": 1e9})
    fit = IDCA.fit(make_task(faces, report=lines.append), settings)
    assert any("lower step_scale" in line for line in lines)
    assert np.isfinite(fit.evaluated_point.objective()) and fit.chosen["round"] == 0


@with_torch
def test_iteration_that_diverges_is_made_again_with_half_the_step(faces, monkeypatch):
    from papers.partial_fairness.algorithms import stochastic_idca

    scales, whole = [], stochastic_idca.outer_iteration

    def spoilt(problem, configuration, state, stream):
        scales.append(configuration.step_scale)
        found = whole(problem, configuration, state, stream)
        return dataclasses.replace(found, x=found.x * np.nan) if len(scales) in (2, 3) else found

    monkeypatch.setattr(stochastic_idca, "outer_iteration", spoilt)
    lines = []
    settings = IDCA.settings(**SHORT)
    fit = IDCA.fit(make_task(faces, report=lines.append), settings)
    first = settings.step_scale
    assert scales == [first, first, first / 2, *[first / 4] * (settings.rounds - 1)]
    assert [record.step for record in fit.trace.records] == list(range(settings.rounds + 1))
    assert sum("again with step_scale" in line for line in lines) == 2


@with_torch
def test_tables_get_the_linear_network_and_images_do_not():
    data = simulated.load(rows=300)
    settings = IDCA.settings(**SHORT)
    fit = IDCA.fit(make_task(data), settings)
    assert fit.model.architecture == "linear" and fit.model.uses_group
    with pytest.raises(ConfigError, match="set network to auto"):
        IDCA.fit(make_task(data), IDCA.settings(**SHORT, network="resnet18"))


def test_without_pytorch_the_run_is_a_row_with_the_reason(faces, monkeypatch):
    monkeypatch.setattr(torch_backend, "find_spec", lambda name: None)
    for algorithm in (IDCA, UNCONSTRAINED):
        found = attempt(algorithm, make_task(faces), algorithm.settings())
        assert (
            found.fit is None and found.status == "not_applicable" and found.reason == "needs PyTorch: run `make torch`"
        )
    assert IDCA.needs_gpu and UNCONSTRAINED.needs_gpu
