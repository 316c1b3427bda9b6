"""The explorers of verdicts and runs in a real browser: filters, order, details, and what a phone shows."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

from reproduction.site import scorecard_entries
from tests.browser import wait_until
from tests.docs.pages import LAPTOP, opened
from tests.workflow.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long(suite="site")]


def test_a_laptop_shows_verdict_and_both_numbers_of_a_line_without_scrolling(browser: Any, site: Path) -> None:
    opened(browser, site, "scorecard-explorer", width=LAPTOP)
    frame = browser.find_element("css selector", ".pf-rows")
    heads = {e.text: e.rect for e in frame.find_elements("css selector", "thead th")}
    assert {"verdict", "published", "ours"} <= heads.keys()
    assert heads["ours"]["x"] + heads["ours"]["width"] <= frame.rect["x"] + frame.rect["width"]


@pytest.mark.parametrize("width", [1600, LAPTOP])
def test_all_columns_of_a_run_are_seen_without_scrolling(browser: Any, site: Path, width: int) -> None:
    opened(browser, site, "runs-explorer", width=width)
    frame = browser.find_element("css selector", ".pf-rows").rect
    ends = "return Math.max(...[...document.querySelectorAll('.pf-rows thead th, .pf-rows tr.row *')].map("
    assert browser.execute_script(f"{ends}e => e.getBoundingClientRect().right))") <= frame["x"] + frame["width"]
    hidden = "return [...document.querySelectorAll('.pf-rows td')].filter(e => e.scrollWidth > e.clientWidth).length"
    assert browser.execute_script(hidden) == 0, "the text of a cell covers its neighbour"


def test_filtered_view_is_reloaded_from_its_address(browser: Any, site: Path) -> None:
    opened(browser, site, "scorecard-explorer")
    everything = len(scorecard_entries.load(ROOT / "reports" / "scorecard.csv"))
    assert f"of {everything} rows" in browser.find_element("css selector", ".pf-main [role=status]").text
    browser.find_element("css selector", ".pf-facets label input").click()
    search = browser.find_element("css selector", ".pf-facets input[type=search]")
    search.send_keys("a9a")
    browser.find_elements("css selector", ".pf-rows th button")[4].click()
    address, seen = browser.current_url, rows(browser)
    assert "verdict=" in address and "q=a9a" in address and "sort=" in address and len(seen) > 0
    browser.get("about:blank")
    browser.get(address)
    assert rows(browser) == seen
    assert browser.find_element("css selector", ".pf-facets label input").is_selected()


def rows(browser: Any) -> list[str]:
    """Text of the rows that an explorer shows."""
    return [row.text for row in browser.find_elements("css selector", ".pf-rows tr.row")]


def test_explorer_counts_are_those_of_the_file(browser: Any, site: Path) -> None:
    entries = scorecard_entries.load(ROOT / "reports" / "scorecard.csv")
    word, number = next(iter(scorecard_entries.tally(entries).items()))
    opened(browser, site, f"scorecard-explorer#verdict={quote(word)}")
    assert browser.find_element("css selector", ".pf-main [role=status]").text.startswith(f"{number} of {len(entries)}")
    browser.find_element("css selector", ".pf-rows tr.row").send_keys("\ue007")  # Enter opens the row
    assert browser.find_element("css selector", ".pf-rows tr.detail").text


def test_a_run_shows_its_trace_or_says_where_it_is(browser: Any, site: Path) -> None:
    opened(browser, site, "runs-explorer#experiment=psp&dataset=a9a&method=IDCA")
    texts = {}
    for row in browser.find_elements("css selector", ".pf-rows tr.row"):
        kappa = row.find_elements("css selector", "td")[3].text
        row.send_keys("\ue007")  # Enter
        texts[kappa] = row.find_element("xpath", "following-sibling::tr[1]")
    wait_until(browser, lambda: all("seed by seed" in detail.text for detail in texts.values()))
    drawn, other = texts.pop("0.1"), next(iter(texts.values()))
    assert len(drawn.find_elements("css selector", ".pf-trace svg path[d^=M]")) == 2
    assert "data/runs/psp/a9a/idca/kappa=0.1/seed=0/history.parquet" in drawn.text and "Loss against" in drawn.text
    assert not other.find_elements("css selector", ".pf-trace svg") and "holds no trace of it" in other.text
    assert "figure10" in other.text and browser.get_log("browser") == []


def test_details_are_those_of_the_rows_run(browser: Any, site: Path) -> None:
    """Each experiment's details are read once, and belong to the row that is opened, however rows are ordered."""
    table = pd.read_parquet(ROOT / "reports" / "pdp" / "runs.parquet")
    own = table[(table["dataset"] == "bank") & (table["algorithm"] == "ssg")].set_index("seed")
    opened(browser, site, "runs-explorer#sort=-objective&experiment=pdp&dataset=bank&q=ssg")
    (row,) = (row for row in browser.find_elements("css selector", ".pf-rows tr.row") if " SSG" in row.text)
    row.send_keys("\ue007")
    wait_until(browser, lambda: browser.find_elements("css selector", ".pf-seeds tbody tr"))
    for line in browser.find_elements("css selector", ".pf-seeds tbody tr"):
        seed, _, objective = [cell.text for cell in line.find_elements("css selector", "td")[:3]]
        assert float(objective) == pytest.approx(own.loc[int(seed), "objective"], abs=5e-4)


