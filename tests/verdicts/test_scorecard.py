"""Verdicts follow the numbers, every published number has a line, and every line a reason."""

import csv
import dataclasses
import math

import pandas as pd
import pytest
import synthetic

from partialfair.errors import ConfigError
from partialfair.metrics.uncertainty import t_interval
from reproduction.exhibits import answers, exhibit
from reproduction.grid import config as configuration
from reproduction.jobs import report
from reproduction.verdicts import numbers, published, scorecard
from reproduction.verdicts.evidence import Evidence, ReproducedNumber
from reproduction.verdicts.line import COLUMNS, WORDS, Line, counts
from reproduction.verdicts.results import Results
from tests.workflow.project import ROOT

EMPTY = Results(pd.DataFrame(), pd.DataFrame())
KEYS = ("paper", "exhibit", "dataset", "algorithm", "constraint", "interval", "setting", "metric")


@pytest.fixture(scope="module")
def lines(project):
    """Lines of published numbers; claims in words are tested in test_claims.py."""
    root, config = project
    return [line for line in answers.scorecard_lines(config, root) if not line.get("claim")]


def find(lines, **values):
    found = [line for line in lines if all(line[name] == value for name, value in values.items())]
    assert len(found) == 1, found
    return found[0]


class TestVerdict:
    @pytest.mark.parametrize(
        ("here", "noise", "tolerance", "expected"),
        [
            (0.8499, 0.0, 0.01, "agrees"),
            (0.8540, 0.005, 0.01, "agrees"),
            (0.8560, 0.005, 0.01, "near"),
            (0.8399, math.nan, 0.01, "near"),  # exactly at the tolerance
            (0.8398, 0.005, 0.01, "differs"),
            (0.8560, 0.005, None, "differs"),  # without a tolerance nothing is near
        ],
    )
    def test_rule(self, here, noise, tolerance, expected):
        assert numbers.word(here, 0.8499, noise, tolerance) == expected

    def test_noise_is_that_of_two_means(self):
        made = t_interval([0.80, 0.81, 0.82])
        ours = published.Published("p", "t", "d", "a", "", "", "", "accuracy", 0.81)
        assert numbers.noise_of(ours, made) == pytest.approx(math.sqrt(2) * made.half_width)
        printed = dataclasses.replace(ours, spread=0.02, spread_kind="std")
        assert numbers.noise_of(printed, made) == pytest.approx(math.sqrt(5) * made.half_width)  # 0.01 here
        assert math.isnan(numbers.noise_of(ours, t_interval([0.8])))


def judged(value=0.85, here=(0.849, 0.850, 0.851), **more):
    """The line of a number, with an exhibit's options and an outcome's fields."""
    names = {field.name for field in dataclasses.fields(ReproducedNumber)}
    outcome = ReproducedNumber(t_interval(here), **{name: v for name, v in more.items() if name in names})
    options = {"tolerance": {"accuracy": 0.02}} | {name: v for name, v in more.items() if name not in names}
    row = published.Published("p", "t", "d", "a", "", "", "row=1", "accuracy", value)
    return numbers.line(row, outcome, Evidence(None, "t", options, EMPTY, None)).row()


