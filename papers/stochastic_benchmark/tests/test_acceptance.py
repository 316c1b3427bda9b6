"""Stochastic benchmark: derivatives of the network, the linear reference, and the bands of the committed run."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from papers.stochastic_benchmark.algorithms import stochastic_tasks as stochastic
from papers.stochastic_benchmark.algorithms.ssl_alm import SmoothedSteps, SSLALMSettings
from papers.stochastic_benchmark.algorithms.stochastic_ghost import GhostSettings, GhostSteps
from papers.stochastic_benchmark.algorithms.stochastic_problem import StochasticPoint, StochasticProblem
from papers.stochastic_benchmark.algorithms.stochastic_run import Plan, run
from papers.stochastic_benchmark.datasets import acs_income_ok_race
from partialfair.algorithms.contract import Task
from partialfair.constraints.family import built
from partialfair.constraints.stratum_means import sampled
from partialfair.metrics import get
from partialfair.models.stacked import StackedMLP
from tests.acceptance.committed import exhibit, metrics, runs

# --- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", [True, False])
def test_network_derivatives_against_central_differences(drawn: bool) -> None:
    """Of the loss f and of the difference of group losses, on drawn rows and on all: relative 1e-5."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [150, 90])
    X, y = rng.normal(size=(240, 9)), np.where(rng.random(240) < 0.3, 1.0, -1.0)
    means = sampled(built("loss_parity", group, y, interval=[(0.0, 1.0)], kappa=0.005))
    problem = StochasticProblem(StackedMLP(9, (64, 32)), X, (y > 0).astype(float), means)
    assert problem.score.size == 2753
    x = np.stack([problem.score.initial(np.random.default_rng(seed)) for seed in (1, 2)])
    rows = rng.integers(0, 240, (2, 8)) if drawn else None
    strata = np.stack([rng.choice(one, (2, 8)) for one in problem.strata], axis=1) if drawn else None
    found = problem.gradient(x, rows), problem.constraints(x, strata)[1](np.array([[1.0, 0.0]] * 2))

    def values(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        differences = problem.constraints(at, strata)[0][:, 0]
        if rows is None:
            return problem.evaluate(at).loss, differences
        scores = problem.score.forward(at, X[rows])[0]
        return (np.logaddexp(0, scores) - problem.positive[rows] * scores).mean(axis=1), differences

    for _ in range(20):
        direction = rng.normal(size=x.shape)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)  # a longer one crosses kinks of the ReLUs
        ahead, behind = values(x + 1e-5 * direction), values(x - 1e-5 * direction)
        for slope, high, low in zip(found, ahead, behind, strict=True):
            expected = (high - low) / 2e-5
            assert (slope * direction).sum(axis=1) == pytest.approx(expected, rel=1e-5, abs=1e-10)


# --- the linear reference ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linear(dataset: Any) -> "Reference":
    """Training and test rows, and on both the problem with a linear score in double precision."""
    table = dataset("acs_income_ok_race")
    parts = acs_income_ok_race.split(table, 0)
    task = Task(
        train=table.take(parts.train), validation=table.take(parts.validation), constraint="loss_parity",
        interval=[[0.0, 1.0]], kappa=0.005, report=lambda line: None,
    )  # fmt: skip
    settings = stochastic.StochasticSettings(uses_group=False, fit_on="train_and_validation", precision="float64")
    rows, test = stochastic.training_rows(task, settings), table.take(parts.test)
    shape = stochastic.Shape.from_task(task, settings, rows)
    outside = stochastic.Shape(test, shape.standardiser, shape.hidden, shape.uses_group)
    problems = [stochastic.make_problem(task, settings, one.rows, one) for one in (shape, outside)]
    return rows, test, problems[0], problems[1]


Reference = tuple[Any, Any, StochasticProblem, StochasticProblem]
CONSTRAINED = {"independence": 0.053442, "separation": 0.051584, "inaccuracy": 0.238331, "sufficiency": 0.204481}


def full_ghost(**options: float) -> GhostSteps:
    """Ghost on all rows with a constant step."""
    return GhostSteps(GhostSettings(step_size=0.5, decay=0.0, full_batch=True, **options))


