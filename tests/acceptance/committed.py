"""The committed results: tidy tables of the last real run, as the exhibits read them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

REPORTS = Path(__file__).parents[2] / "reports"


@cache
def metrics(experiment: str) -> pd.DataFrame:
    """One row per run, split and metric."""
    return pd.read_parquet(REPORTS / experiment / "metrics.parquet")


@cache
def runs(experiment: str) -> pd.DataFrame:
    """One row per run; ``selected`` as a dictionary."""
    found = pd.read_parquet(REPORTS / experiment / "runs.parquet")
    return found.assign(selected=[json.loads(text) if isinstance(text, str) else {} for text in found.selected])


@cache
def exhibit(name: str) -> pd.DataFrame:
    """The table behind a figure or table."""
    return pd.read_csv(REPORTS / name / f"{name}.csv")


@cache
def scorecard(paper: str) -> pd.DataFrame:
    """The lines of a paper."""
    found = pd.read_csv(REPORTS / "scorecard.csv", keep_default_na=False)
    return found[found.paper == paper]


def means(experiment: str, names: list[str], split: str = "test") -> pd.DataFrame:
    """Means over seeds, by (dataset, algorithm, kappa) and metric."""
    found = metrics(experiment)
    found = found[(found.split == split) & found.metric.isin(names)]
    keys = ["dataset", "algorithm", "kappa"]
    counts = found.groupby([*keys, "metric"]).seed.nunique()  # a second look adds seeds to some cells
    assert (counts.groupby(keys[:2]).nunique() == 1).all() and counts.min() >= 5, "seeds are missing"
    return found.pivot_table(index=keys, columns="metric", values="value", aggfunc="mean")


def differs(*values: Any, measured: str, **options: Any) -> Any:
    """A band that the committed run does not meet: it must fail, so that a change to the better is noticed."""
    return pytest.param(*values, marks=pytest.mark.xfail(strict=True, reason=f"differs: {measured}"), **options)
