"""Readings of claims on planted frontiers whose word is known, and what is refused."""

import csv
from dataclasses import replace

import pandas as pd
import pytest
from pydantic import ValidationError

from reproduction.grid.tidy import at_share
from reproduction.verdicts.claim import Claim, _settled
from reproduction.verdicts.declared_readings import claim_under_reading
from reproduction.verdicts.line import COLUMNS, counts
from reproduction.verdicts.results import Results
from tests.verdicts.planted import context, decided, entry, gain, words
from tests.verdicts.test_claim_checks import check  # noqa: F401

CUTS = {
    "main": {"cut": "all of it"},
    "because": "it was declared first",
    "options": {
        "cut": [
            {"name": "fair", "fairer_than": 0.8, "because": "fair enough"},
            {"name": "less fair", "less_fair_than": 0.8, "because": "what is left"},
        ]
    },
}
MARGIN = {"margin": 0.001, "unit": "accuracy", "because": "nobody would choose for less"}


def read(readings=CUTS, **more):
    made = {"against": ["group_auc"], "at_equal": {"levels": 6, "every": False}, "datasets": ["a9a"]}
    return entry(**made | {"readings": readings, "practical": MARGIN} | more)


def said(evidence, *claims):
    (line,) = decided(evidence, *claims)
    return line


class TestWords:
    def test_a_lead_everywhere_holds_under_every_reading(self, six):
        line = said(context(six, gain(0.01, algorithm="idca")), read())
        assert (line.robust, line.letters, line.depends_on) == ("holds", "HHH", "")
        assert line.lead == pytest.approx(0.01, abs=3e-4) and line.matters == 0.001
        assert line.by_option == "cut: all of it holds; fair holds; less fair holds"

    def test_a_lead_that_changes_sign_depends_on_the_cut(self, six):
        def turning(job, fairness):
            return (0.02 if fairness > 0.78 else -0.012) * (job.algorithm == "idca")

        line = said(context(six, turning), read())
        assert line.verdict in ("holds", "fails") and line.robust == "depends" and line.depends_on == "cut"
        assert line.letters[1:] == "HF"

    def test_a_difference_that_matters_to_nobody_is_alike_although_it_is_decided(self, six):
        line = said(context(six, gain(0.0004, algorithm="idca"), noise=2e-5), read())
        assert (line.verdict, line.letters, line.robust) == ("holds", "HHH", "alike")
        large = read(practical=MARGIN | {"margin": 0.0001})
        assert said(context(six, gain(0.0004, algorithm="idca"), noise=2e-5), large).robust == "holds"

    def test_one_seed_that_makes_the_lead_is_named(self, six):
        line = said(context(six, lambda job, _: 1e-4 * (job.algorithm == "idca"), noise=5e-5), read())
        steady, unsteady = line, said(context(six, gain(6e-4, algorithm="idca"), noise=9e-4), read(practical=None))
        assert steady.seeds_flip == "0 of 6" or steady.robust == "depends"
        flips, total = map(int, unsteady.seeds_flip.split(" of "))
        assert total == 6 and (("single seeds" in unsteady.depends_on) == (3 * flips >= total))

    def test_what_awaits_a_run_is_neither_held_nor_refuted(self, six):
        waiting = CUTS | {
            "main": CUTS["main"] | {"start": "ours"},
            "options": CUTS["options"]
            | {"start": [{"name": "the printed one", "because": "it is printed", "awaits": "runs from zero"}]},
        }
        for by in (0.01, -0.01):
            line = said(context(six, gain(by, algorithm="idca")), read(waiting))
            assert line.verdict == ("holds" if by > 0 else "fails") and line.robust == "cannot tell"
            assert line.depends_on == "start (the printed one awaits runs from zero)"

    def test_a_claim_with_one_reading_has_the_word_of_its_test(self, six):
        for by, word in ((0.01, "holds"), (-0.01, "fails")):
            assert said(context(six, gain(by, algorithm="idca")), read(None)).robust == word
        assert said(context(six), read(None, practical=None)).robust == "cannot tell"

    def test_the_family_keeps_its_size_where_comparisons_drop_out(self, six):
        """A difference that is open among two tests stays open where the other one has no level."""
        claims = [
            read(family="f", id=name, against=[other]) for name, other in (("x", "group_auc"), ("y", "inter_group"))
        ]
        lines = decided(context(six, gain(3e-4, algorithm="idca"), noise=4e-4), *claims)
        alone = decided(
            context(six, gain(3e-4, algorithm="idca"), noise=4e-4), claims[0].model_copy(update={"family": ""})
        )
        assert all(
            a == b or (a, b) in {("h", "H"), ("f", "F")}
            for a, b in zip(lines[0].letters, alone[0].letters, strict=True)
        )

    def test_a_concession_counts_for_nobody(self, six):
        behind = read(test="worse", concession=True)
        line = said(context(six, gain(0.01, algorithm="idca")), behind)
        assert (line.kind, line.verdict) == ("concession", "fails") and not counts(line.row())
        with pytest.raises(ValidationError, match="cannot be central"):
            Claim.model_validate(behind.model_dump(exclude_defaults=True) | {"central": True})

    def test_all_comparisons_of_a_place_have_one_word_together(self, six):
        ahead = context(six, gain(0.01, algorithm="idca"))
        assert {line.together for line in decided(ahead, read(against=["group_auc", "inter_group"]))} == {"holds"}
        mixed = context(six, lambda job, _: {"idca": 0.01, "inter_group": 0.03}.get(job.algorithm, 0.0))
        assert {line.together for line in decided(mixed, read(against=["group_auc", "inter_group"]))} == {"fails"}
        assert words(mixed, read(against=["group_auc", "inter_group"])) == {"holds", "fails"}


