"""What a figure says is the same in every format: making an SVG smaller touches coordinates, not words."""

import re

import pytest

from reproduction.exhibits import canvas
from tests.workflow.project import ROOT

SVGS = sorted((ROOT / "reports").glob("*/*.svg"))


def test_only_coordinates_are_rounded():
    svg = '<svg width="10.12345pt"><metadata>1.2345</metadata><path d="M 0.12345 7.98765"/><text>0.025</text></svg>'
    assert canvas._slim(svg) == '<svg width="10.12pt"><path d="M 0.12 7.99"/><text>0.025</text></svg>'


def repeated(svg):
    """Numbers that an axis has twice, of all axes; a name may stand in several groups."""
    found = []
    for axis in svg.split('<g id="matplotlib.axis_')[1:]:
        ticks = re.split(r'<g id="[xy]tick_\d+">', axis.split('<g id="patch_')[0])[1:]
        labels = [text[1] for tick in ticks if (text := re.search(r">([^<>\s][^<>]*)</text>", tick))]
        numbers = [label for label in labels if re.fullmatch(r"[-−+]?[\d.]+%?", label)]
        found += [label for label in set(numbers) if numbers.count(label) > 1]
    return found


def test_rounded_labels_would_be_noticed():
    axis = '<g id="matplotlib.axis_1"><g id="xtick_1"><text>{}</text></g><g id="xtick_2"><text>{}</text></g></g>'
    assert repeated(axis.format("0.91", "0.91")) == ["0.91"] and not repeated(axis.format("0.905", "0.910"))


@pytest.mark.parametrize("path", SVGS, ids=lambda path: path.stem)
def test_no_axis_has_one_label_twice(path):
    """As .905 and .910 had, while text was rounded to two decimals."""
    assert not repeated(path.read_text(encoding="utf-8"))


def outside(svg):
    """Words that lie beside the figure's canvas, wholly or for the larger part; rotated ones by where they begin."""
    width, height = (float(size) for size in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    cut_off = []
    for attributes, words in re.findall(r"<text ([^>]*)>([^<]*)</text>", svg):
        position = re.search(r'translate\(([-\d.]+)[ ,]+([-\d.]+)\)|x="([-\d.]+)" y="([-\d.]+)"', attributes)
        x, y = (float(number) for number in position.groups() if number is not None)
        size = re.search(r"font-size: ([\d.]+)px|font: (?:\w+ )?([\d.]+)px", attributes)
        anchor = re.search(r"text-anchor: (\w+)", attributes)
        rotated = re.search(r"rotate\((?!-0[ )])", attributes)
        half = 0 if rotated else 0.25 * len(words) * float(next(filter(None, size.groups()))) if size else 0
        x += {"start": half, "end": -half, "middle": 0}[anchor[1] if anchor else "start"]
        if not (0 <= x <= width and 0 <= y <= height):
            cut_off.append(words)
    return cut_off


def test_words_beside_the_canvas_would_be_noticed():
    svg = '<svg viewBox="0 0 100 50">' + "".join(
        f'<text style="font-size: 8px; text-anchor: {anchor}" x="{x}" y="9" transform="rotate(-0 {x} 9)">{words}</text>'
        for words, anchor, x in [("inside", "middle", 50), ("cut off", "middle", 104), ("a long sentence", "start", 90)]
    )
    assert outside(svg) == ["cut off", "a long sentence"]


@pytest.mark.parametrize("path", SVGS, ids=lambda path: path.stem)
def test_no_words_lie_beside_the_figure(path):
    """As half of the matrix of AUC fairness did, with eighty readings in one row."""
    assert not outside(path.read_text(encoding="utf-8"))
