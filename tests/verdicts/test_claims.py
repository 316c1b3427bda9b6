"""Claims get each of the verdicts where results are planted that deserve it."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import synthetic
import yaml

from partialfair.errors import ConfigError
from reproduction.exhibits import exhibit
from reproduction.exhibits.exhibit import Context
from reproduction.grid.config import load_config
from reproduction.verdicts import claim, claim_checks, claim_tests
from reproduction.verdicts.claim import Claim
from reproduction.verdicts.frontiers import start_of
from reproduction.verdicts.line import COLUMNS, OTHER_WAY, counts
from reproduction.verdicts.results import Results
from tests.verdicts.planted import BASELINES, SEEDS, accuracy, context, decided, entry, gain, words
from tests.workflow.project import ROOT

EQUAL = {"levels": 10}
GRID20 = {"method": "idca", "against": [{"experiment": "psp_grid20"}], "kappa": 0.1, "margin": 0.01}
CURVES = {"exhibit": "curves", "value": "loss", "method": "series", "x": "step"}


class TestBetter:
    claim = entry(against=BASELINES, at_equal=EQUAL)

    def test_holds_where_it_is_ahead_at_every_level(self, config):
        found = decided(context(config, gain(0.01, algorithm="idca")), self.claim)
        assert len(found) == 4 and {line.verdict for line in found} == {"holds"}
        assert all(line.ci_low > 0 and line.p_value < 0.025 for line in found)
        assert {line.against for line in found} == {"Group AUC", "Inter-group"}

    def test_one_level_behind_is_enough_to_fail(self, config):
        crossing = context(config, lambda job, fair: (0.8 - fair) / 20 if job.algorithm == "idca" else 0.0)
        assert words(crossing, self.claim) == {"fails"}
        ahead_on_average = self.claim.model_copy(update={"at_equal": claim.EqualFairness(levels=10, every=False)})
        assert words(crossing, ahead_on_average) <= {"holds", "undecided"}
        only_the_fair_part = self.claim.model_copy(
            update={"at_equal": claim.EqualFairness(levels=5, less_fair_than=0.75)}
        )
        assert words(crossing, only_the_fair_part) == {"holds"}

    def test_undecided_says_what_could_have_been_seen(self, config):
        for line in decided(context(config, noise=0.003), self.claim):
            assert line.verdict == "undecided" and line.detectable > 0
            assert line.seeds_needed is None or line.seeds_needed > len(SEEDS)
            assert (line.reproduced < 0) == (OTHER_WAY in line.note)

    def test_what_could_have_been_seen_is_corrected_for_the_family(self, config):
        at_one = {"against": ["group_auc"], "kappa": 0.1, "datasets": ["a9a"]}
        planted = context(config, gain(0.002, algorithm="idca"), noise=0.003)
        (alone,) = decided(planted, entry(**at_one))
        family = [entry(**at_one, family="f").model_copy(update={"id": f"x{k}"}) for k in range(3)]
        together = decided(planted, *family)
        assert alone.verdict == "undecided" and {line.verdict for line in together} == {"undecided"}
        assert all(line.detectable > alone.detectable for line in together)
        assert all(line.seeds_needed > alone.seeds_needed for line in together)

    @pytest.mark.parametrize(
        ("p", "verdict"),
        [((0.024, 0.9), "holds"), ((0.026, 0.9), "undecided"), ((0.9, 0.024), "fails"), ((0.9, 0.026), "undecided")],
    )
    def test_the_level_is_that_of_the_intervals(self, config, monkeypatch, p, verdict):
        """One side of 95%."""
        known = dataclasses.replace(claim_tests.TESTS["better"], decide=lambda sample, margin: p)
        monkeypatch.setattr(claim_tests, "TESTS", {"better": known})
        assert words(context(config), entry(against=["group_auc"], at_equal=EQUAL, datasets=["a9a"])) == {verdict}

    def test_one_seed_gives_no_test(self, config):
        alone = context(config, gain(0.01, algorithm="idca"), lambda job: job.seed == 0)
        for line in decided(alone, entry(against=["group_auc"], at_equal=EQUAL)):
            assert line.verdict == "undecided" and line.note.startswith("one seed gives no test")
            assert line.n == 1 and line.p_value is None and line.detectable is None

    def test_generated_files_decide_nothing_for_a_paper(self, config, monkeypatch):
        monkeypatch.setattr(Context, "is_generated", lambda self, dataset: dataset == "a9a")
        ahead = context(config, gain(0.01, algorithm="idca"))
        every = {"against": ["group_auc"], "at_equal": EQUAL}
        by_dataset = {line.dataset: line for line in decided(ahead, entry(**every))}
        assert by_dataset["a9a"].verdict == "not run" and "is generated here" in by_dataset["a9a"].note
        assert by_dataset["law_school"].verdict == "holds"
        assert words(ahead, entry(**every, generated=True)) == {"holds"}
        assert words(ahead, entry(**every, kind="question")) == {"holds"}

    def test_a_small_disadvantage_fails_and_no_margin_is_taken(self, config):
        small = context(config, gain(-1e-4, algorithm="idca"), noise=1e-5)
        assert words(small, self.claim) == {"fails"}
        with pytest.raises(ValueError, match="test better looks at no margin"):
            entry(against=BASELINES, at_equal=EQUAL, margin=0.001)

    def test_not_run_with_the_reason(self, config):
        failed = context(config, kept=lambda job: job.algorithm != "group_auc")
        by_other = {line.against: line for line in decided(failed, self.claim) if line.dataset == "a9a"}
        assert by_other["Group AUC"].verdict == "not run"
        assert by_other["Group AUC"].note == "group_auc in psp: 5 of 5 seeds without a value: it diverged"
        assert by_other["Inter-group"].verdict != "not run"

    def test_a_single_tolerance_is_compared_as_it_stands(self, config):
        ahead = context(config, gain(0.01, algorithm="idca"))
        assert words(ahead, entry(against=BASELINES, kappa=0.1)) == {"holds"}
        found = decided(ahead, entry(against=BASELINES))
        assert all("several tolerances" in line.note for line in found)

    def test_smaller_is_better_of_a_violation(self, config):
        fairer = context(config)
        metrics = fairer.results.metrics
        own = (metrics["algorithm"] == "idca") & (metrics["metric"] == "rank_gap")
        metrics.loc[own, "value"] -= 0.01 + 1e-4 * metrics["seed"]
        assert words(fairer, entry(metric="rank_gap", against=BASELINES, kappa=0.1)) == {"holds"}
        assert words(fairer, entry("worse", metric="rank_gap", against=BASELINES, kappa=0.1)) == {"fails"}


class TestMargins:
    @pytest.mark.parametrize(
        ("shift", "similar", "at_least"),
        [(0.0, "holds", "holds"), (0.004, "holds", "holds"), (-0.02, "fails", "holds"), (0.02, "fails", "fails")],
    )
    def test_follow_the_numbers(self, config, shift, similar, at_least):
        planted = context(config, gain(shift, experiment="psp_grid20"))
        assert words(planted, entry("similar", **GRID20)) == {similar}
        assert words(planted, entry("at_least", **GRID20)) == {at_least}

    def test_equality_is_not_inferred_from_noise(self, config):
        assert words(context(config, noise=0.05), entry("similar", **GRID20)) <= {"undecided", "fails"}

    def test_a_margin_that_came_later_is_said(self, config):
        later = entry("similar", **GRID20, margin_later="0.005 was too small")
        assert all("set after a first look" in line.note for line in decided(context(config), later))

    def test_deterministic_runs_are_decided_by_the_margin(self, config):
        one = dict(GRID20, pairing="single")
        first = context(config, gain(0.02, experiment="psp_grid20"), noise=0.0)
        metrics = first.results.metrics
        first = dataclasses.replace(first, results=Results(metrics[metrics["seed"] == 0], pd.DataFrame()))
        assert words(first, entry("similar", **one)) == {"fails"} and words(first, entry("worse", **one)) == {"holds"}
        assert words(first, entry("similar", **dict(one, pairing="seed"))) == {"undecided"}


class TestOthers:
    def test_monotone_along_kappa_and_experiments(self, config):
        falls = entry("monotone", over="kappa", trend="falls", metric="rank_gap")
        assert words(context(config), falls) == {"holds"}
        assert words(context(config), entry("monotone", over="kappa", trend="rises", metric="rank_gap")) == {"fails"}
        lengths = {"length1": 0.1, "length3": 0.3, "length5": 0.5}
        along = {"over": "experiments", "experiments": list(lengths), "kappa": 0.1}
        planted = context(config, lambda job, _: -0.02 * lengths.get(job.experiment, 0))
        assert words(planted, entry("monotone", trend="falls", **along)) == {"holds"}

    def test_steadier(self, config):
        rng = np.random.default_rng(3)
        loose = context(config, lambda job, _: 0.05 * rng.normal() * (job.algorithm == "group_auc"))
        over = {"over": "experiments", "experiments": ["psp", "pdp"], "kappa": 0.1, "datasets": ["a9a"]}
        assert words(loose, entry("steadier", against=["group_auc"], **over)) <= {"holds", "undecided"}
        assert words(loose, entry("steadier", method="group_auc", against=["idca"], **over)) <= {"fails", "undecided"}
        seeds = {"kappa": 0.1, "datasets": ["a9a"]}
        (line,) = decided(loose, entry("steadier", against=["group_auc"], **seeds))
        assert line.reproduced > 0.01 and "mean spreads" in line.note

    def test_ordered(self, config):
        shifts = {"idca": 0.02, "inter_group": 0.01}
        planted = context(config, lambda job, _: shifts.get(job.algorithm, 0.0))
        right = entry("ordered", method="", order=[["idca"], ["inter_group"], ["group_auc"]], kappa=0.1)
        assert words(planted, right) == {"holds"}
        wrong = entry("ordered", method="", order=[["inter_group"], ["idca", "group_auc"]], kappa=0.1)
        (line, _) = decided(planted, wrong)
        assert line.verdict == "fails" and "closest call is Inter-group and IDCA" in line.note

    def test_bound(self, config):
        assert words(context(config), entry("bound", limit=0.7, kappa=0.1)) == {"holds"}
        assert words(context(config), entry("bound", limit=0.9, kappa=0.1)) == {"fails"}

    def test_of_several_tolerances_the_worst_is_held_against_the_bound(self, config):
        always = entry("bound", limit=0.7, datasets=["a9a"])
        (line,) = decided(context(config), always)
        fairest = 0.65 + 0.06 * (len(synthetic.KAPPAS["a9a"]) - 1)
        assert line.verdict == "holds" and line.reproduced == pytest.approx(accuracy(fairest) - 0.7, abs=1e-3)
        tightest = min(synthetic.KAPPAS["a9a"])
        once = context(config, lambda job, _: -0.5 * (job.kappa == tightest))
        assert words(once, always) == {"fails"}

    def test_a_claim_that_any_method_passes_has_no_power(self, config):
        costs = entry("monotone", over="kappa", trend="falls", nulls=["group_auc"])
        alike, (flat, *_) = decided(context(config), costs), decided(
            context(config, lambda job, fairness: 0.1 * (fairness - 0.6) * (job.algorithm == "group_auc"), noise=0.003),
            costs,
        )  # fmt: skip
        assert {(line.verdict, line.power) for line in alike} == {("holds", "no")}
        assert "Group AUC passes" in alike[0].nulls and not any(counts(line.row()) for line in alike)
        assert flat.verdict == "holds" and flat.power == "yes" and counts(flat.row())
        assert {line.power for line in decided(context(config), entry("bound", limit=0.7, kappa=0.1))} == {""}

    def test_nulls_of_a_bound_are_runs_of_another_experiment_and_numbers_known_without_a_run(self, config):
        still = {"name": "a constant", "value": 0.75}
        other = {"experiment": "psp_grid20"}
        own = context(config, gain(-0.2, experiment="psp_grid20"))
        for nulls, limit, power, said in (
            ([still], 0.7, "no", "a constant passes"),
            ([still], 0.76, "yes", "a constant fails"),
            ([other], 0.7, "yes", "IDCA in psp_grid20 fails"),
            ([other, still], 0.5, "no", "IDCA in psp_grid20 passes; a constant passes"),
            ([{"method": "unconstrained", "kappa": math.inf}], 0.7, "no", "Unconstrained passes"),
            ([{"experiment": "psp_full", "method": "alm"}], 0.7, "", ""),  # which was not run there
        ):
            claim = entry("bound", limit=limit, kappa=0.1, datasets=["a9a"], nulls=nulls)
            (line,) = decided(own, claim)
            assert (line.verdict, line.power, line.nulls) == ("holds", power, said)
        where = {"kappa": 0.1, "datasets": ["a9a"], "metric": "dp_gap"}
        (line,) = decided(own, entry("bound", limit=0.5, better="smaller", nulls=[still], **where))
        assert line.nulls == "a constant fails"

    def test_at_every_level_the_weakest_is_shown(self, config):
        """The claim's method is ahead everywhere but where fairness is high."""
        own = context(config, lambda job, fairness: (0.8 - fairness) * 0.2 * (job.algorithm == "idca"))
        for line in decided(own, entry(against=["group_auc"], at_equal=EQUAL)):
            assert line.verdict == "fails" and line.reproduced < 0 and line.p_value < 0.025
            assert "weakest at a fairness of" in line.note and "mean over all levels" in line.note


