"""The page of one grid: its exhibits, how they came out, and its runs, in one self-contained HTML file.

It serves the demo, one paper, and data of one's own. What all papers came to is told by the site that ``make docs``
builds; of a grid with many exhibits this page is their list.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partialfair.data.files import atomic_path
from partialfair.pages import cells
from reproduction.exhibits import document, exhibit, run_tables, style
from reproduction.grid.config import Config
from reproduction.grid.papers import paper
from reproduction.site import scorecard_entries, sentences
from reproduction.site.exhibits import WORST_FIRST, caption, span
from reproduction.site.project import experiment_titles
from reproduction.site.scorecard_entries import Entry
from reproduction.verdicts import scorecard
from reproduction.verdicts.results import Results

LINES = 200  # lines of the scorecard that the page shows
MANY = 12  # exhibits up to which each is shown; more are listed


def write(config: Config, target: Path, root: Path, lines: list[dict[str, Any]]) -> Path:
    """Write the page.

    Args:
        config: the grid; exhibits appear in its order.
        target: the file.
        root: the project's root.
        lines: of the scorecard.

    Raises:
        DataError: a figure has not been drawn.
    """
    experiments = experiment_titles(config)
    entries = [scorecard_entries.titled(scorecard_entries.entry(line), experiments) for line in lines]
    results = Results.load(root / "reports", config.experiments, config.params.bootstrap.level)
    content = (
        document.environment()
        .get_template("page.html.j2")
        .render(
            title=_title(config, root),
            facts=_facts(config, results),
            verdicts=[verdict for verdict in scorecard.paper_summaries(config, lines, root) if verdict["claim_list"]],
            exhibits=[_exhibit(config, name, entries, root) for name in config.params.exhibits],
            entries=_worst(entries),
            tones=scorecard_entries.TONES,
            measured=sentences.effect,
            reasons=sentences.reasons,
            runs=cells.html(run_tables.table_by_setting(results.runs)) if len(results.runs) else "",
            problems=run_tables.problems(results.runs),
            environment=run_tables.environment(results.runs),
        )
    )
    with atomic_path(target) as path:
        path.write_text(content, encoding="utf-8")
    return target


def _worst(entries: list[Entry]) -> list[Entry]:
    """Return the lines that the page shows: those that count first, and of them those that did not come out."""
    counted_kinds = [entry for entry in entries if entry.kind != "setting"]
    return sorted(counted_kinds, key=lambda entry: (bool(entry.exclusion), WORST_FIRST.index(entry.tone)))[:LINES]


def _title(config: Config, root: Path) -> str:
    """Return the title of the grid's one paper or experiment; of several, how many there are."""
    papers = {experiment.paper for experiment in config.experiments.values()}
    if len(config.experiments) == 1:
        return next(iter(config.experiments.values())).title
    lone_paper = next(iter(papers)) if len(papers) == 1 else ""
    return paper(lone_paper, root).title if lone_paper and config.name else f"{len(config.experiments)} experiments"


def _facts(config: Config, results: Results) -> list[tuple[str, str]]:
    """Return what was run: (name, value) pairs."""
    runs = results.runs
    algorithms, datasets = list(dict.fromkeys(runs["algorithm"])), dict.fromkeys(runs["dataset"])
    seeds = sorted({seed for name in config.experiments for seed in config.seeds(name)})
    done = int((runs["status"] != "not_run").sum())
    ok, missed = (int((runs["status"] == status).sum()) for status in ("ok", "tolerance missed"))
    facts = [
        ("Datasets", ", ".join(map(style.dataset_title, datasets))),
        ("Methods", ", ".join(dict.fromkeys(style.plot_style(name, algorithms).label for name in algorithms))),
        ("Seeds", span(seeds)),
        ("Runs", f"{done:,} of {len(runs):,} trained, {ok:,} ok, {missed:,} miss their tolerance"),
        ("Time", f"{runs['cpu_seconds'].sum() / 60:.0f} minutes of one core"),
    ]
    return [(name, value) for name, value in facts if value] if len(runs) else []


def _exhibit(config: Config, name: str, entries: list[Entry], root: Path) -> Mapping[str, Any]:
    """Return the parts of an exhibit's section; a page of more than ``MANY`` exhibits has no figures."""
    context = exhibit.context(config, name, root)
    title, text = exhibit.heading(context)
    summary, remainder = caption(text)
    exhibit_keys = {name, str(context.option("published", name))}
    return {
        "name": name,
        "title": title or name.replace("_", " "),
        "first": summary,
        "rest": remainder,
        "body": exhibit.body(context) if len(config.params.exhibits) <= MANY else "",
        "tally": scorecard_entries.count_verdicts(
            entry for entry in entries if entry.exhibit in exhibit_keys and entry.paper == context.paper
        ),
    }
