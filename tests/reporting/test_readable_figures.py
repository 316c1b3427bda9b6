"""What a reader has to see in single figures: lines upon each other, cut bars, free labels, words for keys."""

import itertools
import math
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from papers.cross_paper.exhibits import cross_paper
from papers.partial_fairness.exhibits import interval_choice
from partialfair.pages import palette
from reproduction.exhibits import canvas, dual_curves, exhibit, fairness_points, history_curves, trace_curves
from reproduction.exhibits import regression_points as points
from reproduction.exhibits.canvas import PlotCurve
from reproduction.exhibits.kinds import bars
from reproduction.grid.config import load_config
from tests.workflow.project import ROOT


@pytest.fixture(scope="module")
def shipped():
    return load_config(ROOT / "params.yaml")


@pytest.fixture
def axis():
    figure, made = plt.subplots(figsize=(5.6, 5.4))
    yield made
    plt.close(figure)


def size_of(axis):
    """Width and height of a panel, in points of print."""
    return np.array(axis.get_position().size) * axis.figure.get_size_inches() * 72


class TestLinesUponEachOther:
    def test_of_two_lines_that_agree_both_are_seen(self):
        context = SimpleNamespace(options=SimpleNamespace(labels={}))
        found = [{"candidate": name, "iteration": k, "lam": 1.0} for name in "abc" for k in (1, 2)]
        first, second, third = (curve.style for curve in dual_curves._curves(context, found, "lam"))
        assert first["lw"] > 2 * third["lw"] and first["zorder"] < third["zorder"]
        assert len({one["color"] for one in (first, second, third)}) == 3
        assert first["ls"] == "-" != third["ls"]

    @pytest.mark.parametrize(
        ("second", "logarithmic", "words"),
        [
            ([1.0, 0.5021], False, "the 2 lines differ by at most 0.003"),
            ([1.0, 0.6], False, ""),
            ([1.0, 0.521], True, "the 2 lines differ by at most 5%"),
            ([1.0, 0.6], True, ""),
            ([1.0, 0.5], False, "the 2 lines differ by at most 0"),
        ],
    )
    def test_lines_that_coincide_say_so(self, second, logarithmic, words):
        one, other = (PlotCurve([1, 2], values, {}) for values in ([1.0, 0.5], second))
        assert trace_curves.agreement([one, other], logarithmic) == words
        assert trace_curves.agreement([one], logarithmic) == ""


class TestCutBars:
    def test_intervals_of_ranks_end_at_the_first_and_the_last(self):
        line = {"rank": 2.0, "rank_low": -1.5, "rank_high": 9.0}
        assert canvas.bar_lengths(cross_paper._cut_interval(line, 4), "rank") == [[1.0], [2.0]]
        alone = cross_paper._cut_interval({"rank": 2.0, "rank_low": math.nan, "rank_high": math.nan}, 4)
        assert canvas.bar_lengths(alone, "rank") == [[0.0], [0.0]]


