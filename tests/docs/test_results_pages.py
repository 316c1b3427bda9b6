"""The pages of results in a real browser: small, readable on a phone and in the dark, and true to the files."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from reproduction.grid.config import load_config
from reproduction.grid.papers import paper
from reproduction.site import scorecard_entries
from reproduction.verdicts.verdict import LABELS
from tests.browser import emulate
from tests.docs.pages import LAPTOP, opened
from tests.workflow.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long(suite="site")]

BYTES, NODES = 500_000, 20_000
MIXED = (
    "index", "papers/partial_fairness", "papers/plada", "exhibits/figure1", "exhibits/table3",
    "exhibits/stochastic_table3", "exhibits/plada_figure1", "gallery", "scorecard-explorer", "runs-explorer", "start",
    "tutorial", "partial-fairness", "glossary", "algorithms/idca",
)  # fmt: skip
"""Pages that are looked at in both widths and both schemes."""

WIDE = "return document.documentElement.scrollWidth"
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def test_no_page_is_large(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    large = {p.relative_to(site).as_posix(): p.stat().st_size for p in pages if p.stat().st_size > BYTES}
    nodes = {p.relative_to(site).as_posix(): p.read_text(encoding="utf-8").count("<") // 2 for p in pages}
    assert not large
    assert max(nodes.values()) < NODES
    scripts = list((site / "data").rglob("*.js"))
    assert len(scripts) > 30 and all(path.stat().st_size < BYTES for path in scripts)


def test_every_exhibit_and_paper_has_its_page(site: Path) -> None:
    config = load_config(ROOT / "params.yaml")
    drawn = [name for name in config.params.exhibits if list((ROOT / "reports" / name).glob(f"{name}.*"))]
    assert len(drawn) > 50
    for name in drawn:
        page = (site / "exhibits" / f"{name}.html").read_text(encoding="utf-8")
        assert f"snakemake --cores all -- {name}" in page, name
        assert f"data/{name}/{name}.csv" in page and (site / "data" / name / f"{name}.csv").is_file(), name
    for folder in (ROOT / "papers").glob("*/paper.yaml"):
        assert (site / "papers" / f"{folder.parent.name}.html").is_file()


def test_every_figure_is_described(site: Path) -> None:
    described = 0
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for tag in re.findall(r"<img\b[^>]*>", text):
            assert re.search(r'\balt="', tag), (path.name, tag[:200])
        for figure in re.findall(r"<div class='figure'.*?</div>", text, re.DOTALL):
            words = re.search(r"<desc[^>]*>(.*?)</desc>|alt=\"(.*?)\"", figure, re.DOTALL)
            assert words and re.search(r"\d", words[0]) and "_" not in (words[1] or words[2]), path.name
            described += 1
    assert described > 40


@pytest.mark.parametrize("name", MIXED)
def test_pages_fit_load_quietly_and_can_be_read(browser: Any, site: Path, name: str) -> None:
    for width, dark in ((1400, False), (1400, True), (390, False), (390, True)):
        opened(browser, site, name, width=width, dark=dark)
        assert browser.get_log("browser") == [], name
        assert browser.execute_script(WIDE) <= width, f"{name} scrolls sideways at {width}"
        assert browser.execute_script("return document.querySelectorAll('*').length") < NODES
        assert browser.execute_script(CONTRAST) == [], (name, width, dark)


def test_no_verdict_is_hidden(browser: Any, site: Path) -> None:
    for width in (1400, 390):
        for name in ("index", "papers/partial_fairness", "scorecard-explorer"):
            opened(browser, site, name, width=width)
            chips = "'.pf-papers .pf-chip, .pf-box .pf-chip, .pf-rows .pf-chip'"
            right = browser.execute_script(
                f"return Math.max(...[...document.querySelectorAll({chips})].map(e => e.getBoundingClientRect().right))"
            )
            assert 0 < right <= width, (name, width)


def test_tables_of_exhibits_fit_the_page(browser: Any, site: Path) -> None:
    cut = {}
    for path in sorted((site / "exhibits").glob("*.html")):
        opened(browser, site, f"exhibits/{path.stem}", width=LAPTOP)
        for width in (LAPTOP, 1400):
            emulate(browser, width=width)
            wide = browser.execute_script(
                "return [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
            )
            if wide:
                cut[path.stem, width] = wide
    assert cut == {}


def test_cards_of_a_table_say_what_they_are_of(browser: Any, site: Path) -> None:
    """On a phone a row is a card: it repeats the dataset of its block, and marks verdicts besides colouring them."""
    opened(browser, site, "exhibits/table3", width=390)
    said = "[...document.querySelectorAll('.pf-table tbody tr')].map(row => getComputedStyle(row, '::before')"
    found = browser.execute_script(f"return {said}.content + row.cells[0].textContent)")
    assert len(found) > 10 and all(re.search("a9a|bank|law school", one) for one in found)
    marks = "[...document.querySelectorAll('.pf-table td.good')].map(e => getComputedStyle(e, '::after').content)"
    assert set(browser.execute_script(f"return {marks}")) == {'" ✓"'}
    opened(browser, site, "exhibits/auc_table2", width=390)
    assert "48,842" in browser.find_element("css selector", "#verdicts").text


LETTERS = """
return [...document.querySelectorAll('.figure svg text')].filter(e => e.textContent.trim()).flatMap(text => {
  const m = text.getScreenCTM(), scale = Math.sqrt(Math.abs(m.a * m.d - m.b * m.c));
  const parts = [...text.querySelectorAll('tspan')].filter(e => e.textContent.trim());
  return (parts.length ? parts : [text]).map(e => parseFloat(getComputedStyle(e).fontSize) * scale);
});"""
FRAMES = """
return [...document.querySelectorAll('.figure')].map(frame => [frame.scrollWidth > frame.clientWidth + 1,
  frame.tabIndex, frame.getAttribute('aria-label'), frame.previousElementSibling.matches('.pf-hint:not([hidden])'),
  frame.querySelector('svg, img').getBoundingClientRect().width / parseFloat(frame.style.getPropertyValue('--least'))]);
