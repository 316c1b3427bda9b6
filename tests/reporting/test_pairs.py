"""A published number is set beside the same number of the run that its setting names, or has a line with the reason."""

import math
from dataclasses import replace

import pytest
import synthetic

from partialfair.errors import DataError
from reproduction.exhibits import exhibit
from reproduction.exhibits.kinds import pairs
from reproduction.verdicts import published
from reproduction.verdicts.published import Published


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    config = synthetic.project(root)
    return lambda name: exhibit.context(config, name, root)


def number(setting="row=2", metric="accuracy", algorithm="idca", **more):
    row = Published("partial_fairness", "table3", "a9a", algorithm, "", "0.05-0.3", setting, metric, 0.8, line=5)
    return replace(row, **more)


def test_place_and_kappa_name_the_same_run(context):
    table3 = context("table3")
    found = {setting: pairs.reproduce(table3, number(setting)).estimate for setting in ("row=2", "kappa=0.2")}
    assert found["row=2"] == found["kappa=0.2"] and found["row=2"].n == 3


@pytest.mark.parametrize("metric", ["auc", "f1", "rank_gap", "pdp_fairness", "demographic parity"])
def test_a_number_other_than_accuracy_and_fairness_is_not_run(context, metric):
    row = number(metric=metric)
    outcome = pairs.reproduce(context("table3"), row)
    assert outcome.estimate is None
    assert outcome.note == f"{metric} is not compared here: pairs are of accuracy and psp_fairness (1 - rank_gap)"


def test_a_number_alone_in_its_row_is_shown(context, monkeypatch):
    monkeypatch.setattr(published, "exhibit_numbers", lambda *_: (number(metric="accuracy"),))
    table3 = context("table3")
    (line,) = pairs.csv_lines(table3)
    (shown,) = pairs.table(table3, [line]).rows
    texts = [cell.text for cell in shown]
    assert texts[11].startswith(f"{line['reproduced']:.4f}") and texts[8:10] == ["–", "–"]


def test_a_number_of_training_rows_is_not_compared_with_test_rows(context):
    outcome = pairs.reproduce(context("table3"), number(split="train"))
    assert outcome.estimate is None and outcome.note == "pairs are of test rows, and this number is of train rows"


def test_a_number_that_is_not_compared_has_a_line_and_takes_no_place_in_the_table(context, monkeypatch):
    table3 = context("table3")
    rows = [number(metric=name) for name in ("auc", "psp_fairness", "accuracy")]
    rows.append(number(metric="psp_fairness", split="train", value=0.1))
    monkeypatch.setattr(published, "exhibit_numbers", lambda *_: tuple(rows))
    lines = pairs.csv_lines(table3)
    assert [line["verdict"] == "not run" for line in lines] == [True, False, False, True]
    assert all(line["note"] for line in lines) and math.isnan(lines[0]["half_width"])
    (shown,) = pairs.table(table3, lines).rows
    measured = {line["metric"]: line["reproduced"] for line in lines[1:3]}
    texts = [cell.text for cell in shown]
    assert texts[9].startswith(f"{measured['psp_fairness']:.4f}") and texts[11].startswith(
        f"{measured['accuracy']:.4f}"
    )


def test_a_place_or_kappa_that_no_run_has_is_said(context):
    for setting in ("row=6", "kappa=0.3"):
        outcome = pairs.reproduce(context("table3"), number(setting))
        assert outcome.estimate is None
        assert outcome.note == f"psp runs idca on a9a at kappa 0.28, 0.2, 0.1, 0.05, 0.01, which is no {setting}"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("row=0", "row is '0'; give a whole number from 1 on"),
        ("row=one", "row is 'one'; give a whole number from 1 on"),
        ("kappa=x", "kappa is 'x'; give a positive number"),
        ("kapa=0.1", "there is no key 'kapa'; did you mean 'kappa'?"),
        ("kappa=", "kappa has no value; write kappa=VALUE"),
        ("kappa=0.1;kappa=0.2", "kappa stands twice; remove one of them"),
        ("", "neither row nor kappa is given; write row=1"),
        ("row=1;kappa=0.1", "row and kappa are given; write row=1"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_with_file_and_line(context, setting, said):
    with pytest.raises(DataError) as caught:
        pairs.reproduce(context("table3"), number(setting))
    sentence = str(caught.value)
    assert sentence.startswith(f"papers/partial_fairness/published.csv, line 5: setting {setting!r}: {said}")


@pytest.mark.parametrize(("setting", "key"), [("kappa=0.1", "grid"), ("row=1;grid=20", "kappa")])
def test_a_table_by_grid_needs_grid_and_kappa(context, monkeypatch, setting, key):
    monkeypatch.setattr(published, "exhibit_numbers", lambda *_: (number(setting),))
    with pytest.raises(DataError, match=rf"line 5: setting '{setting}': {key} is missing; write kappa=0\.1;grid=20"):
        pairs.csv_lines(context("table4"))
