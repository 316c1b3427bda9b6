"""A scorecard keeps what was decided where the trained runs are."""

import csv
import shutil

import pytest

from partialfair.errors import DataError
from reproduction.exhibits import exhibit
from reproduction.exhibits.kinds import claims
from reproduction.grid.config import load_config
from reproduction.jobs import scorecard as job
from reproduction.verdicts import baseline_scorecard, scorecard, verdict
from reproduction.verdicts.claim import load
from reproduction.verdicts.line import LACKS, OURS, robust
from tests.workflow.project import ROOT

COMMITTED = ROOT / "reports" / "scorecard.csv"


@pytest.fixture
def before():
    return baseline_scorecard.load(COMMITTED)


@pytest.fixture
def here(before, monkeypatch):
    """What a clone finds that lacks runs of one paper: one claim and two numbers are undone, every line is another."""
    found = [line | {"note": "found here", LACKS: False} for line in before]
    claim = next(line["claim"] for line in before if (line["paper"], line["verdict"]) == ("plada", "holds"))
    for line in found:
        if (line["paper"], line["claim"]) == ("plada", claim):
            line |= {"verdict": "not run", "metric": "as it was named before a test", "counts": "no", LACKS: True}
    numbers = [line for line in found if line["kind"] == "number" and line["verdict"] == "agrees"]
    numbers[0] |= {"verdict": "not run", LACKS: True}
    numbers[1] |= {"verdict": "differs", LACKS: True}  # decided, but for want of a null model otherwise
    monkeypatch.setattr(job.answers, "scorecard_lines", lambda config, root: [dict(line) for line in found])
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
    keys = [key for key, _ in baseline_scorecard._keyed(before)]
    assert len(keys) == len(set(keys))


def test_exhibits_of_claims_say_what_the_scorecard_says(before):
    config = load_config(ROOT / "params.yaml")
    drawn = {
        name: (entry.model_extra or {}).get("source", "lines")
        for name, entry in config.params.exhibits.items()
        if entry.kind == "claims"
    }
    assert list(drawn.values()).count("lines") == list(drawn.values()).count("forest") == len(config.papers)
    for name, source in drawn.items():
        if source == "specification":
            continue
        path = ROOT / "reports" / name / f"{name}.csv"
        if source == "lines":
            lines = scorecard.rounded(baseline_scorecard.load(path))
            assert lines == [line for line in before if line["claim"] and line["paper"] == lines[0]["paper"]], name
            continue
        with path.open(encoding="utf-8", newline="") as stream:
            shown = [(row["claim"], row["against"], row["robust"], row["letters"]) for row in csv.DictReader(stream)]
        paper = config.experiment(config.params.exhibits[name].experiments[0]).paper
        central = {claim.id for claim in load(paper, ROOT) if claim.central}
        own = [
            line for line in before if line["paper"] == paper and line["claim"] in central and line["kind"] == "claim"
        ]
        assert shown == [(line["claim"], line["against"], robust(line), line["letters"]) for line in own], name


def undone(lines):
    return [line for line in lines if line["verdict"] == "not run"]


def test_lines_that_cannot_be_decided_are_refused_and_nothing_is_written(here, before, folder):
    stood, lost = contents(folder), len(undone(here)) - len(undone(before))
    assert lost > 2
    with pytest.raises(DataError, match=rf"{lost} of its \d+ lines are decided there and lack their trained runs here"):
        job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT)
    assert contents(folder) == stood


def test_what_lacks_its_runs_is_kept_and_the_rest_is_written(here, before, folder):
    job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT, job.Undecided.KEEP)
    for found, stood, now in zip(baseline_scorecard.load(folder / "scorecard.csv"), before, here, strict=True):
        assert found == (stood if now[LACKS] else {key: now[key] for key in now if key != LACKS})


def test_a_claim_of_which_there_is_one_line_now_keeps_all_that_it_had(before):
    """Without any run, a claim has one line, that of no dataset."""
    name = next(line["claim"] for line in before if (line["paper"], line["verdict"]) == ("plada", "holds"))
    of = [line for line in before if line["claim"] == name]
    assert len(of) > 1
    one = of[0] | {"verdict": "not run", "dataset": "", LACKS: True}
    assert baseline_scorecard.keep([one], before)[: len(of)] == of
    assert baseline_scorecard.keep([one | {LACKS: False}], of) == [one | {LACKS: False}]


def test_questions_that_are_not_asked_without_runs_stay_at_the_end(before):
    asked = [line for line in before if line["section"] == OURS and not line["claim"]]
    rest = [line for line in before if line not in asked]
    assert asked and baseline_scorecard.keep(rest, before) == before


