"""Figures drawn from single runs: known answers of what they compute, and the files are what is drawn."""

import csv
import math
import shutil
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import run_files
import yaml
from scipy import stats

from papers.partial_fairness.exhibits import rank_curves
from partialfair.errors import DataError
from partialfair.metrics import get
from reproduction.exhibits import exhibit, history_curves, score_densities
from reproduction.exhibits import run_files as single_runs
from reproduction.exhibits.exhibit import ExhibitKind, Options
from reproduction.grid.config import load_config
from reproduction.jobs import report
from reproduction.verdicts import claim_tests
from reproduction.verdicts.claim import Claim, FromTable
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Setting

FAILED = ("psp", "a9a", "idca", 0.01, 0)
ABSENT = ("psp", "law_school", "ssg", 0.2, 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(root, config) of a project in which every run has ended well."""
    root = tmp_path_factory.mktemp("whole")
    return root, run_files.project(root)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """The same with a failed and an absent run."""
    root = tmp_path_factory.mktemp("damaged")
    content = run_files.params()
    content["experiments"] = {"psp": content["experiments"]["psp"]}
    content["exhibits"] = {name: content["exhibits"][name] for name in ("figure2", "figure3", "figure10")}
    return root, run_files.project(root, content, failing={FAILED}, absent={ABSENT})


def context_of(project, name):
    root, config = project
    return exhibit.context(config, name, root)


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def drawn_by(monkeypatch, method, context):
    """Arguments of all calls of an ``Axes`` method while the exhibit is drawn; its three files are not needed."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    calls, original = [], getattr(Axes, method)

    def spy(axis, *args, **options):
        calls.append((axis, args, options))
        return original(axis, *args, **options)

    monkeypatch.setattr(Axes, method, spy)
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **options: path.write_text("<svg/>"))
    exhibit.kind_of(context.config, context.name).render(context)
    return calls


class TestRankCurve:
    @pytest.mark.parametrize("distance", [0.0, 0.7, -1.5])
    def test_of_two_normal_samples(self, distance):
        scores, group = run_files.normal_scores("a9a", distance)
        first, second = rank_curves.rank_curve(scores, group, 301).T
        # F_2 = 1 - Phi(Phi^-1(1 - F_1) - distance); a step of the samples is 1 / n in either direction.
        vertical = np.abs(second - stats.norm.sf(stats.norm.isf(first) - distance))
        horizontal = np.abs(first - stats.norm.sf(stats.norm.isf(second) + distance))
        assert np.minimum(vertical, horizontal).max() < 1.01 / min(run_files.ROWS["a9a"])

    def test_runs_from_corner_to_corner_and_rises(self):
        curve = rank_curves.rank_curve(*run_files.normal_scores("a9a", 0.4), 101)
        assert curve[0].tolist() == [0, 0] and curve[-1].tolist() == [1, 1] and len(curve) <= 101
        assert np.all(np.diff(curve, axis=0) >= 0)

    def test_equal_groups_lie_on_the_diagonal(self):
        scores = np.tile(np.arange(50.0), 2)
        curve = rank_curves.rank_curve(scores, np.repeat([0, 1], 50), 30)
        assert np.array_equal(curve[:, 0], curve[:, 1])

    def test_distance_inside_is_the_metric_of_the_scorecard(self):
        scores, group = run_files.normal_scores("a9a", 0.6)
        curve = rank_curves.rank_curve(scores, group, 10_000)
        inside = ((curve >= 0.05) & (curve < 0.3)).any(axis=1)
        expected = get("rank_gap")(scores, np.ones(len(scores)), group, [[0.05, 0.3]])
        assert np.abs(curve[inside, 0] - curve[inside, 1]).max() == pytest.approx(expected, abs=1e-12)


class TestDensity:
    def test_of_a_normal_sample(self):
        scores, group = run_files.normal_scores("a9a", 0.0)
        at = np.linspace(-3, 3, 61)
        found = score_densities.density(scores[group == 1], at)
        assert np.abs(found - stats.norm.pdf(at)).max() < 0.02

    @pytest.mark.parametrize("pairs", [((0.05, 0.3),), ((0.0, 0.25),), ((0.7, 1.0),), ((0.1, 0.2), (0.6, 0.9))])
    def test_filled_mass_is_the_length_of_the_interval(self, pairs):
        scores = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
        mass = 0.0
        for low, high in score_densities.inside_ends(scores, pairs):
            at = np.linspace(low - (low == scores.min()) * 2, high + (high == scores.max()) * 2, 2001)
            mass += np.trapezoid(score_densities.density(scores, at), at)
        assert mass == pytest.approx(sum(high - low for low, high in pairs), abs=0.005)

    def test_ends_are_the_kept_scores(self):
        scores = np.array([3.0, 10, 1, 2, 9, 4, 8, 5, 7, 6])
        assert score_densities.inside_ends(scores, ((0.2, 0.5),)) == [(6.0, 8.0)]
        assert score_densities.inside_ends(scores, ((0.0, 0.1), (0.75, 1.0))) == [(10.0, 10.0), (1.0, 2.0)]

    def test_long_tail_does_not_widen_the_kernel(self):
        scores = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
        tailed = np.append(scores, np.full(10, 50.0))
        assert score_densities.bandwidth(tailed) < 1.1 * score_densities.bandwidth(scores)
        assert score_densities.bandwidth(np.append(np.zeros(90), np.arange(10.0))) > 0  # no spread between quartiles


