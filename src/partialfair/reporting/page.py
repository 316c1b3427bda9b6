"""The report page: one self-contained HTML file."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from partialfair.grid.config import Config
from partialfair.grid.papers import paper
from partialfair.pages import cells
from partialfair.reporting import answers, exhibit, run_tables, style
from partialfair.reporting.exhibit import Context
from partialfair.tables.files import atomic_path
from partialfair.verdicts import scorecard
from partialfair.verdicts.results import Results

FILTERS = ("paper", "exhibit", "dataset", "algorithm", "kind", "verdict", "claim")


def write(config: Config, target: Path, root: Path = Path()) -> Path:
    """Write the page.

    Args:
        config: the grid; exhibits appear in its order.
        target: the file.
        root: the project's root.
    """
    lines = answers.lines(config, root)
    results = Results.load(root / "reports", config.experiments, config.params.bootstrap.level)
    shown = [_shown(line) for line in lines]
    content = (
        cells.environment()
        .get_template("page.html.j2")
        .render(
            facts=_facts(config, results),
            overview=_overview(config, lines, root),
            claims=_claims(config, lines, root),
            papers=_papers(config, root),
            lines=shown,
            filters=[(name, _values(shown, name)) for name in FILTERS],
            verdicts=scorecard.VERDICTS,
            failures=_failures(lines),
            certificates=cells.html(run_tables.certificates(results.runs)),
            times=cells.html(run_tables.by_exhibit(config, results.runs)),
            runs=cells.html(run_tables.by_setting(results.runs)),
            problems=run_tables.problems(results.runs),
            environment=run_tables.environment(results.runs),
            checksums=cells.html(run_tables.checksums(config, results.runs)),
        )
    )
    with atomic_path(target) as path:
        path.write_text(content, encoding="utf-8")
    return target


def _facts(config: Config, results: Results) -> list[tuple[str, str]]:
    """What was run: one (name, value) pair per line of the header."""
    runs = results.runs
    done = runs[runs["status"] != "not_run"]
    seeds = sorted({seed for name in config.experiments for seed in config.seeds(name)})
    algorithms = list(dict.fromkeys(runs["algorithm"]))
    minutes = float(runs["cpu_seconds"].sum()) / 60
    return [
        (
            "Papers",
            f"{len({e.paper for e in config.experiments.values()})}, with {len(config.experiments)} experiments",
        ),
        ("Datasets", ", ".join(style.dataset_title(name) for name in dict.fromkeys(runs["dataset"])) or "none yet"),
        ("Algorithms", ", ".join(style.look(name, algorithms).label for name in algorithms) or "none yet"),
        ("Seeds", ", ".join(map(str, seeds))),
        ("Runs", f"{len(done)} of {len(runs)} trained, {int((runs['status'] == 'ok').sum())} with a usable model"),
        ("Training", f"{minutes:.0f} minutes of processor time"),
    ]


def _overview(config: Config, lines: list[dict[str, Any]], root: Path) -> list[dict[str, Any]]:
    """One entry per paper: its title, how many experiments it has here, and how the lines that count were decided."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        grouped.setdefault(str(line["paper"]), []).append(line)
    return [
        {
            "name": name,
            "title": paper(name, root).title,
            "year": paper(name, root).year,
            "experiments": sum(e.paper == name for e in config.experiments.values()),
            "counts": scorecard.counts(members),
        }
        for name, members in grouped.items()
    ]


def _claims(config: Config, lines: list[dict[str, Any]], root: Path) -> list[dict[str, Any]]:
    """Verdicts by claim, claims in words first; lines without a claim by exhibit and by what they are held against."""
    grouped: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for line in scorecard.counted(lines):
        claim = str(line.get("claim") or "")
        text = str(line["published"]) if claim else _against(config, line)
        grouped.setdefault((str(line["paper"]), str(line["exhibit"]), claim, text), []).append(line)
    entries = [
        {
            "paper": name, "title": paper(name, root).title, "exhibit": where, "text": text,
            "counts": scorecard.counts(members), "in_words": bool(claim),
            "show": {"paper": name, "exhibit": where} | ({"claim": claim} if claim else {}),
        }
        for (name, where, claim, text), members in grouped.items()
    ]  # fmt: skip
    order = list(dict.fromkeys(entry["paper"] for entry in entries))
    return sorted(entries, key=lambda entry: (order.index(entry["paper"]), not entry["in_words"]))


def _against(config: Config, line: Mapping[str, Any]) -> str:
    """What a line without a claim of its own is held against."""
    entry = config.params.exhibits.get(str(line["exhibit"]))
    title = entry.title if entry is not None else f"{line['exhibit']}"
    if isinstance(line["published"], str):
        return f"{title}: what the figure shows"
    if line["paper"] == "closed form":
        return f"{title}: closed-form values"
    if line["metric"].startswith("1 - "):
        return f"{title}: published fairness held against the definition"
    return f"{title}: published numbers"


def _values(shown: list[dict[str, str]], name: str) -> list[str]:
    """What a filter offers: every value that occurs, in order of appearance."""
    return [value for value in dict.fromkeys(line[name] for line in shown) if value != "–"]


def _papers(config: Config, root: Path) -> list[dict[str, Any]]:
    """Exhibits by paper, in the grid's order; those with a ``section`` of their own come under that heading."""
    found: dict[str, dict[str, Any]] = {}
    for name in config.params.exhibits:
        context = exhibit.context(config, name, root)
        section = context.option("section")
        key = context.paper if section is None else str(section).lower().replace(" ", "-")
        title, year = (str(section), "") if section is not None else (paper(key, root).title, paper(key, root).year)
        found.setdefault(key, {"name": key, "title": title, "year": year, "exhibits": []})
        found[key]["exhibits"].append(_exhibit(context))
    return list(found.values())


def _exhibit(context: Context) -> dict[str, str]:
    title, caption = exhibit.heading(context)
    return {"name": context.name, "title": title, "caption": caption, "body": exhibit.body(context)}


def _shown(line: Mapping[str, Any]) -> dict[str, str]:
    """A scorecard line as text."""
    p = line.get("p_value")
    small = isinstance(p, float) and p < 5e-5
    return {name: _text(line.get(name)) for name in scorecard.COLUMNS} | ({"p_value": "< 0.0001"} if small else {})


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if value == "":
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.4f}".rstrip("0").rstrip(".") or "0"
    return str(value)


def _failures(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What differs or was not run: one entry per reason, with the settings it concerns."""
    grouped: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in scorecard.counted(lines):
        against_definition = line["metric"].startswith("1 - ") and not isinstance(line["published"], str)
        if line["verdict"] == "reproduced" or against_definition:
            continue
        reason = "" if line["verdict"] == "differs" else str(line["note"])
        grouped.setdefault((line["verdict"], line["exhibit"], line["dataset"], reason), []).append(line)
    return [
        {
            "verdict": verdict,
            "exhibit": name,
            "dataset": dataset,
            "reason": reason,
            "lines": [_shown(e) for e in members],
        }
        for (verdict, name, dataset, reason), members in grouped.items()
    ]
