"""Every figure can be read on a light and on a dark page: text has a contrast of 4.5:1 with it, marks one of 3:1."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from partialfair.pages import palette
from tests.reporting.test_palette import contrast
from tests.workflow.project import ROOT

AREA = 0.3
"""Largest opacity of a band around a line or behind a panel; what it bounds is drawn besides."""
FURNITURE = {"#ffffff", palette.GRID}
TEXT, MARKS = {"text", "tspan"}, {"path", "use", "line", "rect", "circle", "polygon"}
FIGURES = sorted(ROOT.glob("reports/*/*.svg"))


def shown(element: ET.Element, above: Mapping[str, str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield tag, text and style of everything that is drawn, styles of what it lies in included."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("defs", "style", "metadata", "clipPath"):
        return
    own = dict(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", "")))
    own |= {name: element.get(name, "") for name in ("fill", "stroke", "opacity") if element.get(name)}
    opacity = float(above.get("opacity", 1)) * float(own.get("opacity", 1))
    style = {**above, **own, "opacity": str(opacity)}
    yield tag, "".join(element.itertext()).strip(), style
    for child in element:
        yield from shown(child, style)


def over(colour: str, page: str, opacity: float) -> str:
    """The colour that is seen where one of some opacity lies on another."""
    mixed = [opacity * int(colour[i : i + 2], 16) + (1 - opacity) * int(page[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def strength(style: Mapping[str, str], part: str, scheme: str) -> float:
    """Contrast of a fill or a stroke with the page; 0 for none, or an area behind what counts."""
    colour, opacity = style.get(part, "none"), float(style["opacity"]) * float(style.get(f"{part}-opacity", 1))
    if not colour.startswith("#"):
        return 0.0
    tones = {tone.light: getattr(tone, scheme) for tone in palette.TONES.values()}
    page = getattr(palette.PAGES, scheme)
    return contrast(over(tones.get(colour.lower(), colour), page, opacity), page)


def furniture(style: Mapping[str, str]) -> bool:
    """Whether something is grid, paper or a pale area without an outline."""
    colours = {style.get("fill", "none"), style.get("stroke", "none")} - {"none"}
    area = style.get("stroke", "none") == "none"
    opacity = float(style["opacity"]) * float(style.get("fill-opacity", 1))
    return colours <= FURNITURE or (area and opacity <= AREA)


def unseen(source: Path | str, scheme: str) -> list[str]:
    """What cannot be seen in an SVG, in words."""
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
    found = []
    for tag, words, style in shown(ET.fromstring(text), {}):
        if tag in TEXT and words and strength({"fill": "#000000"} | style, "fill", scheme) < 4.5:
            found.append(f"{words[:30]!r} in {style.get('fill')}")
        elif tag in MARKS and not furniture(style):
            best = max(strength(style, part, scheme) for part in ("fill", "stroke"))
            if best < 3:
                found.append(f"{tag} in {style.get('fill')} and {style.get('stroke')}: {best:.2f}")
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_text_and_marks_of_every_figure_are_seen(path: Path, scheme: str) -> None:
    assert unseen(path, scheme) == []


def test_there_are_figures() -> None:
    assert len(FIGURES) > 40


@pytest.mark.parametrize(
    ("drawn", "seen"),
    [
        ('<path style="fill: none; stroke: #0072b2"/>', True),
        ('<path style="fill: none; stroke: #0072b2; stroke-opacity: 0.4"/>', False),
        ('<g style="opacity: 0.4"><path style="fill: none; stroke: #0072b2"/></g>', False),
        ('<path style="fill: #0072b2; opacity: 0.45"/>', False),
        ('<path style="fill: #0072b2; fill-opacity: 0.13; stroke: none"/>', True),
        ('<path style="fill: none; stroke: #dcdcdc"/>', True),
        ('<text style="fill: #262626">words</text>', True),
        ('<text style="fill: #008f68">words</text>', False),
        ('<text style="fill: #262626; opacity: 0.4">words</text>', False),
    ],
)
def test_what_is_pale_is_noticed(drawn: str, seen: bool) -> None:
    assert (not unseen(f"<svg>{drawn}</svg>", "light")) is seen


def test_a_faint_line_is_as_pale_as_may_be() -> None:
    for tone in palette.TONES.values():
        opacity = palette.faint(tone.light)
        seen = [contrast(over(colour, page, opacity), page) for colour, page in zip(tone, palette.PAGES, strict=True)]
        assert 2.95 < min(seen) < 3.2 and opacity < 0.95
