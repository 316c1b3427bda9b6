"""Alternative texts say in words what a figure shows: names of methods, datasets and measures, never keys."""

import re

import pytest

from partialfair import plugins
from reproduction.exhibits import descriptions, titles
from reproduction.site import exhibits
from reproduction.site.project import Project
from tests.workflow.project import ROOT

PROJECT = Project(ROOT)
FIGURES = [name for name, shown in PROJECT.exhibits.items() if {"svg", "csv"} <= shown.files.keys()]


def text(name: str) -> str:
    """The alternative text of a committed figure."""
    found = re.search(r"<desc[^>]*>(.*?)</desc>|alt=\"(.*?)\"", exhibits.figure(PROJECT, PROJECT.exhibits[name]))
    assert found
    return found[1] or found[2]


@pytest.mark.parametrize("name", FIGURES)
def test_no_key_stands_in_an_alternative_text(name):
    found = text(name)
    assert "_" not in found
    assert not re.search(r"\b(idca|alm|ssg|sgd|plada|auc|kkt|std|lam|mu|q25|q75|iqrc|sfls)\b", found), found
    assert re.search(r"runs from|throughout", found) and len(found) < 900


def test_there_are_figures():
    assert len(FIGURES) > 40


LINES = [
    {"experiment": "psp", "dataset": "law_school", "algorithm": "idca", "fairness": "0.5", "kappa": "0.1"},
    {"experiment": "psp", "dataset": "law_school", "algorithm": "alm", "fairness": "0.75", "kappa": "0.2"},
    {"experiment": "psp", "dataset": "law_school", "algorithm": "alm", "fairness": "0.9", "kappa": "0.3"},
]


def test_names_ranges_and_places_are_said():
    say = titles.title_function(PROJECT.config, {}.get)
    assert descriptions.describe_lines("Figure 1: a title", LINES, say) == (
        "Figure 1: a title. Dataset: law school. Methods: IDCA, Augmented Lagrangian. "
        "Fairness (1 is parity) runs from 0.5 (IDCA) to 0.9 (Augmented Lagrangian)."
    )


def test_what_ends_have_in_common_is_said_and_no_more():
    lines = [*LINES, {**LINES[0], "fairness": "0.9"}, {**LINES[0], "dataset": "bank", "fairness": "0.6"}]
    say = titles.title_function(PROJECT.config, {}.get)
    assert "to 0.9 (law school)." in descriptions.describe_lines("Title", lines, say)


def test_quantities_in_one_column_have_a_range_each():
    lines = [{"quantity": name, "value": value} for name, value in (("loss", "1"), ("loss", "2"), ("error", "3000"))]
    found = descriptions.describe_lines("Which?", lines)
    assert found == "Which? Quantities: loss, error. Loss runs from 1 to 2. Error is 3,000 throughout."


def test_an_unknown_file_is_described_whole():
    assert (
        descriptions.describe_lines("Mine", [{"my_number": "1"}, {"my_number": "2"}])
        == "Mine. My number runs from 1 to 2."
    )
    large = [{"my_number": "-1500"}, {"my_number": "-0.5"}]
    assert descriptions.describe_lines("Mine", large) == "Mine. My number runs from −1,500 to −0.5."
    assert descriptions.describe_lines("Mine", []) == "Mine. It shows nothing yet."


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("algorithm", "sgd_fairret", "SGD-Fairret"),
        ("dataset", "law_school", "law school"),
        ("interval", "0.05-0.3", "[0.05, 0.3]"),
        ("experiment", "psp", "pSP"),
        ("experiment", "stoch_table3", "loss parity"),
        ("series", "adw1", "ADW-1"),
        ("candidate", "theory", "steps by its bounds"),
        ("split", "test", "test"),
    ],
)
def test_words_for_keys(column, value, said):
    options = {"series": {"adw1": {"label": "ADW-1"}}, "labels": {"theory": "steps by its bounds"}}
    assert titles.title_function(PROJECT.config, options.get)(column, value) == said


def test_every_algorithm_has_a_word():
    say = titles.title_function(PROJECT.config, {}.get)
    assert not [name for name in plugins.names("algorithms") if "_" in say("algorithm", name)]
