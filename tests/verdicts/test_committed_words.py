"""Every committed word follows from its row, and every headline from the rows; the rule refuses what it has to."""

import csv
import json

import pytest

from reproduction.verdicts.claim import load
from tests.verdicts import words
from tests.workflow.project import ROOT

PAPERS = ("partial_fairness", "auc_fairness", "plada", "stochastic_benchmark", "dp_postprocessing")


@pytest.fixture(scope="module")
def rows():
    with (ROOT / "reports" / "scorecard.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def said():
    return {one["paper"]: one for one in json.loads((ROOT / "reports/verdicts.json").read_text())["papers"]}


def compared(rows):
    return [
        row for row in rows if row["kind"] in ("claim", "concession") or (row["kind"] == "question" and row["letters"])
    ]


def test_every_word_is_that_of_its_letters(rows):
    own = compared(rows)
    assert sum(bool(row["letters"]) for row in own) > 150
    assert words.faults_of_words(own) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_concessions_and_headlines(rows, said, paper):
    claims, own = load(paper, ROOT), [row for row in rows if row["paper"] == paper]
    assert words.faults_of_claims(claims) == []
    assert words.faults_of_concessions(own, claims) == []
    assert words.faults_of_headline(said[paper], own, claims) == []


class TestFaults:
    """What the rule has to refuse is refused."""

    def test_a_word_that_a_reading_contradicts(self, rows):
        row = next(row for row in rows if row["robust"] == "holds" and len(row["letters"]) > 8)
        wrong = row | {"letters": row["letters"][:-1] + "F"}
        assert any("decides the other way" in fault for fault in words.faults_of_words([wrong]))

    def test_a_word_that_leaves_the_letters(self, rows):
        row = next(row for row in rows if row["robust"] == "depends" and row["depends_on"] == "cut")
        for wrong in (row | {"robust": "holds"}, row | {"depends_on": "levels"}):
            assert words.faults_of_words([wrong])

    def test_a_decision_before_the_printed_reading_has_been_run(self, rows):
        row = next(row for row in rows if row["robust"] == "fails" and row["letters"])
        assert words.faults_of_words([row]) == []
        assert words.faults_of_words([row | {"depends_on": "inner model (the minimiser awaits its runs)"}])

    def test_a_claim_without_readings_or_reasons(self):
        claim = next(claim for claim in load("auc_fairness", ROOT) if claim.central)
        assert words.faults_of_claims([claim.model_copy(update={"readings": None})])
        assert words.faults_of_claims(
            [claim.model_copy(update={"readings": claim.readings.model_copy(update={"because": ""})})]
        )

    def test_a_concession_that_counts(self, rows):
        claims = load("auc_fairness", ROOT)
        row = next(row for row in rows if row["kind"] == "concession")
        assert words.faults_of_concessions([row | {"counts": "yes"}], claims)
        assert words.faults_of_concessions([row | {"kind": "claim"}], claims)

    def test_a_class_that_is_missing_from_a_headline(self, rows, said):
        claims, own = load("auc_fairness", ROOT), [row for row in rows if row["paper"] == "auc_fairness"]
        found = said["auc_fairness"]
        without = {word: count for word, count in found["central_comparisons"].items() if word != "fails"}
        assert words.faults_of_headline(found | {"central_comparisons": without}, own, claims)
        assert words.faults_of_headline(found | {"sentence": found["sentence"].replace("fail", "f")}, own, claims)


# What the words of the central comparisons at equal fairness are known to be, from another programme on the same
# tables: by experiment and dataset, the method that is compared with and the word.
KNOWN = """
psp a9a: Group AUC holds, Inter-group holds, Intra-group holds, Regularization holds
psp bank: Group AUC holds, Inter-group holds, Intra-group holds, Regularization depends
psp law_school: Group AUC cannot tell, Inter-group holds *, Intra-group not compared, Regularization holds
pdp a9a: Group AUC holds, Inter-group holds *, Intra-group holds *, Regularization depends
pdp bank: Group AUC depends, Inter-group depends, Intra-group holds *, Regularization depends
pdp law_school: Group AUC cannot tell, Inter-group cannot tell, Intra-group depends, Regularization cannot tell
auc_linear_group a9a: Proxy-Lagrangian alike, Correlation penalty alike, Post-processing depends
auc_linear_group bank: Proxy-Lagrangian fails *, Correlation penalty cannot tell, Post-processing fails
auc_linear_inter_group a9a: Proxy-Lagrangian alike, Post-processing alike
auc_linear_inter_group bank: Proxy-Lagrangian fails, Post-processing depends
auc_linear_intra_group a9a: Proxy-Lagrangian cannot tell
auc_linear_intra_group bank: Proxy-Lagrangian cannot tell
auc_network_group a9a: Proxy-Lagrangian cannot tell, Correlation penalty depends, Post-processing fails
auc_network_group bank: Proxy-Lagrangian cannot tell, Correlation penalty holds *, Post-processing fails
auc_network_inter_group a9a: Proxy-Lagrangian alike, Post-processing holds
auc_network_inter_group bank: Proxy-Lagrangian cannot tell, Post-processing depends
auc_network_intra_group a9a: Proxy-Lagrangian depends
auc_network_intra_group bank: Proxy-Lagrangian cannot tell
"""
TOGETHER = """
psp a9a: holds
psp bank: holds
psp law_school: cannot tell
pdp a9a: depends on cut and levels
pdp bank: depends on levels
pdp law_school: cannot tell
auc_linear_group a9a: depends on cut
auc_linear_group bank: fails
auc_linear_inter_group a9a: alike
auc_linear_inter_group bank: fails
auc_network_group a9a: fails
auc_network_group bank: fails
auc_network_inter_group a9a: alike
"""


def central_rows(rows):
    names = {claim.id for paper in PAPERS[:2] for claim in load(paper, ROOT) if claim.central}
    return [row for row in rows if row["kind"] == "claim" and row["claim"] in names]


def test_the_words_of_both_frontier_papers_are_those_that_are_known(rows):
    found = {}
    for row in central_rows(rows):
        said = f"{row['against']} {row['robust']}{' *' * (row['grade'] == '*')}"
        found.setdefault(f"{row['setting']} {row['dataset']}", []).append(said)
    known = dict(line.split(": ") for line in KNOWN.strip().splitlines())
    assert {place: ", ".join(words) for place, words in found.items()} == known


def test_so_are_the_words_of_all_baselines_at_once(rows):
    found = {f"{row['setting']} {row['dataset']}": row["together"] for row in central_rows(rows)}
    for line in TOGETHER.strip().splitlines():
        place, word = line.split(": ")
        assert found[place] == word, place


def test_a_reading_of_one_rival_leaves_the_others_as_they_are(rows):
    compared_rows = [row for row in rows if row["claim"] == "frontier_linear_group"]
    assert {row["against"] for row in compared_rows} == {"Proxy-Lagrangian", "Correlation penalty", "Post-processing"}
    for row in compared_rows:
        letters = row["letters"].replace(" ", "")  # with each inner model of post-processing
        differing = sum(a != b for a, b in zip(letters[:40], letters[40:], strict=True))
        assert (differing > 10) == (row["against"] == "Post-processing"), row["against"]
    letters = [row["letters"].replace(" ", "") for row in rows if row["claim"] == "frontier_linear_intra"]
    assert [*map(len, letters)] == [40, 40], "a family may have claims with fewer readings"