class TestPanels:
    """Every panel is there, and holds the numbers of the file."""

    @pytest.mark.parametrize(
        ("name", "titles"),
        [
            ("figure2", ["a9a, unconstrained", "a9a, κ = 0.1", "law school, κ = 0.005"]),
            ("figure3", ["a9a, unconstrained", "a9a, κ = 0.05: SP 0."]),
            ("figure8", ["law school, κ = 0.2: DP 0."]),
            ("figure10", ["a9a, pSP at κ = 0.1", "law school, pSP at κ = 0.2"]),
        ],
    )
    def test_titles(self, whole, monkeypatch, name, titles):
        drawn = [args[0] for _, args, _ in drawn_by(monkeypatch, "set_title", context_of(whole, name))]
        for title in titles:
            assert any(text.startswith(title) for text in drawn), (title, drawn)
        assert len(drawn) == {"figure2": 8, "figure3": 4, "figure8": 4, "figure10": 2}[name]

    def test_rank_curves(self, whole, monkeypatch, tmp_path):
        root, config = whole
        report.render_exhibit(config, "figure2", tmp_path, root)
        calls = drawn_by(monkeypatch, "plot", context_of(whole, "figure2"))
        drawn = {tuple(zip(*args[:2], strict=True)) for _, args, options in calls if "ls" not in options}
        written = {}
        for row in read(tmp_path / "figure2.csv"):
            key = (row["dataset"], row["kappa"], row["seed"])
            written.setdefault(key, []).append((float(row["rank_1"]), float(row["rank_2"])))
        assert drawn == {tuple(points) for points in written.values()} and len(drawn) == 2 * 4 * 3
        assert len({axis for axis, _, _ in calls}) == 8

    def test_numbers_of_runs_that_are_not_here_are_not_drawn_over(self, whole, tmp_path):
        """In a clone the figure once became twelve empty panels, and its command said nothing."""
        root, config = whole
        bare = tmp_path / "clone"
        for name in ("reports", "params.yaml", "papers"):
            if (root / name).exists():
                (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, bare / name)
        out = tmp_path / "out"
        for folder in (out, tmp_path / "empty"):
            report.render_exhibit(config, "figure2", folder, root if folder == out else bare, formats=())
        kept = (out / "figure2.csv").read_bytes()
        with pytest.raises(DataError, match=r"figure2\.csv: it shows numbers of runs that are not here \(.*scores"):
            report.render_exhibit(config, "figure2", out, bare, formats=())
        assert (out / "figure2.csv").read_bytes() == kept
        report.render_exhibit(config, "figure2", tmp_path / "empty", bare, formats=())
        report.render_exhibit(config, "figure2", out, bare, formats=(), replace=True)
        assert (out / "figure2.csv").read_bytes() == (tmp_path / "empty/figure2.csv").read_bytes()

    def test_ends_of_the_interval_are_marked_on_both_axes(self, whole, monkeypatch):
        for method in ("axvline", "axhline"):
            calls = drawn_by(monkeypatch, method, context_of(whole, "figure2"))
            assert sorted({args[0] for _, args, _ in calls}) == [0.05, 0.3, 0.7, 1.0] and len(calls) == 16
            monkeypatch.undo()

    def test_densities(self, whole, monkeypatch, tmp_path):
        root, config = whole
        report.render_exhibit(config, "figure3", tmp_path, root)
        rows = read(tmp_path / "figure3.csv")
        calls = drawn_by(monkeypatch, "fill_between", context_of(whole, "figure3"))
        assert len(calls) == 8  # two groups, four settings
        drawn = {tuple(args[0]): (tuple(args[1]), tuple(options["where"])) for _, args, options in calls}
        written = {}
        for row in rows:
            written.setdefault((row["kappa"], row["group"]), []).append(
                (float(row["score"]), float(row["density"]), row["inside"] == "1")
            )
        assert drawn == {
            tuple(p[0] for p in points): (tuple(p[1] for p in points), tuple(p[2] for p in points))
            for points in written.values()
        }

    @pytest.mark.parametrize(("name", "low", "high"), [("figure3", 0.05, 0.3), ("figure8", 0.7, 1.0)])
    def test_filled_part_of_the_file_has_the_mass_of_the_interval(self, whole, name, low, high):
        points = score_densities.csv_lines(context_of(whole, name))
        frame = pd.DataFrame(points)
        assert set(frame["group"]) == {0, 1}
        for _, panel in frame.groupby(["kappa", "group"]):
            filled = panel[panel["inside"] == 1]
            mass = np.trapezoid(filled["density"], filled["score"])
            assert mass == pytest.approx(high - low, abs=0.025)  # the axis leaves out the last of the tail

    def test_convergence(self, whole, monkeypatch, tmp_path):
        root, config = whole
        report.render_exhibit(config, "figure10", tmp_path, root)
        calls = drawn_by(monkeypatch, "plot", context_of(whole, "figure10"))
        lines = {(tuple(args[0]), tuple(args[1])) for _, args, _ in calls if len(args) == 2}
        written = {}
        for row in read(tmp_path / "figure10.csv"):
            for name in ("objective", "infeasibility"):
                written.setdefault((row["dataset"], row["algorithm"], row["seed"], name), []).append(
                    (int(row["inner_steps"]), float(row[name]))
                )
        expected = {tuple(zip(*points, strict=True)) for points in written.values()}
        assert lines == expected and len(lines) > 3
        starts = [points[0][1] for (*_, name), points in written.items() if name == "objective"]
        assert min(starts) > 0.3  # "other", whose objective is 0, is not drawn

    def test_figure_files(self, whole, tmp_path):
        root, config = whole
        for name in ("figure2", "figure9"):
            paths = report.render_exhibit(config, name, tmp_path, root)
            assert {path.name for path in paths} == {f"{name}.{suffix}" for suffix in ("csv", "svg")}


