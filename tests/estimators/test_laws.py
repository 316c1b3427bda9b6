"""Laws that every estimator keeps: weights, order, alignment, tolerance, units and rows that must not be seen."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from partialfair.estimators import (
    DemographicParityRegressor,
    InputError,
    PartialFairClassifier,
    PartialFairPostProcessor,
)
from partialfair.estimators.coded_rows import read_rows
from partialfair.estimators.group_cuts import GroupCuts
from partialfair.estimators.idle_constraints import tied_share
from partialfair.estimators.training import Training
from partialfair.models.row_lots import row_lots

pytestmark = pytest.mark.filterwarnings("ignore")
PSP, DP = "partial_statistical_parity", "partial_demographic_parity"
TOP = [(0.1, 0.5)]


def table(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features (n, 4), labels, three groups that differ, and whole weights from 0 to 3."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n)
    X = np.column_stack([random.normal(size=(n, 3)) + 0.6 * group[:, None], random.integers(0, 2, n)])
    y = (X[:, 0] - X[:, 1] + 0.8 * group + random.logistic(size=n) > 0.5).astype(int)
    return X, y, np.array(["a", "b", "c"])[group], random.integers(0, 4, n)


def smooth(y: np.ndarray, X: np.ndarray) -> np.ndarray:
    return y + 0.3 * X[:, 0]


FITS: dict[str, Callable[..., Any]] = {
    "ranks": lambda **known: PartialFairClassifier(interval=TOP, kappa=0.2, **known),
    "penalty": lambda **known: PartialFairClassifier(interval=TOP, kappa=0.3, uses_group=False, **known),
    "thresholds": lambda **known: PartialFairClassifier(DP, kappa=0.1, **known),
    "parity": lambda **known: PartialFairClassifier(DP, kappa=0.1, uses_group=False, **known),
    "post-processor": lambda **known: PartialFairPostProcessor(interval=TOP, kappa=0.1, map_fraction=0, **known),
    "blind post-processor": lambda **known: PartialFairPostProcessor(
        interval=TOP, kappa=0.3, map_fraction=0, uses_group=False, **known
    ),
    "maps": lambda **known: DemographicParityRegressor(epsilon=0.1, uses_group=True, **known),
    "grid": lambda **known: DemographicParityRegressor(epsilon=0.15, **known),
}
AWARE = {"ranks", "thresholds", "post-processor", "maps"}


def predicted(model: Any, name: str, X: Any, group: Any) -> np.ndarray:
    known = {"sensitive_features": group} if name in AWARE else {}
    found = model.predict if name in ("maps", "grid") else model.decision_function
    return np.asarray(found(X, **known))


@pytest.mark.parametrize("name", FITS)
def test_permuted_rows_change_nothing(name: str) -> None:
    X, y, group, _ = table()
    y = smooth(y, X) if name in ("maps", "grid") else y
    order = np.random.default_rng(9).permutation(len(y))
    first = FITS[name]().fit(X, y, sensitive_features=group)
    again = FITS[name]().fit(X[order], y[order], sensitive_features=group[order])
    a, b = predicted(first, name, X, group), predicted(again, name, X, group)
    tolerance = 0.06 * np.ptp(a) if name in ("grid", "penalty", "blind post-processor") else 1e-3 * np.ptp(a)
    assert np.median(np.abs(a - b)) <= tolerance
    assert np.array_equal(predicted(first, name, X[order], group[order]), a[order])


@pytest.mark.parametrize("name", ["maps", "post-processor"])
def test_a_weight_is_repeated_rows(name: str) -> None:
    X, y, group, weight = table(seed=1)
    y = smooth(y, X) if name == "maps" else y
    many = np.repeat(np.arange(len(y)), weight)
    weighted = FITS[name]().fit(X, y, sensitive_features=group, sample_weight=weight)
    repeated = FITS[name]().fit(X[many], y[many], sensitive_features=group[many])
    a, b = predicted(weighted, name, X, group), predicted(repeated, name, X, group)
    assert np.quantile(np.abs(a - b), 0.95) <= 0.01 * np.ptp(a)
    violation = "ks_" if name == "maps" else "train_violation_"
    assert getattr(weighted, violation) == pytest.approx(getattr(repeated, violation), abs=5e-3)
    plain = FITS[name]().fit(X, y, sensitive_features=group)
    assert np.quantile(np.abs(predicted(plain, name, X, group) - b), 0.95) > 0.02 * np.ptp(b)
    tenth = FITS[name]().fit(X, y, sensitive_features=group, sample_weight=0.37 * weight)
    assert np.median(np.abs(predicted(tenth, name, X, group) - b)) <= 0.02 * np.ptp(b)


def test_a_weight_is_repeated_rows_of_maps_whatever_the_scores_and_in_the_default_interval() -> None:
    X, _, group, weight = table(seed=2)
    scores = X[:, 0].round(1)
    many = np.repeat(np.arange(len(scores)), weight)
    weighted = PartialFairPostProcessor(kappa=0.1).fit_scores(scores, sensitive_features=group, sample_weight=weight)
    repeated = PartialFairPostProcessor(kappa=0.1).fit_scores(scores[many], sensitive_features=group[many])
    assert weighted.interval_ == repeated.interval_
    assert weighted.train_violation_ == pytest.approx(repeated.train_violation_, abs=1e-12)
    mapped = [model.map_scores(scores, sensitive_features=group) for model in (weighted, repeated)]
    np.testing.assert_allclose(*mapped, atol=1e-12)
    assert weighted.sampling_band_ > repeated.sampling_band_  # repeated rows are no further persons


@pytest.mark.parametrize("name", ["parity", "thresholds", "ranks", "penalty", "grid", "blind post-processor"])
def test_weights_count_in_the_loss(name: str) -> None:
    """Rows of label 1 that weigh nothing, but for a few, leave few decisions for 1."""
    X, y, group, _ = table(seed=3)
    weight = np.where((y == 1) & (np.arange(len(y)) % 10 > 0), 0.02, 1.0)
    target = smooth(y, X) if name == "grid" else y
    weighted = FITS[name]().fit(X, target, sensitive_features=group, sample_weight=weight)
    plain = FITS[name]().fit(X, target, sensitive_features=group)
    cut = 0.5 if name == "grid" else 0.0
    shares = [np.mean(predicted(model, name, X, group) > cut) for model in (weighted, plain)]
    assert shares[0] < 0.6 * shares[1]


@pytest.mark.parametrize("name", ["ranks", "penalty", "thresholds", "parity"])
def test_a_looser_kappa_costs_no_training_loss(name: str) -> None:
    X, y, group, _ = table(900, seed=4)
    losses = []
    for kappa in (0.9, 0.6, 0.301, 0.299, 0.2, 0.1):
        model = FITS[name]().set_params(kappa=kappa).fit(X, y, sensitive_features=group)
        if not model.status_.startswith("tolerance missed"):
            scores = predicted(model, name, X, group)
            decided = name in ("thresholds", "parity")
            sign = 2 * y - 1
            losses.append(np.mean((scores > 0) != (y == 1)) if decided else np.mean(np.logaddexp(0, -sign * scores)))
    assert len(losses) > 2
    slack = {"penalty": 0.01, "parity": 0.02}.get(name, 0.005)
    assert all(loose <= tight + slack for i, loose in enumerate(losses) for tight in losses[i + 1 :])


def test_every_group_label_follows_its_row_in_lots_and_hashes() -> None:
    """One-hot rows with equally many ones once could draw one lot."""
    lots = row_lots(np.eye(50))
    assert np.unique(lots).size == 50
    X = np.random.default_rng(0).random((200, 5)) * (np.random.default_rng(1).random((200, 5)) < 0.5)
    order = np.random.default_rng(2).permutation(200)
    assert np.array_equal(row_lots(X)[order], row_lots(X[order]))
    assert abs(np.corrcoef(lots[:-1], lots[1:])[0, 1]) < 0.4 and 0.35 < lots.mean() < 0.65


def test_held_out_losses_come_from_fits_that_did_not_see_the_rows() -> None:
    """Labels that are noise: a fit that saw the held-out rows would do better there than chance."""
    random = np.random.default_rng(5)
    X, y = random.normal(size=(240, 60)), random.integers(0, 2, 240)
    group = np.repeat(["a", "b"], 120)
    model = PartialFairClassifier(DP, kappa=0.1, C=1e4, random_state=0)
    rows = model._training_rows(X, y, group)
    training, _ = model._prepared(rows, model._weights(rows, None), True)
    assert isinstance(training, Training)
    losses = GroupCuts(training).held_out
    assert min(float(own.mean()) for own in losses.values()) > np.log(2)


def test_fit_equals_fit_parquet(tmp_path: Any) -> None:
    X, y, group, _ = table(800, seed=6)
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(label=y, group=group)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=130)
    options: dict[str, Any] = {"interval": TOP, "kappa": 0.15}
    memory = PartialFairClassifier(**options).fit(X, y, sensitive_features=group)
    file = PartialFairClassifier(**options)
    file.fit_parquet(tmp_path / "rows.parquet", label="label", sensitive_features="group")
    scores = file.decision_function_parquet(tmp_path / "rows.parquet", sensitive_features="group")
    np.testing.assert_allclose(scores, memory.decision_function(X, sensitive_features=group), atol=2e-2)
    assert file.train_violation_ == pytest.approx(memory.train_violation_, abs=0.02)
    rows = read_rows(tmp_path / "rows.parquet", "label", "group", ())
    assert np.array_equal(np.asarray(rows.group_names)[rows.group], np.sort(group))


def test_maps_fitted_on_chunks_are_those_of_all_rows() -> None:
    X, y, group, _ = table(3000, seed=7)
    target = smooth(y, X)
    regressor = LinearRegression().fit(X, target)
    shared: dict[str, Any] = {"epsilon": 0.1, "uses_group": True, "prefit": True, "regressor": regressor}
    whole = DemographicParityRegressor(**shared).fit(X, target, sensitive_features=group)
    parts = DemographicParityRegressor(**shared).fit(X[:1000], target[:1000], sensitive_features=group[:1000])
    for low in (1000, 2000):
        own = slice(low, low + 1000)
        parts.partial_fit(X[own], sensitive_features=group[own])
    a, b = (model.predict(X, sensitive_features=group) for model in (whole, parts))
    assert np.abs(a - b).max() < 0.02 * np.ptp(a)


def test_the_sample_of_a_stream_favours_no_part_of_it() -> None:
    """Kept rows of 3 calls of 8,000: a third of each, by the rows' predictions."""
    random = np.random.default_rng(0)
    X = random.normal(size=(24_000, 2))
    X[:, 1] = np.repeat([0, 1, 2], 8000)
    group = np.where(random.random(24_000) < 0.5, "a", "b")
    y = X[:, 0] + (group == "a") + 10 * X[:, 1]
    model = DemographicParityRegressor(LinearRegression(), epsilon=0.4)
    model.fit(X[:8000], y[:8000], sensitive_features=group[:8000])
    model.regressor_ = LinearRegression().fit(X, 10 * X[:, 1])
    model._grid.representatives = None
    for call in range(3):
        model._grid.add(10 * X[8000 * call : 8000 * (call + 1), 1], np.full((8000, 2), 0.5))
    counts = np.bincount((model._grid.representatives[1] / 10).round().astype(int), minlength=3)
    assert counts.sum() == 10_000 and np.abs(counts / 10_000 - 1 / 3).max() < 0.02


