"""Parts of the stochastic benchmark's exhibits that decide: bands, spreads, rounding, choices by validation rows."""

from types import SimpleNamespace

import pandas as pd
import pytest
from scipy.stats import f

from partialfair.reporting import run_scores
from partialfair.reporting.kinds import cross_paper, mean_std_table
from partialfair.verdicts.published import load
from partialfair.verdicts.results import Setting
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


def test_validation_rows_choose_the_parameter():
    settings = [Setting("e", "d", "regularization", weight) for weight in (0.1, 1.0, 10.0)]
    numbers = {0.1: (0.20, 0.90), 1.0: (0.04, 0.85), 10.0: (0.01, 0.80)}

    class Rows:
        def rows(self, setting, metric, split):
            assert split == "validation", "test rows must not choose"
            return pd.DataFrame({"value": [numbers[setting.kappa][metric == "accuracy"]]})

    shown = SimpleNamespace(options=SimpleNamespace(kappa=0.05), results=Rows())
    assert cross_paper.chosen(shown, settings, "dp_gap") == (settings[1], "validation rows")
    numbers.update({1.0: (0.12, 0.85), 10.0: (0.07, 0.80)})
    assert cross_paper.chosen(shown, settings, "dp_gap")[0] == settings[2], "none is within: the nearest"


def test_algorithms_that_do_not_apply_are_named_once_with_their_reason(monkeypatch):
    found = [
        {"status": "not applicable", "algorithm": name, "paper": "AUC fairness", "dataset": dataset, "reason": reason}
        for dataset in ("a9a", "bank")
        for name, reason in (("sfls", "it constrains <AUCs>"), ("iqrc", "it constrains <AUCs>"), ("idca", "no groups"))
    ]
    monkeypatch.setattr(cross_paper, "lines", lambda context: found)
    monkeypatch.setattr(cross_paper, "tables", lambda context: [])
    text = cross_paper.body(None)
    assert text.count("<p") == 2 and "it constrains &lt;AUCs&gt;" in text
    assert "Level-set (SFLS) (AUC fairness), Level-set (IQRC) (AUC fairness) – it constrains" in text
