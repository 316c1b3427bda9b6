"""The verdict on a paper follows from its lines, and says nothing rosier."""

import csv
import json
import re
from collections import Counter

import pytest

from partialfair.reporting import answers
from partialfair.verdicts import scorecard, verdict
from partialfair.verdicts.line import Line, counts
from tests.workflow.project import ROOT


def lines(kind="claim", claim="x", **outcomes):
    """Lines of a claim with so many of each outcome; ``_`` stands for a space."""
    return [
        Line(
            "p", "f", f"data{k}", published="It is better", kind=kind, claim=claim, verdict=word.replace("_", " ")
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
            ({"dominated": 1, "fails": 5}, "partly", "does not hold"),
            ({"holds": 3, "fails": 3}, "partly", "partly"),
            ({"holds": 2, "fails": 3, "undecided": 19}, "partly", "does not hold"),
            ({"holds": 1, "undecided": 3}, "partly", "partly"),
            ({"holds": 1, "undecided": 4}, "partly", "cannot tell"),
            ({"holds": 1, "fails": 1, "undecided": 9}, "partly", "partly"),
            ({"undecided": 2, "fails": 1}, "fails", "does not hold"),
            ({"undecided": 2, "not_run": 1}, "undecided", "cannot tell"),
            ({"not_run": 1}, "not run", "cannot tell"),
            ({}, "not run", "cannot tell"),
        ],
    )
    def test_of_a_claim_and_of_the_paper(self, outcomes, state, answer):
        own = lines(**outcomes)
        assert verdict.state(own) == state
        assert verdict.of_paper("p", own, ["x"])["verdict"] == answer

    def test_only_central_claims_decide(self):
        own = lines(holds=3) + lines(claim="y", fails=1)
        assert verdict.of_paper("p", own, ["x"])["verdict"] == "holds"
        assert verdict.of_paper("p", own, ["y"])["verdict"] == "does not hold"
        assert verdict.of_paper("p", own, ["x", "y"])["verdict"] == "partly"
        assert verdict.of_paper("p", own, [])["verdict"] == "cannot tell"

    def test_questions_decide_nothing(self):
        found = verdict.of_paper("p", lines(undecided=1) + lines("question", "x", holds=9), ["x"])
        assert found["verdict"] == "cannot tell" and found["claims"]["total"] == 1 and found["questions"] == 1

    def test_numbers_that_are_asked_by_us_are_one_question_for_an_exhibit(self):
        own = [Line("p", "f", published=0.1 * k, kind="question", verdict="agrees").row() for k in range(5)]
        assert verdict.of_paper("p", lines(holds=1) + own, ["x"])["questions"] == 1

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
        found = verdict.because(lines(holds=2, undecided=1), passed)
        assert found.endswith("1 is undecided; 3 more do not count, as the unconstrained model passes them too")
        powerless = [line | {"power": "no", "verdict": "dominated", "kind": "claim"} for line in lines(dominated=2)]
        own = [line | {"kind": "claim"} for line in lines(fails=3)]
        central = {line["claim"] for line in (*own, *powerless)}
        paper = verdict.of_paper("partial_fairness", [*own, *powerless], central, ROOT)
        assert paper["verdict"] == "does not hold" and paper["central_comparisons"]["dominated"] == 0

    def test_what_passes_in_place_of_the_method_is_named(self):
        one, two = ({"nulls": nulls} for nulls in ("a fails; b passes", "b passes; c in other passes"))
        passed = [line | nulls for line, nulls in zip(lines(holds=2), (one, two), strict=True)]
        assert verdict.because(lines(holds=2), passed[:1]).endswith("1 more does not count, as b passes it too")
        assert verdict.because(lines(holds=2), passed).endswith("as b or c in other passes them too")

    def test_what_is_beaten_by_another_holds_in_the_count(self):
        found = verdict.because(lines(holds=2, dominated=1, undecided=1, fails=1))
        assert found.startswith("3 of 5 comparisons hold, 1 of them by dominance, 1 fails, 1 is undecided")

    def test_where_it_fails_is_said_by_the_title_of_the_experiment(self):
        places = [("bank", "linear", "A"), ("bank", "linear", "B"), ("bank", "net", "A"), ("bank", "net", "B")]
        own = [
            line | {"dataset": dataset, "setting": setting, "against": other}
            for line, (dataset, setting, other) in zip(lines(fails=3, holds=1), places, strict=True)
        ]
        found = verdict.because(own, titles={"linear": "Linear scores (Example 1)", "net": "Networks"})
        assert found.endswith("it fails on bank (linear scores): A, B; bank (networks): A")

    def test_where_it_fails_is_said_as_figures_call_the_dataset(self):
        own = lines(fails=1)
        experiments = {own[0]["dataset"]: "An experiment of the dataset's name"}
        assert verdict.because(own, (), experiments, {own[0]["dataset"]: "COMPAS"}).endswith("it fails on COMPAS")
        assert verdict.because(own, (), experiments).endswith(f"it fails on {own[0]['dataset']}")

    def test_a_claim_that_anything_passes_does_not_count(self):
        powerless = [line | {"power": "no"} for line in lines(claim="y", holds=2)]
        mixed = [*lines(claim="z", fails=1), lines(claim="z", holds=1)[0] | {"power": "no"}]
        found = verdict.of_paper("p", [*lines(holds=1), *powerless, *mixed], ["x"])
        assert [entry["verdict"] for entry in found["claim_list"]] == ["holds", "no power", "fails"]
        assert (found["claims"]["total"], found["claims"]["holds"], found["claims"]["no power"]) == (2, 1, 1)
        assert [counts(line) for line in (*powerless, *mixed)] == [False, False, True, False]

    def test_a_comparison_that_is_not_passed_counts_whoever_passes_it(self):
        found = [line | {"power": "no"} for line in lines(claim="y", holds=2, undecided=1)]
        assert [counts(line) for line in found] == [line["verdict"] == "undecided" for line in found]
        powerless = [line | {"power": "no"} for line in lines(claim="y", holds=2, fails=1)]
        found = verdict.of_paper("p", powerless, ["y"])
        assert [entry["verdict"] for entry in found["claim_list"]] == ["fails"]
        assert found["verdict"] == "does not hold" and found["central_comparisons"]["fails"] == 1
        assert [counts(line) for line in powerless] == [line["verdict"] == "fails" for line in powerless]


