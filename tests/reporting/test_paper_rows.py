"""What a paper's page says of an exhibit, and how wide the tolerance of a row of its numbers is drawn."""

import re

import pytest

from reproduction.exhibits.kinds import claims as page
from reproduction.site import difference_plot, exhibit_rows, exhibits, scorecard_entries
from reproduction.site.project import Project
from tests.workflow.project import ROOT


def entry(**values):
    line = {"kind": "number", "verdict": "agrees", "counts": "yes", "published": "0.8", "reproduced": "0.81"}
    return scorecard_entries.entry({"noise": "0.0196", "tolerance": "", "dataset": "law_school"} | line | values)


def test_numbers_are_counted_and_their_differences_summed_up():
    lines = [entry(), entry(reproduced="0.83"), entry(reproduced="0.9", verdict="measured")]
    assert exhibit_rows._published(lines) == "3 printed numbers."
    assert exhibit_rows._ours(lines) == "Judged numbers differ by 0.02 in the median, 0.03 at most."


def test_the_first_claim_is_said_with_its_effect():
    claims = [
        entry(kind="claim", published=sentence, reproduced=value, verdict=verdict, note="why not", detectable="0.02")
        for sentence, value, verdict in (("A is better.", "0.1", "holds"), ("A is better.", "-0.2", "undecided"),
                                         ("B is.", "0.5", "holds"))
    ]  # fmt: skip
    assert exhibit_rows._published(claims) == "A is better. 1 more claim."
    assert exhibit_rows._ours(claims) == "The first claim's effect is -0.2 to +0.1 in 2 comparisons."
    assert exhibit_rows._why(claims) == "Cannot be told: the smallest effect that would have been seen is 0.02."


def test_the_clearest_difference_is_the_reason():
    near = entry(verdict="differs", reproduced="0.82", note="accuracy of x; difference +0.02; no reason")
    far = entry(verdict="differs", reproduced="0.9", note="accuracy of x; difference +0.1; the column is left out")
    said = "law school: ours 0.9, printed 0.8; noise of their difference ±0.02. The column is left out."
    assert exhibit_rows._why([near, far]) == f"Clearest difference: {said}"
    assert exhibit_rows._why([entry()]) == ""


@pytest.mark.parametrize(
    ("text", "said"), [("48842.0", "48,842"), ("0.4366", "0.4366"), ("A is better.", "A is better.")]
)
def test_what_is_printed_has_no_idle_digits(text, said):
    assert entry(published=text).printed == said


def test_every_exhibit_of_every_paper_has_a_row():
    project = Project(ROOT)
    assert len(project.exhibits) > 20
    for shown in project.exhibits.values():
        found = exhibit_rows.exhibit_row(project, shown)
        assert "_" not in re.sub(r"\w+_\w+", "", found.published)
        assert bool(found.tally) == (found.published != exhibit_rows.NOTHING)


@pytest.mark.parametrize(
    ("tolerances", "width"),
    [(["0.05", "0.05"], 5.0), (["", ""], 0.0), (["0.05", "", ""], 0.0), (["0.05", "0.1"], 7.5)],
)
def test_tolerance_of_a_row_is_its_median_in_standard_errors(tolerances, width):
    assert difference_plot.tolerance([entry(tolerance=value) for value in tolerances]) == pytest.approx(width)


def test_a_wide_tolerance_is_shaded_and_a_mark_without_power_is_pale():
    wide = difference_plot.plot(
        [entry(exhibit="table3", tolerance="0.1"), entry(exhibit="table3", counts="")], "s", "t"
    )
    assert "class='near'" in wide and "Table 3, law school" in wide
    assert wide.count(" pale' data-k=") == 2, "once on each of the two pictures"
    assert "class='near'" not in difference_plot.plot([entry(exhibit="table3", tolerance="0.01")], "s", "t")
    assert "could not have failed" in difference_plot.plot([entry(counts="")], "s", "t")


def test_an_exhibit_has_the_lines_of_its_own_paper():
    project = Project(ROOT)
    for shown in project.exhibits.values():
        own = {project.config.experiment(name).paper for name in shown.experiments}
        assert {line.paper for line in project.lines(shown)} <= own, shown.name


def test_chips_count_what_counts_and_the_rest_by_what_it_is():
    lines = [
        entry(), entry(verdict="differs"), entry(counts="no"), entry(verdict="repeated", counts="no"),
        entry(kind="question", verdict="holds", counts="no"), entry(kind="question", verdict="fails", counts="no"),
        entry(kind="setting", verdict="as stated", counts="no"), entry(kind="claim", verdict="undecided"),
    ]  # fmt: skip
    assert scorecard_entries.count_verdicts(lines) == {
        "agrees": 1, "cannot tell": 1, "differs": 1, "repeated": 1,
        "question of ours": 2, "setting": 1, "true of other models, too": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("seeds", "words"), [([0, 1, 2, 3], "0 to 3"), ([0, 1], "0, 1"), ([1, 3, 4], "1, 3, 4")])
def test_a_whole_range_of_seeds_is_said_by_its_ends(seeds, words):
    assert exhibits.span(seeds) == words


def test_what_a_note_says_of_every_comparison_of_a_claim_stands_on_the_page_once() -> None:
    line = {
        "claim": "x", "kind": "claim", "section": "6", "published": "A is better.", "dataset": "", "setting": "e",
        "against": "B", "metric": "risk", "test": "better", "verdict": "holds", "power": "", "nulls": "",
    }  # fmt: skip
    found = [line | {"note": f"mean {k}; the margin is small; of old data"} for k in (1, 2)]
    alone = line | {"claim": "y", "note": "mean 3; the margin is small"}
    notes = [row[-1].text for row in page.table(None, [*found, alone]).rows]
    assert notes == ["mean 1; the margin is small; of old data", "mean 2", "mean 3; the margin is small"]