class TestWhatIsRefusedFromTheCount:
    def test_a_number_with_power_counts(self):
        assert counts(judged(nulls={"constant": 0.7})) and judged(nulls={"constant": 0.7})["power"] == "yes"

    def test_a_number_that_differs_counts_whatever_null_models_get(self):
        line = judged(0.9, nulls={"constant": 0.9})
        assert line["verdict"] == "differs" and counts(line)

    @pytest.mark.parametrize(
        ("more", "verdict"),
        [
            ({"nulls": {"constant": 0.8505}}, "agrees"),  # powerless: a constant agrees as well
            ({"nulls": {}}, "agrees"),  # nothing says that it could have failed
            ({"kind": "setting", "verdict": "as stated", "nulls": {"constant": 0.1}}, "as stated"),
            (
                {"by_construction": [numbers.Constructed(why="kappa was chosen for it")], "nulls": {"constant": 0.1}},
                "by construction",
            ),
        ],
    )
    def test_planted_lines(self, more, verdict):
        line = judged(**more)
        assert line["verdict"] == verdict and not counts(line)

    def test_a_near_number_is_powerless_if_a_null_is_near(self):
        near = judged(0.862, nulls={"kappa": 0.87})
        assert (near["verdict"], near["power"]) == ("near", "no")
        assert judged(0.862, nulls={"kappa": 0.95})["power"] == "yes"

    def test_times_are_measured(self):
        row = published.Published("p", "t", "d", "a", "", "", "", "train_time_s", 0.78)
        assert numbers.line(row, ReproducedNumber(t_interval([1.0, 2.0]))).verdict == "measured"

    def test_declared_noise_decides_and_is_named(self):
        noise = numbers.Noise(source="six optimiser seeds", of={"accuracy": 0.004})
        line = judged(0.86, noise=None, nulls={"constant": 0.7}) | {}
        assert line["verdict"] == "near"
        options = Evidence(None, "t", {"noise": noise}, EMPTY, None)
        row = published.Published("p", "t", "d", "a", "", "", "", "accuracy", 0.86)
        found = numbers.line(row, ReproducedNumber(t_interval([0.849, 0.85, 0.851])), options)
        assert found.verdict == "agrees" and "six optimiser seeds" in found.note

    def test_declared_noise_decides_where_seeds_vary_more(self):
        """The paper's value lies inside the interval of our seeds, and beyond what the optimiser's noise explains."""
        line = judged(0.853, here=(0.840, 0.850, 0.860), noise=0.001)
        assert line["ci_low"] < 0.853 < line["ci_high"]
        assert line["verdict"] == "near"

    @pytest.mark.parametrize(
        ("here", "verdict"), [(0.899, "near"), (0.841, "near"), (0.901, "differs"), (0.839, "differs")]
    )
    def test_a_band_is_near_on_both_sides_however_far_they_are(self, here, verdict):
        assert judged(0.85, here=(here, here, here), band=(0.84, 0.90))["verdict"] == verdict

    def test_a_tolerance_that_came_later_is_said_beside_the_verdict(self):
        line = judged(0.862, tolerance_later={"accuracy": "0.01 was too small"})
        assert "set after a first look at results: 0.01 was too small" in line["note"]

    def test_only_claims_count_of_sentences(self):
        head = {"paper": "p", "exhibit": "f", "published": "It is better", "verdict": "holds"}
        assert counts(Line(**head, kind="claim").row()) and not counts(Line(**head, kind="question").row())

    def test_a_number_is_counted_once(self):
        first = judged(nulls={"constant": 0.7})
        marked = scorecard._mark_repeats([first, first | {"exhibit": "t4", "setting": "kappa=0.1"}])
        assert [line["verdict"] for line in marked] == ["agrees", "repeated"]
        assert "the number of t, row=1" in marked[1]["note"] and not counts(marked[1])

    def test_equal_numbers_of_two_datasets_are_both_judged(self):
        first = judged(nulls={"constant": 0.7})
        marked = scorecard._mark_repeats([first, first | {"exhibit": "t4", "dataset": "other"}])
        assert [line["verdict"] for line in marked] == ["agrees", "agrees"] and all(map(counts, marked))

    def test_accuracy_has_no_tolerance_of_fairness(self):
        options = {"tolerance": {"fairness": 0.05}, "tolerance_later": {"fairness": "0.01 was too small"}}
        own = Evidence(None, "t", options, EMPTY, None)
        assert (own.tolerance("psp_fairness", "d"), own.tolerance("accuracy", "d")) == (0.05, None)
        assert own.tolerance_later("psp_fairness", "d") and not own.tolerance_later("accuracy", "d")


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [(kind, word) for kind in WORDS for other in WORDS.values() for word in other if word not in WORDS[kind]],
)
def test_a_kind_of_line_has_no_verdict_of_another(kind, verdict):
    with pytest.raises(ConfigError, match=f"a {kind} cannot be '{verdict}'"):
        Line("p", "t", kind=kind, verdict=verdict).row()


