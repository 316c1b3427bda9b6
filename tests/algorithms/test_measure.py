"""Status, violation and certificate of a fit, held against an evaluated point whose every number is given."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from partialfair.algorithms.contract import Certificate, EvaluatedPoint, Fit
from partialfair.algorithms.measure import ROUNDING, measure

KAPPA = 0.05


@dataclasses.dataclass(eq=False)
class Given(EvaluatedPoint):
    """What a method says of its point."""

    loss: float = 0.3
    worst: float | None = 0.0
    indicator: float | None = 0.0
    found: Certificate | None = None
    accepted: float = math.inf
    stationary: float = math.inf
    remedy: str = "take more rounds"

    def objective(self):
        return self.loss

    def violation(self):
        return self.worst

    def indicator_violation(self, point=None):
        return self.indicator

    def certificate(self):
        return self.found


def certificate(value, kind="kkt"):
    return Certificate(kind, value, "a unit", 0.01, np.array([1.0, 0.0]))


def measured(kappa="tolerance", failure="", task_kappa=KAPPA, **given):
    task = SimpleNamespace(kappa=task_kappa, loss="logistic")
    return measure(
        SimpleNamespace(kappa=kappa),
        task,
        Fit(SimpleNamespace(usable=True), evaluated_point=Given(**given), failure=failure),
    )


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({}, "ok", None),
        ({"failure": "it stopped"}, "failed", "it stopped"),
        ({"loss": math.nan}, "failed", "the training loss is nan; reduce the step sizes"),
        ({"loss": math.inf}, "failed", "the training loss is inf; reduce the step sizes"),
        ({"loss": -math.inf}, "failed", "the training loss is -inf; reduce the step sizes"),
        ({"worst": 0.01, "accepted": 0.01}, "ok", None),
        ({"worst": 0.011, "accepted": 0.01}, "tolerance missed", "value 0.011, accepted 0.01; take more rounds"),
        ({"worst": 1e-9, "accepted": -1.0}, "tolerance missed", "accepted -1"),
        ({"worst": -1.0, "accepted": -1.0}, "ok", None),
        ({"worst": None, "accepted": 0.0}, "ok", None),
        ({"indicator": 0.9 * ROUNDING}, "ok", None),
        ({"indicator": 1.1e-4}, "tolerance missed", "the violation is 0.05011 on the training rows, kappa asks for"),
        ({"indicator": 0.9 * KAPPA}, "tolerance missed", "is 0.095 on the training rows, kappa asks for 0.05; ask for"),
        ({"indicator": math.nan}, "tolerance missed", "the violation is nan"),
        ({"indicator": None}, "tolerance missed", "cannot be measured on the training rows"),
        ({"indicator": None, "worst": math.nan, "accepted": math.inf}, "tolerance missed", "cannot be measured"),
        ({"indicator": None, "kappa": "weight"}, "ok", None),
        ({"indicator": 0.9, "kappa": "weight"}, "ok", None),
        ({"indicator": 0.9, "kappa": "own"}, "ok", None),
        ({"indicator": 0.9, "task_kappa": math.inf}, "ok", None),
        ({"found": certificate(0.02)}, "ok", None),
        ({"found": certificate(0.02), "stationary": 0.02}, "ok", None),
        ({"found": certificate(0.03), "stationary": 0.02}, "not stationary", "certificate 0.03, promised 0.02; take"),
        ({"found": None, "stationary": 0.02}, "not stationary", "certificate not finite, promised 0.02"),
        ({"found": certificate(math.nan), "stationary": 0.02}, "not stationary", "certificate not finite"),
        ({"worst": 1.0, "accepted": 0.0, "found": certificate(1.0), "stationary": 0.0}, "tolerance missed", "largest"),
        ({"failure": "it stopped", "indicator": 0.9}, "failed", "it stopped"),
    ],
)
def test_status_and_reason(given, status, words):
    found = measured(**given)
    assert found.status == status
    assert found.reason is None if words is None else words in found.reason


def test_the_constraint_itself_is_on_the_scale_of_kappa():
    found = measured(indicator=-0.01)
    assert (found.requirement.value, found.requirement.kappa) == (pytest.approx(0.04), KAPPA)
    assert found.true_violation == pytest.approx(-0.01)
    assert measured(indicator=-0.01, kappa="weight").true_violation is None


def test_strictly_met_constraints_have_no_violation():
    assert measured(worst=-0.2).max_violation == 0.0
    assert measured(worst=None).max_violation is None


def test_a_residual_is_shown_under_its_own_name():
    assert measured(found=certificate(0.02)).kkt_residual == 0.02
    other = measured(found=certificate(0.02, "duality_gap"))
    assert other.kkt_residual is None and other.entries()["value"] == 0.02 and other.entries()["kind"] == "duality_gap"
    assert measured(found=certificate(math.inf)).entries()["value"] is None


@pytest.mark.parametrize(
    ("given", "solved"),
    [
        ({}, True),
        ({"indicator": 0.9}, True),
        ({"worst": 1.0, "accepted": 0.5}, False),
        ({"failure": "it stopped"}, False),
        ({"found": certificate(1.0), "stationary": 0.5}, False),
    ],
)
def test_solved_is_what_the_method_promises(given, solved):
    assert measured(**given).solved == solved


def test_a_method_that_accepts_everything_writes_no_infinity():
    assert measured().entries()["accepted"] is None
    assert measured(accepted=0.01).entries()["accepted"] == 0.01
