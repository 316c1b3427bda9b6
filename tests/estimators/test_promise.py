"""Promises about new rows: bounds against exact distributions, search, statuses, and planted faults in a simulation."""

import math
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from partialfair.audit import violation_bound
from partialfair.data.intervals import FULL, Interval
from partialfair.errors import ConfigError, DataError, NotEstimableError
from partialfair.estimators import (
    DemographicParityRegressor,
    InputError,
    PartialFairClassifier,
    PartialFairPostProcessor,
    Promise,
)
from partialfair.estimators import promise as promises
from partialfair.estimators.folds import folds, out_of_fold
from partialfair.metrics import rank_noise
from partialfair.metrics.held_out_bound import decision_bound, rank_bound, wilson
from partialfair.metrics.rank_noise import RankNoise, decision_violations, largest_passing
from partialfair.metrics.ranks import Counts, count_above
from tests.simulations import promise_kept as simulation

PART = Interval.of([(0.1, 0.4)]).for_groups(2)
WHOLE = (FULL, FULL)


def aligned(sizes: NDArray[np.int64]) -> Counts:
    """Counts of groups whose ranks agree at every threshold, to a row."""
    scores = np.concatenate([-(np.arange(size) + 0.5) / size for size in sizes])
    return count_above(scores, np.repeat(np.arange(sizes.size), sizes), sizes.size)


def populations(sizes: NDArray[np.int64], draws: int, seed: int, scale: str) -> NDArray[np.float64]:
    """Violations of populations in which samples of these sizes have ranks that agree, drawn directly."""
    random, levels, found = np.random.default_rng(seed), np.linspace(0, 1, 4001), []
    for _ in range(draws):
        ranks = [np.interp(levels, (np.arange(size) + 0.5) / size, np.sort(random.random(size))) for size in sizes]
        found.append(simulation.clipped(np.array(ranks), scale))
    return np.array(found)


@pytest.mark.parametrize("scale", ["relative", "absolute"])
def test_the_bound_of_maps_is_the_quantile_of_the_populations_violation(scale: str) -> None:
    sizes = np.array([1600, 2400])
    bound = RankNoise.draw(sizes, PART, scale).bound(aligned(sizes), 0.95)
    beyond = np.mean(populations(sizes, 1500, 1, scale) > bound)
    assert 0.03 < beyond < 0.066  # 5% with a standard error of 0.6%


def test_the_bound_on_the_whole_range_is_that_of_kolmogorov_and_smirnov() -> None:
    sizes = np.array([1000, 1000])
    bound = RankNoise.draw(sizes, WHOLE, "relative").bound(aligned(sizes), 0.95)
    assert bound == pytest.approx(stats.kstwobign.ppf(0.95) * np.sqrt(2 / 1000), rel=0.05)


def test_bounds_shrink_with_the_root_of_rows_and_pairs_share_one_maximum() -> None:
    bounds = [
        RankNoise.draw(size := np.array([k, k]), PART, "relative").bound(aligned(size), 0.95) for k in (500, 2000)
    ]
    assert bounds[0] / bounds[1] == pytest.approx(2.0, rel=0.07)
    five = np.full(5, 2000)
    all_pairs = RankNoise.draw(five, Interval.of([(0.1, 0.4)]).for_groups(5), "relative").bound(aligned(five), 0.95)
    assert bounds[1] < all_pairs < 1.6 * bounds[1]


def test_ranks_that_equal_scores_carry_over_the_interval_are_counted() -> None:
    scores = np.concatenate([np.repeat([1.0, 0.0], [500, 500]), np.linspace(0, 1, 1000)])
    counts = count_above(scores, np.repeat([0, 1], 1000), 2)
    bound = RankNoise.draw(np.array([1000, 1000]), PART, "absolute").bound(counts, 0.95)
    assert bound > 0.4  # all rows of one group are accepted at once


