"""The last line of a run: how it differs from the committed results."""

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from partialfair.jobs.summary import LABELS, _against_committed

PLACE = Path("reports/demo/metrics.parquet")


@pytest.fixture
def table(tmp_path):
    """A committed table of four values, one of them not estimable, in a repository of its own."""
    rows = [("idca", "simulated", "0.1-0.4", 0.1, metric, 0, "test") for metric in ("accuracy", "dp", "sp", "gauc")]
    frame = pd.DataFrame(rows, columns=LABELS).assign(value=[0.8, 0.1, 0.2, np.nan])
    tmp_path.joinpath(PLACE).parent.mkdir(parents=True)
    frame.to_parquet(tmp_path / PLACE)
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*settings, "commit", "-q", "-m", "results"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return frame


def said(folder, frame):
    frame.to_parquet(folder / PLACE)
    return _against_committed(folder, PLACE, "value", "value")


def test_the_same_values_in_another_order_are_the_same(table, tmp_path):
    assert said(tmp_path, table.iloc[::-1]) == "same as the committed results"


def test_what_differs_most_is_named(table, tmp_path):
    table["value"] += [0.0, 1e-3, -2e-3, 0.0]
    line = "committed results: 2 of 4 values differ, at most by 0.002 (idca at 0.1, sp)"
    assert said(tmp_path, table) == line


def test_a_value_that_is_there_in_one_alone_differs(table, tmp_path):
    table.loc[3, "value"] = 0.5
    assert said(tmp_path, table) == "committed results: 1 of 4 values differ, at most by inf (idca at 0.1, gauc)"


def test_other_rows_and_no_committed_table_are_told(table, tmp_path):
    assert said(tmp_path, table.iloc[:3]) == f"committed results: 4 values in {PLACE}, now 3"
    assert _against_committed(tmp_path, Path("reports/none.parquet"), "value", "value").endswith("to compare with")
