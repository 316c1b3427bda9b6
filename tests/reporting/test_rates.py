"""Numbers of runs against an amount, and the slope of their logarithm."""

import json
import math
from types import SimpleNamespace

import pandas as pd
import pytest

from reproduction.exhibits.kinds import rates

RUNS = pd.DataFrame(
    [
        {
            "experiment": f"calls_{calls}", "dataset": "a9a", "algorithm": "sfls", "kappa": 0.1, "seed": seed,
            "kkt_residual": 3.0 * calls**-0.25, "selected": json.dumps({"oracle_error": 2.0 * calls**-0.5}),
        }
        for calls in (100, 400, 1600) for seed in (0, 1)
    ]
)  # fmt: skip


def context(value, amounts=None):
    amounts = amounts or {f"calls_{calls}": calls for calls in (100, 400, 1600)}
    options = rates.Rates(kind="rates", amounts=amounts, value=value, what="calls", power=0.5)
    metrics = pd.DataFrame(columns=[*rates.COLUMNS[:5], "metric", "split", "value"])
    return SimpleNamespace(options=options, results=SimpleNamespace(runs=RUNS, metrics=metrics))


@pytest.mark.parametrize(("value", "power"), [("kkt_residual", -0.25), ("selected.oracle_error", -0.5)])
def test_the_slope_of_a_power_is_that_power(value, power):
    lines = list(rates.csv_lines(context(value)))
    assert len(lines) == 6 and {line["x"] for line in lines} == {100, 400, 1600}
    assert rates.slope([(line["x"], line["value"]) for line in lines]) == pytest.approx(power)
    table = rates._table(context(value), lines)
    assert f"{power:+.2f}" in str(table) and "theorem: -0.5" in str(table)


def test_what_has_not_been_run_says_so():
    (line,) = rates.csv_lines(context("kkt_residual", {"calls_7": 7}))
    assert line == {"experiment": "calls_7", "x": 7, "note": "not run"}
    assert math.isnan(rates.slope([(1, 1.0), (2, 0.5)])), "two amounts give no slope"