def measured(problem: StochasticProblem, x: np.ndarray, rows: Any, names: list[str]) -> list[float]:
    scores = (problem.X @ x).astype(float)
    return [get(name)(scores, rows.y, rows.group, None) for name in names]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("method", "steps"),
    [
        pytest.param(
            SmoothedSteps(SSLALMSettings(proximal=0.0, step_size=0.5, dual_step=0.5, full_batch=True)), 3000, id="alm"
        ),
        pytest.param(
            SmoothedSteps(SSLALMSettings(proximal=2.0, smoothing=0.5, step_size=0.3, dual_step=0.3, full_batch=True)),
            6000,
            id="ssl_alm",
            marks=pytest.mark.long(suite="papers"),  # it oscillates: 17 processor seconds
        ),
        pytest.param(full_ghost(mixing=0.5, radius=0.8), 500, id="ghost"),
        pytest.param(full_ghost(mixing=0.8, radius=0.5), 500, id="ghost_released"),
    ],
)
def test_full_batch_methods_reach_the_linear_reference(method: Any, steps: int, linear: Reference) -> None:
    rows, _, problem, _ = linear
    found = run(method, problem, np.zeros((1, 10)), [0], Plan(steps=steps, records=1))
    reached = StochasticPoint(problem, found.last[0])
    assert reached.objective() == pytest.approx(0.49592482, abs=1e-6)
    assert found.constraints[-1, 0, 0] == pytest.approx(0, abs=1e-6)
    assert reached.certificate().multipliers == pytest.approx([0.90237, 0], abs=1e-4)
    if "dual" in found.state:
        assert found.state["dual"][0] == pytest.approx([0.90237, 0], abs=1e-4)
        assert found.state["slack"][0] == pytest.approx([0, 0.01], abs=1e-5)
    assert measured(problem, found.last[0], rows, list(CONSTRAINED)) == pytest.approx(
        list(CONSTRAINED.values()), abs=1e-6
    )


@pytest.mark.real_data
def test_metrics_and_second_kkt_point_of_the_linear_reference(linear: Reference) -> None:
    rows, test, problem, outside = linear

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(problem.evaluate(x[None]).loss[0]), problem.gradient(x[None], None)[0].astype(float)

    free = minimize(loss, np.zeros(10), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}).x
    assert measured(outside, free, test, ["independence", "inaccuracy"]) == pytest.approx(
        [0.093803, 0.224051], abs=1e-4
    )
    bounds = {
        "type": "ineq",
        "fun": lambda x: -problem.constraints(x[None], None)[0][0],
        "jac": lambda x: -np.stack([problem.constraints(x[None], None)[1](v[None])[0] for v in np.eye(2)]),
    }
    second = minimize(loss, free, jac=True, method="SLSQP", constraints=[bounds], options={"ftol": 1e-14}).x
    reached = StochasticPoint(problem, second)
    certificate = reached.certificate()
    assert reached.objective() == pytest.approx(0.49871126, abs=1e-6)
    assert certificate.multipliers == pytest.approx([1.02186, 0], abs=1e-4) and certificate.value < 1e-3


# --- bands of the committed run ----------------------------------------------------------------------------------

COLUMNS = (
    "independence",
    "separation",
    "inaccuracy",
    "sufficiency",
    "wasserstein_histogram",
    "log_loss",
    "loss_difference",
)
# lower and upper end of each column
TRAIN = {
    "sgd": "0.089 0.100  0.123 0.142  0.199 0.203  0.106 0.123  0.0069 0.0081  0.420 0.424  0.059 0.066",
    "stochastic_ghost": "0.002 0.094  0 0.110  0.239 0.307  0.146 0.255  0 0.0060  0.47 0.64  -0.06 0.06",
    "stochastic_alm": "0.043 0.073  0.040 0.082  0.223 0.256  0.173 0.220  0.0016 0.0036  0.46 0.51  -0.03 0.02",
    "ssl_alm": "0.054 0.078  0.051 0.092  0.210 0.256  0.168 0.204  0.0021 0.0042  0.44 0.52  -0.05 0.04",
    "stochastic_switching": "0.039 0.116  0.068 0.161  0.201 0.247  0.113 0.152  0.0001 0.0027  0.48 0.56  0.01 0.05",
    "sgd_fairret": "0.074 0.107  0.098 0.144  0.199 0.204  0.093 0.120  0.0040 0.0060  0.426 0.435  0.062 0.070",
}
TEST = {
    "sgd": {"inaccuracy": (0.212, 0.217), "independence": (0.089, 0.104), "separation": (0.154, 0.198)},
    "stochastic_alm": {"inaccuracy": (0.234, 0.253), "independence": (0.040, 0.075)},
    "ssl_alm": {"inaccuracy": (0.224, 0.256), "independence": (0.049, 0.083)},
    "stochastic_ghost": {"inaccuracy": (0.244, 0.307)},
    "stochastic_switching": {"inaccuracy": (0.211, 0.246)},
    "sgd_fairret": {"inaccuracy": (0.209, 0.217)},
}


