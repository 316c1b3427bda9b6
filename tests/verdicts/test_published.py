"""The stored published numbers are those of the paper's tables, and unreadable lines are named."""

import pytest

from partialfair.errors import DataError
from reproduction.verdicts import published
from tests.workflow.project import ROOT


def test_numbers_of_the_main_paper():
    rows = published.load("partial_fairness", ROOT)
    assert len(rows) == 178
    assert {row.exhibit for row in rows} == {"table1", "table2", "table3", "table4"}
    table3 = {
        (row.dataset, row.interval, row.setting, row.metric): row.value
        for row in published.of_exhibit("partial_fairness", "table3", ROOT)
    }
    assert table3["a9a", "0.05-0.3", "row=1", "psp_fairness"] == 0.7017
    assert table3["bank", "0-0.25", "unconstrained", "accuracy"] == 0.9015
    assert table3["law_school", "0-1", "row=5", "psp_fairness"] == 0.9615


def test_options_of_a_setting():
    rows = {row.setting: row for row in published.of_exhibit("partial_fairness", "table4", ROOT)}
    assert rows["kappa=0.28;grid=20"].options == {"kappa": "0.28", "grid": "20"}
    assert rows["grid=10"].unconstrained


def test_paper_without_numbers():
    assert published.load("no_such_paper", ROOT) == ()


@pytest.mark.parametrize(("value", "interval"), [("x", "0-1"), ("0.5", "1-0")])
def test_unreadable_line_is_named(tmp_path, value, interval):
    head = "paper,exhibit,dataset,algorithm,constraint,interval,setting,metric,split,value,spread,spread_kind\n"
    (tmp_path / "papers" / "p").mkdir(parents=True)
    (tmp_path / "papers/p/published.csv").write_text(
        f"{head}p,t,a9a,idca,psp,{interval},row=1,accuracy,test,{value},,\n"
    )
    with pytest.raises(DataError, match=r"papers/p/published\.csv, line 2"):
        published.load("p", tmp_path)


HEAD = "paper,exhibit,dataset,algorithm,constraint,interval,setting,metric,split,value,spread,spread_kind"
LINE = "p,t,a9a,idca,psp,0-1,row=1,accuracy,test,0.5,,"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{HEAD.replace('value', 'number')}\n{LINE}", ": there is no column 'value'; the first line names paper, "),
        ("", ": there is no column 'paper'; the first line names paper, exhibit"),
        (f"{HEAD}\n{LINE},", ", line 2: it has not as many columns as the first line"),
        (f"{HEAD}\n{LINE[:-1]}", ", line 2: it has not as many columns as the first line"),
        (f"{HEAD}\n{LINE}\n\n{LINE}", ", line 4: the number of line 2 once more; remove one"),
        (f"{HEAD}\n{LINE.replace('p,t', 'q,t')}", ", line 2: paper is 'q'; write the name of the folder, p"),
        (f"{HEAD}\n{LINE.replace('0.5', 'half')}", ", line 2: value is 'half'; give a number"),
        (f"{HEAD}\n{LINE.replace('0.5', 'nan')}", ", line 2: value is 'nan'; give a number"),
        (f"{HEAD}\n{LINE.replace('0.5,', '0.5,a')}", ", line 2: spread is 'a'; give a number"),
        (f"{HEAD}\n{LINE.replace('0.5,', '0.5,-1')}", ", line 2: spread is '-1'; a spread is not negative"),
        (f"{HEAD}\n{LINE}sdt", ", line 2: spread_kind is 'sdt'; write std, or leave it empty"),
        (
            f"{HEAD.replace('spread_kind', 'spred_kind')}\n{LINE}",
            ": unknown column 'spred_kind'; did you mean 'spread_",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "papers/p/published.csv"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        published.load("p", tmp_path)
    assert str(caught.value).startswith(f"{path}{sentence}")


def test_numbers_know_their_lines_and_a_byte_order_mark_is_no_name(tmp_path):
    path = tmp_path / "papers/p/published.csv"
    path.parent.mkdir(parents=True)
    path.write_text(f"\ufeff{HEAD}\n\n{LINE}\n{LINE.replace('accuracy', 'auc')}\n", encoding="utf-8")
    assert [(row.metric, row.line) for row in published.load("p", tmp_path)] == [("accuracy", 3), ("auc", 4)]
    path.write_bytes(path.read_bytes().replace(b"idca", b"\xe9"))
    with pytest.raises(DataError, match="it is no text in UTF-8"):
        published.load("p", tmp_path)