@pytest.mark.parametrize("interval", [None, [(0.8, 1.0)], [(0.3, 0.6)]])
@pytest.mark.parametrize("confidence", [None, 0.95])
def test_equal_scores_have_a_band_wherever_the_interval_lies(interval: Any, confidence: float | None) -> None:
    """No rank lies inside: all other thresholds are read, and the lower end of the tie, below which rows may lie."""
    model = PartialFairPostProcessor(interval=interval, kappa=0.6, confidence=confidence)
    model.fit_scores(np.ones(200), sensitive_features=["a", "b"] * 100)
    assert model.status_ == "ok" and model.train_violation_ == 0
    shares = stats.beta(100, 1).rvs((20_000, 2), random_state=0)  # of the population at least as high, a group each
    low, high = (0.8, 1.0) if interval is None else interval[0]
    gap = np.quantile((1 - np.clip(shares, low, high).min(axis=1) - (1 - high)) / (high - low), 0.95)
    assert model.sampling_band_ == pytest.approx(gap, rel=0.15, abs=0.02)


@pytest.mark.parametrize(("hits", "rows"), [(0, 40), (3, 40), (50, 100), (100, 100)])
def test_ends_of_a_share_are_those_of_scipy(hits: int, rows: int) -> None:
    interval = stats.binomtest(hits, rows).proportion_ci(0.9, method="wilson")
    low, high = wilson(np.array(hits / rows), np.array(float(rows)), 0.05)
    assert (float(low), float(high)) == pytest.approx((max(interval.low, 0), interval.high), abs=1e-12)


def test_the_bound_of_decisions_is_newcombes_and_holds_for_every_pair() -> None:
    hits, rows = np.array([[40, 10, 15]]), np.array([[100, 50, 60]])
    p = hits / rows
    low, high = wilson(p, rows.astype(float), 0.05)
    expected = p[0, 0] - p[0, 1] + np.hypot(high[0, 0] - p[0, 0], p[0, 1] - low[0, 1])
    assert decision_bound(hits[:, :2], rows[:, :2], WHOLE, "relative", 0.95) == pytest.approx(expected)
    assert decision_bound(hits, rows, (FULL,) * 3, "relative", 0.95) == pytest.approx(expected)
    more = decision_bound(np.array([[40, 10, 60]]), rows, (FULL,) * 3, "relative", 0.95)
    assert more > expected


@pytest.mark.parametrize(
    ("rates", "sizes"), [((0.3, 0.3), (400, 200)), ((0.6, 0.5), (100, 300)), ((0.2, 0.3), (80, 80))]
)
def test_promises_of_fixed_decisions_are_broken_in_at_most_five_of_a_hundred(
    rates: tuple[float, float], sizes: tuple[int, int]
) -> None:
    random, rows = np.random.default_rng(0), np.array([sizes])
    hits = random.binomial(sizes, rates, (4000, 1, 2))
    bounds = np.array([decision_bound(each, rows, WHOLE, "relative", 0.95) for each in hits])
    assert np.mean(bounds < abs(rates[0] - rates[1])) < 0.06


@pytest.mark.parametrize("scale", ["relative", "absolute"])
def test_promises_of_fixed_scores_are_broken_in_at_most_five_of_a_hundred(scale: str) -> None:
    random, broken = np.random.default_rng(1), 0
    at = np.linspace(-5, 5, 4001)
    truth = simulation.clipped(np.array([stats.norm.sf(at), stats.norm.sf(at - 0.3)]), scale)
    for _ in range(300):
        scores = np.concatenate([random.standard_normal(300), 0.3 + random.standard_normal(500)])
        counts = count_above(scores, np.repeat([0, 1], [300, 500]), 2)
        broken += rank_bound(counts, PART, scale, 0.95) < truth
    assert broken <= 22  # 5% and two standard errors


def test_decisions_of_chosen_thresholds_need_both_sides() -> None:
    hits, sizes = np.array([[120, 180]]), np.array([[400, 600]])
    draws = decision_violations(hits, sizes, WHOLE, "relative")
    spread = np.sqrt(0.21 * (1 / 400 + 1 / 600))
    assert np.quantile(draws, 0.95) == pytest.approx(stats.norm.ppf(0.975) * spread, rel=0.06)
    assert decision_bound(hits, sizes, WHOLE, "relative", 0.95) == pytest.approx(
        stats.norm.ppf(0.95) * spread, rel=0.06
    )


def test_the_search_keeps_the_largest_tolerance_that_passes() -> None:
    assert largest_passing(lambda kappa: kappa + 0.1, 0.3, 0.1) == pytest.approx(0.2, abs=0.01)
    assert largest_passing(lambda kappa: 0.05, 0.3, 0.05) == 0.3
    assert largest_passing(lambda kappa: kappa + 0.4, 0.3, 0.4) is None
    steep = largest_passing(lambda kappa: 0.1 if kappa < 0.05 else 1.0, 0.3, 0.1)
    assert steep is not None and 0 <= steep < 0.05


