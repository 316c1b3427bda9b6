"""Figures and tables: files, equality of drawn and written numbers, and the layout of the paper's tables."""

import csv
import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from papers.partial_fairness.exhibits import kappa_scale
from reproduction.exhibits import canvas, exhibit, style
from reproduction.exhibits.kinds import dataset_statistics, pairs
from reproduction.grid.config import load_config
from reproduction.jobs import report
from reproduction.verdicts.results import Setting
from tests.workflow.project import ROOT


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def context(project):
    root, config = project
    return lambda name: exhibit.context(config, name, root)


class TestResults:
    def test_estimate_is_the_t_interval_of_one_minus_the_violation(self, context):
        results = context("table3").results
        setting = Setting("psp", "a9a", "idca", 0.1)
        values = results.rows(setting, "rank_gap")["value"].to_numpy()
        found = results.estimate(setting, "rank_gap")
        low, high = stats.t.interval(0.95, len(values) - 1, (1 - values).mean(), stats.sem(values))
        assert (found.mean, found.low, found.high) == pytest.approx(((1 - values).mean(), low, high))

    def test_quality_is_shown_as_it_is(self, context):
        results = context("table3").results
        setting = Setting("psp", "a9a", "unconstrained", math.inf)
        assert results.estimate(setting, "accuracy").mean == pytest.approx(
            results.rows(setting, "accuracy")["value"].mean()
        )


@pytest.fixture(scope="module")
def files(project, tmp_path_factory):
    """The files of the trade-off figure."""
    root, config = project
    return report.render_exhibit(config, "figure1", tmp_path_factory.mktemp("figure1"), root)


class TestFigure:
    def test_files(self, files):
        assert {path.name for path in files} == {"figure1.csv", "figure1.svg"}

    def test_other_formats_are_drawn_on_request(self, project, tmp_path):
        root, config = project
        files = report.render_exhibit(config, "figure1", tmp_path, root, formats=("pdf", "png"))
        starts = {".pdf": b"%PDF", ".png": b"\x89PNG", ".csv": b"experiment,dataset"}
        assert {path.suffix for path in files} == set(starts)
        assert all(path.read_bytes().startswith(starts[path.suffix]) for path in files)

    def test_the_background_is_white_in_the_file_and_the_page_s_own_on_a_page(self, context, files):
        svg = next(path for path in files if path.suffix == ".svg")
        assert svg.read_text().count("fill: #ffffff") == 1
        assert "#ffffff" not in canvas.figure_html(svg, "Title") and "none" in canvas.figure_html(svg, "Title")

    def test_csv_equals_what_is_drawn(self, context, files, tmp_path, monkeypatch):
        """Collect what reaches the axes and compare with the file, point by point."""
        from matplotlib.axes import Axes

        drawn, faint = set(), set()
        bars, lines = Axes.errorbar, Axes.plot

        def errorbar(axis, x, y, *args, xerr, yerr, **options):
            for number, point in enumerate(zip(x, y, strict=True)):
                sides = [error[side][number] for error in (xerr, yerr) for side in (0, 1)]
                drawn.add(tuple(round(value, 9) for value in (*point, *sides)))
            return bars(axis, x, y, *args, xerr=xerr, yerr=yerr, **options)

        def plot(axis, x, y, *args, **options):
            if options.get("mfc") == "none":
                faint.add((x[0], y[0]))
            return lines(axis, x, y, *args, **options)

        monkeypatch.setattr(Axes, "errorbar", errorbar)
        monkeypatch.setattr(Axes, "plot", plot)
        exhibit.kind_by_source("scatter")["fairness"].render(replace(context("figure1"), out_dir=tmp_path))
        written, published = set(), set()
        for row in read(next(path for path in files if path.suffix == ".csv")):
            if row["source"] == "published":
                published.add((float(row["fairness"]), float(row["accuracy"])))
            elif row["accuracy"] not in {"", "nan"}:
                x, y = float(row["fairness"]), float(row["accuracy"])
                ends = [float(row[f"{n}_{end}"]) for n in ("fairness", "accuracy") for end in ("low", "high")]
                sides = (x - ends[0], ends[1] - x, y - ends[2], ends[3] - y) if int(row["n_seeds"]) > 2 else (0,) * 4
                written.add(tuple(round(value, 9) for value in (x, y, *sides)))
        assert drawn == written and len(drawn) == 2 * 2 * 11 - 1  # one of the settings has no value at all
        assert faint == published and (0.7017, 0.8492) in faint and len(faint) == 12

    def test_setting_without_value_is_a_row_with_a_reason(self, files):
        rows = read(next(path for path in files if path.suffix == ".csv"))
        row = next(r for r in rows if r["note"].startswith("3 of 3 seeds"))
        assert (row["algorithm"], row["kappa"], row["n_seeds"]) == ("idca", "0.01", "0")

    def test_equal_numbers_give_equal_files(self, project, files, tmp_path):
        root, config = project
        again = report.render_exhibit(config, "figure1", tmp_path, root)
        assert {path.name for path in again} == {path.name for path in files}
        for path in again:
            assert path.read_bytes() == next(f for f in files if f.name == path.name).read_bytes(), path.name

    def test_lines_start_at_the_unconstrained_point_and_tighten(self, context, tmp_path, monkeypatch):
        from matplotlib.axes import Axes

        paths, lines = [], Axes.plot

        def plot(axis, x, y, *args, **options):
            # Neither the published points nor the single seeds of a setting with few of them.
            if isinstance(x, list) and options.get("mfc") != "none" and options.get("ls") != "none":
                paths.append(x)
            return lines(axis, x, y, *args, **options)

        monkeypatch.setattr(Axes, "plot", plot)
        exhibit.kind_by_source("scatter")["fairness"].render(replace(context("figure1"), out_dir=tmp_path))
        long = [path for path in paths if len(path) > 1]
        assert all(np.all(np.diff(path) > 0) for path in long)
        ends = {path[-1] for path in long}
        starts = Counter(path[0] for path in long if path[0] not in ends)
        assert len(starts) == 4 and set(starts.values()) == {2}  # a panel each, from which two methods start

    def test_inline_figure_takes_the_colours_of_the_page(self, context):
        fragment = exhibit.body(context("figure1"))
        assert f"var(--tone-ink,{style.INK})" in fragment and style.INK not in fragment.replace(f",{style.INK})", "")
        assert "<?xml" not in fragment and 'id="figure1-' in fragment
        references = {part.split(")")[0] for part in fragment.split("url(#")[1:]}
        assert references and all(f'id="{name}"' in fragment for name in references)