class TestWhatHasBeenRunSince:
    """An option that says what it changes and what it awaits is read once its runs are among the results."""

    def claim(self, option, **more):
        readings = CUTS | {
            "main": {"cut": "all of it"},
            "options": {"cut": [{"name": "new", "because": "it is printed", "awaits": "its runs"} | option]},
        }
        return entry(**{"against": ["group_auc"], "readings": readings, "practical": MARGIN} | more)

    def test_another_experiment_of_the_other_side(self, tmp_path):
        claim = self.claim(
            {"against_experiment": "pdp"},
            at_equal={"levels": 6, "every": False},
            datasets=["a9a"],
            against=["group_auc"],
        )
        assert _settled(claim, tmp_path).readings.awaited["cut"].awaits == "its runs"
        (tmp_path / "pdp").mkdir()
        (tmp_path / "pdp" / "metrics.parquet").touch()
        readings = _settled(claim, tmp_path).readings
        assert not readings.awaited and readings.options["cut"][0].against_experiment == "pdp"
        (changed,) = claim_under_reading(claim, (readings.options["cut"][0],)).sides()
        assert (changed.method, changed.experiment) == ("group_auc", "pdp")

    def test_an_option_that_is_not_printed_is_left_out_in_silence_until_it_is_run(self, tmp_path):
        options = {"cut": CUTS["options"]["cut"], "budget": [
            {"name": "long", "experiments": ["pdp"], "because": "longer", "once_run": True}]}  # fmt: skip
        readings = CUTS | {"main": CUTS["main"] | {"budget": "short"}, "options": options}
        claim = read(readings)
        before = _settled(claim, tmp_path).readings
        assert before.main == CUTS["main"] and not before.awaited and len(before.combinations()) == 3
        (tmp_path / "pdp").mkdir()
        (tmp_path / "pdp" / "metrics.parquet").touch()
        assert len(_settled(claim, tmp_path).readings.combinations()) == 6

    def test_rows_of_a_table(self, tmp_path):
        claim = self.claim(
            {"where": {"protocol": "printed", "kappa": 0.1}},
            table={"exhibit": "figure", "value": "v", "where": {"protocol": "ours"}}, better="smaller",
        )  # fmt: skip
        (tmp_path / "figure").mkdir()
        for rows, is_run in (("ours,0.1", False), ("printed,0.2", False), ("printed,0.10", True)):
            (tmp_path / "figure" / "figure.csv").write_text(f"protocol,kappa\n{rows}\n")
            readings = _settled(claim, tmp_path).readings
            assert bool(readings.awaited) != is_run
        changed = claim_under_reading(claim, (readings.options["cut"][0],))
        assert changed.table.where == {"protocol": "printed", "kappa": 0.1}

    def test_models_after_a_share_of_the_work(self, six):
        """The method leads by .01 at the end and is behind by .02 after a tenth; its rival takes no steps."""
        evidence = context(six, gain(0.01, algorithm="idca"))
        rows = evidence.results.metrics
        early = rows[(rows.algorithm == "idca") & rows.metric.isin(["accuracy", "rank_gap"])].copy()
        early.loc[early.metric == "accuracy", "value"] -= 0.03
        early["metric"] += at_share(0.1)
        results = Results(pd.concat([rows, early], ignore_index=True), evidence.results.runs)
        options = [{"name": "a tenth", "share": 0.1, "because": "the budget is ours"}]
        claim = read({"main": {"budget": "all"}, "because": "so it ran", "options": {"budget": options}})
        line = said(replace(evidence, results=results), claim)
        assert (line.verdict, line.robust, line.letters) == ("holds", "depends", "HF")