def test_every_row_is_scored_once_by_a_fit_that_has_not_seen_it() -> None:
    strata = np.repeat([0, 1, 2], [53, 20, 7])
    held = [part for _, part in folds(strata, np.random.RandomState(0))]
    assert np.array_equal(np.sort(np.concatenate(held)), np.arange(80))
    assert all(abs(np.sum(strata[part] == 0) - 10.6) < 1 for part in held)

    def scores_of(kept: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        assert not set(kept) & set(rows) and kept.size + rows.size == 80
        return rows.astype(float)

    assert np.array_equal(out_of_fold(strata, np.random.RandomState(0), scores_of), np.arange(80.0))


FITS: dict[str, Any] = {
    "ranks": PartialFairClassifier(interval=[(0.1, 0.4)], kappa=0.4),
    "default interval": PartialFairClassifier(kappa=0.5),
    "absolute": PartialFairClassifier(interval=[(0.1, 0.4)], kappa=0.1, kappa_scale="absolute"),
    "thresholds": PartialFairClassifier("partial_demographic_parity", kappa=0.15),
    "opportunity": PartialFairClassifier("partial_equal_opportunity", kappa=0.2),
    "parity": PartialFairClassifier("partial_demographic_parity", kappa=0.2, uses_group=False),
    "odds": PartialFairClassifier("partial_equalized_odds", kappa=0.3),
    "post-processor": PartialFairPostProcessor(interval=[(0.1, 0.4)], kappa=0.6),
    "regressor": DemographicParityRegressor(epsilon=0.15, uses_group=True),
    "blind regressor": DemographicParityRegressor(epsilon=0.2),
}
METHODS = {
    "ranks, out of fold": ("ranks", "default interval", "absolute", "thresholds", "opportunity", "regressor"),
    "ranks, other rows": ("post-processor",),
    "held-out rows": ("parity", "odds", "blind regressor"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*FITS])
def test_every_estimator_promises_and_says_why_it_cannot(make_rows: Any, name: str) -> None:
    rows = make_rows(1600)
    y = rows.X["age"].to_numpy() / 10 if "regressor" in name else rows.y
    own = {"epsilon" if "regressor" in name else "kappa": 1e-3}
    estimator = FITS[name].set_params(confidence=0.95)
    model = estimator.fit(rows.X, y, sensitive_features=rows.group)
    found = model.promise_
    asked = model.epsilon if "regressor" in name else model.kappa
    assert isinstance(found, Promise) and found.kept and found.bound <= asked == found.kappa
    assert name in METHODS[found.method] and model.status_ == "ok" and "in the population" in str(found)
    assert found.kappa_used <= asked and found.least_kappa <= asked and found.rows_needed is None
    again = type(model)(**model.get_params()).fit(rows.X, y, sensitive_features=rows.group)
    assert again.promise_ == found  # the noise has a fixed seed
    model.set_params(**own).fit(rows.X, y, sensitive_features=rows.group)
    found = model.promise_
    assert model.status_.startswith("not promised: ") and not found.kept and found.least_kappa > 1e-3
    assert found.rows_needed is None or found.rows_needed > sum(found.rows)
    assert 0 <= found.confidence_reached < 0.95
    model.set_params(confidence=None).fit(rows.X, y, sensitive_features=rows.group)
    assert model.promise_ is None
    plain = model.set_params(confidence=0.95)
    if "regressor" not in name:
        plain.fit(rows.X, y)  # nothing is constrained without groups
        assert plain.promise_ is None


def test_a_promise_that_these_rows_cannot_make_names_kappa_and_rows_that_would(make_rows: Any) -> None:
    rows = make_rows(2000)
    model = PartialFairClassifier(interval=[(0.1, 0.4)], kappa=0.1, confidence=0.95)
    with pytest.warns(UserWarning, match=r"the constraint is not promised: with 9\d\d and 1,0\d\d rows of the groups"):
        model.fit(rows.X, rows.y, sensitive_features=rows.group)
    found = model.promise_
    more = make_rows(int(1.15 * found.rows_needed), seed=3)
    model.fit(more.X, more.y, sensitive_features=more.group)
    assert model.status_ == "ok" and model.promise_.least_kappa == pytest.approx(0.1, rel=0.1)
    model = PartialFairClassifier(interval=[(0.1, 0.4)], kappa=found.least_kappa * 1.02, confidence=0.95)
    assert model.fit(rows.X, rows.y, sensitive_features=rows.group).status_ == "ok"


def test_tiny_groups_and_equal_scores_are_named() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [30, 2000])
    model = PartialFairPostProcessor(interval=[(0.1, 0.2)], kappa=0.3, confidence=0.95)
    with pytest.warns(UserWarning, match="group 'a' has 30 rows, with which no kappa below 1 can be promised"):
        model.fit_scores(random.normal(size=2030), sensitive_features=group)
    coarse = np.round(random.normal(size=4000)) + np.repeat([0.0, 0.4], 2000)
    with pytest.warns(UserWarning, match="out of reach of more rows, as many scores are equal"):
        PartialFairPostProcessor(interval=[(0, 1)], kappa=0.05, confidence=0.95).fit_scores(
            coarse, sensitive_features=np.repeat([0, 1], 2000)
        )