def test_every_algorithm_that_is_shown_declares_its_look():
    shown = {name for names in shown_together() for name in names}
    assert shown and all(style.plot_style(name, ["a", name]) == style.plot_style(name, [name, "z"]) for name in shown)


def shown_together() -> dict[tuple[str, ...], str]:
    """The algorithms of the experiments of each exhibit of the shipped grid, and the first exhibit that shows them."""
    config = load_config(ROOT / "params.yaml")
    shown: dict[tuple[str, ...], str] = {}
    for name, entry in config.params.exhibits.items():
        if entry.kind == "cross_paper":
            continue  # tells methods apart by their names; has tests of its own
        runs = [run for e in entry.experiments or config.experiments for run in config.experiment(e).runs.values()]
        shown.setdefault(tuple(sorted({algorithm for run in runs for algorithm in run.algorithms})), name)
    return shown


@pytest.mark.parametrize(("algorithms", "shown_by"), shown_together().items(), ids=shown_together().values())
def test_looks_of_algorithms_shown_together_differ(algorithms: tuple[str, ...], shown_by: str):
    others = ["new_one", "other_one", "third_one"]
    own = [style.plot_style(name) for name in algorithms]
    looks = [*own, *(style.plot_style(name, others) for name in others)]
    for a, b in itertools.combinations(looks, 2):
        assert a.label != b.label and a.marker != b.marker, shown_by
        assert (a.colour, a.dash) != (b.colour, b.dash), shown_by
    assert len({look.colour for look in own}) == len(own), shown_by


