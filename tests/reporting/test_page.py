"""The page: self-contained, complete, and true to the scorecard."""

import re
from html.parser import HTMLParser

import pytest
import synthetic

from partialfair.jobs import report
from partialfair.reporting import scorecard


class Reader(HTMLParser):
    """Collects identifiers, links, loaded resources and unclosed tags."""

    VOID = frozenset({"meta", "input", "br", "link", "img", "path", "use", "rect"})

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loads, self.open, self.scripts = [], [], [], [], 0

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.loads += [values[name] for name in ("src", "srcset") if name in values]
        self.loads += [values["href"]] if tag == "link" else []
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(project, tmp_path_factory):
    root, config = project
    return report.render_page(config, tmp_path_factory.mktemp("page"), root).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader(page):
    parsed = Reader()
    parsed.feed(page)
    return parsed


def test_tags_are_closed_and_identifiers_unique(reader):
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))


def test_self_contained(page, reader):
    assert reader.loads == []
    assert "@import" not in page and not re.search(r"url\((?!#)", page)
    assert all(link.startswith("#") for link in reader.links)


def test_links_lead_to_sections(reader):
    assert {link[1:] for link in reader.links} <= set(reader.ids)


def test_exhibits_stand_in_the_order_of_params(page):
    places = [page.index(f'<section id="{name}">') for name in synthetic.params()["exhibits"]]
    assert places == sorted(places)


def test_dark_mode_and_phones(page):
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page


def test_header_says_what_was_run(page):
    for text in (
        "a9a, law school",
        "Unconstrained, IDCA, Augmented Lagrangian",
        "0, 1, 2",
        "0123456789ab",
        "204 of 204 trained, 200",
    ):
        assert text in page


def test_filter_reaches_every_line_of_the_scorecard(project, page, reader):
    root, config = project
    lines = scorecard.build(config, root)
    rows = re.findall(r'<tr data-verdict="([^"]*)" data-exhibit="([^"]*)">', page)
    assert rows == [(line["verdict"], line["exhibit"]) for line in lines]
    assert reader.scripts == 1 and {"search", "verdict", "exhibit", "shown"} <= set(reader.ids)
    script = page[page.index("<script>") :]
    for name in ("search", "verdict", "exhibit", "shown"):
        assert f'getElementById("{name}")' in script


def test_counts_are_those_of_the_scorecard(project, page):
    root, config = project
    lines = scorecard.build(config, root)
    own = scorecard.counts([line for line in lines if not line["metric"].startswith("1 - ")])
    cells = "".join(f"<td>{own[name]}</td>" for name in scorecard.VERDICTS)
    assert f"in the convention they follow</td>{cells}" in page


def test_both_conventions_and_failures_are_shown(page):
    section = page[page.index('<section id="kappa_scale">') :]
    assert "by the definition" in section and "absolute" in section
    assert "no feasible point" in page and "no exhibit of params.yaml covers it" in page


def test_text_from_params_is_escaped(page):
    assert "Accuracy &lt;and&gt; fairness." in page and "<and>" not in page


def test_run_table_has_times_memory_and_certificate(page):
    runs = page[page.index('<h2 id="runs">') :]
    for text in ("11.0", "9.0", "202", "0.33000", "1.0e-03", "2.0e-04", "2 of 3", "infeasible"):
        assert text in runs, text


def test_experiments_without_results_are_said_to_be_missing(tmp_path):
    import shutil

    config = synthetic.project(tmp_path)
    shutil.rmtree(tmp_path / "reports")
    text = report.render_page(config, tmp_path / "out", tmp_path).read_text(encoding="utf-8")
    assert "Not run: there are no results of psp, pdp yet." in text and "0 of 0 trained" in text