def test_replaced_lines_are_not_run(here, before, folder):
    job.write_all(load_config(ROOT / "params.yaml"), folder, ROOT, job.Undecided.REPLACE)
    found = baseline_scorecard.load(folder / "scorecard.csv")
    assert len(undone(found)) == len(undone(here)) > len(undone(before))
    assert {line["note"] for line in found} == {"found here"}


def test_what_was_not_run_before_loses_nothing(before):
    undone = [line | {"verdict": "not run"} for line in before]
    assert len(baseline_scorecard.lost(undone, before)) == sum(line["verdict"] != "not run" for line in before)
    assert not baseline_scorecard.lost(before, undone)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\xff"])
def test_a_file_that_is_no_scorecard_is_named(tmp_path, text):
    path = tmp_path / "scorecard.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"scorecard\.csv.*delete it"):
        baseline_scorecard.load(path)


def test_the_page_says_what_the_file_says(before, tmp_path, monkeypatch):
    """Lines that were kept come from the file; a page of others would have more digits."""
    fine = [
        {name: value + 1e-9 if isinstance(value, float) else value for name, value in line.items()} for line in before
    ]
    shown = []
    monkeypatch.setattr(job.answers, "scorecard_lines", lambda config, root: fine)
    monkeypatch.setattr(job.page, "write", lambda config, target, root, lines: shown.extend(lines) or target)
    job.write_all(load_config(ROOT / "params.yaml"), tmp_path, ROOT)
    kept = baseline_scorecard.load(tmp_path / "scorecard.csv")
    assert [line["reproduced"] for line in shown if "reproduced" in line] == [
        line["reproduced"] for line in kept if "reproduced" in line
    ]


def test_a_line_that_is_decided_otherwise_says_in_what(before):
    found = [dict(line) for line in before]
    place = next(n for n, line in enumerate(found) if line["verdict"] == "holds")
    found[place] |= {"verdict": "fails"}
    found[place + 1] |= {"verdict": "not run"}
    both = baseline_scorecard.decided_in_both(found, before)
    assert len(both) == sum(line["verdict"] != "not run" for line in before) - 1
    (said,) = filter(None, (baseline_scorecard.difference(*pair) for pair in both))
    assert said.startswith(f"verdict of {before[place]['exhibit']}, ") and said.endswith("the results give 'fails'")


def test_what_lacks_its_runs_is_compared_in_what_its_own_test_says(before):
    line = next(one for one in before if one["verdict"] == "holds")
    again = line | {"p_value": 0.5, "nulls": "taken from data that are not here"}
    assert not baseline_scorecard.difference(line, again | {LACKS: True})
    for name in ("verdict", "reproduced", "ci_low", "ci_high", "n", "statistic"):
        said = baseline_scorecard.difference(line, again | {LACKS: True, name: "another"})
        assert said.startswith(f"{name} of ") and said.endswith("the results give 'another'")
    assert baseline_scorecard.difference(line, again | {LACKS: False}).partition(" of ")[0] in ("nulls", "p_value")


def test_the_table_of_claims_says_what_the_verdict_says_of_them(before):
    """Comparisons that a null model passes decide nothing there, either, and say why."""
    for paper in ("partial_fairness", "stochastic_benchmark"):
        own = [line for line in before if line["kind"] == "claim" and line["paper"] == paper]
        rows = claims.table(None, own).rows
        said = [row[2].text for row in rows if row[0].text]
        assert said == [entry["verdict"] for entry in verdict.claims(own)] and verdict.NO_POWER in said
        for row, line in zip(rows, own, strict=True):
            assert ("does not count: " in row[-1].text) == (line["counts"] == "no")
            assert line["counts"] == "yes" or row[-2].kind == "none"


@pytest.mark.parametrize("keep", [True, False])
def test_an_exhibit_of_claims_keeps_what_lacks_its_runs_if_it_is_told_to(before, tmp_path, monkeypatch, keep):
    own = [line for line in before if line["claim"] and line["paper"] == "plada"]
    of_first = [line["claim"] == own[0]["claim"] for line in own]
    found = [
        line | {"verdict": "not run", "note": "found here", LACKS: lacks}
        for line, lacks in zip(own, of_first, strict=True)
    ]
    scorecard.write(own, tmp_path / "plada_claims.csv")
    context = exhibit.context(load_config(ROOT / "params.yaml"), "plada_claims", ROOT, tmp_path, keep=keep)
    monkeypatch.setattr(claims.scorecard, "claim_lines", lambda *_: found)
    lines = list(claims.csv_lines(context))
    kept = [line["note"] == stood["note"] for line, stood in zip(lines, own, strict=True)]
    assert kept == [keep and first for first in of_first]
