"""The note of a figure says what is in it, and nothing else."""

import pytest
from matplotlib import pyplot as plt

from reproduction.exhibits import canvas
from reproduction.exhibits.canvas import Curve, Panel

LINE = {"ls": "-", "lw": 1.5, "color": "#0072B2", "zorder": 2}


def note_of(*curves: Curve) -> str:
    figure = canvas.figure([[Panel(curves, {})]], (4, 3), {}, note="Bars: intervals.")
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
    assert note_of(*chords, Curve([0.1], [0.8], LINE, means="White: missed.")).count("Thin dots") == 1
    assert note_of(Curve([0.1], [0.8], LINE, means="White: missed.")) == "Bars: intervals. White: missed."


@pytest.mark.parametrize("letters", [4, 30, 45])
def test_legends_lie_within_the_figure_and_panels_keep_their_size(letters: int) -> None:
    curves = [Curve([0.0, 1.0], [0.0, 1.0], LINE | {"label": f"{i}{'w' * letters}"}) for i in range(6)]
    figure = canvas.figure([[Panel(curves, {})]], (6, 4), {}, note="Bars: intervals.")
    try:
        legend, (panel,) = figure.legends[0].get_window_extent(), figure.axes
        assert legend.width <= figure.bbox.width
        assert legend.y1 < panel.get_tightbbox().y0
        assert panel.get_window_extent().height > 0.55 * 4 * figure.dpi
    finally:
        plt.close(figure)