def test_links_from_the_home_page_filter(browser: Any, site: Path) -> None:
    opened(browser, site, "index")
    link = browser.find_element("css selector", ".pf-papers td a[href*=explorer]")
    claims = re.search(r"(\d+) of (\d+)", link.text)
    link.click()
    shown = int(browser.find_element("css selector", ".pf-main [role=status]").text.split()[0])
    assert claims and shown >= int(claims[2])


def column(browser: Any, heading: str) -> list[str]:
    """What a column of an explorer shows, from the top."""
    heads = [e.text.strip(" ▲▼") for e in browser.find_elements("css selector", ".pf-rows thead th")]
    place = f".pf-rows tr.row td:nth-child({heads.index(heading) + 1})"
    return [cell.text for cell in browser.find_elements("css selector", place)]


def test_rows_are_sorted_by_the_numbers_that_they_show(browser: Any, site: Path) -> None:
    """48,842 came before 54, words before numbers, and 8.93e-8 after 9.27e-6."""
    opened(browser, site, "scorecard-explorer#kind=setting&sort=-ours")
    shown = [text.replace(",", "") for text in column(browser, "ours")]
    numbers = [float(text) for text in shown if text != "–"]
    assert max(numbers) > 1e4 and numbers == sorted(numbers, reverse=True)
    assert shown[len(numbers) :] == ["–"] * (len(shown) - len(numbers))
    opened(browser, site, "runs-explorer#experiment=psp&sort=certificate")
    found = [text.split(", ")[-1].split()[-1] for text in column(browser, "certificate") if text]
    assert len({*found}) > 10 and list(map(float, found)) == sorted(map(float, found))


def test_printed_numbers_are_shown_as_they_are_printed(browser: Any, site: Path) -> None:
    """Rounded to four digits, 1,664,500 rows became 1664000."""
    entries = {
        entry.published
        for entry in scorecard_entries.load(ROOT / "reports" / "scorecard.csv")
        if entry.kind == "setting"
    }
    opened(browser, site, "scorecard-explorer#kind=setting&sort=-published")
    shown = {float(text) for text in column(browser, "published") if text.replace(".", "").isdigit()}
    wanted = {float(text) for text in entries if text.replace(".", "").isdigit()}
    assert max(shown) == max(wanted) > 1e6 and shown <= wanted


def test_sorting_by_keyboard_keeps_its_place(browser: Any, site: Path) -> None:
    opened(browser, site, "scorecard-explorer")
    browser.find_elements("css selector", ".pf-rows th button")[2].send_keys("\ue007")
    assert browser.switch_to.active_element.text == "dataset ▲"


def test_on_a_phone_an_explorer_begins_with_its_rows(browser: Any, site: Path) -> None:
    opened(browser, site, "scorecard-explorer", width=390)
    assert not browser.find_elements("css selector", ".pf-facets details[open]")
    assert browser.find_element("css selector", ".pf-rows tr.row").rect["y"] < 844
    assert "whole table" in browser.find_element("css selector", ".pf-main .pf-hint").text
