"""Parts of the stochastic benchmark's exhibits that decide: bands, spreads, rounding."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import f

from partialfair.metrics.uncertainty import t_interval
from reproduction.exhibits import loss_curves
from reproduction.exhibits.kinds import bars, mean_std_table
from reproduction.verdicts import numbers, run_scores
from reproduction.verdicts.evidence import ReproducedNumber
from reproduction.verdicts.line import counts
from reproduction.verdicts.published import Published, load
from reproduction.verdicts.results import Setting
from tests.workflow.project import ROOT

SETTING = Setting("stoch", "acs_income_ok", "stochastic_switching", 0.005)


def test_every_published_number_is_stored_with_its_spread():
    rows = load("stochastic_benchmark", ROOT)
    table3 = [row for row in rows if row.exhibit == "stochastic_table3"]
    assert len(table3) == 120 and len(rows) == 242
    assert {row.options["statistic"] for row in table3} == {"mean", "std"}
    known = {(r.algorithm, r.metric, r.options["split"], r.options["statistic"]): r.value for r in table3}
    assert known["sgd", "inaccuracy", "train", "mean"] == 0.200677
    assert known["ssl_alm", "wasserstein_histogram", "test", "std"] == 0.000941


@pytest.mark.parametrize(("ours", "theirs"), [(10, 10), (5, 10), (30, None)])
def test_the_band_of_a_spread_is_the_range_of_a_ratio_of_so_many_runs(ours, theirs):
    config = SimpleNamespace(seeds=lambda _: list(range(ours)))
    context = SimpleNamespace(config=config, experiments=["stoch"], options=SimpleNamespace(bands={}))
    row = Published("p", "e", "acs", "ssw", "", "", "split=test;statistic=std", "auc", 2.0, seeds=theirs)
    low, high = mean_std_table.band(context, row, None)
    assert high / 2 == pytest.approx(f.ppf(0.995, ours - 1, (theirs or ours) - 1) ** 0.5)
    assert low / 2 == pytest.approx(f.ppf(0.005, ours - 1, (theirs or ours) - 1) ** 0.5)


@pytest.mark.parametrize(
    ("released", "kind", "counted"), [(False, "number", True), (True, "number", False), (False, "question", False)]
)
def test_numbers_of_the_code_that_the_paper_does_not_print_are_questions(released, kind, counted):
    evidence = SimpleNamespace(
        option=lambda name, default=None: {"released": released}.get(name, default),
        tolerance=lambda *_: None, tolerance_later=lambda *_: "", results=SimpleNamespace(level=0.95),
    )  # fmt: skip
    row = Published("p", "e", "acs", "ssw", "", "", "", "auc", 0.5)
    found = numbers.line(
        row, ReproducedNumber(t_interval([0.49, 0.5, 0.51]), nulls={"other": 0.9}, kind=kind), evidence
    )
    assert (found.verdict, found.power) == ("agrees", "yes")
    assert (found.kind, counts(found.row())) == ("number" if counted else "question", counted)


def test_interval_of_a_standard_deviation():
    found = run_scores.spread_interval(2.0, 10, 0.95)
    assert (found.low, found.high) == pytest.approx((1.3757, 3.6512), abs=1e-3)


def test_ratio_of_two_spreads_is_that_of_simulated_ones():
    rng = np.random.default_rng(0)
    ours, theirs = (np.std(rng.normal(size=(200_000, n)), axis=1, ddof=1) for n in (10, 6))
    low, high = run_scores.ratio_range(10, 6, 0.95)
    assert np.quantile(ours / theirs, [0.025, 0.975]) == pytest.approx([low, high], rel=0.02)
    one, other = run_scores.ratio_range(10, 10, 0.95)
    assert one * other == pytest.approx(1) and other == pytest.approx(2.006, abs=0.001)


@pytest.mark.parametrize(
    ("spread", "expected"),
    [
        (1.9, "agrees"), (1 / 1.9, "agrees"), (2.1, "near"), (1 / 2.1, "near"), (2.6, "differs"), (1 / 2.6, "differs"),
    ],
)  # fmt: skip
def test_a_spread_is_judged_alike_whether_it_is_too_large_or_too_small(spread, expected):
    """By its ratio to the published one; the limits that stand in the line are those of its side."""
    row = Published("p", "e", "acs", "ssw", "", "", "", "auc", 1.0, seeds=10)
    limits = {"band": (1 / 2.56, 2.56), "explained": run_scores.ratio_range(10, 10, 0.95)}
    nulls = {"other": 1 / spread}
    found = numbers.line(row, ReproducedNumber(run_scores.spread_interval(spread, 10, 0.95), nulls=nulls, **limits))
    assert found.verdict == expected and expected in found.nulls
    side = max if spread > 1 else min
    assert found.noise == pytest.approx(abs(side(limits["explained"]) - 1))
    assert found.tolerance == pytest.approx(abs(side(limits["band"]) - 1))


@pytest.mark.parametrize(("value", "expected"), [(0.95, "near"), (0.97, "differs"), (0.89, "differs"), (1.0, "agrees")])
def test_near_is_what_lies_in_a_band_that_does_not_hold_the_published_number(value, expected):
    row = Published("p", "e", "acs", "ssw", "", "", "", "auc", 1.0)
    outcome = ReproducedNumber(t_interval([value] * 3), band=(0.9, 0.96), noise=0.001, nulls={"other": value})
    found = numbers.line(row, outcome)
    assert found.verdict == expected and expected in found.nulls


def loss_lines(quantity):
    """Points of one panel: a mean that runs away from the median, as where one run diverges."""
    return [
        {"quantity": quantity, "step": k, "median": 0.66 - 0.001 * k, "q25": 0.655 - 0.001 * k, "q75": 0.665,
         "mean": 3.0, "n_runs": 10}
        for k in range(5)
    ]  # fmt: skip


def test_losses_are_drawn_as_median_and_band(monkeypatch):
    monkeypatch.setattr(loss_curves, "_settings_and_splits", lambda _: [(SETTING, "train"), (SETTING, "test")])
    monkeypatch.setattr(loss_curves.run_files, "group_names", lambda *_: ["white", "other"])
    options = SimpleNamespace(axis="step", splits=["train", "test"], loss_range=None, difference_range=None)
    found = [
        loss_curves._key(SETTING, split) | line | ({"q75": 0.9} if split == "test" else {})
        for split in options.splits
        for quantity in loss_curves.QUANTITIES
        for line in loss_lines(quantity)
    ]
    figure = loss_curves.draw(SimpleNamespace(options=options), found)
    plt.close(figure)
    (train, _), (test, _) = np.reshape(figure.axes, (2, 2))
    (line,) = train.get_lines()
    assert list(line.get_ydata()) == [0.66 - 0.001 * k for k in range(5)]
    assert len(train.collections) == 1, "the band"
    assert train.get_ylim()[1] < 0.7 < test.get_ylim()[1], "limits are those of the panel"
    assert line.get_label() == "median of 10 runs, band from quartile to quartile"


def test_metrics_are_drawn_with_intervals(monkeypatch):
    monkeypatch.setattr(bars.run_files, "settings", lambda *_: [SETTING])
    estimate = t_interval(np.array([0.1, 0.2, 0.3]), 0.95)
    monkeypatch.setattr(bars.run_scores, "mean_and_spread", lambda *_: (estimate, 0.1))
    context = SimpleNamespace(options=SimpleNamespace(algorithms=None, metrics=["independence"]), published=[])
    found = list(bars.metric_lines(context))
    assert set(found[0]) == set(bars.METRIC_COLUMNS)
    assert (found[0]["mean_low"], found[0]["mean_high"]) == (estimate.low, estimate.high)
    figure = bars.draw_metrics(context, found)
    plt.close(figure)
    ends = [path.vertices[:, 0].tolist() for one in figure.axes[0].collections for path in one.get_paths()]
    assert any(end == pytest.approx([estimate.low, estimate.high]) for end in ends)
    assert "95% t-intervals" in figure.texts[0].get_text()