class TestLines:
    def test_every_published_number_has_one_line(self, lines):
        printed = [line for line in lines if line["kind"] in ("number", "setting")]
        keys = [tuple(line[name] for name in KEYS) for line in printed]
        expected = [tuple(getattr(row, n) for n in KEYS) for row in published.load("partial_fairness", ROOT)]
        assert keys == expected

    def test_reproduced_number(self, lines):
        line = find(lines, exhibit="table3", dataset="a9a", interval="0.05-0.3", setting="row=2", metric="accuracy")
        assert line["verdict"] in ("agrees", "near") and line["tolerance"] == 0.01 and line["noise"] > 0
        assert line["reproduced"] == pytest.approx(line["published"], abs=0.005)
        assert line["ci_low"] < line["reproduced"] < line["ci_high"]
        assert line["note"].startswith("accuracy of psp, kappa 0.2; difference ") and line["n"] == 3
        assert "kappa 0.1 0." in line["nulls"] or "tolerance 0.1 0." in line["nulls"]

    def test_tolerance_by_dataset(self, lines):
        pairs = {
            line["dataset"]: line["tolerance"]
            for line in lines
            if line["exhibit"] == "table4" and "fairness" in line["metric"] and "tolerance" in line
        }
        assert pairs["a9a"] == 0.05 and pairs["law_school"] == 0.1

    def test_failed_seeds_are_explained(self, lines):
        line = find(lines, exhibit="table3", dataset="a9a", interval="0.05-0.3", setting="row=5", metric="accuracy")
        assert line["verdict"] == "not run" and line["note"] == "3 of 3 seeds without a value: no feasible point"
        line = find(lines, exhibit="table3", dataset="law_school", interval="0.7-1", setting="row=4", metric="accuracy")
        assert line["verdict"] in ("agrees", "near") and line["n"] == 2
        assert "1 of 3 seeds without a value: no feasible point" in line["note"]

    def test_what_no_experiment_covers_is_not_run(self, lines):
        bank = [line for line in lines if line["dataset"] == "bank" and line["exhibit"] in {"table3", "table4"}]
        assert {line["verdict"] for line in bank} == {"not run"}
        assert all("no run of" in line["note"] for line in bank)
        table2 = [line for line in lines if line["exhibit"] == "table2"]
        assert {(line["verdict"], line["note"]) for line in table2} == {("not run", "no exhibit of the grid covers it")}

    def test_full_range_rows_come_from_the_full_range_experiment(self, lines):
        line = find(lines, exhibit="table3", dataset="a9a", interval="0-1", setting="row=1", metric="psp_fairness")
        assert line["note"].startswith("1 - rank_gap of psp_full, kappa 0.28")
        line = find(lines, exhibit="table4", dataset="a9a", setting="kappa=0.1;grid=20", metric="psp_fairness")
        assert line["note"].startswith("1 - rank_gap of psp_grid20, kappa 0.1")


def test_verdict_changes_with_the_number(tmp_path):
    config = synthetic.project(tmp_path)
    place = {"exhibit": "table3", "dataset": "a9a", "interval": "0.05-0.3", "setting": "row=1", "metric": "accuracy"}
    assert find(answers.scorecard_lines(config, tmp_path), **place)["verdict"] in ("agrees", "near")
    path = tmp_path / "reports/psp/metrics.parquet"
    table = pd.read_parquet(path)
    chosen = (table["dataset"] == "a9a") & (table["algorithm"] == "idca") & (table["kappa"] == 0.28)
    table.loc[chosen & (table["metric"] == "accuracy"), "value"] -= 0.2
    table.to_parquet(path)
    assert find(answers.scorecard_lines(config, tmp_path), **place)["verdict"] == "differs"


def test_written_file_has_the_contract_columns(project, tmp_path):
    root, config = project
    lines = answers.scorecard_lines(config, root)
    path = scorecard.write(lines, tmp_path / "scorecard.csv")
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS and len(rows) == len(lines)
    assert all(row["verdict"] in WORDS[row["kind"]] for row in rows)
    counted = [row["verdict"] for row in rows if row["counts"] == "yes"]
    assert scorecard.count_verdicts(lines) == {word: counted.count(word) for word in dict.fromkeys(counted)}
    assert all(row["section"] and row["test"] for row in rows if row["kind"] == "claim")


class TestRefusals:
    def test_unknown_exhibit(self, project):
        root, config = project
        with pytest.raises(ConfigError, match="unknown exhibit 'figure2'; did you mean 'figure1'"):
            report.render_exhibit(config, "figure2", root=root)

    def test_unknown_kind(self, tmp_path):
        content = synthetic.params()
        content["exhibits"] = {"figure1": {"kind": "scater", "title": "x", "experiments": ["psp"]}}
        config = synthetic.project(tmp_path, content)
        with pytest.raises(
            ConfigError, match=r"exhibits\.figure1\.kind: unknown kind 'scater'; did you mean 'scatter'"
        ):
            report.render_exhibit(config, "figure1", root=tmp_path)


def test_exhibits_of_the_shipped_grid_have_known_kinds_titles_and_captions():
    from pathlib import Path

    path = Path(__file__).parents[2] / "params.yaml"
    config = configuration.load_config(path)
    assert {"figure1", "table1", "table3", "table4"} <= set(config.params.exhibits)
    for name, entry in config.params.exhibits.items():
        assert exhibit.kind_of(config, name) in exhibit.kind_by_source(entry.kind).values()
        assert entry.title and entry.model_dump()["caption"]
    # The tolerances stated with the published bands.
    context = exhibit.context(config, "table3", path.parent)
    assert context.tolerance("accuracy", "a9a") == 0.01
    assert [context.tolerance("psp_fairness", name) for name in ("a9a", "bank", "law_school")] == [0.05, 0.1, 0.1]