def number(word="agrees", power="yes"):
    return Line("p", "t", published=0.9, reproduced=0.9, verdict=word, power=power).row()


class TestSentence:
    def test_names_every_count(self):
        own = [*lines(holds=2, undecided=1), *lines(claim="y", holds=1), number(), number("differs"), number("near")]
        own += [number(power="no"), number(power=""), number("by construction"), number("not run")]
        found = verdict.of_paper("p", own, ["x"])
        assert found["sentence"] == (
            "The central claim holds here in part: 1 of 2 claims that could have failed hold and 1 hold in part; "
            "1 of 3 such numbers agree and 1 is near. Because: 2 of 3 comparisons hold, 1 is undecided."
        )
        assert (found["numbers"]["no power"], found["numbers"]["no null model"]) == (1, 1)

    def test_claims_that_were_not_run_are_counted_apart(self):
        own = [*lines(holds=1), *lines(claim="y", **{"not run": 2}), *lines(claim="z", fails=1)]
        found = verdict.of_paper("p", own, ["x"])
        assert (found["claims"]["total"], found["claims"]["not run"]) == (2, 1)
        assert ": 1 of 2 claims that could have failed hold, 1 more was not tested. Because" in found["sentence"]

    def test_says_where_it_fails(self):
        assert "it fails on data0" in verdict.of_paper("p", lines(fails=1), ["x"])["because"]

    def test_an_explanation_is_printed_only_while_it_explains_the_verdict(self, tmp_path):
        (tmp_path / "papers/p").mkdir(parents=True)
        about = {"title": "P", "expects": "holds", "verdict": "The data are the paper's own."}
        (tmp_path / "papers/p/paper.yaml").write_text(json.dumps(about))
        assert verdict.of_paper("p", lines(holds=1), ["x"], tmp_path)["explanation"] == about["verdict"]
        assert verdict.of_paper("p", lines(fails=1), ["x"], tmp_path)["explanation"] == ""


def check(found, own):
    """Hold what is said of a paper against its lines, counted independently."""
    claims = {}
    for line in own:
        if line["kind"] == "claim" and not (line.get("power") == "no" and line["verdict"] in ("holds", "dominated")):
            claims.setdefault(line["claim"], []).append(line["verdict"])
    whole = sum(set(words) <= {"holds", "dominated"} for words in claims.values())
    judged = Counter(line["verdict"] for line in own if line["kind"] == "number" and line["counts"] == "yes")
    said = re.search(r": (\d+) of (\d+) claims that could have failed hold", found["sentence"])
    tested = [words for words in claims.values() if set(words) != {"not run"}]
    assert said and (int(said[1]), int(said[2])) == (whole, len(tested))
    said = re.search(r"(\d+) more (?:was|were) not tested", found["sentence"])
    assert (int(said[1]) if said else 0) == len(claims) - len(tested)
    said = re.search(r"(\d+) of (\d+) such numbers agree", found["sentence"])
    assert (said is None) == (not judged)
    if said:
        assert (int(said[1]), int(said[2])) == (judged["agrees"], sum(judged.values()))
    central = {entry["id"] for entry in found["claim_list"] if entry["central"]}
    words = [word for name, own_words in claims.items() if name in central for word in own_words]
    good = sum(word in ("holds", "dominated") for word in words)
    assert (found["verdict"] == "holds") == (bool(words) and good == len(words))
    bad = words.count("fails")
    assert (found["verdict"] == "does not hold") == (bad > good)
    assert (found["verdict"] == "cannot tell") == (
        (not bad and 4 * good < len(words)) or not words or not (good or bad)
    )


def test_what_is_said_of_a_small_project_is_what_its_lines_say(project):
    root, config = project
    own = answers.lines(config, root)
    (found,) = scorecard.verdicts(config, own, root)
    check(found, [line for line in own if line["paper"] == found["paper"]])


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
        check(found, [line for line in own if line["paper"] == found["paper"]])
