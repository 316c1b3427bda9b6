"""Boosted trees under a constraint: scikit-learn's checks, derivatives, the tolerance, and true statuses."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import estimator_checks_generator

pytest.importorskip("lightgbm")

from partialfair import plugins
from partialfair.audit import audit_scores
from partialfair.estimators import InputError, PartialFairBoosting, PartialFairPostProcessor, UnconstrainedWarning
from partialfair.estimators.blind_correction import corrected_columns
from partialfair.estimators.boosting import _Lagrangian, _Rows

SMALL: dict[str, Any] = {"n_estimators": 30, "num_leaves": 7, "n_jobs": 1, "random_state": 0}
TOP = [(0.0, 0.5)]
# Rows that weigh nothing still fill bins and leaves of LightGBM's histograms; whole weights are no copies there either.
DIFFERS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
CHECKS = [
    pytest.param(own, check, id=check.func.__name__)
    for own, check in estimator_checks_generator(PartialFairBoosting(n_estimators=20, n_jobs=1))
    if check.func.__name__ not in ("check_array_api_input", *DIFFERS)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_derivatives_are_those_of_loss_and_constraints() -> None:
    random = np.random.default_rng(0)
    codes, y = random.integers(0, 2, 60), np.where(random.random(60) < 0.5, 1.0, -1.0)
    program = plugins.load("constraints", "partial_demographic_parity").build(
        codes.astype(np.int16), y, interval=((0.0, 1.0),), kappa=0.01
    )
    rows = _Rows(None, y, codes, np.ones(60))
    objective = _Lagrangian(rows, rows, 0.2, (program, program))
    objective.active = random.random(program.n_constraints)
    raw = random.normal(size=60) * 0.1

    def value(raw: Any) -> float:
        scores = raw + 0.2
        loss = np.logaddexp(0, -y * scores).sum()
        return float(loss + 60 * objective.active @ program.values(scores, np.zeros(0)))

    gradient, curvature = objective.derivatives(raw, None)
    steps = 1e-6 * np.eye(60)
    np.testing.assert_allclose(gradient, [(value(raw + h) - value(raw - h)) / 2e-6 for h in steps], atol=1e-6)
    assert (curvature > 0).all()


def test_of_the_rounds_within_the_tolerance_that_of_least_loss_is_chosen() -> None:
    rows = _Rows(None, np.ones(2), np.arange(2), np.ones(2))
    objective = _Lagrangian(rows, rows, 0.0, history=[(0.6, 0.0), (0.3, 0.04), (0.5, 0.01), (0.4, 0.05), (0.2, 0.3)])
    assert [objective.best(kappa) for kappa in (0.05, 0.02, 1.0)] == [2, 3, 5]


def test_maps_meet_kappa_where_they_were_made(make_rows: Any) -> None:
    rows, new = make_rows(4000, seed=0), make_rows(4000, seed=1)
    model = PartialFairBoosting(interval=TOP, kappa=0.05, kappa_scale="absolute", **SMALL)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert model.status_ == "ok" and 0 < model.train_violation_ <= 0.05
    scores = model.decision_function(new.X, sensitive_features=new.group)
    audit = audit_scores(scores, new.group, new.y == "yes", interval=TOP)
    assert audit.metric("rank_gap") <= 0.05 + model.sampling_band_ and audit.metric("auc") > 0.6
    with pytest.raises(InputError, match="sensitive_features is missing"):
        model.predict(new.X)


def test_without_the_group_the_gap_of_held_out_rows_tells_that_of_new_ones(make_rows: Any) -> None:
    rows, new = make_rows(4000, seed=0), make_rows(4000, seed=1)
    gaps = {}
    for kappa in (np.inf, 0.1):
        model = PartialFairBoosting(interval=TOP, kappa=kappa, kappa_scale="absolute", uses_group=False, **SMALL)
        model.fit(rows.X, rows.y, sensitive_features=rows.group)
        scores = model.decision_function(new.X)
        gaps[kappa] = audit_scores(scores, new.group, new.y == "yes", interval=TOP).metric("rank_gap")
    assert model.status_ == "ok" and 0 < model.train_violation_ <= 0.1 and model.map_ is None
    assert gaps[np.inf] > 0.3 and gaps[0.1] <= 0.1 + model.sampling_band_ < 0.25
    assert audit_scores(scores, new.group, new.y == "yes").metric("auc") > 0.55


def test_ranks_without_the_group_are_those_of_the_post_processor(make_rows: Any) -> None:
    from lightgbm import LGBMClassifier

    rows, new = make_rows(3000, seed=0), make_rows(500, seed=1)
    asked: dict[str, Any] = {"interval": TOP, "kappa": 0.2, "uses_group": False, "random_state": 0}
    trees = {name: value for name, value in SMALL.items() if name != "random_state"}
    ours = PartialFairBoosting(**asked, **trees, holdout_fraction=0.4)
    ours.fit(rows.X, rows.y, sensitive_features=rows.group)
    classifier = LGBMClassifier(
        **trees, deterministic=True, force_row_wise=True, verbosity=-1, feature_pre_filter=False
    )
    theirs = PartialFairPostProcessor(classifier, map_fraction=0.4, **asked)
    theirs.fit(rows.X, rows.y, sensitive_features=rows.group)
    expected = theirs.decision_function(new.X)
    assert np.corrcoef(ours.decision_function(new.X), expected)[0, 1] > 0.99
    assert ours.train_violation_ == pytest.approx(theirs.train_violation_, abs=0.02)
    assert ours.correction_.coef_.shape == theirs.correction_.coef_.shape and ours.status_ == theirs.status_


def test_columns_of_the_correction_are_score_chances_and_products() -> None:
    columns = corrected_columns(np.array([2.0, -1.0]), [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    np.testing.assert_allclose(columns, [[2.0, 0.3, 0.2, 0.6, 0.4], [-1.0, 0.2, 0.7, -0.2, -0.7]])


def test_params_of_the_trees_hold_for_those_that_learn_the_group(make_rows: Any) -> None:
    """Settings of the labels do not, and one of another name for threads is no second value."""
    rows = make_rows(800)
    given = {"n_jobs": 1, "lambda_l2": 1.0, "objective": "regression", "scale_pos_weight": 2.0}
    model = PartialFairBoosting(interval=TOP, kappa=0.5, uses_group=False, n_estimators=5, params=given)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    learnt = model.group_estimator_.get_params()
    assert learnt["lambda_l2"] == 1.0 and learnt["n_jobs"] == 1 and learnt["objective"] is None


@pytest.mark.parametrize("uses_group", [True, False])
def test_a_score_that_takes_the_whole_interval_is_no_parity(uses_group: bool) -> None:
    """One tree, whose first leaf holds the whole interval, was once taken for a fair model."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1200, 3))
    above = X[:, 0] > 0
    group, y = (np.where(random.random(1200) < low + add * above, "a", "b") for low, add in ((0.5, 0.2), (0.3, 0.4)))
    model = PartialFairBoosting(interval=[(0.05, 0.3)], kappa=0.05, uses_group=uses_group, n_estimators=1, num_leaves=2)
    with pytest.warns(UnconstrainedWarning, match="% of the interval's rows share one score"):
        model.fit(X, y, sensitive_features=group)
    assert model.status_.startswith("nothing constrained") and model.train_violation_ <= 0.05


