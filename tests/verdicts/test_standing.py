"""A scorecard keeps what was decided where the trained runs are."""

import shutil

import pytest

from partialfair.errors import DataError
from partialfair.grid.config import load_config
from partialfair.jobs import scorecard as job
from partialfair.verdicts import scorecard, standing
from tests.workflow.project import ROOT

COMMITTED = ROOT / "reports" / "scorecard.csv"


@pytest.fixture
def before():
    return standing.load(COMMITTED)


@pytest.fixture
def here(before, monkeypatch):
    """What a clone without trained runs finds: three decided lines cannot be decided, and one number is another."""
    decided = [place for place, line in enumerate(before) if line["verdict"] != "not run"]
    found = [dict(line) for line in before]
    for place in decided[:3]:
        found[place] |= {"verdict": "not run", "note": "no run here", "counts": "no"}
    found[decided[3]] |= {"note": "found here"}
    monkeypatch.setattr(job.answers, "lines", lambda config, root: [dict(line) for line in found])
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(COMMITTED, tmp_path / "scorecard.csv")
    monkeypatch.setattr(job.page, "write", lambda config, target, root, lines: target)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_committed_scorecard_is_read_and_written_without_change(before, tmp_path):
    assert scorecard.write(before, tmp_path / "again.csv").read_bytes() == COMMITTED.read_bytes()


def test_no_two_lines_have_one_key(before):
    keys = [key for key, _ in standing._keyed(before)]
    assert len(keys) == len(set(keys))


def test_lines_that_cannot_be_decided_are_refused_and_nothing_is_written(here, folder):
    stood = contents(folder)
    with pytest.raises(DataError, match=r"3 of its \d+ lines are decided there and lack their trained runs here"):
        job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT)
    assert contents(folder) == stood


def test_kept_lines_stand_beside_those_found_here(here, before, folder):
    job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT, job.Undecided.KEEP)
    found = standing.load(folder / "scorecard.csv")
    assert [line["verdict"] for line in found] == [line["verdict"] for line in before]
    assert [line["note"] for line in found if line["note"] == "found here"] == ["found here"]
    assert not any(line["note"] == "no run here" for line in found)


def test_replaced_lines_are_not_run(here, before, folder):
    job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT, job.Undecided.REPLACE)
    found = standing.load(folder / "scorecard.csv")
    assert sum(a["verdict"] != b["verdict"] for a, b in zip(found, before, strict=True)) == 3


def test_what_was_not_run_before_loses_nothing(before):
    undone = [line | {"verdict": "not run"} for line in before]
    assert len(standing.lost(undone, before)) == sum(line["verdict"] != "not run" for line in before)
    assert not standing.lost(before, undone)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\xff"])
def test_a_file_that_is_no_scorecard_is_named(tmp_path, text):
    path = tmp_path / "scorecard.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"scorecard\.csv.*delete it"):
        standing.load(path)