@pytest.mark.parametrize("name", ["ranks", "thresholds", "parity"])
def test_units_of_kappa_relative_is_absolute_times_the_length(name: str) -> None:
    X, y, group, _ = table(seed=8)
    interval = TOP if name == "ranks" else [(0.0, 1.0)]
    length = interval[0][1] - interval[0][0]
    kappa = 0.2 if name == "ranks" else 0.04
    model = FITS[name]().set_params(interval=interval, kappa=kappa)
    model.fit(X, y, sensitive_features=group)
    scores = predicted(model, name, X, group)
    shares = np.array([[np.mean(scores[group == k] > t) for t in np.unique(scores)] for k in "abc"])
    if name == "ranks":
        apart = np.ptp(np.clip(shares, *interval[0]), axis=0).max() / length
        assert model.train_violation_ == pytest.approx(apart, abs=0.02)
    else:
        decided = [np.mean(scores[group == k] > 0) for k in "abc"]
        assert model.train_violation_ == pytest.approx(np.ptp(decided), abs=1e-12)
    assert 0.4 * kappa <= model.train_violation_ <= kappa + 1e-9


@pytest.mark.parametrize("weight", [np.array([1.0, 2.0]), np.full(400, -1.0), np.full(400, np.nan), np.zeros(400)])
@pytest.mark.parametrize("name", ["maps", "post-processor"])
def test_weights_that_are_none_are_refused_by_name(name: str, weight: np.ndarray) -> None:
    X, y, group, _ = table()
    with pytest.raises(InputError, match="weight"):
        FITS[name]().fit(X, y, sensitive_features=group, sample_weight=weight)


