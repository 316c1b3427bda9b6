"""The page of a grid: self-contained, complete, and without what it has nothing to say on."""

import re
import shutil
from html.parser import HTMLParser

import pytest
import synthetic

from partialfair.errors import DataError
from reproduction.exhibits import answers, canvas, exhibit
from reproduction.site import page, scorecard_entries


class Reader(HTMLParser):
    """Collects identifiers, links, loaded resources and unclosed tags."""

    VOID = frozenset({"meta", "input", "br", "link", "img", "path", "use", "rect"})

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loads, self.open = [], [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.loads += [values[name] for name in ("src", "srcset") if name in values]
        self.loads += [values["href"]] if tag == "link" else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text(project, tmp_path_factory):
    root, config = project
    target = tmp_path_factory.mktemp("page") / "index.html"
    return page.write(config, target, root, answers.scorecard_lines(config, root)).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader(text):
    parsed = Reader()
    parsed.feed(text)
    return parsed


def test_tags_are_closed_and_identifiers_unique(reader):
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))


def test_self_contained(text, reader):
    assert all(load.startswith("data:") for load in reader.loads)  # an empty icon, or a browser would ask for one
    assert "@import" not in text and "<script" not in text and not re.search(r"url\((?!#|data:)", text)
    assert reader.links == []


def test_figure_follows_the_page_and_is_described(project):
    root, config = project
    drawn = exhibit.body(exhibit.context(config, "figure1", root))
    assert "<svg" in drawn and "role='img'" in drawn and "var(--tone-blue,#0072b2)" in drawn
    words = re.search(r"<desc[^>]*>(.*?)</desc>", drawn)[1]
    assert words.startswith("Trade-off. Constraints: pSP, pDP. Datasets: ") and re.search(
        r"Accuracy runs from [\d.]+ \([^_]+\) to [\d.]+ \([^_]+\)", words
    )
    assert re.search(r"<text[^>]*>test accuracy</text>", drawn)  # text can be found and read aloud


def test_figure_with_many_points_becomes_an_image(project, monkeypatch):
    root, config = project
    monkeypatch.setattr(canvas, "_LARGEST", 1000)
    image = exhibit.body(exhibit.context(config, "figure1", root))
    assert "<svg" not in image and 'src="data:image/svg+xml;base64,' in image and 'alt="Trade-off' in image


def test_figure_that_is_not_drawn_is_named(project, tmp_path):
    root, config = project
    with pytest.raises(DataError, match=r"figure1\.svg is missing; draw it: python -m partialfair report figure1"):
        exhibit.body(exhibit.context(config, "figure1", root, tmp_path))


def test_page_is_small_and_in_the_order_of_params(text):
    assert len(text.encode()) < 500_000
    places = [text.index(f'<section id="{name}">') for name in synthetic.params()["exhibits"]]
    assert places == sorted(places)


def test_of_many_exhibits_it_is_a_list(project, tmp_path, monkeypatch):
    root, config = project
    monkeypatch.setattr(page, "MANY", 1)
    listed = page.write(config, tmp_path / "index.html", root, answers.scorecard_lines(config, root)).read_text(
        encoding="utf-8"
    )
    assert "<svg" not in listed and '<section id="figure1">' in listed


def test_counts_are_those_of_the_scorecard(project, text):
    root, config = project
    lines = [e for e in map(scorecard_entries.entry, answers.scorecard_lines(config, root)) if e.exhibit == "table3"]
    section = text[text.index('<section id="table3">') :].split("</section>")[0]
    shown = {word: int(n) for n, word in re.findall(r'<span class="pf-chip [a-z]+">(\d+) ([a-z, ]+)</span>', section)}
    plural = {"agrees": "agree", "differs": "differ", "question of ours": "questions of ours"}
    wanted = {
        plural.get(word, word) if n > 1 else word: n for word, n in scorecard_entries.count_verdicts(lines).items()
    }
    assert shown == wanted and sum(shown.values()) == len(lines) > 0


def test_text_from_params_is_escaped(text):
    assert "Accuracy &lt;and&gt; fairness." in text and "<and>" not in text


def test_runs_have_times_memory_and_certificate(text):
    runs = text[text.index('<h2 id="runs">') :]
    for number in ("11.0", "9.0", "202", "0.33000", "1.0e-03", "2.0e-04", "2 of 3", "infeasible"):
        assert number in runs, number


def test_without_results_there_are_no_empty_sections(tmp_path):
    config = synthetic.project(tmp_path)
    shutil.rmtree(tmp_path / "reports")
    target = page.write(config, tmp_path / "out/index.html", tmp_path, answers.scorecard_lines(config, tmp_path))
    text = target.read_text(encoding="utf-8")
    assert "Not run: there are no results of psp, pdp yet." in text
    assert 'id="runs"' not in text and "<dl" not in text