def table3(split: str) -> pd.DataFrame:
    """Means over ten runs by method and metric."""
    found = exhibit("stochastic_table3")
    found = found[(found.experiment == "stoch_table3") & (found.split == split)]
    assert (found.n_runs == 10).all() and found.algorithm.nunique() == 6
    return found.pivot(index="algorithm", columns="metric", values="mean")


@pytest.mark.parametrize("name", TRAIN)
def test_means_of_table_3(name: str) -> None:
    train, test = table3("train").loc[name], table3("test").loc[name]
    ends = np.array(TRAIN[name].split(), float).reshape(-1, 2)
    outside = [c for c, (low, high) in zip(COLUMNS, ends, strict=True) if not low <= train[c] <= high]
    outside += [f"test {c}" for c, (low, high) in TEST[name].items() if not low <= test[c] <= high]
    assert not outside


def test_orders_of_table_3() -> None:
    """Those of Ghost, whose runs vary most, and of SSw below SGD, which ten runs leave open, are a warning.

    The paper's statements about these are decided on forty runs (claims.yaml); the others must hold.
    """
    t = table3("train")
    alms, plain, ghost = ["ssl_alm", "stochastic_alm"], ["sgd", "sgd_fairret"], ["stochastic_ghost"]
    switching = t.loc["stochastic_switching"]
    assert abs(t.inaccuracy["sgd"] - t.inaccuracy["sgd_fairret"]) < 0.002
    assert t.inaccuracy[plain].max() < switching.inaccuracy < t.inaccuracy[alms].min()
    for name in ("independence", "separation"):
        assert t[name][alms].max() < min(switching[name], t[name]["sgd"])
    assert t.sufficiency[alms].min() > 0.16 > switching.sufficiency > t.sufficiency[plain].max()
    wasserstein = t.wasserstein_histogram
    assert wasserstein.idxmin() == "stochastic_switching" and wasserstein.idxmax() == "sgd"
    assert t.loss_difference[alms].abs().max() < 0.03
    assert 0.015 <= switching.loss_difference <= 0.05 and 0.059 <= t.loss_difference["sgd"] <= 0.066
    by_chance = {
        "inaccuracy": t.inaccuracy[alms].max() < t.inaccuracy[ghost].min(),
        "independence": t.independence[ghost].max() < switching.independence,
        "separation": t.separation[ghost].max() < switching.separation,
        "sufficiency": t.sufficiency[ghost].min() > 0.16,
        "independence of SSw": switching.independence < t.independence["sgd"],
        "separation of SSw": switching.separation < t.separation["sgd"],
    }
    for name, holds in by_chance.items():
        if not holds:
            warnings.warn(f"ten runs do not show the order in {name}", stacklevel=1)


def test_equal_switching_steps_of_figure_5() -> None:
    found = metrics("stoch_figure5")
    found = found[found.split == "train"].groupby("metric").value.mean()
    assert found["log_loss"] > 0.64 and abs(found["loss_difference"]) < 0.01


def test_sixty_runs_of_table_3_take_less_than_three_minutes() -> None:
    found = runs("stoch_table3")
    assert len(found) == 60 and found.status.isin(["ok", "tolerance missed"]).all()
    assert found.cpu_seconds.sum() < 180
