"""Audits at the edges: the smallest group, the larger of two gaps, equally fair intervals."""

import numpy as np
import pandas as pd
import pytest

from partialfair.audit import audit_file, audit_scores
from partialfair.errors import ConfigError, DataError


def test_a_group_of_just_the_smallest_size_is_compared_in_every_measure():
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [200, 30])
    found = audit_scores(
        random.normal(size=230), group, gates={"selection_ratio": 0.0, "sp": 1.0}, confidence_intervals=False
    )
    assert [line.reason for line in found.groups] == ["", ""]
    assert found.metric("selection_ratio") is not None and found.passed


def test_the_groups_of_equalised_odds_are_those_of_the_larger_gap():
    """Group a has the lower rate of wrong positives by .5, and the higher rate of right ones by .1."""
    group, y = np.repeat(["a", "b"], 200), np.tile(np.repeat([1, 0], 100), 2)
    above = np.concatenate([np.arange(100) < count for count in (60, 20, 50, 70)])
    scores = np.where(above, 1.0, -1.0) + np.arange(400) / 1e4
    found = audit_scores(scores, group, y, threshold=0.0, gates={"eod_full": 0.1}, confidence_intervals=False)
    assert found.gates[0].groups == ("a", "b")


def test_of_equally_fair_intervals_a_shorter_one_comes_before_a_nearer_one():
    from partialfair.metrics.choose_interval import suggest_interval

    scores, group = np.repeat(np.arange(1000.0), 2), np.tile([0, 1], 1000)
    found = suggest_interval(scores, group, threshold=574.5, lengths=(0.2, 0.25))
    assert found.positive_rate == 0.425 and round(found.interval[1] - found.interval[0], 9) == 0.2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": "a"}, "threshold: 'a' is no number"),
        ({"threshold": True}, "threshold: True is no number"),
        ({"level": "a"}, "level: 'a' is no number"),
        ({"gates": {"sp": None}}, "gate on sp: None is no number"),
        ({"min_group_size": 2.5}, "minimum group size: 2.5 is no whole number"),
        ({"gates": [("sp", 0.1)]}, r"gates: \[\('sp', 0.1\)\] names no metric; pass a limit by metric"),
    ],
)
def test_what_is_no_number_is_refused_in_a_sentence(options, words):
    scores, group = np.arange(100.0), np.arange(100) % 2
    with pytest.raises(ConfigError, match=words):
        audit_scores(scores, group, **options)


def test_a_table_as_pandas_and_spreadsheets_write_it_is_refused_with_the_remedy(tmp_path):
    frame = pd.DataFrame({"s": ["0,25", "0,75"] * 40, "g": ["a", "b"] * 40})
    frame.to_csv(tmp_path / "commas.csv", index=False, sep=";")
    message = (
        r"column 's': '0,25' in row 1 after the header is not a finite number \(80 such rows\); write decimal points"
    )
    with pytest.raises(DataError, match=message):
        audit_file(tmp_path / "commas.csv", score="s", group="g")
    frame.to_csv(tmp_path / "index.csv", sep=";")
    with pytest.raises(DataError, match=r"column 1 has no name; .*to_csv\(path, index=False\)"):
        audit_file(tmp_path / "index.csv", score="s", group="g")


def test_settings_of_numpy_are_written_as_those_of_python():
    scores, group = np.arange(100.0), np.arange(100) % 2
    own = {"min_group_size": np.int32(5), "level": np.float32(0.5), "gates": {"sp": np.float32(0.25)}}
    plain = {"min_group_size": 5, "level": 0.5, "gates": {"sp": 0.25}}
    assert audit_scores(scores, group, **own).to_json() == audit_scores(scores, group, **plain).to_json()


def test_labels_with_a_column_per_class_are_refused():
    """Read as pairs of values, the first class would be the positive one."""
    scores, group = np.arange(100.0), np.arange(100) % 2
    y = scores > 50
    with pytest.raises(DataError, match=r"labels: there are 2 columns \(no, yes\); pass one label per row"):
        audit_scores(scores, group, pd.DataFrame({"no": ~y, "yes": y}))
    with pytest.raises(DataError, match="labels: there are 2 columns"):
        audit_scores(scores, group, np.column_stack([~y, y]).astype(int))
    one = audit_scores(scores, group, y[:, None], threshold=50.0, confidence_intervals=False)
    assert one.metric("accuracy") == 1 and one.positive_label == "True"


@pytest.mark.parametrize("what", ["scores", "groups", "labels"])
def test_masked_values_are_missing(what):
    """NumPy forgets the mask, and what lies below would be audited."""
    rows = {"scores": np.arange(100.0), "groups": np.arange(100) % 2, "labels": np.arange(100) // 50}
    plain = audit_scores(*rows.values(), confidence_intervals=False)
    rows[what] = np.ma.masked_array(rows[what], np.arange(100) == 7)
    with pytest.raises(DataError, match=rf"{what}: column '{what}' has no value in row 7 \(masked\); drop such rows"):
        audit_scores(*rows.values())
    rows[what] = np.ma.masked_array(rows[what].data, np.zeros(100, bool))
    assert audit_scores(*rows.values(), confidence_intervals=False).to_json() == plain.to_json()


def test_values_that_are_no_real_numbers_are_no_scores():
    group = np.arange(100) % 2
    for scores in (np.arange(100) + 0j, pd.date_range("2020", periods=100), pd.to_timedelta(np.arange(100), unit="h")):
        with pytest.raises(DataError, match=r"scores: values of type .* cannot be ranked as scores; pass real numbers"):
            audit_scores(scores, group)
    with pytest.raises(DataError, match=r"scores: column 'scores' has no value in row 99; drop such rows"):
        audit_scores(np.append(np.arange(99.0), np.nan), group)
