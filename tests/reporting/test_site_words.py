"""What pages say in few words: what became of an exhibit's runs, and numbers in few letters."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from partialfair.pages.cells import environment
from partialfair.reporting.site import exhibits, explorers, papers
from partialfair.reporting.site.project import Project
from tests.workflow.project import ROOT


def test_what_became_of_the_runs_is_named():
    statuses = ["ok"] * 3 + ["tolerance missed"] * 2 + ["failed", "not_applicable"]
    assert exhibits._counted(pd.DataFrame({"status": statuses})) == (
        "6 trained; 2 exceed their tolerance on the training rows; 1 failed"
    )
    assert exhibits._counted(pd.DataFrame({"status": ["ok"]})) == "1 trained"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.47236, 3, ".472"), (9.726e-05, 2, "9.7e-5"), (0.0, 3, "0"), (12.34, 2, "12"), (-0.25, 3, "-0.25"),
        (1e-12, 2, "1e-12"), (float("nan"), 3, "–"),
    ],
)  # fmt: skip
def test_numbers_in_few_letters(value, digits, text):
    assert explorers._text(value, digits) == text


def test_counted_outcomes_agree_with_their_number():
    page = environment().from_string('{% import "site/parts.html.j2" as parts %}{{ parts.tally(counts, {}) }}')
    chips = page.render(counts={"differs from the paper": 2, "fails": 1})
    assert ">2 differ from the paper<" in chips and ">1 fails<" in chips


def test_a_paper_that_is_not_in_the_verdicts_says_how_it_gets_there():
    project = SimpleNamespace(papers={"p": None}, verdicts={"q": {}})
    assert papers.Verdict.of(project, "p").because == (
        "Not yet in reports/verdicts.json; `partialfair scorecard --keep` adds it."
    )


def test_the_trace_of_every_row_of_the_runs_is_one_that_the_grid_trains():
    project = Project(ROOT)
    content = explorers.runs(project)["runs"].partition("]=")[2].rstrip(";\n")
    found = json.loads(content)
    keys = [column["key"] for column in found["columns"] if "later" not in column]
    places = [keys.index(name) for name in ("experiment", "folder")]
    folders = {"/".join(["data/runs", *(found["words"][row[place]] for place in places)]) for row in found["rows"]}
    assert folders and folders <= {job.path.as_posix() for job in project.config.jobs()}
