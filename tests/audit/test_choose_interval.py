"""The suggested interval covers the positive rate and is the candidate with the largest violation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from partialfair.audit import audit_file, audit_scores, choose, sentences
from partialfair.audit.choose import suggest_for_file
from partialfair.commands.cli import app
from partialfair.data.groups import group_labels
from partialfair.errors import ConfigError, DataError, NotEstimableError, PartialFairError
from partialfair.metrics import get
from partialfair.metrics.choose_interval import candidates, suggest_interval


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


def test_of_several_with_the_largest_violation_the_chosen_one_is_said_to_be_one(frame: pd.DataFrame) -> None:
    scores, codes = frame["s"].to_numpy(), (frame["sex"] == "M").to_numpy().astype(int)
    alone = suggest_interval(scores, codes, measure="sp")
    assert sentences.chosen_by(alone) == "it has the largest sp"
    apart = suggest_interval(
        np.concatenate([np.arange(500.0), 1000 + np.arange(500.0)]),
        np.repeat([0, 1], 500),
        threshold=600.0,
        measure="sp",
    )
    assert (apart.table["violation"] == 1).sum() == len(apart.table) > 1
    said = f"it is one of {len(apart.table)} with the largest sp, the shortest and most central of them"
    assert sentences.chosen_by(apart) == said and said in choose.as_text(apart)


@pytest.mark.parametrize(("threshold", "why"), [(9e9, "every row gets the same decision"), (0.0, ""), (None, "")])
def test_a_page_says_why_it_suggests_no_interval(frame: pd.DataFrame, threshold: float | None, why: str) -> None:
    result = audit_scores(frame["s"], frame["sex"], threshold=threshold, confidence_intervals=False)
    text = result.to_html()
    assert ("None: every row gets the same decision" in text) == bool(why)
    assert "keeps enough rows of every group" not in text and "is not a finite number" not in text


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


def test_groups_have_names_of_any_kind(frame: pd.DataFrame) -> None:
    scores, codes = frame["s"].to_numpy(), (frame["sex"] == "M").to_numpy().astype(int)
    found = suggest_interval(scores, frame["sex"])
    pd.testing.assert_frame_equal(found.table, suggest_interval(scores, codes).table)
    with pytest.raises(DataError, match="has no value in row 3"):
        suggest_interval(scores, frame["sex"].where(frame.index != 3, None))


def test_scores_are_a_list_a_column_or_an_array(frame: pd.DataFrame) -> None:
    scores, sex = frame["s"].to_numpy(), frame["sex"]
    expected = suggest_interval(scores, sex).table
    texts = list(map(repr, scores.tolist()))
    for given in (scores.tolist(), pd.Series(scores, index=[f"p{row}" for row in range(len(scores))]), texts):
        pd.testing.assert_frame_equal(suggest_interval(given, sex).table, expected)
    for wrong, message in (
        (scores[:, None], rf"scores: shape \({len(scores)}, 1\)"),
        ([f"{score}%" for score in scores], "scores: '.*%' in row 0 is not a finite number"),
        (np.ma.masked_less(scores, scores[5] + 1e-12), "scores has no value in row .*masked"),
        (pd.Series(scores, index=np.arange(len(scores))[::-1]), "groups: row 0 has the index 0, and"),
    ):
        with pytest.raises(DataError, match=message):
            suggest_interval(wrong, sex)


@pytest.mark.parametrize("kind", ["uint8", "int8", "bool"])
def test_scores_of_small_types_rank_as_numbers(kind: str) -> None:
    """``-uint8(0)`` is 0, and ``-int8(-128)`` is -128."""
    rng = np.random.default_rng(0)
    small = rng.integers(-128 if kind == "int8" else 0, 2 if kind == "bool" else 20, 600).astype(kind)
    group = rng.integers(0, 2, 600)
    expected = suggest_interval(small.astype(float), group, threshold=0.5, step=0.1)
    found = suggest_interval(small, group, threshold=0.5, step=0.1)
    pd.testing.assert_frame_equal(found.table, expected.table)


def test_a_threshold_that_decides_nothing_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(ConfigError, match="threshold is nan, by which nothing is decided"):
        suggest_interval(frame["s"], frame["sex"], threshold=np.nan)


def test_a_file_is_named_by_columns_and_rows_from_one(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.assign(sex=frame["sex"].where(frame.index != 3, None)).to_csv(tmp_path / "s.csv", index=False)
    for use in (suggest_for_file, audit_file):
        with pytest.raises(DataError, match="s.csv: column 'sex' has no value in row 4 after the header"):
            use(tmp_path / "s.csv", score="s", group="sex")


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]"])
def test_dates_and_durations_are_no_scores(frame: pd.DataFrame, tmp_path: Path, kind: str) -> None:
    frame.assign(s=np.arange(len(frame)).astype(kind)).to_parquet(tmp_path / "s.parquet")
    for use in (suggest_for_file, audit_file):
        with pytest.raises(DataError, match="column 's': values of type .* cannot be ranked as scores"):
            use(tmp_path / "s.parquet", score="s", group="sex")


@pytest.mark.parametrize("column", [False, True])
def test_a_masked_group_is_missing(frame: pd.DataFrame, column: bool) -> None:
    sex = np.ma.masked_array(frame["sex"].to_numpy(), np.arange(len(frame)) == 3)
    with pytest.raises(DataError, match="groups: .*row 3 is masked"):
        group_labels({"sex": sex} if column else sex)


def test_plot_marks_the_choice(frame: pd.DataFrame) -> None:
    found = suggest_interval(frame["s"].to_numpy(), (frame["sex"] == "M").to_numpy().astype(int))
    axis = found.plot(reference=(0.0, 0.2)).axes[0]
    assert len(axis.patches) == len(found.table)
    top = axis.patches[-1]
    assert (top.get_x(), top.get_x() + top.get_width()) == pytest.approx(found.interval)
    texts = [text.get_text().strip() for text in axis.texts]
    assert sum("suggested" in text for text in texts) == 1
    assert f"positive rate {found.positive_rate:.3f}" in texts


def test_place_among_the_candidates(frame: pd.DataFrame) -> None:
    found = suggest_interval(frame["s"].to_numpy(), (frame["sex"] == "M").to_numpy().astype(int))
    assert found.place_of(found.interval) == 1
    last = found.table.sort_values("violation").iloc[0]
    assert found.place_of((last["alpha"], last["beta"])) == len(found.table)
    assert found.violation_of((last["alpha"], last["beta"])) == last["violation"]
    assert found.place_of((0.9, 0.95)) == 0 and np.isnan(found.violation_of((0.9, 0.95)))


def run(frame: pd.DataFrame, folder: Path, *arguments: str) -> Any:
    frame.to_csv(folder / "scores.csv", index=False)
    usual = [word for pair in (("--score", "s"), ("--group", "sex")) if pair[0] not in arguments for word in pair]
    words = ["choose-interval", str(folder / "scores.csv"), *usual, *arguments]
    return CliRunner().invoke(app, words)


def test_verb_says_the_same_as_the_function(frame: pd.DataFrame, tmp_path: Path) -> None:
    codes = (frame["sex"] == "M").to_numpy().astype(int)
    expected = suggest_interval(frame["s"].to_numpy(), codes, measure="rank_gap", lengths=[0.2, 0.4], step=0.1)
    options = ("--measure", "rank_gap", "--length", "0.2", "--length", "0.4", "--step", "0.1")
    content = json.loads(run(frame, tmp_path, *options, "--json").stdout)
    assert tuple(content["interval"]) == expected.interval
    assert content["positive_rate"] == expected.positive_rate and content["measure"] == "rank_gap"
    found = pd.DataFrame(content["candidates"])
    pd.testing.assert_frame_equal(found, expected.table, check_dtype=False)


def test_verb_draws_and_lists(frame: pd.DataFrame, tmp_path: Path) -> None:
    done = run(frame, tmp_path, "--out", str(tmp_path / "picture.svg"))
    assert done.exit_code == 0 and "<svg" in (tmp_path / "picture.svg").read_text()
    assert done.stdout.startswith("suggested interval: ") and done.stdout.count("<- suggested") == 1


def test_groups_that_are_too_small_to_be_compared_are_named(frame: pd.DataFrame, tmp_path: Path) -> None:
    few = frame.assign(sex=frame["sex"].where(frame.index > 4, "other"))
    assert "not compared, as they have few rows: other (5)" in run(few, tmp_path).stdout
    assert json.loads(run(few, tmp_path, "--json").stdout)["not_compared"] == {"other": 5}
    assert "not compared" not in run(frame, tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--out", "picture.doc"), "ends in .png, .svg, .pdf"),
        (("--measure", "spp"), "'spp'"),
        (("--group", "s"), "two purposes"),
        (("--group", "race", "--min-group-size", "3000"), "fewer than two groups have at least 3000 rows"),
        (("--score", "race"), "is not a finite number"),
        (("--group", "sexx"), "did you mean 'sex'"),
        (("--step", "1e-9"), "finer than 0.001"),
        (("--min-group-size", "0"), "at least 2"),
    ],
)
def test_verb_refuses_in_one_sentence(
    frame: pd.DataFrame, tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    done = run(frame, tmp_path, *arguments)
    assert isinstance(done.exception, PartialFairError) and text in str(done.exception)
    assert {path.name for path in tmp_path.iterdir()} == {"scores.csv"}


def test_too_few_rows_and_unknown_measures_are_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(NotEstimableError, match="no interval around"):
        suggest_interval(np.arange(12.0), np.repeat([0, 1], [9, 3]), threshold=6.0, lengths=[0.1])
    with pytest.raises(ConfigError, match="'spp'"):
        suggest_interval(np.arange(9.0), np.arange(9) % 2, measure="spp")


@pytest.mark.parametrize(("length", "step"), [(0.25, 0.2), (0.3, 0.05), (1.0, 0.3), (0.1, 0.07)])
def test_candidates_have_the_length_that_was_asked_for(length: float, step: float) -> None:
    for rate in (0.0, 0.33, 0.9, 1.0):
        found = candidates(rate, [length], step)
        assert found and len(set(found)) == len(found)
        assert all(beta - alpha == pytest.approx(length) and 0 <= alpha <= rate + 1e-9 for alpha, beta in found)
        assert all(rate <= beta + 1e-9 and beta <= 1 for _, beta in found)


def test_an_audit_suggests_what_choose_interval_does_on_the_same_file(tmp_path: Path) -> None:
    """Also of more scores than its curves show, and beside groups that are too small to be compared."""
    random = np.random.default_rng(0)
    sex = random.choice(["F", "M", "x"], 9000, p=[0.03, 0.968, 0.002])
    score = random.normal(size=9000) + 0.4 * (sex == "M")
    pd.DataFrame({"s": score, "sex": sex}).to_csv(tmp_path / "scores.csv", index=False)
    found, _ = suggest_for_file(tmp_path / "scores.csv", score="s", group="sex")
    audit = audit_file(tmp_path / "scores.csv", score="s", group="sex", confidence_intervals=False).suggestion
    assert audit is not None
    pd.testing.assert_frame_equal(audit.table, found.table)


@pytest.mark.parametrize("threshold", [np.nan, np.inf])
def test_a_threshold_by_which_nothing_is_decided_is_refused(tmp_path: Path, threshold: float) -> None:
    pd.DataFrame({"s": np.arange(100.0), "g": ["a", "b"] * 50}).to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(ConfigError, match="by which nothing is decided; use a finite number"):
        suggest_for_file(tmp_path / "scores.csv", score="s", group="g", threshold=threshold)


def test_of_ties_the_most_central_is_taken_whatever_lengths_round_to():
    scores, group = np.arange(200.0), np.repeat(["a", "b"], 100)
    found = suggest_interval(scores, group, threshold=139.0)  # 30% above; groups apart, so every violation is 1
    assert found.positive_rate == 0.3 and found.interval == pytest.approx((0.2, 0.4))
