"""The page of a grid in a real browser: it loads by itself and can be read in the dark, on a phone and by keyboard."""

import re

import pytest

from reproduction.exhibits import answers
from reproduction.site import page as page_of
from tests.browser import chromium, emulate

BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 27)"


@pytest.fixture(scope="module")
def page(project, tmp_path_factory):
    root, config = project
    target = tmp_path_factory.mktemp("page") / "index.html"
    return page_of.write(config, target, root, answers.lines(config, root))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def opened(browser, page):
    emulate(browser)
    browser.get(page.as_uri())
    return browser


def test_loads_by_itself_without_complaint(opened):
    assert opened.get_log("browser") == []
    assert opened.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)") == []


def test_figures_are_there(opened):
    sizes = opened.execute_script(
        "return [...document.querySelectorAll('.figure svg, .figure img')].map(f => [f.getBoundingClientRect().width,"
        " f.getBoundingClientRect().height, f.tagName === 'IMG' ? f.naturalWidth : f.querySelectorAll('path').length])"
    )
    assert sizes and all(width > 300 and height > 100 and content > 0 for width, height, content in sizes)


def test_theme_follows_the_system(opened):
    assert opened.execute_script(BACKGROUND) == LIGHT
    emulate(opened, dark=True)
    assert opened.execute_script(BACKGROUND) == DARK
    ink = opened.execute_script("return getComputedStyle(document.querySelector('.figure svg text')).fill")
    assert min(int(part) for part in re.findall(r"\d+", ink)) > 200  # figures are drawn in the page's ink


def test_keyboard_reaches_what_scrolls(opened):
    unreachable = opened.execute_script(
        "return [...document.querySelectorAll('.scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length"
    )
    assert unreachable == 0


def test_phone(opened):
    emulate(opened, width=390, height=844)
    opened.refresh()
    assert opened.execute_script("return document.documentElement.scrollWidth") <= 390
    row = "document.querySelector('.pf-cards tbody tr')"
    assert opened.execute_script(f"return getComputedStyle({row}).display") == "block"
    assert opened.execute_script(f"return {row}.getBoundingClientRect().right") <= 390
