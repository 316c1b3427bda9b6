"""The suggested interval covers the positive rate and is the candidate with the largest violation."""

import numpy as np
import pandas as pd
import pytest

from partialfair.choose_interval import candidates, suggest_interval
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.metrics import get


def test_the_chosen_interval_has_the_largest_violation(frame: pd.DataFrame) -> None:
    scores, codes = frame["s"].to_numpy(), (frame["sex"] == "M").to_numpy().astype(int)
    found = suggest_interval(scores, codes, measure="sp")
    low, high = found.interval
    assert low <= found.positive_rate <= high
    assert found.positive_rate == np.mean(scores > 0)
    for row in found.table.itertuples():
        own = get("sp")(scores, np.ones(len(scores)), codes, [(row.alpha, row.beta)], 0.0)
        assert row.violation == pytest.approx(own, abs=1e-12)
        assert row.alpha <= found.positive_rate <= row.beta
    assert found.table["chosen"].sum() == 1
    assert found.table.loc[found.table["chosen"], "violation"].item() == found.table["violation"].max()


def test_a_local_gap_is_found() -> None:
    ranks = np.arange(1000) / 1000
    moved = np.where((ranks >= 0.3) & (ranks < 0.5), ranks - 0.15 * np.sin((ranks - 0.3) * 5 * np.pi), ranks)
    scores = -np.concatenate([ranks, moved])
    found = suggest_interval(scores, np.repeat([0, 1], 1000), threshold=-0.35, lengths=[0.2])
    assert found.interval == (0.25, 0.45) or found.interval == (0.3, 0.5)


def test_candidates_cover_the_rate_and_stay_in_the_unit_interval() -> None:
    assert candidates(0.0, [0.2], 0.05) == [(0.0, 0.2)]
    assert candidates(1.0, [0.3], 0.05) == [(0.7, 1.0)]
    assert (0.05, 0.3) in candidates(0.199, [0.2, 0.25], 0.05)
    with pytest.raises(ConfigError, match="lengths"):
        candidates(0.5, [1.5], 0.05)


def test_plot_marks_the_choice(frame: pd.DataFrame) -> None:
    found = suggest_interval(frame["s"].to_numpy(), (frame["sex"] == "M").to_numpy().astype(int))
    axis = found.plot().axes[0]
    assert tuple(axis.lines[len(found.table) - 1].get_xdata()) == found.interval


def test_too_few_rows_and_unknown_measures_are_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(NotEstimableError, match="no interval around"):
        suggest_interval(np.arange(12.0), np.repeat([0, 1], [9, 3]), threshold=6.0, lengths=[0.1])
    with pytest.raises(ConfigError, match="'spp'"):
        suggest_interval(np.arange(9.0), np.arange(9) % 2, measure="spp")
