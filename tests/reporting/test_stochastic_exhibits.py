"""Parts of the stochastic benchmark's exhibits that decide: bands, spreads, rounding."""

import pytest
from scipy.stats import f

from partialfair.reporting.kinds import mean_std_table
from partialfair.verdicts import run_scores
from partialfair.verdicts.published import load
from tests.workflow.project import ROOT


def test_every_published_number_is_stored_with_its_spread():
    rows = load("stochastic_benchmark", ROOT)
    table3 = [row for row in rows if row.exhibit == "stochastic_table3"]
    assert len(table3) == 120 and len(rows) == 242
    assert {row.options["statistic"] for row in table3} == {"mean", "std"}
    known = {(r.algorithm, r.metric, r.options["split"], r.options["statistic"]): r.value for r in table3}
    assert known["sgd", "inaccuracy", "train", "mean"] == 0.200677
    assert known["ssl_alm", "wasserstein_histogram", "test", "std"] == 0.000941


def test_the_band_of_a_spread_is_the_range_of_a_ratio_of_ten_runs_each():
    assert pytest.approx(f.ppf(0.995, 9, 9) ** 0.5, abs=0.01) == mean_std_table.SPREAD_RATIO


def test_interval_of_a_standard_deviation():
    found = run_scores.spread_interval(2.0, 10, 0.95)
    assert (found.low, found.high) == pytest.approx((1.3757, 3.6512), abs=1e-3)