class TestRefusals:
    @pytest.mark.parametrize(
        ("option", "what"),
        [
            ({"name": "fair", "fairer_than": 0.8}, "because"),
            ({"name": "fair", "because": "fair"}, "say what it changes, what it awaits, or both"),
            ({"name": "other", "because": "fair", "where": {"kappa": 0.1}}, "changes where, which the claim"),
            ({"name": "same", "because": "fair", "levels": 6}, "equal to what the claim declares"),
            ({"name": "all of it", "because": "fair", "levels": 5}, "two options are called"),
            ({"name": "half", "because": "fair", "work": 0.5}, "changes work, which the claim does not have"),
            ({"name": "other", "because": "fair", "limit": 0.5}, "changes limit, which the claim does not have"),
        ],
    )
    def test_an_option_that_is_none(self, option, what):
        with pytest.raises(ValidationError, match=what):
            read(CUTS | {"options": {"cut": [option]}})

    def test_two_options_that_are_equal(self):
        twice = [{"name": name, "because": "fair", "fairer_than": 0.8} for name in ("one", "two")]
        with pytest.raises(ValidationError, match="'two' is equal to another one"):
            read(CUTS | {"options": {"cut": twice}})

    def test_choices_without_a_main_option(self):
        with pytest.raises(ValidationError, match="name the same choices"):
            read(CUTS | {"main": {"cut": "all", "levels": "each"}})

    def test_at_equal_fairness_a_claim_needs_readings_and_a_margin(self, check):  # noqa: F811
        equal = {"kappa": None, "at_equal": {"levels": 5}}
        with pytest.raises(Exception, match="ahead: at_equal has no readings"):
            check(equal)
        with pytest.raises(Exception, match="ahead: at_equal has no practical margin"):
            check(equal | {"readings": CUTS})
        check(equal | {"readings": CUTS, "practical": MARGIN})
        check(equal | {"kind": "question"})
        with pytest.raises(Exception, match="looks at no practical margin"):
            check({"test": "at_least", "margin": 0.1, "practical": MARGIN})

    def test_readings_that_come_after_a_verdict_have_to_say_so(self, check, tmp_path):  # noqa: F811
        equal = {"kappa": None, "at_equal": {"levels": 5}, "readings": CUTS, "practical": MARGIN}
        (tmp_path / "reports").mkdir()

        def stood(letters, verdict="holds"):
            with (tmp_path / "reports/scorecard.csv").open("w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, COLUMNS, restval="")
                writer.writeheader()
                writer.writerow({"paper": "mine", "claim": "ahead", "verdict": verdict, "letters": letters})

        for letters in ("", "HH"):
            stood(letters)
            with pytest.raises(Exception, match="say so in added_after"):
                check(equal)
            check(equal | {"readings": CUTS | {"added_after": "the first run"}})
        for letters, verdict in (("HHH", "holds"), ("", "not run")):
            stood(letters, verdict)
            check(equal)
