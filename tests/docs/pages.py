"""Pages of the built site in a browser."""

from pathlib import Path
from typing import Any

from tests.browser import emulate, wait_until

LAPTOP = 1280
LOADED = "return location.protocol === 'file:' && document.readyState === 'complete' && !!document.body.firstChild"


def opened(browser: Any, site: Path, name: str, *, width: int = 1400, dark: bool = False) -> Any:
    """Open a page; ``name`` may have a fragment."""
    path, _, fragment = name.partition("#")
    emulate(browser, width=width, height=900, dark=dark)
    browser.get("about:blank")  # or a change of the fragment would not load the page
    browser.get((site / f"{path}.html").as_uri() + (f"#{fragment}" if fragment else ""))
    wait_until(browser, lambda: browser.execute_script(LOADED))  # on a busy machine a page can be there without content
    if path.endswith("-explorer"):  # its rows come from a script that runs after the page was loaded
        wait_until(browser, lambda: browser.find_elements("css selector", ".pf-rows tbody tr"))
    return browser
