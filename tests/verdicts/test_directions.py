"""Claims about violations, losses and trends: which direction counts, and which tolerances, levels and seeds."""

import pandas as pd
import pytest
import synthetic
import yaml

from reproduction.grid.config import load_config
from reproduction.verdicts import benchmark
from reproduction.verdicts.results import Setting
from tests.verdicts.planted import context, decided, entry, gain, words

EQUAL = {"levels": 10}


def test_of_a_violation_the_largest_is_held_against_the_bound(config):
    """Of tolerances whose gaps go from .35 to .11."""
    gap = {"metric": "rank_gap", "datasets": ["a9a"]}
    assert words(context(config), entry("bound", limit=0.3, **gap)) == {"fails"}
    assert words(context(config), entry("bound", limit=0.36, **gap)) == {"holds"}


def test_a_named_tolerance_leaves_in_what_has_none(config):
    found = decided(context(config), entry("worse", against=["unconstrained"], kappa=0.1, datasets=["a9a"]))
    assert [line.verdict for line in found] == ["holds"]


def test_where_smaller_is_better_the_smaller_number_is_ahead_at_equal_fairness(config):
    planted = context(config, gain(0.01, algorithm="idca"))
    rows = planted.results.metrics
    rows.loc[rows["metric"] == "sp", "value"] = 1 - rows.loc[rows["metric"] == "accuracy", "value"].to_numpy()
    claimed = {"metric": "sp", "against": ["group_auc"], "at_equal": EQUAL, "datasets": ["a9a"]}
    assert words(planted, entry(**claimed)) == {"holds"}
    assert words(planted, entry("worse", **claimed)) == {"fails"}


def test_levels_at_the_ends_of_the_common_range_are_compared(config):
    claimed = entry(against=["group_auc"], at_equal={"levels": [0.11, 0.35]}, datasets=["a9a"])
    (line,) = decided(context(config, gain(0.01, algorithm="idca")), claimed)
    assert line.verdict == "holds" and "2 levels of fairness from 0.650 to 0.890" in line.note


def test_the_unconstrained_model_is_the_first_of_a_trend_along_kappa(config):
    (line,) = decided(context(config), entry("monotone", over="kappa", trend="falls", datasets=["a9a"]))
    means = line.note.partition(";")[0].removeprefix("means ").split(", ")
    assert len(means) == 1 + len(synthetic.KAPPAS["a9a"]) and float(means[0]) == pytest.approx(0.85, abs=1e-3)


def test_spread_over_seeds_is_that_around_the_median(config):
    """One seed of five lies .5 above the others: .1 on average from the median, .16 from the mean."""
    once = context(config, lambda job, _: 0.5 * (job.algorithm == "group_auc" and job.seed == 0), noise=0.0)
    (line,) = decided(once, entry("steadier", against=["group_auc"], kappa=0.1, datasets=["a9a"]))
    assert line.reproduced == pytest.approx(0.1)


def test_of_worse_at_every_level_the_level_that_is_least_so_is_shown(config):
    """Group AUC is behind everywhere, by less the fairer."""
    behind = context(config, lambda job, fairness: (fairness - 0.95) * 0.2 * (job.algorithm == "group_auc"))
    claimed = entry("worse", method="group_auc", against=["idca"], at_equal=EQUAL, datasets=["a9a"])
    (line,) = decided(behind, claimed)
    assert line.verdict == "holds" and line.reproduced == pytest.approx(-0.2 * 0.06, abs=1e-3)


def test_a_method_without_a_model_at_every_seed_is_not_the_best():
    def method(*accuracies):
        picked = (benchmark.Picked(Setting("dp", "a9a", "idca", 0.1), right, 0.0, False) for right in accuracies)
        return benchmark.BenchmarkedMethod(dict(enumerate(picked)), pd.DataFrame())

    assert benchmark.best({"idca": method(0.8, 0.8), "alm": method(0.9)}, ["idca", "alm"]) == "idca"


@pytest.mark.parametrize(("steeper", "power"), [(0.0, "no"), (0.3, "yes")])
def test_a_null_passes_a_trend_in_the_direction_of_the_claim_alone(config, steeper, power):
    costs = entry("monotone", over="kappa", trend="falls", nulls=["group_auc"])
    rising = context(config, lambda job, fairness: steeper * (fairness - 0.6) * (job.algorithm == "group_auc"))
    assert {(line.verdict, line.power) for line in decided(rising, costs)} == {("holds", power)}


