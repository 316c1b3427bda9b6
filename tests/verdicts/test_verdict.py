"""The verdict on a paper follows from its lines, and says nothing rosier."""

import csv
import json

import pytest

from reproduction.exhibits import answers
from reproduction.verdicts import scorecard, verdict
from reproduction.verdicts.claim import load
from reproduction.verdicts.line import COLUMNS, Line, counts
from tests.verdicts import words
from tests.workflow.project import ROOT

ROBUST = {"alike": "undecided", "depends": "holds"}
"""Words that no single test gives, with what it says where they are given."""


def lines(kind="claim", claim="x", **outcomes):
    """Lines of a claim with so many of each outcome; ``_`` stands for a space."""
    return [
        Line(
            "p",
            "f",
            f"data{k}",
            published="It is better",
            kind=kind,
            claim=claim,
            verdict=ROBUST.get(word, word.replace("_", " ")),
            robust=word if word in ROBUST else "",
        ).row()
        for word, count in outcomes.items()
        for k in range(count)
    ]


class TestState:
    @pytest.mark.parametrize(
        ("outcomes", "state", "answer"),
        [
            ({"holds": 3}, "holds", "holds"),
            ({"holds": 2, "dominated": 1}, "holds", "holds"),
            ({"holds": 2, "undecided": 1}, "partly", "partly"),
            ({"holds": 2, "not_run": 1}, "partly", "partly"),
            ({"dominated": 1, "fails": 5}, "mixed", "mixed"),
            ({"holds": 3, "fails": 3}, "mixed", "mixed"),
            ({"holds": 1, "undecided": 3}, "partly", "partly"),
            ({"holds": 1, "undecided": 4}, "partly", "cannot tell"),
            ({"holds": 1, "depends": 2, "undecided": 3}, "partly", "depends"),
            ({"depends": 1, "undecided": 2}, "depends", "depends"),
            ({"depends": 1, "undecided": 3}, "depends", "cannot tell"),
            ({"alike": 2}, "alike", "cannot tell"),
            ({"alike": 1, "undecided": 1}, "cannot tell", "cannot tell"),
            ({"undecided": 2, "fails": 1}, "fails", "does not hold"),
            ({"undecided": 2, "not_run": 1}, "cannot tell", "cannot tell"),
            ({"not_run": 1}, "not run", "cannot tell"),
            ({}, "not run", "cannot tell"),
        ],
    )
    def test_of_a_claim_and_of_the_paper(self, outcomes, state, answer):
        own = lines(**outcomes)
        assert verdict.state(own) == state
        assert verdict.summarise_paper("p", own, ["x"])["verdict"] == answer

    def test_only_central_claims_decide(self):
        own = lines(holds=3) + lines(claim="y", fails=1)
        assert verdict.summarise_paper("p", own, ["x"])["verdict"] == "holds"
        assert verdict.summarise_paper("p", own, ["y"])["verdict"] == "does not hold"
        assert verdict.summarise_paper("p", own, ["x", "y"])["verdict"] == "mixed"
        assert verdict.summarise_paper("p", own, [])["verdict"] == "cannot tell"

    def test_questions_decide_nothing(self):
        found = verdict.summarise_paper("p", lines(undecided=1) + lines("question", "x", holds=9), ["x"])
        assert found["verdict"] == "cannot tell" and found["claims"]["total"] == 1 and found["questions"] == 1

    def test_numbers_that_are_asked_by_us_are_one_question_for_an_exhibit(self):
        own = [Line("p", "f", published=0.1 * k, kind="question", verdict="agrees").row() for k in range(5)]
        assert verdict.summarise_paper("p", lines(holds=1) + own, ["x"])["questions"] == 1

    @pytest.mark.parametrize("power", ["", "no", "yes"])
    def test_a_number_that_differs_counts_whatever_null_models_get(self, power):
        own = [
            Line("p", "f", published=0.1 * k, verdict=word, power=power).row()
            for k, word in enumerate(("agrees", "near", "differs"))
        ]
        found = verdict.numbers(own)
        assert [counts(line) for line in own] == [power == "yes", power == "yes", True]
        assert (found["counted"], found["differs"]) == (3 if power == "yes" else 1, 1)
        assert found["counted"] + found["no power"] + found["no null model"] == 3

    def test_comparisons_that_the_unconstrained_model_passes_are_counted_apart(self):
        passed = [line | {"nulls": "Unconstrained passes"} for line in lines(holds=3)]
        reason = verdict.reason(lines(holds=2, undecided=1), passed)
        assert reason == (
            "of 3 comparisons 2 hold, 0 are alike, 0 depend, 1 cannot be told, 0 fail; 3 more are true and no "
            "evidence, as the unconstrained model passes them too"
        )
        powerless = [line | {"power": "no", "verdict": "dominated", "kind": "claim"} for line in lines(dominated=2)]
        own = [line | {"kind": "claim"} for line in lines(fails=3)]
        central = {line["claim"] for line in (*own, *powerless)}
        paper = verdict.summarise_paper("partial_fairness", [*own, *powerless], central, ROOT)
        assert paper["verdict"] == "does not hold" and paper["central_comparisons"]["holds"] == 0
        assert paper["central_comparisons"]["true of another model"] == 2

    def test_what_passes_in_place_of_the_method_is_named(self):
        one, two = ({"nulls": nulls} for nulls in ("a fails; b passes", "b passes; c in other passes"))
        passed = [line | nulls for line, nulls in zip(lines(holds=2), (one, two), strict=True)]
        assert verdict.reason(lines(holds=2), passed[:1]).endswith("1 more is true and no evidence, as b passes it too")
        assert verdict.reason(lines(holds=2), passed).endswith("as b or c in other passes them too")

    def test_what_is_beaten_by_another_holds_in_the_count(self):
        reason = verdict.reason(lines(holds=2, dominated=1, undecided=1, fails=1))
        assert reason.startswith("of 5 comparisons 3 hold, 0 are alike, 0 depend, 1 cannot be told, 1 fails")

    def test_where_it_fails_is_said_by_the_title_of_the_experiment(self):
        places = [("bank", "linear", "A"), ("bank", "linear", "B"), ("bank", "net", "A"), ("bank", "net", "B")]
        own = [
            line | {"dataset": dataset, "setting": setting, "against": other}
            for line, (dataset, setting, other) in zip(lines(fails=3, holds=1), places, strict=True)
        ]
        reason = verdict.reason(own, titles={"linear": "Linear scores (Example 1)", "net": "Networks"})
        assert reason.endswith("it fails on bank (linear scores): A, B; bank (networks): A")

    def test_where_it_fails_is_said_as_figures_call_the_dataset(self):
        own = lines(fails=1)
        experiments = {own[0]["dataset"]: "An experiment of the dataset's name"}
        assert verdict.reason(own, (), experiments, {own[0]["dataset"]: "COMPAS"}).endswith("it fails on COMPAS")
        assert verdict.reason(own, (), experiments).endswith(f"it fails on {own[0]['dataset']}")

    def test_a_claim_that_anything_passes_does_not_count(self):
        powerless = [line | {"power": "no"} for line in lines(claim="y", holds=2)]
        mixed = [*lines(claim="z", fails=1), lines(claim="z", holds=1)[0] | {"power": "no"}]
        found = verdict.summarise_paper("p", [*lines(holds=1), *powerless, *mixed], ["x"])
        assert [entry["verdict"] for entry in found["claim_list"]] == ["holds", "no power", "fails"]
        assert (found["claims"]["total"], found["claims"]["holds"], found["claims"]["no power"]) == (2, 1, 1)
        assert [counts(line) for line in (*powerless, *mixed)] == [False, False, True, False]

    def test_a_comparison_that_is_not_passed_counts_whoever_passes_it(self):
        found = [line | {"power": "no"} for line in lines(claim="y", holds=2, undecided=1)]
        assert [counts(line) for line in found] == [line["verdict"] == "undecided" for line in found]
        powerless = [line | {"power": "no"} for line in lines(claim="y", holds=2, fails=1)]
        found = verdict.summarise_paper("p", powerless, ["y"])
        assert [entry["verdict"] for entry in found["claim_list"]] == ["fails"]
        assert found["verdict"] == "does not hold" and found["central_comparisons"]["fails"] == 1
        assert [counts(line) for line in powerless] == [line["verdict"] == "fails" for line in powerless]


