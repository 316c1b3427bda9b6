"""A headless Chromium for tests of pages; tests that want one are skipped with a reason where there is none."""

import base64
import importlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import needs

BINARIES = ("chromium", "chromium-browser", "google-chrome")
# Without these, Chromium talks to its maker at every start.
QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip

# Text with too little contrast, anywhere on a page; tests of the site look at its own part alone.
CONTRAST = Path(__file__).parent.joinpath("docs", "contrast.js").read_text(encoding="utf-8").replace(".pf ", "")


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Start a browser with an empty profile; everything that its pages log is kept."""
    binary = next(filter(None, map(shutil.which, BINARIES)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        needs.lack("browser", "no Chromium with its driver on the PATH (Debian: apt install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (*QUIET, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_page_load_timeout(600)
    browser.set_script_timeout(600)
    try:
        yield browser
    finally:
        browser.quit()


def emulate(browser: Any, width: int = 1280, height: int = 1000, dark: bool = False) -> None:
    """Set the size of the window and the colour scheme that the system prefers."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def wait_until(browser: Any, holds: Callable[[], Any], seconds: float = 30) -> None:
    """Wait for what a page loads after it was opened."""
    wait = importlib.import_module("selenium.webdriver.support.wait")
    wait.WebDriverWait(browser, seconds).until(lambda _: holds())


def sheets(browser: Any, size: tuple[float, float]) -> int:
    """Return the number of pages that the open page is printed on, on paper of a width and height in inches.

    On a busy machine Chromium's print service fails at times ("Printing failed"); the page is then printed again.
    """
    options = {"paperWidth": size[0], "paperHeight": size[1], "preferCSSPageSize": False, "printBackground": True}
    refused = importlib.import_module("selenium.common.exceptions").WebDriverException
    wait = importlib.import_module("selenium.webdriver.support.wait").WebDriverWait(browser, 120, 2, [refused])
    answer = wait.until(lambda driver: driver.execute_cdp_cmd("Page.printToPDF", options))
    printed = base64.b64decode(answer["data"])
    return len(re.findall(rb"/Type\s*/Page\b", printed))
