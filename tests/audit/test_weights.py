"""Weights of rows: as many equal rows in every number, and fewer rows in an interval."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from partialfair.audit import audit_file, audit_scores
from partialfair.commands.cli import app
from partialfair.data.weights import effective_rows
from partialfair.errors import DataError
from partialfair.metrics.choose_interval import suggest_interval


def rows(n: int = 900) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", "c"], n)
    scores = np.round(rng.random(n) * 0.8 + 0.1 * (group == "b"), 2)
    return scores, group, (rng.random(n) < scores).astype(int), rng.integers(0, 4, n)


def values(found) -> dict[str, float | None]:
    measured = {**found.measured.overall, **found.measured.quality, "ratio": found.ratio}
    out = {name: one.value for name, one in measured.items()}
    for line in found.groups:
        for name in ("positive_rate", "base_rate", "true_positive_rate", "precision", "accuracy", "calibration"):
            out[f"{line.name} {name}"] = getattr(line, name).value
        out[f"{line.name} median"] = line.median_score
    return out


@pytest.mark.parametrize("interval", [[(0.0, 1.0)], [(0.1, 0.3), (0.4, 0.6)]])
def test_a_weight_is_as_many_rows_in_every_number(interval: list[tuple[float, float]]) -> None:
    scores, group, labels, weights = rows()
    repeated = np.repeat(np.arange(len(scores)), weights)
    found = audit_scores(scores, group, labels, weights=weights, interval=interval)
    other = audit_scores(scores[repeated], group[repeated], labels[repeated], interval=interval)
    assert values(found) == pytest.approx(values(other), abs=1e-12)
    assert found.suggestion.interval == other.suggestion.interval


def test_weights_of_any_scale_give_the_same_audit_but_for_the_last_rank() -> None:
    scores, group, labels, weights = rows()
    one, other = (audit_scores(scores, group, labels, weights=weights * scale) for scale in (1, 0.3371))
    assert values(one) == pytest.approx(values(other), abs=1e-9)
    for name, found in one.measured.overall.items():
        same = other.measured.overall[name]
        assert (found.low, found.high) == pytest.approx((same.low, same.high), abs=1e-6), name


def test_equal_weights_change_no_interval_and_unequal_ones_widen_it() -> None:
    scores, group, labels, _ = rows()
    plain, equal = (audit_scores(scores, group, labels, weights=w) for w in (None, np.full(len(scores), 7.0)))
    heavy = np.where(np.arange(len(scores)) % 10 == 0, 30.0, 1.0)
    uneven = audit_scores(scores, group, labels, weights=heavy)
    for name in ("sp", "dp_full", "eop_full", "gauc"):
        a, b, c = (found.measured.overall[name] for found in (plain, equal, uneven))
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9), name
        assert c.high - c.low > b.high - b.low, name
    assert effective_rows(np.full(5, 7), np.zeros(5, int), 1) == pytest.approx([5])
    assert effective_rows(np.array([1, 1, 2]), np.zeros(3, int), 1) == pytest.approx([16 / 6])


def test_rows_of_weight_0_are_not_there() -> None:
    scores, group, labels, weights = rows()
    weights = np.where(group == "c", 0, weights)
    kept = weights > 0
    found = audit_scores(scores, group, labels, weights=weights)
    assert [line.name for line in found.groups] == ["a", "b"] and found.rows == kept.sum()
    assert found.to_json() == audit_scores(scores[kept], group[kept], labels[kept], weights=weights[kept]).to_json()


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, -2.0] * 450, "weights: -2 in row 1 is no weight (450 such rows)"),
        ([np.nan] + [1.0] * 899, "weights: column 'weights' has no value in row 0"),
        ([0.0] * 900, "weights: all are 0"),
        ([1.0] * 899, "weights: 899 rows, scores have 900; pass equal lengths"),
        (["1", "x"] * 450, "weights: 'x' in row 1 is not a finite number (450 such rows)"),
    ],
)
def test_what_is_no_weight_is_refused(weights: list, said: str) -> None:
    scores, group, labels, _ = rows()
    with pytest.raises(DataError) as caught:
        audit_scores(scores, group, labels, weights=weights)
    assert said in str(caught.value)


def test_a_row_without_a_weight_is_left_out_where_that_is_asked_for() -> None:
    scores, group, labels, weights = rows()
    some = np.array(weights, float)
    some[[3, 8]] = np.nan
    complete = ~np.isnan(some)
    dropped = audit_scores(scores, group, labels, weights=some, missing="drop")
    expected = audit_scores(*(np.array(column)[complete] for column in (scores, group, labels)), weights=some[complete])
    assert values(dropped) == values(expected)
    assert dropped.record["rows left out"] == "2 (2 without weight)"


def test_weights_in_another_order_than_the_scores_are_refused() -> None:
    scores, group, labels, weights = rows()
    shuffled = pd.Series(weights).sample(frac=1, random_state=0)
    with pytest.raises(DataError, match="weights: row 0 has the index"):
        audit_scores(pd.Series(scores), pd.Series(group), labels, weights=shuffled)


def test_a_file_and_its_verbs_take_a_column_of_weights(tmp_path: Path) -> None:
    scores, group, labels, weights = rows()
    path = tmp_path / "t.csv"
    pd.DataFrame({"s": scores, "g": group, "y": labels, "w": weights}).to_csv(path, index=False)
    expected = audit_scores(scores, group, labels, weights=weights)
    assert values(audit_file(path, score="s", group="g", label="y", weight="w")) == values(expected)
    usual = [str(path), "--score", "s", "--group", "g", "--weight", "w", "--json"]
    told = CliRunner().invoke(app, ["audit", *usual, "--label", "y"])
    assert json.loads(told.stdout)["overall"]["sp"]["value"] == expected.metric("sp")
    repeated = np.repeat(np.arange(len(scores)), weights)
    chosen = suggest_interval(scores[repeated], group[repeated])
    told = CliRunner().invoke(app, ["choose-interval", *usual])
    assert json.loads(told.stdout)["interval"] == list(chosen.interval)
    assert json.loads(told.stdout)["positive_rate"] == pytest.approx(chosen.positive_rate)
    path.write_text(path.read_text().replace("\n", "\n0.5,a,1,-3\n", 1))
    told = CliRunner().invoke(app, ["audit", *usual])
    assert isinstance(told.exception, DataError)
    assert "column 'w': -3 in row 1 after the header is no weight" in str(told.exception)
    path.write_text("s,g,y,w\n,a,1,1\n0.5,b,1,-3\nx,b,0,1\n")
    for missing in ("refuse", "drop"):
        told = CliRunner().invoke(app, ["audit", *usual, "--missing", missing])
        assert "2 faults" in str(told.exception) and "-3 in row 2 after the header" in str(told.exception)
