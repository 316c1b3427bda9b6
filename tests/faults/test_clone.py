"""`partialfair verify` where the runs are not here, as in a fresh clone: what follows from the collected tables."""

import copy
import shutil

import pytest

from partialfair.kernels import processor
from reproduction.verify import Fault
from tests.faults.lab import RAW, RUN, Lab, params
from tests.faults.tamper import change_cell, change_text, checked, commit_reports, edit_figure

pytestmark = pytest.mark.slow
TO_THE_BIT = pytest.mark.skipif(not processor.settled_here(), reason="no x86-64 processor with AVX2, on Linux")


def test_what_is_not_here_is_counted_and_breaks_nothing(spoilt: Lab) -> None:
    """A fresh clone has the reports, but neither raw files nor tables nor runs."""
    commit_reports(spoilt)
    for folder in ("data/processed", "data/runs"):
        shutil.rmtree(spoilt.path(folder))
    spoilt.path(RAW).unlink()
    done = spoilt.cli("verify", "demo")
    assert done.returncode == 0, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("whole: ") and "0 breaks" in last
    assert "not here: 1 raw file, 1 table, 1 split, 2 models, 2 metrics" in last
    followed = "" if processor.settled_here() else "1 exhibit, "
    wanted = f"not followed, as what they were made from is not here: 1 collected table, {followed}1 scorecard"
    assert last.endswith(wanted)
    assert spoilt.cli("verify", "demo", "--complete").returncode == 1
    edit_figure(spoilt.path("reports/tradeoff/tradeoff.svg"))
    done = spoilt.cli("verify", "demo")
    assert done.returncode == 1 and "BROKEN reports/tradeoff/tradeoff.svg: damaged: it is not" in done.stdout


@TO_THE_BIT
@pytest.mark.parametrize("name", ["index.html", "verdicts.json", "metrics.json"])
def test_without_the_runs_the_summary_follows_from_the_scorecard(
    spoilt: Lab, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It is committed as another code would have written it."""
    shutil.rmtree(spoilt.path("data/runs"))
    change_text("a", "b")(spoilt.path(f"reports/demo/{name}"))
    commit_reports(spoilt)
    (found,) = checked(spoilt, monkeypatch).breaks
    assert (found.path, found.fault) == (f"reports/demo/{name}", Fault.OUTDATED)


@TO_THE_BIT
def test_without_its_runs_an_exhibit_follows_from_the_tables_that_were_collected(
    spoilt: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it would come out to the bit: elsewhere it is compared with what was recorded alone."""
    shutil.rmtree(spoilt.path("data/runs"))
    csv = spoilt.path("reports/tradeoff/tradeoff.csv")
    change_text("0.", "0.1")(csv)
    assert checked(spoilt, monkeypatch).is_whole  # nobody recorded it: it may be of another grid
    commit_reports(spoilt)
    (found,) = checked(spoilt, monkeypatch).breaks
    assert (found.path, found.fault) == ("reports/tradeoff/tradeoff.csv", Fault.OUTDATED)
    assert checked(spoilt, monkeypatch, damage=True).is_whole
    monkeypatch.setattr(processor, "deviations", lambda: ["NumPy uses AVX512F"])
    assert checked(spoilt, monkeypatch).is_whole


def test_an_exhibit_of_files_of_the_runs_is_not_followed_without_them(
    spoilt: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = copy.deepcopy(params())
    content["exhibits"]["tradeoff"] |= {"kind": "densities", "algorithm": "alm", "kappas": {"loans": [0.2]}}
    spoilt.write_params(content)
    assert spoilt.cli("report", "tradeoff").returncode == 0
    assert spoilt.cli("scorecard", "--experiment", "demo").returncode == 0
    commit_reports(spoilt)
    shutil.rmtree(spoilt.path("data/runs"))
    chain = checked(spoilt, monkeypatch)
    assert chain.is_whole and chain.unfollowed["exhibit"] == 1


def test_part_of_the_runs_is_no_reason_to_accuse_what_was_drawn_from_all(
    spoilt: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(spoilt.path(RUN))
    chain = checked(spoilt, monkeypatch)
    assert chain.is_whole and chain.absent["model"] == 1 and chain.unfollowed["exhibit"] == 1


@TO_THE_BIT
def test_an_edited_table_is_named_and_not_what_was_made_of_it(spoilt: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_reports(spoilt)
    shutil.rmtree(spoilt.path("data/runs"))
    change_cell("value")(spoilt.path("reports/demo/metrics.parquet"))
    (found,) = checked(spoilt, monkeypatch).breaks
    assert (found.path, found.fault) == ("reports/demo/metrics.parquet", Fault.DAMAGED)