def test_what_cannot_be_promised_is_refused(make_rows: Any) -> None:
    rows = make_rows(400)
    fits: list[tuple[Any, str]] = [
        (PartialFairClassifier(confidence=1.0), "confidence is 1.0; use a number from 0.5 to below 1"),
        (PartialFairClassifier(confidence="95%"), "confidence is '95%'"),
        (PartialFairClassifier(promise_fraction=1.0), "promise_fraction is 1.0"),
        (PartialFairClassifier(confidence=0.9, solver="idca", interval=[(0, 1)]), "'idca' makes no promise"),
        (PartialFairClassifier("auc_gap_group", confidence=0.9), "'auc_gap_group' has no bound for new rows"),
        (PartialFairPostProcessor(confidence=0.9, map_fraction=0), "map_fraction 0 makes the maps on rows"),
    ]
    for model, message in fits:
        with pytest.raises(InputError, match=message):
            model.fit(rows.X, rows.y, sensitive_features=rows.group)
    y = rows.X["age"].to_numpy()
    for own, message in (({"tolerance": "atom"}, "no bound for new rows"), ({"promise_fraction": 0}, "is 0")):
        with pytest.raises(InputError, match=message):
            DemographicParityRegressor(confidence=0.9, **own).fit(rows.X, y, sensitive_features=rows.group)


@pytest.mark.filterwarnings("ignore")
def test_a_promised_regressor_takes_no_further_rows(make_rows: Any) -> None:
    rows = make_rows(400)
    y = rows.X["age"].to_numpy()
    model = DemographicParityRegressor(epsilon=0.3, uses_group=True, confidence=0.9)
    model.fit(rows.X, y, sensitive_features=rows.group)
    with pytest.raises(InputError, match="fit again on all rows"):
        model.partial_fit(rows.X, sensitive_features=rows.group)


def test_a_file_is_fitted_without_a_promise(make_rows: Any, tmp_path: Any) -> None:
    rows = make_rows(400)
    rows.X.assign(y=rows.y, sex=rows.group).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="confidence is 0.9, and fit_parquet serves None"):
        PartialFairClassifier(confidence=0.9).fit_parquet(
            tmp_path / "rows.parquet", label="y", sensitive_features="sex"
        )


