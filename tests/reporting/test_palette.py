"""Colours of figures: readable on both pages, and far enough from each other."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from partialfair import plugins
from partialfair.algorithms.contract import PlotStyle
from partialfair.errors import PluginError
from partialfair.pages import palette
from reproduction.exhibits import style

APART = 17  # CIEDE2000; sky blue beside blue, of Okabe and Ito, is 22, and 5 was too little to tell two methods apart


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str) -> tuple[float, float, float]:
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    v = matrix @ linear(colour) / [0.95047, 1, 1.08883]
    f = np.where(v > 216 / 24389, np.cbrt(v), (24389 / 27 * v + 16) / 116)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def distance(one: str, other: str) -> float:
    """CIEDE2000 (Sharma, Wu and Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = lab(one), lab(other)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    hue = (h1 + turn / 2) % 360
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn) / 2)
    light, c = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * np.cos(np.radians(hue - 30)) + 0.24 * np.cos(np.radians(2 * hue))
    t += 0.32 * np.cos(np.radians(3 * hue + 6)) - 0.2 * np.cos(np.radians(4 * hue - 63))
    sl = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * c, 1 + 0.015 * c * t
    twist = -2 * np.sqrt(c**7 / (c**7 + 25**7)) * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    parts = (l2 - l1) / sl, (c2 - c1) / sc, dh / sh
    return float(np.sqrt(sum(p**2 for p in parts) + twist * parts[1] * parts[2]))


def test_distance_is_that_of_the_published_example():
    # Pair 1 of Sharma, Wu and Dalal has no sRGB colours; these two were computed by an independent program.
    assert distance("#0072B2", "#56B4E9") == pytest.approx(22.31, abs=0.01)
    assert distance("#4aa5e0", "#56B4E9") == pytest.approx(4.57, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tones_can_be_seen_and_told_apart(scheme):
    page = getattr(palette.PAGES, scheme)
    tones = {name: getattr(tone, scheme) for name, tone in palette.TONES.items()}
    assert min(contrast(tone, page) for tone in tones.values()) >= 3
    apart = {pair: distance(tones[pair[0]], tones[pair[1]]) for pair in itertools.combinations(tones, 2)}
    assert min(apart.values()) >= APART, min(apart, key=apart.get)


def test_every_algorithm_is_drawn_in_a_tone():
    known = {tone.light for tone in palette.TONES.values()}
    assert {style.plot_style(name).colour.lower() for name in plugins.names("algorithms")} <= known


def test_a_figure_takes_the_colours_of_the_page():
    svg = '<path style="stroke: #0072b2"/><path style="fill: #ffffff"/><path style="fill: #123456"/>'
    shown = palette.on_page(svg)
    assert "stroke: var(--tone-blue,#0072b2)" in shown and "fill: var(--page)" in shown and "#123456" in shown


@pytest.mark.parametrize("look", [3, PlotStyle("nocolour", "?")])
def test_a_look_that_cannot_be_drawn_is_refused_in_a_sentence(monkeypatch, look):
    plugin = SimpleNamespace(label="Mine", look=look)
    monkeypatch.setattr(style.plugins, "names", lambda _: ["mine"])
    monkeypatch.setattr(style.plugins, "load", lambda *_: SimpleNamespace(ALGORITHM=plugin))
    with pytest.raises(PluginError, match=r"algorithms/mine\.py: look is .*; write PlotStyle"):
        style.plot_style("mine")
