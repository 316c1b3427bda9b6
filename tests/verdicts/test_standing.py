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
    """What a clone finds that lacks runs of one paper: three of its lines are undone, and every line is another."""
    found = [line | {"note": "found here"} for line in before]
    undone = [n for n, line in enumerate(before) if (line["paper"], line["verdict"]) == ("plada", "holds")]
    for place in undone[:3]:
        found[place] |= {"verdict": "not run", "metric": "as it was named before a test", "counts": "no"}
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


def test_exhibits_of_claims_say_what_the_scorecard_says(before):
    config = load_config(ROOT / "params.yaml")
    drawn = [name for name, entry in config.params.exhibits.items() if entry.kind == "claims"]
    assert len(drawn) == len(config.papers)
    for name in drawn:
        lines = scorecard.rounded(standing.load(ROOT / "reports" / name / f"{name}.csv"))
        assert lines == [line for line in before if line["claim"] and line["paper"] == lines[0]["paper"]], name


def test_lines_that_cannot_be_decided_are_refused_and_nothing_is_written(here, folder):
    stood = contents(folder)
    with pytest.raises(DataError, match=r"3 of its \d+ lines are decided there and lack their trained runs here"):
        job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT)
    assert contents(folder) == stood


def test_a_paper_that_cannot_be_decided_is_kept_whole_and_the_others_are_written(here, before, folder):
    job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT, job.Undecided.KEEP)
    found = standing.load(folder / "scorecard.csv")
    assert [line for line in found if line["paper"] == "plada"] == [line for line in before if line["paper"] == "plada"]
    assert {line["note"] for line in found if line["paper"] != "plada"} == {"found here"}
    assert [line["paper"] for line in found] == [line["paper"] for line in before]


def test_lines_that_only_the_kept_paper_has_are_not_lost(before):
    one = [line for line in before if line["paper"] == "plada" and line["verdict"] != "not run"]
    undone = [one[0] | {"verdict": "not run"}]
    assert standing.keep(undone, one) == one


def test_replaced_lines_are_not_run(here, before, folder):
    job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT, job.Undecided.REPLACE)
    found = standing.load(folder / "scorecard.csv")
    assert sum(a["verdict"] != b["verdict"] for a, b in zip(found, before, strict=True)) == 3
    assert {line["note"] for line in found} == {"found here"}


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


def test_the_page_says_what_the_file_says(before, tmp_path, monkeypatch):
    """Lines that were kept come from the file; a page of others would have more digits."""
    fine = [
        {name: value + 1e-9 if isinstance(value, float) else value for name, value in line.items()} for line in before
    ]
    shown = []
    monkeypatch.setattr(job.answers, "lines", lambda config, root: fine)
    monkeypatch.setattr(job.page, "write", lambda config, target, root, lines: shown.extend(lines) or target)
    job.write_all(load_config(ROOT / "params.yaml"), tmp_path, ROOT)
    kept = standing.load(tmp_path / "scorecard.csv")
    assert [line["reproduced"] for line in shown if "reproduced" in line] == [
        line["reproduced"] for line in kept if "reproduced" in line
    ]


def test_a_line_that_is_decided_otherwise_says_in_what(before):
    found = [dict(line) for line in before]
    place = next(n for n, line in enumerate(found) if line["verdict"] == "holds")
    found[place] |= {"verdict": "fails", "nulls": "taken from data that are not here"}
    found[place + 1] |= {"verdict": "not run"}
    both = standing.decided_in_both(found, before)
    assert len(both) == sum(line["verdict"] != "not run" for line in before) - 1
    (said,) = filter(None, (standing.difference(*pair) for pair in both))
    assert said.startswith(f"verdict of {before[place]['exhibit']}, ") and said.endswith("the results give 'fails'")
