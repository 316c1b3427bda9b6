"""Which rows the parts of an estimator see, and on which scale they are cut."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from partialfair.audit import audit_scores
from partialfair.estimators import PartialFairPostProcessor
from partialfair.estimators.inputs import random_of, stratified_rows
from partialfair.estimators.online_auc import OnlineAUC

BOTTOM = [(0.5, 1.0)]


class Counted(LogisticRegression):
    """Says how many rows it was fitted on."""

    def fit(self, X: Any, y: Any) -> Any:
        self.rows_ = len(y)
        return super().fit(X, y)


@pytest.mark.parametrize("uses_group", [True, False])
def test_no_row_serves_both_the_classifiers_and_what_makes_them_fair(make_rows: Any, uses_group: bool) -> None:
    rows = make_rows(1500)
    model = PartialFairPostProcessor(Counted(max_iter=1000), BOTTOM, 0.06, "absolute", uses_group=uses_group)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    kept, held = stratified_rows(2 * (rows.group == "M") + (rows.y == "yes"), 0.3, random_of(None))
    assert model.estimator_.rows_ == kept.size
    assert uses_group or model.group_estimator_.rows_ == kept.size
    known = {"sensitive_features": rows.group} if uses_group else {}
    scores = model.decision_function(rows.X, **known)[held]
    measured = audit_scores(scores, rows.group[held], interval=BOTTOM).metric("rank_gap")
    assert measured == pytest.approx(model.train_violation_, abs=1e-12)


@pytest.mark.parametrize("fraction", [0.1, 0.9])
def test_a_stratum_of_two_rows_gives_one_to_either_part(fraction: float) -> None:
    strata = np.array([0, 1, 0, 1, 2])
    kept, held = stratified_rows(strata, fraction, random_of(None))
    assert sorted(strata[held]) == [0, 1] and sorted(strata[kept]) == [0, 1, 2]


def test_weights_are_projected_on_the_ball():
    X, y = np.array([[4.0, 0.0], [-4.0, 0.0]] * 50), np.tile([1.0, -1.0], 50)
    model = OnlineAUC(c=5.0, radius=0.5, call=1000).partial_fit(X, y, np.arange(100) % 4 < 2)
    assert np.linalg.norm(model._current) == pytest.approx(0.5, abs=1e-9)


def test_idca_is_tuned_on_rows_that_it_is_not_trained_on(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from partialfair import plugins
    from partialfair.estimators import PartialFairClassifier

    seen: list[Any] = []
    algorithm = type(plugins.load("algorithms", "idca").ALGORITHM)
    fit = algorithm.fit
    monkeypatch.setattr(algorithm, "fit", lambda self, task, own: seen.append(task) or fit(self, task, own))
    quick = {"inner_steps": [100], "tolerances": [2e-3], "tuning_rounds": 20, "rounds": [30]}
    model = PartialFairClassifier(solver="idca", solver_options=quick, kappa=0.2)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    parts = [set(map(tuple, np.asarray(part.X)[:, :2])) for part in (seen[0].train, seen[0].validation)]
    assert not parts[0] & parts[1] and len(parts[0] | parts[1]) == len(rows.y)


def test_steps_of_a_pipeline_see_no_validation_rows(rows: Any) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from partialfair.estimators import PartialFairClassifier, frontier

    whole = make_pipeline(StandardScaler(), PartialFairClassifier())
    path = frontier(whole, rows.X, rows.y, sensitive_features=rows.group, kappas=[np.inf], validation_fraction=0.4)
    assert path.estimators[0][0].n_samples_seen_ == pytest.approx(0.6 * len(rows.y), abs=3)


def test_rates_in_intervals_of_different_lengths_are_cut_on_one_scale() -> None:
    from partialfair.algorithms.contract import Task
    from partialfair.data.dataset import Dataset
    from partialfair.estimators.group_cuts import best_cuts
    from partialfair.models.features import Standardiser
    from partialfair.models.linear import LinearScore

    rng = np.random.default_rng(0)
    group = (np.arange(400) % 2).astype(np.int16)
    X = (rng.normal(size=(400, 1)) + 0.5 * group[:, None]).astype(np.float32)
    y = np.where(X[:, 0] + rng.normal(size=400) > 0.3, 1.0, -1.0)
    data = Dataset(X, y, group, ("a",), ("F", "M"), "small")
    task = Task(data, data, "partial_demographic_parity", [[[0.0, 0.5]], [[0.0, 1.0]]], 0.02)
    plain = Standardiser(np.zeros(0, np.int64), np.zeros(0), np.ones(0))
    model = LinearScore(np.array([[0.0, 1.0]] * 2), plain, np.zeros(0), ("F", "M"), ("a",))
    cuts, scores = best_cuts(task, data, model), model.scores(data.X, data.group)
    rates = [np.mean(scores[group == k] > cuts[k]) for k in (0, 1)]
    assert abs(min(rates[0], 0.5) / 0.5 - rates[1]) <= 0.02 + 1e-9