def test_a_model_that_takes_no_weights_is_named() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    X, y, group, weight = table()
    with pytest.raises(InputError, match="KNeighborsClassifier takes none"):
        PartialFairPostProcessor(KNeighborsClassifier()).fit(X, y, sensitive_features=group, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prefit = PartialFairPostProcessor(KNeighborsClassifier().fit(X, y), prefit=True, interval=TOP)
        prefit.fit(X, y, sensitive_features=group, sample_weight=weight)
    assert prefit.map_ is not None
    assert LogisticRegression().fit(X, y) is not None


def test_the_penalty_of_weighted_rows_is_that_of_as_many_rows() -> None:
    """C is per row of weight 1: weights of 3 halve nothing and double nothing beside three copies of each row."""
    X, y, group, _ = table(200, seed=11)
    many = np.repeat(np.arange(200), 3)
    weighted = PartialFairClassifier(constraint=None, C=0.01)
    weighted.fit(X, y, sensitive_features=group, sample_weight=np.full(200, 3.0))
    repeated = PartialFairClassifier(constraint=None, C=0.01).fit(X[many], y[many], sensitive_features=group[many])
    plain = PartialFairClassifier(constraint=None, C=0.01).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    assert np.abs(weighted.coef_ - plain.coef_).max() > 0.05


def test_ties_count_where_they_lie_in_the_interval() -> None:
    scores = np.concatenate([np.full(60, 5.0), np.linspace(1, 0, 40)])
    assert tied_share(scores, [(0.5, 0.7)], 2) == pytest.approx(0.5)
    assert tied_share(scores, [(0.0, 0.3)], 2) == pytest.approx(1.0)
    assert tied_share(scores, [(0.6, 1.0)], 2) == pytest.approx(1 / 40)
    assert tied_share(scores, [[(0.0, 0.3)], [(0.6, 1.0)]], 2) == pytest.approx(1.0)