@pytest.mark.parametrize("constraint", ["partial_demographic_parity", "partial_equal_opportunity"])
def test_rates_of_decisions_draw_near_each_other(make_rows: Any, constraint: str) -> None:
    rows, new = make_rows(4000, seed=0), make_rows(4000, seed=1)
    model = PartialFairBoosting(constraint, interval=[(0, 1)], kappa=0.08, kappa_scale="absolute", **SMALL)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert model.status_ == "ok" and 0 <= model.train_violation_ <= 0.08
    positive = model.predict(new.X, sensitive_features=new.group) == "yes"
    counted = new.y == "yes" if constraint.endswith("opportunity") else np.ones(4000, bool)
    rates = [positive[counted & (new.group == k)].mean() for k in ("F", "M")]
    assert abs(rates[0] - rates[1]) < 0.15 and 0.02 < positive.mean() < 0.98


def test_no_groups_no_constraint(make_rows: Any) -> None:
    rows = make_rows(400)
    with pytest.warns(UnconstrainedWarning, match="constraint=None"):
        model = PartialFairBoosting(**SMALL).fit(rows.X, rows.y)
    plain = PartialFairBoosting(constraint=None, **SMALL).fit(rows.X, rows.y)
    assert np.array_equal(model.decision_function(rows.X), plain.decision_function(rows.X))
    assert model.train_violation_ is None and list(model.classes_) == ["no", "yes"]