class TestTables:
    """Claims on the CSV of an exhibit."""

    @pytest.fixture
    def curves(self, config, tmp_path):
        rows = []
        for seed in range(4):
            for step in range(1, 41):
                for method, power in (("fast", 1.0), ("slow", 0.4)):
                    value = (1 + 0.01 * seed) * step**-power
                    rows.append({"series": method, "seed": seed, "step": step, "loss": value, "gap": 1 / step})
        (tmp_path / "reports/curves").mkdir(parents=True)
        pd.DataFrame(rows).to_csv(tmp_path / "reports/curves/curves.csv", index=False)
        return Context(config, "claims", {}, Results(pd.DataFrame(), pd.DataFrame()), tmp_path, tmp_path)

    def claim(self, test, method, table=(), **more):
        source = CURVES | dict(table)
        return entry(test, method=method, metric="", experiments=[], table=source, better="smaller", **more)

    def test_better_over_the_second_half(self, curves):
        assert words(curves, self.claim("better", "fast", {"after": 0.5}, against=["slow"])) == {"holds"}
        assert words(curves, self.claim("better", "slow", {"after": 0.5}, against=["fast"])) == {"fails"}

    def test_rate(self, curves):
        assert words(curves, self.claim("rate", "fast", limit=1.0, margin=0.05)) == {"holds"}
        assert words(curves, self.claim("rate", "slow", limit=1.0, margin=0.05)) == {"fails"}

    def test_equal_work_and_equal_infeasibility(self, curves):
        path = curves.root / "reports/curves/curves.csv"
        table = pd.read_csv(path)
        # The slow one runs on for much longer, and would win by that alone.
        longer = table[table["series"] == "slow"].assign(step=lambda t: t["step"] + 40, loss=0.001)
        pd.concat([table, longer]).to_csv(path, index=False)
        least = {"reduce": "min"}
        assert words(curves, self.claim("better", "fast", least, against=["slow"])) == {"fails"}
        assert words(curves, self.claim("better", "fast", least | {"common": True}, against=["slow"])) == {"holds"}
        ends = {"reduce": "min", "ends": "gap"}
        assert words(curves, self.claim("better", "fast", ends, against=["slow"])) == {"fails"}

    def test_at_each_value_of_a_column(self, curves):
        path = curves.root / "reports/curves/curves.csv"
        table = pd.read_csv(path)
        halves = [table.assign(part=part, loss=table["loss"] * factor) for part, factor in (("one", 1.0), ("two", 3.0))]
        pd.concat(halves).to_csv(path, index=False)
        each = {"reduce": "last", "each": "part", "values": 2}
        (line,) = decided(curves, self.claim("better", "fast", each, against=["slow"]))
        assert line.verdict == "holds" and line.note.startswith("2 of 2 parts: one +")
        (line,) = decided(curves, self.claim("better", "fast", each | {"values": 3}, against=["slow"]))
        assert line.verdict == "undecided" and line.note.startswith("2 of 3 parts")
        assert line.detectable > 0 and line.seeds_needed is None  # no number of seeds brings the third part
        assert "seeds alone cannot make it hold" in line.note
        halves[1].loc[halves[1]["series"] == "fast", "loss"] += 10.0
        pd.concat(halves).to_csv(path, index=False)
        (line,) = decided(curves, self.claim("better", "fast", each, against=["slow"]))
        assert line.verdict == "fails" and line.reproduced < 0

    def test_a_spread_over_a_column_is_over_the_rows_of_the_pair(self, curves):
        path = curves.root / "reports/curves/curves.csv"
        table = pd.read_csv(path)
        table = table[table["step"] == table["step"].max()]
        parts = [table.assign(part=part, other="slow") for part in ("one", "two")]
        parts[1].loc[parts[1]["series"] == "slow", "loss"] += 1.0 + parts[1]["seed"] / 100
        wide = parts[1].assign(part="two", loss=9.0, other="another")
        pd.concat([*parts, wide]).to_csv(path, index=False)
        spread = {"reduce": "spread", "pair": "other", "across": "part", "values": 2}
        (line,) = decided(curves, self.claim("better", "fast", spread, against=["slow"]))
        assert line.verdict == "holds" and "over 2 of 2 parts" in line.note
        (line,) = decided(curves, self.claim("better", "fast", spread | {"values": 3}, against=["slow"]))
        assert line.verdict == "undecided" and "over 2 of 3 parts" in line.note
        pd.concat([parts[0], wide]).to_csv(path, index=False)  # one value has no spread
        (line,) = decided(curves, self.claim("better", "fast", spread, against=["slow"]))
        assert line.verdict == "not run"

    def test_one_deterministic_run_is_said_to_be_one(self, curves):
        single = {"seed": None, "reduce": "last"}
        (line,) = decided(curves, self.claim("better", "fast", single, against=["slow"], pairing="single", margin=0.01))
        assert line.verdict == "holds" and line.test == "better: one deterministic run, by the margin"
        assert line.detectable is None
        (line,) = decided(curves, self.claim("better", "fast", single, against=["slow"], pairing="single", margin=9.0))
        assert line.verdict == "undecided" and line.detectable == 9.0

    def test_a_table_that_is_not_there(self, curves):
        (line,) = decided(curves, self.claim("better", "fast", {"exhibit": "other"}, against=["slow"]))
        assert line.verdict == "not run" and "other has not been drawn" in line.note


