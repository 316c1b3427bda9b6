"""What a training job says of tasks that cannot be measured, and of algorithms that are at fault."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from partialfair import plugins
from partialfair.algorithms.contract import (
    Algorithm,
    EvaluatedPoint,
    Fit,
    Settings,
    Task,
    Trace,
    linear_score,
    unsuitable,
)
from partialfair.data.dataset import Dataset
from partialfair.errors import PluginError
from partialfair.models.linear import LinearScore
from reproduction.datasets import simulated
from reproduction.jobs import train

PSP, PDP = "partial_statistical_parity", "partial_demographic_parity"


class Slope(Algorithm[Settings]):
    """Scores from one column, by a model and a trace that tests spoil."""

    settings = Settings

    def __init__(self, model: type[LinearScore] | None = None, trace: Trace | None = None) -> None:
        self.model, self.trace = model, trace or Trace()

    def fit(self, task: Task, settings: Settings) -> Fit:
        weights = np.zeros((task.train.n_groups, task.train.n_features + 1))
        weights[:, 1] = 1.0
        score = linear_score(task, weights)
        if self.model is not None:
            fields = {field.name: getattr(score, field.name) for field in dataclasses.fields(score)}
            score = self.model(**fields)
        return Fit(score, trace=self.trace)


class NotANumber(LinearScore):
    def scores(self, X, group):
        return np.full(len(group), np.nan)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Rows of which three belong to the second group, and whose labels are mixed."""
    data = simulated.load(tmp_path_factory.mktemp("raw"), rows=400)
    first, second = (np.flatnonzero(data.group == code) for code in (0, 1))
    return data.take(np.concatenate([first, second[:3]]))


def task(rows: Dataset, constraint: str, kappa: float = 0.1) -> Task:
    none = rows.take(np.zeros(0, np.int64))
    return Task(rows, none, constraint, [[0.1, 0.5]], kappa, report=lambda line: None)


@pytest.mark.parametrize("constraint", [PSP, PDP])
@pytest.mark.parametrize("name", ["", "alm"])
def test_what_cannot_be_measured_is_not_ok(few: Dataset, name: str, constraint: str) -> None:
    algorithm = plugins.load("algorithms", name).ALGORITHM if name else Slope()
    found = train.attempt(algorithm, task(few, constraint), algorithm.settings())
    assert found.status == "tolerance missed"
    words = "cannot be measured on the training rows: group 1: interval 0.1-0.5 keeps 1 of its 3 rows"
    assert words in str(found.reason)


def test_a_group_without_rows_is_said_to_be_absent(few: Dataset) -> None:
    rows = few.take(np.flatnonzero(few.group == 0))
    assert unsuitable(few) is None
    assert unsuitable(rows) == f"group 'B' of {few.name} has no training row, and a constraint compares all groups"


def test_scores_that_are_no_numbers_are_the_algorithm_s_fault(few: Dataset) -> None:
    with pytest.raises(PluginError, match=f"gives {few.n_rows} of {few.n_rows} training rows scores that are not"):
        train.attempt(Slope(NotANumber), task(few, PDP), Settings())


def test_a_trace_without_its_result_is_refused(few: Dataset) -> None:
    with pytest.raises(PluginError, match="the trace has no candidate 'b', which is its result; correct the plug-in"):
        train.attempt(Slope(trace=Trace({"a": []}, "b")), task(few, PDP), Settings())


def test_the_constraint_of_a_task_is_blamed_for_its_own_errors(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins.load("constraints", PDP), "build", lambda *of, **options: [][0])
    algorithm = plugins.load("algorithms", "alm").ALGORITHM
    with pytest.raises(PluginError, match=rf"^constraint '{PDP}': build failed at test_attempt.py.*: IndexError"):
        train.attempt(algorithm, task(few, PDP), algorithm.settings())


class Stumbling(EvaluatedPoint):
    """Knows its result, and no point on the way to it."""

    def objective(self) -> float:
        return 0.5

    def violation(self) -> float:
        return 0.0

    def indicator_violation(self, point: object = None) -> float:
        return 0.0 if point is None else 1 / 0


def test_a_witness_that_stumbles_over_records_is_named(tmp_path: Path, few: Dataset) -> None:
    from partialfair.algorithms.contract import Record

    fit = Slope().fit(task(few, PDP), Settings())
    trace = Trace({"a": [Record(0, 0, 0.5, 0.0, 0.0, point=1)]}, "a")
    fit = dataclasses.replace(fit, evaluated_point=Stumbling(), trace=trace)
    with pytest.raises(PluginError, match=r"algorithm Slope: its records failed at test_attempt.py.*ZeroDivisionError"):
        train.store(Slope(), task(few, PDP), fit, tmp_path)
    assert list(tmp_path.iterdir()) == []