def test_trees_promise_by_maps_and_by_a_test(make_rows: Any) -> None:
    pytest.importorskip("lightgbm")
    from partialfair.estimators import PartialFairBoosting

    rows, small = make_rows(3000), {"n_estimators": 8, "n_jobs": 1, "confidence": 0.95}
    aware = PartialFairBoosting(interval=[(0.1, 0.4)], kappa=0.5, **small)
    aware.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert aware.promise_.method == "ranks, other rows" and aware.status_ == "ok" and sum(aware.promise_.rows) == 901
    blind = PartialFairBoosting("partial_demographic_parity", kappa=0.3, uses_group=False, **small)
    blind.fit(rows.X, rows.y, sensitive_features=rows.group)
    assert blind.promise_.method == "held-out rows" and blind.promise_.kept and blind.kappa == 0.3
    assert blind.predict(rows.X).shape == (3000,)
    for own, name in ((aware, "holdout_fraction"), (blind, "promise_fraction")):
        with pytest.raises(InputError, match=f"{name} 0 leaves no rows"):
            own.set_params(**{name: 0}).fit(rows.X, rows.y, sensitive_features=rows.group)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_test_a_model_are_seen_by_no_fit(make_rows: Any) -> None:
    """Labels of the rows of the test do not change the models: other labels there, the same scores."""
    rows = make_rows(1200)
    model = PartialFairClassifier("partial_demographic_parity", kappa=0.3, uses_group=False, confidence=0.95)
    model.fit(rows.X, rows.y, sensitive_features=rows.group)
    from partialfair.estimators.inputs import stratified_rows

    codes, positive = (rows.group == "M").astype(np.int64), rows.y == "yes"
    kept, held = stratified_rows(2 * codes + positive, 0.5, np.random.RandomState(0))
    assert sum(model.promise_.rows) == held.size
    alone = PartialFairClassifier("partial_demographic_parity", kappa=model.promise_.kappa_used, uses_group=False)
    alone.fit(rows.X.iloc[kept], rows.y[kept], sensitive_features=rows.group[kept])
    assert np.allclose(alone.coef_, model.coef_) and np.allclose(alone.intercept_, model.intercept_)


def test_the_violation_of_any_scores_is_bounded() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [400, 600])
    scores = random.normal(size=1000) + (group == "b")
    y = random.random(1000) < 0.4
    counts = count_above(scores, (group == "b").astype(int), 2)
    found = violation_bound(scores, group, [(0.1, 0.4)])
    assert found.bound == pytest.approx(rank_bound(counts, PART, "relative", 0.95)) and found.bound > found.value
    assert found.rows == (400, 600) and "with confidence 0.95, sp is at most" in str(found)
    for metric in ("rank_gap", "dp", "dp_gap", "eop", "eod"):
        each = violation_bound(scores, group, metric=metric, labels=y)
        assert each.value <= each.bound <= 1
    assert violation_bound(scores, group, confidence=0.5).bound < violation_bound(scores, group).bound
    frame = pd.DataFrame({"g": [*group[:-1], None]})
    for call, error, message in (
        (lambda: violation_bound(scores, group, metric="auc"), ConfigError, "metric is 'auc'"),
        (lambda: violation_bound(scores, group, confidence=2), ConfigError, "confidence is 2"),
        (lambda: violation_bound(scores, group, metric="eop"), ConfigError, "pass labels"),
        (lambda: violation_bound(scores, frame), DataError, "no value in row 999"),
    ):
        with pytest.raises(error, match=message):
            call()


def broken_share(fits: int, settings: Any = simulation.SETTINGS[0]) -> tuple[float, float]:
    """Shares of broken and of refused promises among all fits of a setting: the first is what confidence bounds."""
    lost = refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(fits):
            X, y, group = settings.world.rows(settings.rows, np.random.default_rng([7, seed]))
            model = settings.make(0.95).fit(X, y, sensitive_features=group)
            refused += not model.promise_.kept
            lost += model.promise_.kept and settings.violation(model, settings.world) > model.kappa
    return lost / fits, refused / fits


def test_without_a_promise_most_fits_break_kappa_and_with_one_few_do() -> None:
    lost, refused = broken_share(25)
    assert lost <= 0.16 and refused == 0  # 5% and two standard errors


def test_the_committed_simulation_keeps_its_promises() -> None:
    table = pd.read_csv(simulation.TABLE)
    made, broken = table["promised"].sum(), table["broken"].sum()
    assert broken <= stats.binom.ppf(0.975, made, 0.05) and (table["plain_broken"] > 0.25).mean() > 0.6
    assert simulation.markdown(table) in simulation.PAGE.read_text(encoding="utf-8")


@pytest.mark.long(suite="promises")
def test_promises_are_kept_in_four_hundred_fits() -> None:
    lost, refused = broken_share(400)
    assert 0.01 < lost <= 0.072 and refused == 0  # 5% and two standard errors; the bound is sharp


def one_sided(noise: RankNoise, counts: Counts) -> NDArray[np.float64]:
    """A planted fault: one ordered pair of groups alone."""
    lows, highs = zip(*(noise._statistics_at(k, noise._thinned(counts)[0][k]) for k in (0, 1)), strict=True)
    gap = np.clip(highs[0], *simulation.INTERVAL) - np.clip(lows[1], *simulation.INTERVAL)
    return gap.max(axis=0) / (simulation.INTERVAL[1] - simulation.INTERVAL[0])


