"""The page of an audit in a real browser: on four sheets of paper, on a phone, in the dark, and without a pointer."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partialfair.audit import AuditResult, audit_scores, pictures
from partialfair.audit.measures import PARTIAL
from partialfair.pages import palette
from tests.browser import CONTRAST, chromium, emulate, sheets

LETTER, A4 = (8.5, 11.0), (8.27, 11.69)
GATES = {"sp": 0.1, "rank_gap": 0.9, "dp": 0.2, "eop": 0.3, "selection_ratio": 0.8}


def audited(groups: int, **options: Any) -> AuditResult:
    random = np.random.default_rng(0)
    n = 400 * groups
    group = random.integers(0, groups, n)
    scores = 1 / (1 + np.exp(1.2 - random.normal(size=n) - 0.5 * group / groups))
    labels = (random.random(n) < scores).astype(int)
    names = np.array([f"group number {k}" for k in range(groups)])
    given = {"interval": [(0.05, 0.3)], "gates": GATES}
    return audit_scores(scores, names[group], labels, **{**given, **options})


CASES = {
    "two": lambda: audited(2),
    "whole": lambda: audited(2, interval=[(0.0, 1.0)]),
    "six": lambda: audited(6),
    "eleven": lambda: audited(11),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, make in CASES.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(make().to_html(), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def opened(browser: Any, page: Path, *, width: int = 1400, dark: bool = False) -> Any:
    emulate(browser, width=width, height=900, dark=dark)
    browser.get(page.as_uri())
    return browser


@pytest.mark.parametrize("size", [LETTER, A4])
@pytest.mark.parametrize("name", ["two", "whole"])
def test_two_groups_are_printed_on_four_pages(browser: Any, pages: dict[str, Path], name: str, size: Any) -> None:
    assert 1 < sheets(opened(browser, pages[name]), size) <= 4


@pytest.mark.parametrize("name", CASES)
def test_it_loads_quietly_is_small_and_does_not_scroll_sideways(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    assert pages[name].stat().st_size < 500_000
    for width, dark in ((1400, False), (1400, True), (390, False), (390, True)):
        opened(browser, pages[name], width=width, dark=dark)
        assert browser.get_log("browser") == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        wide = "[...document.querySelectorAll('main *')].filter(e => e.scrollWidth > e.clientWidth + 1 && "
        wide += "['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).length"
        assert browser.execute_script(f"return {wide}") == 0
        assert browser.execute_script(CONTRAST) == [], (width, dark)


@pytest.mark.parametrize("name", ["two", "eleven"])
def test_no_text_is_smaller_than_nine_pixels_on_a_phone(browser: Any, pages: dict[str, Path], name: str) -> None:
    opened(browser, pages[name], width=390)
    small = browser.execute_script(
        "const scale = m => Math.hypot(m.a, m.b);"
        "return [...document.querySelectorAll('main *')].filter(e => !e.children.length && e.textContent.trim() &&"
        " e.getClientRects().length && !['title', 'desc'].includes(e.tagName)).map(e => [parseFloat(getComputedStyle(e)"
        ".fontSize) * (e.ownerSVGElement ? scale(e.getScreenCTM()) : 1), e.textContent]).filter(([size]) => size < 9)"
    )
    assert small == []


def test_rows_are_cards_on_a_phone_and_every_value_has_its_title(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["six"], width=390)
    found = browser.execute_script(
        "return [...document.querySelectorAll('.rows td')].map(e => [getComputedStyle(e, '::before').content, "
        "e.getBoundingClientRect().right])"
    )
    assert len(found) > 100 and all(len(title) > 3 and right <= 390 for title, right in found)


def test_the_first_screen_says_what_failed(browser: Any, pages: dict[str, Path]) -> None:
    for width in (1400, 390):
        opened(browser, pages["two"], width=width)
        sentence = browser.find_element("css selector", ".answer")
        assert re.search(r"\d of 5 gates failed: partial statistical parity", sentence.text)
        assert browser.execute_script("return arguments[0].getBoundingClientRect().bottom", sentence) < 900


def test_nothing_is_shown_on_hovering_alone_and_intervals_stand_beside_their_numbers(pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        text = html.unescape(path.read_text(encoding="utf-8"))
        assert not re.search(r"<(?!svg|g|title)\w+[^>]*\stitle=", text), name
        assert "hover" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    result = audited(6)
    text = html.unescape(result.to_html()).replace("\N{NO-BREAK SPACE}", " ")
    pairs = text[text.index('id="pairs"') :].partition("</section>")[0]
    assert len(result.measured.pairs) == 15
    for metrics in result.measured.pairs.values():
        for found in (metrics[name] for name in PARTIAL):
            if found.value is not None:
                assert found.low is not None and f"{found.low:.3f} to {found.high:.3f}" in pairs


def test_plain_names_come_first_and_codes_after_them(pages: dict[str, Path]) -> None:
    text = pages["six"].read_text(encoding="utf-8")
    heads = re.findall(r'<th scope="row">(.*?)</th>', text, re.DOTALL)
    assert any(head.startswith("partial statistical parity<small>sp") for head in heads)
    assert not any(re.match(r"\s*(sp|dp|gauc|eop|eod|rank_gap|dp_gap|selection_ratio)\b(?! )", head) for head in heads)
    assert "SP^I" not in text and "GAUC^I" not in text


def test_of_many_pairs_the_worst_are_shown_and_the_rest_is_counted(pages: dict[str, Path]) -> None:
    text = pages["eleven"].read_text(encoding="utf-8")
    pairs = text[text.index('id="pairs"') :].partition("</section>")[0]
    assert pairs.count('<th scope="row">') == 30 and "the other 25 are in audit.json" in pairs


def test_on_all_ranks_no_interval_is_spoken_of(pages: dict[str, Path]) -> None:
    text = html.unescape(
        re.sub(r"<(style|svg).*?</\1>", "", pages["whole"].read_text(encoding="utf-8"), flags=re.DOTALL)
    )
    assert "All ranks were audited: no interval was chosen." in re.sub(r"\s+", " ", text)
    text = re.sub(r'id="gates".*?</section>', "", text, flags=re.DOTALL)
    assert "red bands" not in text and " in I" not in text and "rank_gap" not in text


def test_marks_are_drawn_in_tones_with_contrast_and_are_not_pale(pages: dict[str, Path]) -> None:
    """The tones have a contrast of 3:1 in either scheme (tests of the palette); only bands behind marks may be pale."""
    used = {*pictures.COLOURS, pictures.INTERVAL, pictures.CANDIDATE}
    assert used <= {tone.light for tone in palette.TONES.values()}
    for path in pages.values():
        text = path.read_text(encoding="utf-8")
        pale = re.findall(r'style="([^"]*opacity: 0\.[0-6]\d*[^"]*)"', text)
        assert all("opacity: 0.07" in style and "stroke: var" not in style for style in pale)


RACES = [f"Black or African American alone, {sex}" for sex in ("female", "male")]


@pytest.mark.parametrize(
    "names", [RACES, ["x" * 90 + "1", "x" * 90 + "2"], ["$a$ one", "b & c"]], ids=["long", "one word", "signs"]
)
def test_groups_are_told_apart_in_pictures(names: list[str]) -> None:
    """Cut at their ends, the two groups of the headline had the same name."""
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 800)
    result = audit_scores(
        random.random(800) + 0.1 * group, np.array(names)[group], interval=[(0.0, 0.5)], confidence_intervals=False
    )
    told = pictures.short(names, 34)
    assert len({*told}) == 2 and max(map(len, told)) <= 40
    picture = html.unescape(re.sub(r"<!--.*?-->", "", pictures.curve(result)))
    assert all(name in picture.replace("\n", " ") or len(name) > 34 for name in names)
    figure = pictures._curve_figure(result, [0, 1])
    figure.canvas.draw()
    width, height = figure.bbox.width, figure.bbox.height
    for label in (figure.axes[0].xaxis.label, figure.axes[0].yaxis.label):
        box = label.get_window_extent()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, label.get_text()


def test_captions_speak_of_what_is_drawn(pages: dict[str, Path]) -> None:
    assert "The red line is the largest gap" in pages["two"].read_text(encoding="utf-8")
    group, scores = np.tile(["a", "b"], 400), np.repeat(np.arange(400.0), 2)
    equal = audit_scores(scores, group, interval=[(0.1, 0.5)], confidence_intervals=False)
    assert equal.metric("rank_gap") == 0 and "The red line" not in equal.to_html()
    wide = audit_scores(
        np.where(np.arange(800) % 2, 1e300, -1e300), group, interval=[(0.1, 0.5)], confidence_intervals=False
    )
    text = wide.to_html()
    assert "too wide or too narrow a range" in text and "encloses the same area" not in text


def test_long_names_do_not_push_a_page_sideways(browser: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    names = np.array(["x" * 90 + "1", "y" * 90])[random.integers(0, 2, 800)]
    page = tmp_path / "long.html"
    page.write_text(audit_scores(random.random(800), names, interval=[(0.0, 0.5)]).to_html())
    for width in (1280, 390):
        opened(browser, page, width=width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_lowest_rate_by_the_highest_is_at_most_1_at_either_end() -> None:
    group, decided = np.repeat(["a", "b"], 100), np.tile([1.0, 0.0], 100)
    found = audit_scores(decided, group, interval=[(0.0, 1.0)], confidence_intervals=False).ratio
    assert found.value == found.high == 1.0 and found.low is not None and 0.5 < found.low < 1.0


BROKEN = """
const broken = [];
for (const cell of document.querySelectorAll("table td, table th, dd, p")) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    for (const word of walker.currentNode.data.matchAll(/-?[0-9][0-9.,]*[0-9%]|rows/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""


@pytest.mark.parametrize("name", ["two", "six"])
@pytest.mark.parametrize(("width", "media"), [(1000, "screen"), (1280, "screen"), (1440, "screen"), (695, "print")])
def test_no_number_is_broken_in_two(browser: Any, pages: dict[str, Path], name: str, width: int, media: str) -> None:
    """An interval of .371 to .397 was read as .371 to .39; 695 pixels are a sheet of A4 within its margins."""
    page = opened(browser, pages[name], width=width)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    try:
        assert len(page.find_elements("css selector", "small.ends")) > 20
        assert page.execute_script(BROKEN) == []
        assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