class TestConvergence:
    def test_thinning_keeps_the_ends(self):
        table = pd.DataFrame({"inner_steps": np.arange(1000)})
        kept = history_curves.thinned(table, 100)["inner_steps"].to_numpy()
        assert kept[0] == 0 and kept[-1] == 999 and 60 < len(kept) <= 100 and np.all(np.diff(kept) > 0)
        assert (np.diff(kept)[:6] == 1).all()
        assert len(history_curves.thinned(table.iloc[:20], 100)) == 20

    def test_only_the_chosen_candidate_counts(self, whole):
        found, reason = single_runs.history(context_of(whole, "figure10"), Setting("psp", "a9a", "ssg", 0.1), 2)
        assert reason == "" and found["objective"].iloc[-1] == pytest.approx(0.452, abs=1e-4)


class TestFurtherProtocols:
    def test_the_csv_has_them_and_the_figure_does_not(self, whole, monkeypatch):
        context = context_of(whole, "figure10")
        kappas = {"a9a": [0.1, 0.2, 0.77]}  # of which one is not in the grid
        more = history_curves.Protocol(name="ours", experiments={"ssg": "psp", "idca": "psp"}, kappas=kappas)
        longer = replace(context, options=context.options.model_copy(update={"protocols": [more]}))
        lines = list(history_curves.csv_lines(longer))
        assert {line["protocol"] for line in history_curves.csv_lines(context)} == {"printed"}
        offered = {k for name in ("ssg", "idca") for k in whole[1].experiment("psp").runs["a9a"].algorithms[name]}
        assert {line["kappa"] for line in lines if line["protocol"] == "ours"} == {0.1, 0.2} & offered
        drawn = [[len(args[0]) for _, args, _ in drawn_by(monkeypatch, "plot", one)] for one in (context, longer)]
        assert drawn[0] == drawn[1] and len(drawn[0]) > 0