class TestLabels:
    def test_labels_stand_beside_bars_and_marks(self, axis):
        """Three crosses near each other: no label lies on the bar of any."""
        spots = [(0.65, 0.79), (0.68, 0.776), (0.72, 0.746)]
        made = [
            {"fairness": x, "fairness_low": x - 0.05, "fairness_high": x + 0.05}
            | {"accuracy": y, "accuracy_low": y - 0.03, "accuracy_high": y + 0.03, "experiment": "one"}
            | {"kappa": 0.2, "algorithm": "regularization"}
            for x, y in spots
        ]
        axis.set(xlim=(0.55, 0.93), ylim=(0.57, 0.87))
        found = [at for _, at in fairness_points._place_labels(axis, made)]
        panel = size_of(axis)
        place = {spot: (np.array(spot) - (0.55, 0.57)) / (0.38, 0.3) * panel for spot in spots}
        size = fairness_points.label_size(made[:1])
        boxes = [(place[s] + at, place[s] + at + size) for s, at in zip(spots, found, strict=True)]
        for (low, high), (x, y) in itertools.product(boxes, place.values()):
            across, up = np.array([0.05, 0.03]) / (0.38, 0.3) * panel
            assert not (low[1] < y < high[1] and low[0] < x + across and high[0] > x - across)
            assert not (low[0] < x < high[0] and low[1] < y + up and high[1] > y - up)
        assert not any(fairness_points._overlap(*pair) for pair in itertools.combinations(boxes, 2))

    @pytest.mark.parametrize("name", ["figure12", "penalty_weight_psp", "penalty_weight_pdp"])
    def test_no_label_of_a_shipped_figure_lies_on_a_mark_or_on_another(self, shipped, name):
        """As printed: the letters are measured, and the marks are where the figure has them."""
        found = exhibit.context(shipped, name, ROOT)
        figure = fairness_points.draw(found, fairness_points.csv_lines(found))
        figure.canvas.draw()
        for axis in figure.axes:
            labels = {text: Text.get_window_extent(text) for text in axis.texts}
            assert len(labels) > 2
            marks = [line for line in axis.lines if line.get_marker() in "o^s"]
            spots = np.concatenate([line.get_transform().transform(line.get_xydata()) for line in marks])
            assert len(spots) >= len(labels)
            for text, box in labels.items():
                inside = np.all((spots > box.min) & (spots < box.max), axis=1)
                assert not inside.any(), f"{text.get_text()} lies on a mark"
                assert axis.bbox.padded(2).contains(*box.min) and axis.bbox.padded(2).contains(*box.max)
            for (one, first), (other, second) in itertools.combinations(labels.items(), 2):
                assert not first.overlaps(second), (one.get_text(), other.get_text())
        plt.close(figure)

    def test_a_label_stays_in_the_panel_and_off_the_line_from_the_start(self, axis):
        bars = dict.fromkeys(("fairness_low", "fairness_high", "accuracy_low", "accuracy_high"), math.nan)
        mark = {"fairness": 0.56, "accuracy": 0.8, "experiment": "one", "kappa": 0.2, "algorithm": "idca"} | bars
        axis.set(xlim=(0.55, 0.93), ylim=(0.57, 0.87))
        blocked = [mark | {"fairness": 0.57 + 0.01 * k, "accuracy": 0.8, "experiment": f"{k}"} for k in range(8)]
        (_, at), *_ = fairness_points._place_labels(axis, [mark, *blocked])
        left = 0.01 / 0.38 * size_of(axis)[0] + at[0]
        assert left >= 0
        (_, free), *_ = fairness_points._place_labels(axis, [mark])
        start = {"fairness": 0.7, "accuracy": 0.85, "experiment": "start"} | bars
        (_, beside), *_ = fairness_points._place_labels(axis, [mark], [start])
        assert free[1] > 0 > beside[1]  # the line rises to the right, where the label stood

    def test_marks_of_one_experiment_that_touch_share_a_label(self, axis):
        made = [
            {"fairness": x, "accuracy": 0.8, "experiment": experiment, "kappa": kappa, "algorithm": "regularization"}
            | dict.fromkeys(("fairness_low", "fairness_high", "accuracy_low", "accuracy_high"), math.nan)
            for experiment, x, kappa in (("a", 0.6, 0.4), ("a", 0.605, 0.405), ("a", 0.8, 1.5), ("b", 0.8, 2.0))
        ]
        axis.set(xlim=(0.55, 0.93), ylim=(0.57, 0.87))
        found = fairness_points._place_labels(axis, made)
        assert [fairness_points._label_text(named) for named, _ in found] == ["λ 0.4 to 0.405", "λ 1.5", "λ 2"]
        boxes = [(np.array(at), at + fairness_points.label_size(named)) for named, at in found[1:]]  # at one place
        assert not fairness_points._overlap(*boxes)

    def test_bars_are_thinner_than_lines_and_can_be_seen(self, axis):
        line = {"fairness": 0.7, "accuracy": 0.8, "n_seeds": 5}
        line |= {
            f"{name}_{end}": 0.1 + 0.9 * k for name in ("fairness", "accuracy") for k, end in enumerate(("low", "high"))
        }
        curve = fairness_points._marks([line], "#0072b2", "o", "IDCA")
        axis.errorbar(curve.x, curve.y, **curve.bars, **curve.style)
        assert all(one.get_linewidth()[0] < 1 for one in axis.collections)
        assert all(one.get_colors()[0][3] == pytest.approx(palette.faint("#0072b2")) for one in axis.collections)

    def test_measures_of_an_interval_have_words(self):
        words = "candidates by largest rank difference on I, absolute scale"
        assert interval_choice._label("rank_gap").replace("\n", " ") == words

    def test_panels_of_one_dataset_have_titles_of_their_own(self, shipped, monkeypatch):
        shown = exhibit.context(shipped, "figure9", ROOT)
        monkeypatch.setattr(bars.canvas, "draw_panels", lambda rows, *_, **__: rows)
        ((first, second, *_),) = bars.draw_intervals(shown, [])
        assert (first.labels["title"], second.labels["title"]) == ("a9a: accuracy", "a9a: pSP fairness")


class TestConvergence:
    def test_the_seed_and_the_allowed_infeasibility_are_named(self, shipped):
        shown = exhibit.context(shipped, "figure10", ROOT)
        assert history_curves._allowed(shown) == 0.005
        figure = history_curves.draw(shown, [])
        plt.close(figure)
        assert "Bold: seed 0;" in figure.texts[0].get_text().replace("\n", " ")


def test_tiny_tolerances_have_a_row_of_their_own(shipped):
    """Five optimisers whose points lie upon each other: below them once more, larger, and framed above."""
    shown = exhibit.context(shipped, "dp_figure3", ROOT)
    numbers = {"risk": 0.04, "risk_std": 0.001, "ks_group_0": 0.1, "ks_group_0_std": 0.01, "n_seeds": 10}
    found = [
        {"series": name, "dataset": dataset, "source": "reproduced", "eps": eps, "ks_noise_floor": 0.05}
        | numbers
        | {"risk": 0.04 + 0.001 * k, "ks_group_0": 0.1 + eps}
        for dataset in ("communities", "law_school")
        for k, name in enumerate(("sgd", "acsa", "acsa2", "sgd3_acsa", "sgd3_acsa2"))
        for eps in (0.25, 2.0**-8, 2.0**-12)
    ]
    figure = points.draw(shown, found)
    plt.close(figure)
    above, _, below, _ = figure.axes
    assert len(above.patches) == 1, "the frame"
    ticks = [line for line in above.get_lines() if list(line.get_ydata()) == [0, points.TICK]]
    assert len(ticks) == 5 and {round(line.get_xdata()[0], 12) for line in ticks} == {0.05}, "the noise of each series"
    assert [len(line.get_xdata()) for line in below.get_lines()] == [2] * 5
    assert len({(line.get_marker(), line.get_color()) for line in below.get_lines()}) == 5
    assert not below.texts and not below.collections, "neither words nor bars upon the points"
    assert "eps ≤ 2⁻⁸" in figure.texts[0].get_text().replace("\n", " ")