def test_weights_of_a_penalty_are_ordered_from_the_loosest_too(tmp_path, monkeypatch):
    """A larger weight is stricter, as a smaller tolerance is."""
    content = synthetic.params() | {"seeds": list(range(5))}
    content["experiments"] = {"psp": synthetic.experiment(algorithms=["idca", "regularization"])}
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(content | {"exhibits": {}}, sort_keys=False))
    stricter = context(
        load_config(path),
        lambda job, fairness: 0.2 * (fairness - 0.65) - job.kappa * 0.3 if job.algorithm == "regularization" else 0.0,
    )
    falls = entry("monotone", over="kappa", trend="falls", method="regularization", start="regularization")
    assert words(stricter, falls) == {"holds"}
    assert words(stricter, falls.model_copy(update={"trend": "rises"})) == {"fails"}


def test_a_spread_that_is_no_standard_deviation_is_not_taken_for_one():
    from partialfair.metrics.uncertainty import t_interval
    from reproduction.verdicts.numbers import noise_of
    from reproduction.verdicts.published import Published

    estimate = t_interval([0.1, 0.2, 0.3, 0.4])
    rows = [
        Published("p", "t", "d", "idca", "", "", "", "accuracy", 0.5, spread=spread, spread_kind=kind)
        for spread, kind in ((float("nan"), ""), (0.9, "range"), (0.9, "std"))
    ]
    plain, other, std = (noise_of(row, estimate) for row in rows)
    assert plain == other < std


@pytest.fixture
def curves(tmp_path):
    """Root of a project with a table of two curves: the gap of one ends at 1, that of the other at 2."""
    rows = [
        {"series": name, "seed": 0, "step": step, "loss": 10.0 * step, "gap": factor * (5 - step), "over": step - 3.0}
        for name, factor in (("fast", 1), ("slow", 2))
        for step in range(1, 5)
    ]
    (tmp_path / "reports/curves").mkdir(parents=True)
    pd.DataFrame(rows).to_csv(tmp_path / "reports/curves/curves.csv", index=False)
    return tmp_path


def table(**more):
    from reproduction.verdicts.claim import FromTable

    return FromTable.model_validate({"exhibit": "curves", "value": "loss", "method": "series", "x": "step"} | more)


def test_rows_count_where_the_gap_is_within_what_both_runs_end_with(curves):
    from reproduction.verdicts import exhibit_tables

    found = exhibit_tables.in_common(curves, table(ends="gap", reduce="min"), "", ["fast", "slow"])
    assert found == [{0: 30.0}, {0: 40.0}]


@pytest.mark.parametrize(("first", "mean"), [(None, -0.5), ("positive", 0.25), ("magnitude", 1.0)])
def test_the_positive_part_of_a_number_is_not_its_magnitude(curves, first, mean):
    from reproduction.verdicts import exhibit_tables

    assert exhibit_tables.values(curves, table(value="over", first=first), "", "fast") == {0: mean}


def test_curves_are_cut_before_their_second_half_is_taken(curves):
    from reproduction.verdicts import exhibit_tables

    found = exhibit_tables.values(curves, table(after=0.6, reduce="min"), "", "fast", 3.0)
    assert found == {0: 20.0}, "of steps 1 to 3 those from 1.8 on"


def test_the_reference_point_has_the_mean_fairness_of_the_unconstrained_models(config):
    from reproduction.verdicts import hypervolumes

    planted = context(config)
    rows = planted.results.metrics
    own = (rows["algorithm"] == "unconstrained") & (rows["metric"] == "rank_gap")
    rows.loc[own, "value"] += 0.01 * rows.loc[own, "seed"]
    assert hypervolumes.panel(planted, "psp", "a9a", ["idca"]).reference[0] == pytest.approx(0.6 - 0.02)


def test_an_unconstrained_model_that_is_measured_on_other_ranks_is_no_start(config):
    from partialfair.data.intervals import Interval
    from reproduction.grid.config import Config
    from reproduction.verdicts.frontiers import start_of

    experiments = dict(config.params.experiments)
    one = experiments["psp_grid20"]
    run = one.runs["a9a"].model_copy(update={"metric_interval": Interval.of([(0.3, 0.6)])})
    experiments["psp_grid20"] = one.model_copy(update={"runs": one.runs | {"a9a": run}})
    other = Config(config.params.model_copy(update={"experiments": experiments}), config.source)
    planted = context(other, kept=lambda job: (job.experiment, job.algorithm) != ("psp_grid20", "unconstrained"))
    assert start_of(planted, "psp_grid20", "a9a", "rank_gap") == {}
    assert len(start_of(planted, "psp_grid20", "law_school", "rank_gap")) == 5
