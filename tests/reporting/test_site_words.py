"""What pages say in few words: what became of an exhibit's runs, and numbers in few letters."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from reproduction.exhibits.document import environment
from reproduction.grid.papers import FirstFigure, Paper, paper
from reproduction.site import exhibits, explorers, home, papers
from reproduction.site.project import Project
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
    project = SimpleNamespace(papers={"p": None}, verdicts={"q": {}}, short=str.upper)
    assert papers.Verdict.of(project, "p").because == (
        "Not yet in reports/verdicts.json; `partialfair scorecard --keep` adds it."
    )


def test_a_paper_is_called_what_its_folder_says(tmp_path):
    for name, about in {
        "one_paper": "title: A long title\nshort: OnePaper\n",
        "other_paper": "title: Another\n",
    }.items():
        (tmp_path / "papers" / name).mkdir(parents=True)
        (tmp_path / "papers" / name / "paper.yaml").write_text(about)
    project = Project.__new__(Project)
    project.papers = {name: paper(name, tmp_path) for name in ("one_paper", "other_paper")}
    assert [project.short(name) for name in ("one_paper", "other_paper", "no_folder")] == [
        "OnePaper", "Other paper", "No folder",
    ]  # fmt: skip


def test_the_first_page_shows_the_figure_of_the_paper_that_names_one(tmp_path):
    head = "experiment,dataset,algorithm,kappa,source,n_seeds,fairness,fairness_low,fairness_high"
    (tmp_path / "reports/own").mkdir(parents=True)
    (tmp_path / "reports/own/own.csv").write_text(
        f"{head},accuracy,accuracy_low,accuracy_high\npsp,a9a,alm,0.1,reproduced,3,0.9,0.8,1.0,0.8,0.7,0.9\n"
    )
    figure = FirstFigure(exhibit="own", source="Figure 7", hidden=["alm"])
    run = SimpleNamespace(interval=[(0.1, 0.4)])
    experiment = SimpleNamespace(title="pSP", runs={"a9a": run})
    params = SimpleNamespace(exhibits={"own": SimpleNamespace(experiments=["psp"])})
    config = SimpleNamespace(params=params, experiment=lambda name: experiment)
    project = SimpleNamespace(root=tmp_path, config=config, papers={"p": Paper(title="P", first_figure=figure)})
    found = json.loads(home.frontier(project))
    assert [one["off"] for one in found["series"]] == [True] and found["panels"][0]["title"] == "a9a, I = [0.1, 0.4]"
    project.papers = {"p": Paper(title="P")}
    assert home.first_figure(project) is None and home.frontier(project) == ""


def test_the_trace_of_every_row_of_the_runs_is_one_that_the_grid_trains():
    project = Project(ROOT)
    content = explorers.runs(project)["runs"].partition("]=")[2].rstrip(";\n")
    found = json.loads(content)
    keys = [column["key"] for column in found["columns"] if "later" not in column]
    places = [keys.index(name) for name in ("experiment", "folder")]
    folders = {"/".join(["data/runs", *(found["words"][row[place]] for place in places)]) for row in found["rows"]}
    assert folders and folders <= {job.path.as_posix() for job in project.config.jobs()}
