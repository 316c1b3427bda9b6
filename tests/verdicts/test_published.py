"""The stored published numbers are those of the paper's tables, and unreadable lines are named."""

import pytest

from partialfair.errors import DataError
from partialfair.verdicts import published
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