class TestMissingRuns:
    def test_reason_in_the_file_and_the_others_are_drawn(self, damaged, monkeypatch):
        points = rank_curves.csv_lines(context_of(damaged, "figure2"))
        notes = [p for p in points if "note" in p]
        assert [(p["dataset"], p["kappa"], p["seed"]) for p in notes] == [("a9a", 0.01, 0)]
        assert notes[0]["note"] == "infeasible: no feasible point"
        calls = drawn_by(monkeypatch, "plot", context_of(damaged, "figure2"))
        assert sum("ls" not in options for _, _, options in calls) == 2 * 4 * 3 - 1

    def test_panel_of_one_seed_says_why_it_is_empty(self, damaged, monkeypatch):
        texts = [args[2] for _, args, _ in drawn_by(monkeypatch, "text", context_of(damaged, "figure3"))]
        assert texts == ["infeasible: no feasible point"] * 3  # two groups, and both in one panel

    def test_absent_run(self, damaged):
        points = history_curves.csv_lines(context_of(damaged, "figure10"))
        assert [(p["algorithm"], p["seed"], p["note"]) for p in points if "note" in p] == [("ssg", 1, "not run")]

    def test_kappa_that_the_grid_does_not_have(self, whole):
        found, reason = single_runs.test_scores(context_of(whole, "figure2"), Setting("psp", "a9a", "idca", 0.02), 0)
        assert found is None and "no kappa 0.02; choose from 0.1, 0.05, 0.01" in reason

    @pytest.mark.parametrize("name", ["figure2", "figure3", "figure8", "figure9", "figure10"])
    def test_nothing_has_run(self, whole, tmp_path, name):
        _, config = whole
        report.render_exhibit(config, name, tmp_path / "out", tmp_path)
        assert read(tmp_path / "out" / f"{name}.csv")

    def test_damaged_file_is_named(self, tmp_path):
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(run_files.params_of("figure2")))
        config = load_config(tmp_path / "params.yaml")
        job = config.job("psp", "a9a", "idca", "0.1", 0)
        run_files.write_run(tmp_path, job, [[0.05, 0.3]])
        (tmp_path / job.path / "scores.parquet").write_bytes(b"PAR1 but no more")
        with pytest.raises(DataError, match=r"scores\.parquet: not readable .* delete the run folder"):
            single_runs.test_scores(exhibit.context(config, "figure2", tmp_path), Setting("psp", "a9a", "idca", 0.1), 0)


def test_training_rows_reach_no_figure(whole):
    found, _ = single_runs.test_scores(context_of(whole, "figure2"), Setting("psp", "a9a", "idca", 0.1), 0)
    assert len(found.scores) == sum(run_files.ROWS["a9a"]) and found.scores.max() < 10


def test_a_rewritten_file_is_read_again(whole):
    context = context_of(whole, "figure2")
    job = context.config.job("psp", "a9a", "ssg", "0.1", 0)
    setting = Setting("psp", "a9a", "ssg", 0.1)
    before, _ = single_runs.test_scores(context, setting, 0)
    path = context.root / job.path / "scores.parquet"
    table = pd.read_parquet(path)
    table.assign(score=table["score"] + 1).to_parquet(path)
    after, _ = single_runs.test_scores(context, setting, 0)
    assert after.scores == pytest.approx(before.scores + 1)


@pytest.mark.parametrize(("algorithms", "verdict"), [(["idca", "ssg"], "holds"), (["ssg", "idca"], "fails")])
def test_claims_are_decided_on_the_numbers_that_are_drawn(tmp_path, algorithms, verdict):
    config = run_files.project(tmp_path, run_files.params_of("figure10"))
    report.render_exhibit(config, "figure10", root=tmp_path, out_dir=tmp_path / "reports/figure10")
    said = Claim(
        id="x", section="G.7", sentence="It reaches a lower loss", test="better", method=algorithms[0],
        against=[algorithms[1]], better="smaller",
        table=FromTable(
            exhibit="figure10", value="objective", x="inner_steps", ends="infeasibility", reduce="min"
        ),
    )  # fmt: skip
    lines = list(claim_tests.lines(exhibit.context(config, "figure10", tmp_path), [said]))
    assert {(line.dataset, line.verdict) for line in lines} == {("a9a", verdict), ("law_school", verdict)}
    assert abs(lines[0].reproduced) == pytest.approx(0.05, abs=1e-3)


def test_tightening_is_monotone_in_the_invented_runs(whole):
    """The fixtures themselves: a test of a fall needs one."""
    context = context_of(whole, "figure2")
    for dataset, kappas in run_files.KAPPAS.items():
        gaps = [context.results.estimate(Setting("psp", dataset, "idca", k), "rank_gap").mean for k in kappas]
        assert all(first < second for first, second in pairwise(gaps)) and not math.isnan(gaps[0])


def test_shipped_grid_of_the_last_figures():
    path = Path(__file__).parents[2] / "params.yaml"
    config = load_config(path)
    for name in ("figure9", "figure10", "figure11"):
        entry = config.params.exhibits[name]
        assert entry.title and entry.model_dump()["caption"]


@pytest.mark.parametrize(
    ("after", "refused"), [([None, 3.0], True), ([2.0, 3.0], False), ([None], True), ([2.0, 3.0, None], False)]
)
def test_a_number_gained_does_not_make_up_for_one_lost(
    after: list[float | None], refused: bool, tmp_path: Path
) -> None:
    def lines(context: Any) -> list[dict[str, Any]]:
        is_here(tmp_path / "table.npz")  # missing
        return [{"value": value, "note": ""} for value in context.values]

    kind = ExhibitKind.from_lines(Options, ("value", "note"), lines)
    context = SimpleNamespace(path=lambda suffix: tmp_path / f"facts.{suffix}", replace=True, values=[2.0, None])
    kind.render(context)
    context.values, context.replace = after, False
    with pytest.raises(DataError, match="numbers of runs that are not here") if refused else nullcontext():
        kind.render(context)