@pytest.mark.long(suite="promises")
@pytest.mark.parametrize("fault", ["one pair", "the other quantile", "half of the noise"])
def test_a_planted_fault_of_the_bound_breaks_promises(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    quantile = promises.upper_quantile
    if fault == "one pair":
        monkeypatch.setattr(RankNoise, "violations", one_sided)
    elif fault == "the other quantile":
        monkeypatch.setattr(promises, "upper_quantile", lambda values, confidence: quantile(values, 1 - confidence))
    else:
        draw = RankNoise.draw
        monkeypatch.setattr(
            promises, "RankNoise", type("Half", (), {"draw": staticmethod(lambda sizes, *rest: draw(2 * sizes, *rest))})
        )
    lost, _ = broken_share(150)
    assert lost > 0.072


@pytest.mark.parametrize("fault", ["", "no continuity correction"])
def test_the_grid_of_thresholds_needs_its_correction(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    if fault:
        monkeypatch.setattr(rank_noise, "OVERSHOOT", 0.0)
    monkeypatch.setattr(rank_noise, "THRESHOLDS", 8)
    sizes = np.array([1600, 2400])
    bound = RankNoise.draw(sizes, PART, "relative").bound(aligned(sizes), 0.95)
    beyond = np.mean(populations(sizes, 1500, 2, "relative") > bound)
    assert beyond > 0.075 if fault else beyond < 0.068


@pytest.mark.long(suite="promises")
@pytest.mark.parametrize(
    ("fault", "kappa"), [("", 0.1), ("", 0.13), ("training rows", 0.1), ("a refit after the test", 0.13)]
)
def test_blind_models_are_tested_on_rows_they_have_not_seen(
    monkeypatch: pytest.MonkeyPatch, fault: str, kappa: float
) -> None:
    """In 40 fits each, 1 promise is broken without a fault, 21 and 18 with the two."""
    from partialfair.estimators.promise_training import PromisedTraining

    blind = next(setting for setting in simulation.SETTINGS if setting.name.startswith("blind, halves"))
    setting = replace(blind, make=partial(simulation.parity, kappa, True, 0.5))
    if fault == "training rows":
        every = property(lambda self: (np.arange(self.training.rows.n_rows),) * 2)
        monkeypatch.setattr(PromisedTraining, "_divided", every)
    elif fault:
        held_out = PromisedTraining._held_out

        def refit(self: Any, task: Any, solver: str, *rest: Any) -> Any:
            found = held_out(self, task, solver, *rest)
            again = self.training.train(replace(task, kappa=task.kappa), solver)
            return replace(again, promise=found.promise)

        monkeypatch.setattr(PromisedTraining, "_held_out", refit)
    lost, _ = broken_share(20, setting)
    assert lost > 0.2 if fault else lost <= 0.15


@pytest.mark.parametrize("threshold", [math.nan, math.inf])
def test_no_bound_is_given_on_decisions_by_no_threshold(threshold: float) -> None:
    with pytest.raises(ConfigError, match="by which nothing is decided"):
        violation_bound(np.arange(40.0), ["a", "b"] * 20, metric="dp", threshold=threshold)


def test_no_bound_is_given_on_decisions_that_are_none() -> None:
    scores, groups = np.arange(40) / 40, ["a", "b"] * 20
    with pytest.raises(ConfigError, match="'0.5' is no number"):
        violation_bound(scores, groups, metric="dp", threshold="0.5")  # type: ignore[arg-type]
    with pytest.raises(NotEstimableError, match="every row gets the same decision at the threshold 2"):
        violation_bound(scores, groups, metric="dp", threshold=2.0)
    with pytest.raises(NotEstimableError, match=r"the threshold 0.5 lies outside the interval"):
        violation_bound(scores, groups, [(0.0, 0.2)], metric="dp", threshold=0.5)
    with pytest.raises(NotEstimableError, match=r"group 'z': interval 0.05-0.5 keeps 0 of its 1 rows"):
        violation_bound(np.arange(41) / 40, [*groups, "z"], [(0.05, 0.5)])
