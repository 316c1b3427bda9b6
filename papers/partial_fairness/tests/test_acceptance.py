"""Partial fairness: limits and orders of the solvers, and the bands of the committed run."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from partialfair import plugins
from partialfair.algorithms.contract import Task
from partialfair.algorithms.measure import measure
from partialfair.metrics import get
from reproduction.datasets import simulated
from reproduction.datasets.splits import make_split
from tests.acceptance.committed import REPORTS, exhibit, runs

KEYS = ["dataset", "kappa", "seed"]
ROUNDING = 2e-5  # of the batched kernels, which take constraint values in single precision
BANDS = {"accuracy": {"default": 0.01}, "fairness": {"a9a": 0.05, "default": 0.10}}
GROUPS = np.repeat([0, 1], 10)


def committed(experiment: str, algorithm: str) -> pd.DataFrame:
    """Runs of one algorithm."""
    found = runs(experiment)
    return found[(found.algorithm == algorithm) & (found.status != "not_run")]


# --- metrics on hand-made scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["sp", "dp", "gauc", "rank_gap"])
@pytest.mark.parametrize("interval", [[[0.0, 1.0]], [[0.2, 0.6]]])
def test_groups_with_equal_scores_differ_in_nothing(metric: str, interval: Any) -> None:
    scores = np.tile(np.arange(1.0, 11.0), 2)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    assert get(metric)(scores, y, GROUPS, interval, 0.0) == 0


@pytest.mark.parametrize("interval", [[[0.0, 1.0]], [[0.2, 0.6]], [[0.5, 1.0]]])
def test_a_shift_beyond_all_scores_is_the_largest_violation(interval: Any) -> None:
    scores = np.concatenate([np.arange(1.0, 11.0), np.arange(101.0, 111.0)])
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    assert get("sp")(scores, y, GROUPS, interval, 0.0) == 1
    assert get("gauc")(scores, y, GROUPS, interval, 0.0) == 0.5


# --- limits and orders of the solvers ------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", ["partial_statistical_parity", "partial_demographic_parity"])
def test_kappa_of_one_is_no_constraint(constraint: str, tmp_path: Any) -> None:
    data = simulated.load(tmp_path, rows=1500)
    split = make_split(data, 0)
    losses = {}
    for name, kappa in (("unconstrained", np.inf), ("alm", 1.0)):
        algorithm = plugins.load("algorithms", name).ALGORITHM
        task = Task(
            train=data.take(split.train), validation=data.take(split.validation), constraint=constraint,
            interval=((0.1, 0.4),), kappa=kappa, kappa_scale="absolute", report=lambda line: None,
        )  # fmt: skip
        losses[name] = measure(algorithm, task, algorithm.fit(task, algorithm.settings())).objective
    assert losses["alm"] == pytest.approx(losses["unconstrained"], abs=1e-4)


@pytest.mark.parametrize("experiment", ["psp", "pdp", "acs_psp"])
def test_the_loss_of_the_direct_solver_does_not_rise_with_kappa(experiment: str) -> None:
    found = committed(experiment, "alm").groupby(["dataset", "seed"])
    assert len(found) > 2
    for _, own in found:
        losses = own.sort_values("kappa").objective.to_numpy()
        assert np.all(np.diff(losses) <= 1e-5)


@pytest.mark.parametrize("experiment", ["psp", "pdp", "psp_full", "psp_grid20"])
def test_idca_violates_no_constraint_by_more_than_its_tolerance(experiment: str) -> None:
    found = committed(experiment, "idca")
    eps = np.array([chosen["tolerance"] for chosen in found.selected])
    assert len(found) >= 65 and np.all(found.max_violation <= eps + ROUNDING)


@pytest.mark.parametrize("experiment", ["psp", "pdp", "acs_psp"])
def test_the_direct_solver_is_feasible_and_stationary(experiment: str) -> None:
    found = committed(experiment, "alm")
    assert found.max_violation.max() <= 1e-4
    beyond = found[found.kkt_residual > 5e-3]
    assert [*beyond[KEYS].itertuples(index=False, name=None)] == STEEPER.get(experiment, [])
    assert found.kkt_residual.max() <= 6e-3


STEEPER = {"psp": [("bank", 0.01, 2)]}
"""The run whose certificate is above .005: up to .00556, with complementary slackness in it."""


@pytest.mark.parametrize(("idca", "alm"), [("psp", "psp_paper_grid"), ("pdp", "pdp")])
def test_idca_comes_within_two_percent_of_the_direct_solver(idca: str, alm: str) -> None:
    """On the same grid; where IDCA violates more it may be better."""
    both = committed(idca, "idca").merge(committed(alm, "alm"), on=KEYS, suffixes=("", "_alm"))
    assert len(both) >= 70
    ratio = both.objective / both.objective_alm
    beyond = both[ratio > 1.02]
    assert {*beyond[KEYS].itertuples(index=False, name=None)} == FARTHER.get(idca, set())
    assert ratio.max() <= 1.03
    assert both.kkt_residual.max() < 0.05


FARTHER = {"psp": {("a9a", 0.05, 2), ("a9a", 0.05, 3), ("a9a", 0.01, 3), ("law_school", 0.005, 2)}}
"""Runs of IDCA, of 145, that end more than 2% above the direct solver: by 2.0 to 2.6%."""


def test_full_range_runs_have_converged() -> None:
    """Each ends at a fixed point, and the runs of one setting at the same loss."""
    found = committed("psp_full", "idca")
    assert all(
        chosen["fixed_point_after"] and chosen["fixed_point_after"] <= chosen["rounds"] for chosen in found.selected
    )
    spread = found.groupby(["dataset", "kappa"]).objective.agg(np.ptp)
    assert spread.max() < 0.02


# --- bands on real data --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["table3", "table4"])
def test_every_pair_is_within_its_band_or_listed_as_different(table: str) -> None:
    """0.01 in accuracy; in fairness 0.05 on a9a, 0.10 on law school and bank."""
    found = exhibit(table)
    lines = pd.read_csv(REPORTS / "scorecard.csv")
    lines = lines[(lines.paper == "partial_fairness") & (lines.exhibit == table) & (lines.kind == "number")]
    assert len(found) >= 60 and len(lines) == len(found)
    for line in lines.itertuples():
        bands = BANDS["fairness" if str(line.metric).endswith("fairness") else "accuracy"]
        band = bands.get(line.dataset, bands["default"])
        within = abs(line.reproduced - float(line.published)) <= band + 1e-12
        allowed = {"near", "agrees", "by construction", "repeated"} if within else {"differs", "agrees", "repeated"}
        assert line.verdict in (*allowed, "by construction")
        assert np.isfinite(line.reproduced), "it stands beside the measured value"


def test_errors_of_trained_models_lie_within_the_bound_of_appendix_f() -> None:
    """Each part of Theorem F.1 by itself; IDCA leaves a constraint violated by its tolerance at most."""
    found = exhibit("appendix_f")
    assert len(found) == 14 and (found.n_seeds == 15).all()
    for part in ("surrogate", "sampling", "total"):
        assert (found[part] <= found[f"{part}_bound"]).all(), part
    beyond = found[found.discretisation > found.discretisation_bound]
    assert {*zip(beyond.dataset, beyond.kappa, strict=True)} == {("bank", 0.3), ("bank", 0.22)}
    assert found.discretisation.max() <= 0.034, (
        "the bound of .025 has all constants at 1, which bank's curves need not have"
    )
    assert found.excess.between(0, 5e-3 + ROUNDING).all()


# --- what is said of every committed run ---------------------------------------------------------------------------

EXPERIMENTS = sorted(path.parent.name for path in REPORTS.glob("*/runs.parquet"))
CERTIFICATES = ["kkt_residual", "kkt_residual_absolute", "gradient_mapping", "duality_gap"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_status_of_every_committed_run_follows_from_its_numbers(experiment: str) -> None:
    found = runs(experiment)
    found = found[~found.status.isin(["not_run", "not_applicable", "failed", "infeasible"])]
    exceeds = (found.true_violation > 1e-4) | (found.max_violation > found.accepted.fillna(np.inf))
    assert np.all(exceeds == (found.status == "tolerance missed"))
    assert np.all(found.reason.notna() == (found.status != "ok"))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_no_run_is_certified_by_nothing_or_by_two_kinds_at_once(experiment: str) -> None:
    found = runs(experiment)
    values = found[CERTIFICATES]
    assert values.notna().sum(axis=1).max() <= 1
    # The reduction's game has finitely many answers: where the constraint is loose, one is best for both players.
    measured_zero = (found.algorithm == "regression_reduction") & (found.duality_gap == 0)
    assert not (values[~measured_zero] == 0).any().any(), "a certificate of exactly zero was not measured"


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_statistical_parity_is_never_called_infeasible(experiment: str) -> None:
    """Equal scores satisfy it at every tolerance."""
    found = runs(experiment)
    own = found[(found.constraint == "partial_statistical_parity") & ~found.algorithm.isin(OF_THEIR_OWN)]
    assert not (own.status == "infeasible").any()


OF_THEIR_OWN = ["group_auc", "inter_group", "intra_group"]
"""Algorithms with constraints of their own that a kappa can contradict."""
