"""The page in a real browser: it loads by itself, its filters filter, and it can be read in the dark and on a phone."""

import re

import pytest

from partialfair.jobs import scorecard as scorecard_job
from tests.browser import chromium, emulate

VISIBLE = "return [...document.querySelectorAll('#scorecard tbody tr')].filter(row => row.offsetParent !== null)"
SET = "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'));"
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 27)"


@pytest.fixture(scope="module")
def page(project, tmp_path_factory):
    root, config = project
    return scorecard_job.render_page(config, tmp_path_factory.mktemp("page"), root)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def opened(browser, page):
    emulate(browser)
    browser.get(page.as_uri())
    return browser


def choose(browser, **values):
    """Set filters as a person would, so that their events are sent."""
    for name, value in values.items():
        browser.execute_script(SET, name, value)


def shown(browser, name):
    """The values of an attribute of the visible lines of the scorecard."""
    return browser.execute_script(f"{VISIBLE}.map(row => row.dataset[arguments[0]])", name)


def test_loads_by_itself_without_complaint(opened):
    assert opened.title == "Fairness-constrained learning: reproduction report"
    assert opened.get_log("browser") == []
    assert opened.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


def test_figures_are_there(opened):
    sizes = opened.execute_script(
        "return [...document.querySelectorAll('.figure svg, .figure img')].map(f => [f.getBoundingClientRect().width,"
        " f.getBoundingClientRect().height, f.tagName === 'IMG' ? f.naturalWidth : f.querySelectorAll('path').length])"
    )
    assert sizes and all(width > 300 and height > 100 and content > 0 for width, height, content in sizes)


def test_filters(opened):
    everything = len(shown(opened, "verdict"))
    choose(opened, verdict="differs")
    differs = shown(opened, "verdict")
    assert 0 < len(differs) < everything and set(differs) == {"differs"}
    choose(opened, exhibit="table3", dataset="a9a", verdict="")
    assert set(shown(opened, "exhibit")) == {"table3"} and set(shown(opened, "dataset")) == {"a9a"}
    choose(opened, search="accuracy ROW=2")
    texts = opened.execute_script(f"{VISIBLE}.map(row => row.textContent.toLowerCase())")
    assert texts and all("accuracy" in text and "row=2" in text for text in texts)
    status = opened.execute_script("return document.getElementById('shown').textContent")
    assert status == f"{len(texts)} of {everything} lines"
    choose(opened, search="no such words")
    assert shown(opened, "verdict") == []
    opened.execute_script("document.getElementById('clear').click()")
    assert len(shown(opened, "verdict")) == everything


def test_a_claim_leads_to_its_lines(opened):
    link = "document.querySelector('.claims a[data-show*=ten_ranks_suffice]')"
    opened.execute_script(f"{link}.click()")
    assert set(shown(opened, "claim")) == {"ten_ranks_suffice"}
    assert opened.current_url.endswith("#card")


def test_theme_follows_the_system_and_the_button(opened):
    assert opened.execute_script(BACKGROUND) == LIGHT
    emulate(opened, dark=True)
    assert opened.execute_script(BACKGROUND) == DARK
    ink = opened.execute_script("return getComputedStyle(document.querySelector('.figure svg')).color")
    assert min(int(part) for part in re.findall(r"\d+", ink)) > 200  # figures are drawn in the page's ink
    opened.refresh()
    opened.execute_script("document.getElementById('theme').click()")
    assert opened.execute_script(BACKGROUND) == LIGHT
    assert opened.execute_script("return document.getElementById('theme').textContent") == "Dark page"


def test_keyboard(opened):
    from selenium.webdriver.common.keys import Keys

    body = opened.switch_to.active_element
    body.send_keys(Keys.TAB)
    assert opened.switch_to.active_element.text == "Skip to the verdicts"
    opened.switch_to.active_element.send_keys(Keys.TAB)
    button = opened.switch_to.active_element
    assert button.get_attribute("id") == "theme"
    button.send_keys(Keys.ENTER)
    assert opened.execute_script(BACKGROUND) == DARK
    unreachable = opened.execute_script(
        "return [...document.querySelectorAll('.scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length"
    )
    assert unreachable == 0
    unnamed = opened.execute_script(
        "return [...document.querySelectorAll('input, select, button')]"
        ".filter(e => !e.labels?.length && !e.textContent).length"
    )
    assert unnamed == 0


def test_phone(opened):
    emulate(opened, width=390, height=844)
    opened.refresh()
    assert opened.execute_script("return document.documentElement.scrollWidth") <= 390
    row = "document.querySelector('#scorecard tbody tr')"
    assert opened.execute_script(f"return getComputedStyle({row}).display") == "block"
    assert opened.execute_script(f"return {row}.getBoundingClientRect().right") <= 390
