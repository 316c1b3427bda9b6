"""The note of a figure says what is in it, and nothing else."""

import pytest
from matplotlib import pyplot as plt

from reproduction.exhibits import canvas
from reproduction.exhibits.canvas import PlotCurve, PlotPanel

LINE = {"ls": "-", "lw": 1.5, "color": "#0072B2", "zorder": 2}


def note_of(*curves: PlotCurve) -> str:
    figure = canvas.draw_panels([[PlotPanel(curves, {})]], (4, 3), {}, note="Bars: intervals.")
    try:
        return " ".join(" ".join(text.get_text().split()) for text in figure.texts)
    finally:
        plt.close(figure)


@pytest.mark.parametrize(("ends", "dotted"), [((0.5, 0.7), True), ((0.5, 0.55), False)])
def test_dots_are_explained_where_there_are_some(ends: tuple[float, float], dotted: bool) -> None:
    found = note_of(*canvas.chords([(ends[0], 0.8), (ends[1], 0.8)], LINE))
    assert found == f"Bars: intervals. {canvas.DOTTED}" if dotted else found == "Bars: intervals."


def test_what_curves_mean_is_said_once() -> None:
    chords = canvas.chords([(0.1, 0.8), (0.4, 0.8), (0.9, 0.8)], LINE)
    assert note_of(*chords, PlotCurve([0.1], [0.8], LINE, meaning="White: missed.")).count("Thin dots") == 1
    assert note_of(PlotCurve([0.1], [0.8], LINE, meaning="White: missed.")) == "Bars: intervals. White: missed."


@pytest.mark.parametrize("letters", [4, 30, 45])
def test_legends_lie_within_the_figure_and_panels_keep_their_size(letters: int) -> None:
    curves = [PlotCurve([0.0, 1.0], [0.0, 1.0], LINE | {"label": f"{i}{'w' * letters}"}) for i in range(6)]
    figure = canvas.draw_panels([[PlotPanel(curves, {})]], (6, 4), {}, note="Bars: intervals.")
    try:
        legend, (panel,) = figure.legends[0].get_window_extent(), figure.axes
        assert legend.width <= figure.bbox.width
        assert legend.y1 < panel.get_tightbbox().y0
        assert panel.get_window_extent().height > 0.55 * 4 * figure.dpi
    finally:
        plt.close(figure)


@pytest.mark.parametrize(
    ("reason", "bars", "words"), [("", 0, ["not run"]), ("too few rows", 0, ["too few rows"]), (None, 2, [])]
)
def test_a_panel_without_curves_says_why_or_has_bars(reason: str | None, bars: int, words: list[str]) -> None:
    panel = PlotPanel([], {}, reason, finish=lambda axis: axis.bar(["alm", "idca"], [0.8, 0.7]))
    figure = canvas.draw_panels([[panel]], (4, 3), {})
    try:
        (axis,) = figure.axes
        assert len(axis.patches) == bars and [text.get_text() for text in axis.texts] == words
    finally:
        plt.close(figure)