class TestFamilies:
    def test_p_values_are_corrected_for_the_number_of_lines(self, config):
        planted = context(config, gain(0.0015, algorithm="idca"), noise=0.001)
        alone = [entry(id=name, against=[name], kappa=0.1) for name in BASELINES]
        together = [one.model_copy(update={"family": "both"}) for one in alone]
        single, family = (sum(line.p_value for line in decided(planted, *claims)) for claims in (alone, together))
        assert family > single

    def test_holm(self):
        from reproduction.statistics.effect import holm

        assert holm([0.01, math.nan, 0.04, 0.03]) == pytest.approx([0.03, math.nan, 0.06, 0.06], nan_ok=True)


WHOLE = "{id: x, section: s, sentence: S, method: idca, against: [alm], experiments: [psp], metric: accuracy"


class TestRefusals:
    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"test": "better"}, "against"),
            ({"test": "similar", "against": ["group_auc"]}, "margin"),
            ({"test": "bound"}, "limit"),
            ({"test": "monotone"}, "trend"),
            ({"test": "monotone", "nulls": [{"experiment": "pdp"}]}, "only a bound takes runs of another experiment"),
            ({"test": "rate", "nulls": [{"name": "a constant", "value": 0.0}]}, "only a bound takes"),
            ({"test": "ordered"}, "order"),
            ({"test": "better", "against": ["alm"], "kind": "question", "central": True}, "cannot be central"),
        ],
    )
    def test_what_a_test_cannot_decide(self, more, said):
        with pytest.raises(ValueError, match=said):
            entry(**more)

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"against": ["grup_auc"]}, "unknown algorithm 'grup_auc'; did you mean 'group_auc'"),
            ({"experiments": ["pssp"]}, "unknown experiment 'pssp'"),
            ({"datasets": ["a9"]}, "unknown dataset 'a9'"),
            ({"metric": "risk"}, "does not say which is better"),
        ],
    )
    def test_names_that_the_grid_does_not_have(self, config, tmp_path, more, said):
        (tmp_path / "papers/partial_fairness").mkdir(parents=True)
        written = entry(against=["group_auc"]).model_dump(exclude_defaults=True) | more
        (tmp_path / "papers/partial_fairness/claims.yaml").write_text(yaml.safe_dump([written]))
        with pytest.raises(ConfigError, match=said):
            claim_checks.check(config, lambda name: ("loss",), tmp_path)

    def test_faulty_file(self, tmp_path):
        (tmp_path / "papers" / "p").mkdir(parents=True)
        (tmp_path / "papers/p/claims.yaml").write_text("- {id: x, exhibit: y}\n")
        with pytest.raises(ConfigError, match=r"(?m)papers/p/claims\.yaml: x\.section: the key is missing; add it$"):
            claim.load("p", tmp_path)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("- {exhibit: y}\n", "claims.0.id: the key is missing; add it"),
            (f"- {WHOLE}, test: similar, margn: 1}}\n", "x.margn: unknown key; did you mean 'margin'?"),
            (f"- {WHOLE}, test: similar}}\n", "x: test similar needs margin (above 0, stated before the run)"),
            (
                f"- {WHOLE.replace('method: idca, ', '')}, test: better}}\n",
                "x: test better needs method (what the sentence is about)",
            ),
            (
                f"- {WHOLE}, test: better, margin: 0.1}}\n",
                "x: test better looks at no margin (given: 0.1); leave it out",
            ),
            ("- text\n", "claims.0 is 'text': write keys with their values"),
            ("id: x\n", "holds dict, not a list; begin each claim with `- id:`"),
            ("- id: x\n  id: y\n", "not readable as YAML (line 2: key 'id' stands twice; remove one of them)"),
        ],
    )
    def test_faulty_entry_is_named_by_its_id_and_key(self, tmp_path, text, said):
        path = tmp_path / "papers/p/claims.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            claim.load("p", tmp_path)
        assert str(caught.value).startswith(f"{path}: {said}")
        assert "'sentence'" not in str(caught.value), "the whole entry is no help"