class TestTables:
    def test_table3_sets_full_beside_partial(self, context):
        lines = pairs.csv_lines(context("table3"))
        table = pairs.table(context("table3"), lines)
        assert [title for title, _ in table.groups] == ["", "constraint on [0, 1]", "constraint on I"]
        row = next(row for row in table.rows if row[1].text == "level 2")
        assert [row[i].text for i in (2, 3, 5, 7, 8, 10)] == ["0.2", "0.7799", "0.8485", "0.2", "0.7841", "0.8479"]
        level = [line for line in lines if (line["dataset"], line["setting"]) == ("a9a", "row=2")]
        verdicts = [line["verdict"] for line in level if line["metric"] == "psp_fairness"]
        kinds = {"agrees": "good", "near": "near"}
        assert [row[4].kind, row[9].kind] == [kinds[verdict] for verdict in verdicts]
        assert {line["side"] for line in lines} == {"full", "partial"}

    def test_table4_orders_by_kappa_and_grid(self, context):
        table = pairs.table(context("table4"), pairs.csv_lines(context("table4")))
        assert [title for title, _ in table.groups] == ["", "grid of 10 ranks", "grid of 20 ranks"]
        labels = [row[1].text for row in table.rows]
        assert labels[:6] == ["unconstrained", "κ = 0.28", "κ = 0.2", "κ = 0.1", "κ = 0.05", "κ = 0.01"]
        assert labels[-1] == "κ = 0.005"

    def test_written_numbers(self, project, tmp_path):
        root, config = project
        paths = report.render_exhibit(config, "table3", tmp_path, root)
        assert {path.name for path in paths} == {"table3.csv", "table3.html"}
        rows = read(tmp_path / "table3.csv")
        assert len(rows) == 68
        row = next(r for r in rows if (r["dataset"], r["interval"], r["setting"]) == ("a9a", "0.05-0.3", "row=3"))
        assert (row["experiment"], row["kappa"], row["published"], row["verdict"]) == (
            "psp",
            "0.1",
            "0.8732",
            "near",
        )
        assert abs(float(row["reproduced"]) - 0.8732) < 0.01 and 0 < float(row["half_width"]) < 0.05
        assert float(row["relative_scale"]) < float(row["reproduced"])
        text = (tmp_path / "table3.html").read_text()
        assert f"{float(row['reproduced']):.4f} ± {float(row['half_width']):.4f}" in text

    def test_dataset_statistics_are_counted(self, project, tmp_path):
        root, config = project
        table = tmp_path / "data/processed/law_school/table.npz"
        table.parent.mkdir(parents=True)
        np.savez(table, shape=np.array([20798, 9]))
        (tmp_path / "papers").symlink_to(root / "papers")
        context = exhibit.context(config, "table1", tmp_path)
        table = dataset_statistics.table(context, dataset_statistics.csv_lines(context))
        cells = {row[0].text: row[1:] for row in table.rows}
        assert [(c.text, c.kind) for c in cells["law school"][1::2]] == [("20798", "good"), ("11", "bad")]
        assert cells["bank"][1].text == "not prepared"


class TestScaleOfKappa:
    def test_convention_nearer_to_the_published_number(self, context):
        lines = kappa_scale.csv_lines(context("kappa_scale"))
        assert len(lines) == 2 * 2 * 11
        compared = [line for line in lines if line["nearer"]]
        assert compared and {line["nearer"] for line in compared} == {"absolute"}
        assert (
            f"Of {len(compared)} models with a published fairness, {len(compared)} are nearer"
            in kappa_scale.summary(lines)
        )
        dp = next(line for line in lines if line["experiment"] == "pdp")
        assert (dp["absolute_metric"], dp["relative_metric"]) == ("dp_gap", "dp")

    def test_the_nearer_number_is_bold_and_not_marked_as_near(self, context):
        shown = context("kappa_scale")
        text = kappa_scale.table(shown, kappa_scale.csv_lines(shown))
        assert '<td class="best"' in text and '<td class="near"' not in text
        for sheet in ("src/partialfair/pages/templates/style.css.j2", "docs/static/site.css"):
            assert "td.best { font-weight: 650; }" in (ROOT / sheet).read_text(encoding="utf-8")

    def test_other_numbers_give_the_other_answer(self, context):
        lines = kappa_scale.csv_lines(context("kappa_scale"))
        swapped = [
            line
            | {
                "nearer": "relative" if line["nearer"] else "",
                "absolute": line["relative"],
                "relative": line["absolute"],
            }
            for line in lines
        ]
        assert ", 0 are nearer to it by the absolute convention" in kappa_scale.summary(swapped)
        assert "No published number" in kappa_scale.summary([])


def test_training_does_not_load_the_reporting():
    heavy = ("pandas", "matplotlib", "jinja2")
    code = f"import sys, reproduction.jobs.train; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_order_of_points_is_the_same_in_every_process() -> None:
    code = """
from pathlib import Path
from reproduction.grid.config import load_config
from reproduction.exhibits import exhibit
from reproduction.exhibits.regression_points import points
config = load_config(Path("params.yaml"))
for name in ("dp_figure2", "dp_figure3"):
    print([(p["series"], p["dataset"]) for p in points(exhibit.context(config, name, Path(".")))])
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in range(3)
    }
    assert len(told) == 1 and len(told.pop()) > 1000
