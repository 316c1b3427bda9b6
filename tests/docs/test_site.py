"""The documentation site builds offline without a warning, needs nothing from the network and has no broken link."""

import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from partialfair import plugins
from tests.workflow.project import ROOT

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """Anchors, links and loaded resources of one HTML file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.anchors, self.links, self.loaded = path, set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key, value in attrs if key in ("id", "name") and value}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loads = {"img": "src", "script": "src", "iframe": "src", "source": "src"}.get(tag)
        if loads and given.get(loads):
            self.loaded.append(given[loads])
        if tag == "link" and (given.get("rel") or "") in (
            "stylesheet",
            "icon",
            "preload",
            "preconnect",
            "dns-prefetch",
        ):
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def broken(pages: dict[Path, Page], site: Path) -> Iterator[str]:
    """Yield what links and loaded resources point to nothing, or to the network."""
    for path, page in pages.items():
        for address in page.loaded:
            if urlsplit(address).scheme not in ("", "data"):
                yield f"{path.name} loads {address}"
            elif not address.startswith("data:") and not (path.parent / unquote(urlsplit(address).path)).exists():
                yield f"{path.name} loads {address}, which is not there"
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{path.name} links to {address}, which is not there"
            elif target.stem.endswith("-explorer"):
                continue  # its fragment is a choice of rows
            elif parts.fragment and target.suffix == ".html" and parts.fragment not in pages[target].anchors:
                yield f"{path.name} links to {address}, which has no such anchor"


@pytest.mark.long(suite="site")
def test_links_lead_somewhere_and_nothing_comes_from_the_network(pages: dict[Path, Page], site: Path) -> None:
    assert len(pages) > 30
    assert not list(broken(pages, site))
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert "url(http" not in styles and "url(//" not in styles and "@import" not in styles


@pytest.mark.long(suite="site")
def test_search_works_without_a_server(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert "kappa" in index and "tutorial" in index


@pytest.mark.long(suite="site")
def test_equations_are_drawn_by_the_browser_itself(site: Path) -> None:
    page = (site / "algorithms" / "idca.html").read_text(encoding="utf-8")
    assert page.count("<math") > 10 and "MathJax" not in page and "katex" not in page.lower()
    assert "\\frac" not in page and "\\sigma" not in page


@pytest.mark.parametrize("folder", ["algorithms", "datasets"])
def test_every_plugin_has_a_page(folder: str) -> None:
    written = {path.stem for path in (ROOT / "docs" / folder).glob("*.md")} - {"index"}
    found = set(plugins.names(folder)) - {"csv_table"}
    missing, left = sorted(found - written), sorted(written - found)
    assert not missing, f"docs/{folder} has no page of {missing}; write NAME.md there as `partialfair new` writes it"
    assert not left, f"docs/{folder} has pages of {left}, which are no plug-ins; delete or rename them"


@pytest.mark.long(suite="site")
def test_a_broken_link_is_noticed(site: Path, pages: dict[Path, Page], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(site / "index.html", copy)
    extra = '<a href="nowhere.html">x</a><a href="#missing">x</a><script src="https://cdn.example/x.js"></script>'
    (copy / "index.html").write_text((copy / "index.html").read_text() + extra)
    found = list(broken({copy / "index.html": Page(copy / "index.html")}, copy))
    assert {"index.html loads https://cdn.example/x.js", "index.html links to nowhere.html, which is not there"} <= set(
        found
    )
    assert "index.html links to #missing, which has no such anchor" in found