class TestLines:
    def test_every_line_names_section_and_test(self, config):
        for line in decided(context(config), entry(against=BASELINES, at_equal=EQUAL)):
            row = line.row()
            assert row["section"] == "7.2" and row["test"] and row["published"] == "It is better"
            assert (row["interval"], row["constraint"]) == ("0.05-0.3", "partial_statistical_parity") or (
                row["dataset"] != "a9a"
            )
            assert set(row) <= set(COLUMNS)

    def test_claims_of_an_experiment_that_is_not_in_the_grid_are_not_run(self, config):
        (line,) = decided(context(config), entry(against=BASELINES, experiments=["acs"]))
        assert line.verdict == "not run" and line.note == "the grid has no experiment acs"
        (line,) = decided(context(config), entry(absent="no such data", experiments=[]))
        assert line.verdict == "not run" and line.note == "no such data"

    def test_stored_claims(self):
        shipped = load_config(ROOT / "params.yaml")
        exhibit.check_exhibits(shipped)
        stored = claim.load("partial_fairness", ROOT)
        assert {c.exhibit for c in stored} >= {"figure1", "table4"} and any(c.central for c in stored)
        assert claim.load("no_such_paper", ROOT) == ()

    def test_experiment_without_an_unconstrained_model_takes_that_of_another(self, config):
        planted = context(config, kept=lambda job: (job.experiment, job.algorithm) != ("psp_grid20", "unconstrained"))
        own = start_of(planted, "psp_grid20", "a9a", "rank_gap")
        assert own == start_of(planted, "psp", "a9a", "rank_gap") and len(own) == 5


def test_a_sentence_about_several_methods_is_one_claim_with_lines_for_each(tmp_path):
    entry = {
        "id": "both", "section": "4", "sentence": "Both are better.", "test": "better", "methods": ["idca", "alm"],
        "against": ["group_auc"], "experiments": ["psp"], "metric": "accuracy",
    }  # fmt: skip
    folder = tmp_path / "papers" / "mine"
    folder.mkdir(parents=True)
    (folder / "claims.yaml").write_text(yaml.safe_dump([entry]))
    found = claim.load("mine", tmp_path)
    assert [(one.id, one.method, one.methods) for one in found] == [("both", "idca", []), ("both", "alm", [])]
    with pytest.raises(ValueError, match="needs method"):
        Claim(**(entry | {"methods": []}))