def number(word="agrees", power="yes"):
    return Line("p", "t", published=0.9, reproduced=0.9, verdict=word, power=power).row()


class TestSentence:
    def test_names_every_count(self):
        own = [*lines(holds=2, undecided=1), *lines(claim="y", holds=1), number(), number("differs"), number("near")]
        own += [number(power="no"), number(power=""), number("by construction"), number("not run")]
        found = verdict.summarise_paper("p", own, ["x"])
        assert found["sentence"] == (
            "The central claim holds here in part, and fails nowhere: of 3 comparisons 2 hold, 0 are alike, 0 depend, "
            "1 cannot be told, 0 fail. Of 2 sentences 1 holds, 1 holds in part, 0 hold in places and fail in others, "
            "0 are alike, 0 depend, 0 cannot be told, 0 fail; 0 more were not tested. Of 3 numbers 1 agrees, 1 is "
            "near, 1 differs."
        )
        assert (found["numbers"]["no power"], found["numbers"]["no null model"]) == (1, 1)

    def test_claims_that_were_not_run_are_counted_apart(self):
        own = [*lines(holds=1), *lines(claim="y", **{"not run": 2}), *lines(claim="z", fails=1)]
        found = verdict.summarise_paper("p", own, ["x"])
        assert (found["claims"]["total"], found["claims"]["not run"]) == (2, 1)
        assert "Of 2 sentences 1 holds" in found["sentence"] and "; 1 more was not tested" in found["sentence"]

    def test_parts_of_a_sentence_are_counted_once(self):
        own = [*lines(holds=1), *lines(claim="y", fails=1), *lines(claim="z", holds=1)]
        found = verdict.summarise_paper("p", own, ["x"], sentence_ids={"x": "s", "y": "s", "z": "z"})
        assert (found["claims"]["total"], found["claims"]["mixed"], found["claims"]["holds"]) == (2, 1, 1)

    def test_a_concession_counts_neither_for_the_paper_nor_against_it(self):
        own = [*lines(holds=1), *lines("concession", "y", fails=3)]
        found = verdict.summarise_paper("p", own, ["x"])
        assert found["verdict"] == "holds" and found["claims"]["total"] == 1
        assert [entry["id"] for entry in found["conceded"]] == ["y"]

    def test_says_how_large_the_effects_are(self):
        own = [
            line | {"lead": lead, "unit": "points of accuracy"}
            for line, lead in zip(lines(holds=2, fails=1), (0.5, 1.5, -0.2), strict=True)
        ]
        said = verdict.summarise_paper("p", own, ["x"])["because"]
        assert "2 hold (ahead by 0.5 to 1.5 points of accuracy)" in said
        assert "1 fails (behind by 0.2 points of accuracy)" in said

    def test_says_where_it_fails(self):
        assert "it fails on data0" in verdict.summarise_paper("p", lines(fails=1), ["x"])["because"]

    def test_an_explanation_is_printed_only_while_it_explains_the_verdict(self, tmp_path):
        (tmp_path / "papers/p").mkdir(parents=True)
        about = {"title": "P", "expects": "holds", "verdict": "The data are the paper's own."}
        (tmp_path / "papers/p/paper.yaml").write_text(json.dumps(about))
        assert verdict.summarise_paper("p", lines(holds=1), ["x"], tmp_path)["explanation"] == about["verdict"]
        assert verdict.summarise_paper("p", lines(fails=1), ["x"], tmp_path)["explanation"] == ""


def check(found, own, claims):
    """Hold what is said of a paper against its lines, counted independently."""
    rows = [dict.fromkeys(COLUMNS, "") | {k: str(v) for k, v in line.items()} for line in own]
    assert words.faults_of_headline(found, rows, claims) == []


def test_what_is_said_of_a_small_project_is_what_its_lines_say(project):
    root, config = project
    own = answers.scorecard_lines(config, root)
    (found,) = scorecard.paper_summaries(config, own, root)
    check(found, [line for line in own if line["paper"] == found["paper"]], load(found["paper"], root))


def test_what_is_said_of_the_committed_results_is_what_their_lines_say():
    path = ROOT / "reports" / "verdicts.json"
    if not path.is_file():
        pytest.skip("reports/verdicts.json has not been written yet")
    with (ROOT / "reports" / "scorecard.csv").open(encoding="utf-8", newline="") as stream:
        own = list(csv.DictReader(stream))
    for line in own:
        assert line["counts"] == ("yes" if counts(line) else "no")
        assert line["kind"] != "claim" or (line["section"] and line["test"])
    for found in json.loads(path.read_text(encoding="utf-8"))["papers"]:
        check(found, [line for line in own if line["paper"] == found["paper"]], load(found["paper"], ROOT))
