"""The page: self-contained, complete, and true to the scorecard."""

import re
from html.parser import HTMLParser

import pytest
import synthetic

from partialfair.errors import DataError
from partialfair.jobs import scorecard as scorecard_job
from partialfair.reporting import answers, canvas, exhibit
from partialfair.verdicts import scorecard


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
    return scorecard_job.render_page(config, tmp_path_factory.mktemp("page"), root).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader(page):
    parsed = Reader()
    parsed.feed(page)
    return parsed


def test_tags_are_closed_and_identifiers_unique(reader):
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))


def test_self_contained(page, reader):
    assert all(load.startswith("data:") for load in reader.loads)  # an empty icon, or a browser would ask for one
    assert "@import" not in page and not re.search(r"url\((?!#|data:)", page)
    assert all(link.startswith("#") for link in reader.links)


def test_figure_with_many_points_becomes_a_small_image(project, monkeypatch):
    root, config = project
    context = exhibit.context(config, "figure1", root)
    drawn = exhibit.body(context)
    assert "<svg" in drawn and "<img" not in drawn
    monkeypatch.setattr(canvas, "_LARGEST", 1000)
    image = exhibit.body(context)
    assert "<svg" not in image and 'src="data:image/png;base64,' in image
    assert len(image) < 200_000


def test_figure_that_is_not_drawn_is_named(project, tmp_path):
    root, config = project
    with pytest.raises(DataError, match=r"figure1\.svg is missing; draw it: python -m partialfair report figure1"):
        exhibit.body(exhibit.context(config, "figure1", root, tmp_path))


def test_page_is_of_moderate_size(page):
    assert len(page.encode()) < 6_000_000


def test_links_lead_to_sections(reader):
    assert {link[1:] for link in reader.links} <= set(reader.ids)


def test_exhibits_stand_in_the_order_of_params(page):
    entries = synthetic.params()["exhibits"]
    places = [page.index(f'<section id="{name}">') for name in entries if "section" not in entries[name]]
    assert places == sorted(places)


def test_dark_mode_and_phones(page):
    assert "prefers-color-scheme: dark" in page and 'data-theme="dark"' in page and 'name="viewport"' in page


def test_header_says_what_was_run(page):
    for text in (
        "a9a, law school",
        "Unconstrained, IDCA, Augmented Lagrangian",
        "0, 1, 2",
        "31 minutes",
        "204 of 204 trained, 200",
    ):
        assert text in page


def test_filters_reach_every_line_of_the_scorecard(project, page, reader):
    root, config = project
    lines = answers.lines(config, root)
    rows = re.findall(r'<tr data-paper="([^"]*)" data-exhibit="([^"]*)"[^>]* data-verdict="([^"]*)"', page)
    assert rows == [(line["paper"], line["exhibit"], line["verdict"]) for line in lines]
    controls = {"search", "paper", "exhibit", "dataset", "algorithm", "verdict", "claim", "shown", "clear", "theme"}
    assert reader.scripts == 1 and controls <= set(reader.ids)


def test_counts_are_those_of_the_scorecard(project, page):
    root, config = project
    lines = [e for e in answers.lines(config, root) if e["exhibit"] == "table3" and not e.get("claim")]
    table = page[page.index('<table class="claims">') :]
    row = table[table.index("Full and partial: published numbers") :].split("</tr>")[0]
    found = [int(text) for text in re.findall(r'<td class="count [^"]*">(\d+)</td>', row)]
    assert found == [scorecard.counts(lines)[name] for name in scorecard.VERDICTS] and sum(found) == len(lines)


def test_claims_in_words_come_first_with_their_verdicts(page):
    table = page[page.index('<table class="claims">') :]
    claim = table.index("IDCA has higher accuracy than the baseline at all levels of fairness")
    assert claim < table.index("Full and partial: published numbers")
    row = table[claim:].split("</tr>")[0]
    assert (
        "&#34;claim&#34;: &#34;higher_accuracy_at_all_levels&#34;" in row or '"claim": "higher_accuracy_at_all' in row
    )


def test_sections_by_paper(page):
    heading = page.index('<h2 id="paper-partial_fairness">Enforcing Fair Predicted Scores')
    own = page.index('<h2 id="paper-beyond-the-paper">Beyond the paper')
    assert heading < page.index('<section id="table1">') < page.index('<section id="claims">') < own
    assert own < page.index('<section id="kappa_scale">')


def test_environment_and_checksums(page):
    section = page[page.index('<h2 id="environment">') :]
    assert "numpy" in section and "2.4.6, 2.4.7" in section  # two runs, two versions
    assert "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906" in section  # the raw file of a9a
    assert "prepared table, as the runs read it" in section and "feedbeef" in section


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
    text = scorecard_job.render_page(config, tmp_path / "out", tmp_path).read_text(encoding="utf-8")
    assert "Not run: there are no results of psp, pdp yet." in text and "0 of 0 trained" in text