def test_what_cannot_be_used_is_refused(make_rows: Any) -> None:
    rows = make_rows(200)
    with pytest.raises(InputError, match="compares other than shares"):
        PartialFairBoosting("auc_gap_group", **SMALL).fit(rows.X, rows.y, sensitive_features=rows.group)
    with pytest.raises(InputError, match="LightGBM refuses"):
        PartialFairBoosting(params={"num_leaves": 1}, **SMALL).fit(rows.X, rows.y, sensitive_features=rows.group)
    for share in (1, 2, -0.1):
        with pytest.raises(InputError, match="holdout_fraction is .*; use a number from 0 to below 1"):
            model = PartialFairBoosting(interval=TOP, **SMALL | {"holdout_fraction": share})
            model.fit(rows.X, rows.y, sensitive_features=rows.group)
    with pytest.raises(InputError, match="kappa is 0"):
        PartialFairBoosting(interval=TOP, kappa=0, **SMALL).fit(rows.X, rows.y, sensitive_features=rows.group)
    for changed, words in (
        ({"kappa_scale": "foo"}, "kappa_scale is 'foo'; choose from relative, absolute"),
        ({"interval": "abc"}, "interval: .* is not a pair of numbers"),
        ({"interval": [[(0, 1)]] * 3}, "intervals for 3 groups, the data have 2"),
        ({"grid": "3"}, "grid is '3'; use a whole number"),
        ({"n_estimators": 2.5}, "n_estimators is 2.5; use a whole number"),
        ({"learning_rate": "a"}, "learning_rate is 'a'; use a positive number"),
        ({"dual_step": -1}, "dual_step is -1; use 0 or a positive number"),
        ({"params": [1]}, r"params is \[1\]; use a mapping"),
    ):
        with pytest.raises(InputError, match=words):
            PartialFairBoosting(**SMALL | changed).fit(rows.X, rows.y, sensitive_features=rows.group)
    lists = np.empty(200, object)
    lists[:] = [[group] for group in rows.group]
    with pytest.raises(InputError, match="has a collection of values in row 0"):
        PartialFairBoosting(**SMALL).fit(rows.X, rows.y, sensitive_features=lists)


@pytest.mark.parametrize("name", ["num_iterations", "num_trees", "n_estimators"])
def test_the_number_of_trees_is_given_in_one_place(make_rows: Any, name: str) -> None:
    rows = make_rows(200)
    with pytest.raises(InputError, match=f"params has '{name}'; the number of trees is n_estimators"):
        PartialFairBoosting(params={name: 3}).fit(rows.X, rows.y, sensitive_features=rows.group)


def test_the_sampling_band_is_what_the_bound_on_new_rows_adds(make_rows: Any) -> None:
    rows = make_rows(600, seed=0)
    for uses_group in (True, False):
        model = PartialFairBoosting(interval=[(0.0, 0.6)], kappa=0.5, uses_group=uses_group, **SMALL)
        model.fit(rows.X, rows.y, sensitive_features=rows.group)
        assert 0.05 < model.sampling_band_ <= 1 - model.train_violation_ and model.promise_ is None


def test_held_out_loss_and_derivatives_count_the_weights_of_rows() -> None:
    random = np.random.default_rng(0)
    weight = np.where(np.arange(80) % 2 == 0, 1.9, 0.1)
    rows = _Rows(None, np.where(random.random(80) < 0.4, 1.0, -1.0), np.arange(80) % 2, weight)
    model = PartialFairBoosting("partial_demographic_parity", interval=[(0, 1)], kappa=0.1)
    model.interval_, model.groups_ = [(0, 1)], np.array(["a", "b"])
    programs = model._program(rows), model._program(rows)
    objective = _Lagrangian(rows, rows, 0.3, programs, 1.0, 1.0, lambda *own: 0.5)
    raw = random.normal(size=80)
    objective.watch(raw, None)
    expected = log_loss(rows.y, expit(raw + 0.3), sample_weight=weight)
    assert objective.history == [(pytest.approx(expected), 0.5)]
    assert abs(expected - log_loss(rows.y, expit(raw + 0.3))) > 0.01