"""


def test_figures_can_be_read_on_a_phone(browser: Any, site: Path) -> None:
    """Letters of 9 px and more, in a frame that scrolls by itself, says so, and is reached by the keyboard."""
    small, measured = {}, 0
    for path in sorted((site / "exhibits").glob("*.html")):
        opened(browser, site, f"exhibits/{path.stem}", width=390)
        letters = browser.execute_script(LETTERS)
        if letters and min(letters) < 9:
            small[path.stem] = min(letters)
        for scrolls, order, name, hint, share in browser.execute_script(FRAMES):
            assert order == 0 and name and hint is scrolls, path.stem
            assert share >= 0.99, path.stem  # an image has letters too
            measured += bool(letters) and scrolls
        assert browser.execute_script(WIDE) <= 390, path.stem
    assert small == {} and measured > 30


@pytest.mark.parametrize("name", ["tutorial", "start", "partial-fairness", "regressor"])
def test_pictures_of_the_docs_can_be_read_on_a_phone(browser: Any, site: Path, name: str) -> None:
    opened(browser, site, name, width=390)
    found = browser.execute_script(
        "return [...document.querySelectorAll('article p > img[src$=\".svg\"]')].map(e => [decodeURI(e.src),"
        " e.getBoundingClientRect().width, e.parentElement.tabIndex, e.parentElement.previousElementSibling.className])"
    )
    assert found and browser.execute_script(WIDE) <= 390
    for address, width, order, hint in found:
        svg = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
        letters = [float(size) for size in re.findall(r"font(?:-size)?:[^;\"]*?([\d.]+)px", svg)]
        across = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+)', svg)
        assert across and min(letters) * width / float(across[1]) >= 9, address
        assert order == 0 and "pf-hint" in hint


def test_home_answers_first(browser: Any, site: Path) -> None:
    opened(browser, site, "index")
    assert browser.find_element("tag name", "h1").text.startswith("Do these five papers reproduce?")
    words = [e.text for e in browser.find_elements("css selector", ".pf-papers tbody .pf-chip")]
    assert len(words) == 5 and set(words) <= {LABELS.get(word, word) for word in scorecard_entries.CLAIM_TONES}
    bottom = browser.execute_script("return document.querySelector('.pf-papers').getBoundingClientRect().bottom")
    assert bottom < 1000  # a screen
    opened(browser, site, "index", width=1280)
    beyond = "const t = document.querySelector('.pf-papers'), p = t.parentElement; return t.scrollWidth - p.clientWidth"
    assert browser.execute_script(beyond) <= 0, "nothing of the verdicts is cut off on a laptop"


def test_home_says_how_much_is_not_counted(site: Path) -> None:
    with (ROOT / "reports" / "scorecard.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    apart = [line["kind"] for line in lines if line["counts"] == "no"]
    asked = {(line["paper"], line["claim"] or line["exhibit"]) for line in lines if line["kind"] == "question"}
    said = re.search(r"Not counted are ([^<]*)\.\n", (site / "index.html").read_text(encoding="utf-8"))
    assert said
    assert [int(number) for number in re.findall(r"\d+", said[1])] == [
        apart.count("number"),
        apart.count("setting"),
        len(asked),
    ]


def test_figure_1_answers_a_pointer_the_keyboard_and_its_buttons(browser: Any, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, site, "index")
    panels = browser.find_elements("css selector", ".pf-panels svg")
    assert len(panels) == 3
    outside = [b for b in browser.find_elements("css selector", ".pf-legend button") if "not in the paper" in b.text]
    assert outside and all(b.get_attribute("aria-pressed") == "false" for b in outside)
    panels[0].send_keys(Keys.ARROW_RIGHT)
    tip = browser.find_element("css selector", ".pf-tip").text
    assert re.search(r"fairness 0\.\d+ \[0\.\d+, [\d.]+\]", tip) and "seeds of psp/" in tip
    before = len(browser.find_elements("css selector", ".pf-panels path"))
    browser.execute_script("arguments[0].click()", outside[0])
    assert len(browser.find_elements("css selector", ".pf-panels path")) > before
    assert browser.find_elements("css selector", ".pf-panels line[stroke-dasharray]")


@pytest.mark.parametrize("name", ["partial_fairness", "stochastic_benchmark", "dp_postprocessing"])
def test_every_number_of_a_paper_answers_a_pointer_and_the_keyboard(browser: Any, site: Path, name: str) -> None:
    from selenium.webdriver.common.keys import Keys

    enter = "arguments[0].dispatchEvent(new PointerEvent('pointerenter'))"
    for width, kind in ((1400, ":not(.narrow)"), (390, ".narrow")):
        opened(browser, site, f"papers/{name}", width=width)
        picture = browser.find_element("css selector", f".pf-strip{kind}")
        assert picture.is_displayed() and picture.get_attribute("tabindex") == "0"
        picture.send_keys(Keys.ARROW_RIGHT)
        first = browser.find_element("css selector", ".pf-tip").text
        assert re.search(r"\npublished [-\d.e]+, ours [-\d.,e]+.*\n[+-][\d.]+ standard errors: \w+", first)
        picture.send_keys(Keys.ARROW_LEFT)
        assert browser.find_element("css selector", ".pf-tip").text != first
        assert len(picture.find_elements("css selector", ".m.on")) == 1
        mark = picture.find_elements("css selector", ".m")[3]
        browser.execute_script(enter, mark)
        assert mark.get_attribute("class").endswith(" on")
        assert len(picture.find_elements("css selector", ".m.on")) == 1


def test_every_exhibit_of_a_paper_has_its_row(browser: Any, site: Path) -> None:
    opened(browser, site, "papers/partial_fairness")
    heads = [e.text for e in browser.find_elements("css selector", ".pf-exhibits thead th")]
    assert heads == ["Exhibit", "Published", "Ours", "Verdict", "Why", "Data, code, command"]
    rows = {
        row.find_element("css selector", "th a").get_attribute("href").rsplit("/", 1)[1].removesuffix(".html"): row
        for row in browser.find_elements("css selector", ".pf-exhibits tbody tr")
    }
    assert {"figure1", "table3", "lead_of_idca"} <= rows.keys()
    cells = {name: rows["table3"].find_element("css selector", f"td[data-label='{name}']") for name in heads[1:]}
    assert "printed numbers" in cells["Published"].text and "differ by" in cells["Ours"].text
    assert cells["Verdict"].text and cells["Why"].text.startswith("Clearest difference: ")
    assert cells[heads[-1]].find_element("css selector", "button").get_attribute("data-copy").endswith(" table3")
    assert cells[heads[-1]].find_element("css selector", "a").get_attribute("href").endswith("/table3/table3.csv")
    for width in (1400, LAPTOP, 390):
        opened(browser, site, "papers/partial_fairness", width=width)
        ends = "return Math.max(...[...document.querySelectorAll('.pf-exhibits, .pf-exhibits *')].map("
        assert browser.execute_script(f"{ends}e => e.getBoundingClientRect().right))") <= width


def test_keyboard_reaches_what_scrolls_and_every_control_has_a_name(browser: Any, site: Path) -> None:
    for name in MIXED:
        opened(browser, site, name, width=390)
        assert (
            browser.execute_script(
                "return [...document.querySelectorAll('.pf *')].filter(e => e.scrollWidth > e.clientWidth + 1"
                " && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0"
                " && !e.querySelector('a, button, input')).map(e => e.className)"
            )
            == []
        ), name
        assert (
            browser.execute_script(
                "return [...document.querySelectorAll('.pf input, .pf button')].filter(e => !e.labels?.length"
                " && !e.textContent && !e.ariaLabel).length"
            )
            == 0
        ), name


def test_every_difference_has_its_card_and_picture(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    wanted = yaml.safe_load((ROOT / "docs" / "differences.yaml").read_text(encoding="utf-8"))
    shown = re.findall(r'<article class="pf-card"><a href="exhibits/(\w+)\.html"><img src="data/\1/\1\.svg"', text)
    assert shown == [entry["exhibit"] for entry in wanted] and len(shown) >= 4
    assert all((site / "data" / name / f"{name}.svg").is_file() for name in shown)


def test_figure_1_shows_the_numbers_of_its_file(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="pf-frontier-data">(.*?)</script>', text, re.DOTALL)[1])
    with (ROOT / "reports" / "figure1" / "figure1.csv").open(encoding="utf-8") as stream:
        wanted = {round(float(row["accuracy"]), 4) for row in csv.DictReader(stream) if row["accuracy"]}
    assert {point["v"][3] for panel in data["panels"] for point in panel["points"]} == wanted


def test_the_first_figure_says_whose_constraint_is_exceeded(browser: Any, site: Path) -> None:
    drawn = pd.read_csv(ROOT / "reports/figure1/figure1.csv")
    psp = drawn[(drawn["experiment"] == "psp") & (drawn["source"] == "reproduced")]
    first = paper("partial_fairness", ROOT).first_figure
    assert first is not None
    opened(browser, site, "index")
    marks = browser.find_elements("css selector", ".pf-frontier svg path[style^='fill:var(--card)']")
    shown = psp[~psp["algorithm"].isin(first.hidden)]
    assert len(marks) == (shown["missed"] > 0).sum() > 0
    for svg in browser.find_elements("css selector", ".pf-frontier svg"):
        ticks = [e.text for e in svg.find_elements("css selector", "text[text-anchor=end]")]
        assert len({len(text) for text in ticks}) == 1, f"uneven digits: {ticks}"


def test_papers_pages_call_datasets_as_their_figures_do(site: Path) -> None:
    for name, title, key in (("dp_postprocessing", "Law School", "dp law"), ("plada", "COMPAS", "compas whole")):
        text = (site / f"papers/{name}.html").read_text(encoding="utf-8")
        tables = re.findall(r'<table class="pf-cards pf-outcomes".*?</table>', text, re.DOTALL)
        assert any(title in table for table in tables) and key not in "".join(tables)
