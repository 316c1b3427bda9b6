"""Lines of the scorecard in sentences: effects with units, readings by their word, and what could have been seen."""

import re

import pytest

from reproduction.site import scorecard_entries, sentences
from reproduction.site.project import Project, experiment_titles
from reproduction.verdicts.line import OTHER_WAY
from tests.workflow.project import ROOT

CLAIM = {"kind": "claim", "verdict": "holds", "counts": "yes", "published": "A is better.", "test": "better: t"}


def line(**values):
    return scorecard_entries.entry(CLAIM | values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"lead": "0.809", "lead_low": "0.757", "lead_high": "0.86", "unit": "points of accuracy"},
         "+0.81 points of accuracy [+0.76, +0.86]"),
        ({"lead": "-0.139084", "unit": "best loss"}, "-0.139 best loss"),
        ({"reproduced": "0.1019", "against": "limit 0.3", "test": "bound: one-sided t"},
         "0.102 on the claimed side of the limit 0.3"),
        ({"reproduced": "-0.0361", "against": "limit 0.01", "test": "bound: one-sided t"},
         "0.0361 on the other side of the limit 0.01"),
        ({"kind": "number", "published": "0.8", "reproduced": "0.81", "ci_low": "0.8", "ci_high": "0.82", "test": ""},
         "0.81 [0.8, 0.82]"),
        ({"kind": "number", "published": "48842", "reproduced": "48842.0", "test": ""}, "48,842"),
        ({"reproduced": ""}, "–"),
    ],
)  # fmt: skip
def test_an_effect_has_a_unit_and_an_interval(values, text):
    assert sentences.effect(line(**values)) == text


def test_readings_that_agree_are_counted():
    agreeing = line(by_option="cut: ten levels holds; five levels holds | levels: each level holds", letters="HH HH")
    assert sentences.reasons(agreeing)[0] == "All 4 readings agree: holds."


def test_readings_that_differ_are_listed_by_their_word():
    cut = "cut: gaps of .1 or more fails; gaps of .2 or more no common level; gaps of .3 or more fails"
    depending = line(robust="depends", depends_on="cut, single seeds", by_option=cut, letters="FxF")
    assert sentences.reasons(depending)[:2] == [
        "Depends on cut and single seeds.",
        "By cut: fails for gaps of .1 or more and gaps of .3 or more; no common level for gaps of .2 or more.",
    ]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"detectable": "0.0123", "seeds_needed": "26.0", "lead": "0.5", "unit": "points of AUC"},
         ["An effect of 1.2 points of AUC would have been seen.", "26 seeds would decide it."]),
        ({"detectable": "0.0123", "lead": "0.5", "unit": "loss"}, ["An effect of 0.012 would have been seen."]),
        ({"seeds_needed": "9", "note": f"x; {OTHER_WAY}"}, ["9 seeds would decide against it."]),
        ({}, []),
    ],
)  # fmt: skip
def test_an_undecided_line_says_what_it_could_have_seen(values, told):
    reasons = sentences.reasons(line(verdict="undecided", robust="cannot tell", **values))
    assert [text for text in reasons if "seen" in text or "seeds" in text] == told


def test_the_p_value_of_a_failure_is_that_of_the_opposite():
    assert "Test: t, p-value 0.02." in sentences.reasons(line(p_value="0.02"))
    assert "Test: t, p-value below 0.0001 of the opposite." in sentences.reasons(
        line(p_value="0.0", verdict="fails", robust="fails")
    )


def test_every_line_of_the_committed_scorecard_reads_as_sentences_without_raw_names():
    project = Project(ROOT)
    titles = experiment_titles(project.config)
    for entry in project.entries:
        assert all(re.match(r"[^a-z].*\.$", text) for text in sentences.reasons(entry)), sentences.reasons(entry)
        if entry.kind == "claim":
            named = {entry.setting, *re.findall(r" in (\w+)$", entry.against)} & titles.keys()
            assert all(titles[name] in entry.description for name in named), entry.description
            assert " at equal 1 - " not in entry.description, entry.description
