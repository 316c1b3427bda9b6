"""The report page: one self-contained HTML file."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from partialfair.config import Config
from partialfair.files import atomic_path
from partialfair.reporting import cells, exhibit, scorecard, style
from partialfair.reporting.cells import Cell, Table
from partialfair.reporting.results import Results


def write(config: Config, target: Path, root: Path = Path()) -> Path:
    """Write the page.

    Args:
        config: the grid; exhibits appear in its order.
        target: the file.
        root: the project's root.
    """
    lines = scorecard.build(config, root)
    results = Results.load(root / "reports", config.experiments, config.params.bootstrap.level)
    content = (
        cells.environment()
        .get_template("page.html.j2")
        .render(
            facts=_facts(config, results),
            counts=_counts(lines),
            exhibits=[_exhibit(config, name, root) for name in config.params.exhibits],
            columns=scorecard.COLUMNS,
            lines=[_shown(line) for line in lines],
            verdicts=scorecard.VERDICTS,
            failures=_failures(lines),
            runs=cells.html(_run_table(results.runs)),
            problems=_problems(results.runs),
        )
    )
    with atomic_path(target) as path:
        path.write_text(content, encoding="utf-8")
    return target


def _facts(config: Config, results: Results) -> list[tuple[str, str]]:
    """What was run: one (name, value) pair per line of the header."""
    runs = results.runs
    done = runs[runs["status"] != "not_run"]
    revisions = [str(value) for value in done["git_revision"].dropna().unique()]
    seeds = sorted({seed for name in config.experiments for seed in config.seeds(name)})
    algorithms = list(dict.fromkeys(runs["algorithm"]))
    return [
        ("Experiments", ", ".join(f"{e.title} ({name})" for name, e in config.experiments.items())),
        ("Datasets", ", ".join(style.dataset_title(name) for name in dict.fromkeys(runs["dataset"])) or "none yet"),
        ("Algorithms", ", ".join(style.look(name, algorithms).label for name in algorithms) or "none yet"),
        ("Seeds", ", ".join(map(str, seeds))),
        ("Runs", f"{len(done)} of {len(runs)} trained, {int((runs['status'] == 'ok').sum())} with a usable model"),
        ("Code revision", ", ".join(value[:12] for value in revisions) or "none recorded"),
    ]


def _counts(lines: list[dict[str, Any]]) -> list[tuple[str, Mapping[str, int]]]:
    """Verdicts by what the numbers are held against."""
    findings = [line for line in lines if line["metric"].startswith("1 - ")]
    closed = [line for line in lines if line["paper"] == "closed form"]
    stated = [line for line in lines if isinstance(line["published"], str)]
    rest = [line for line in lines if line not in findings and line not in closed and line not in stated]
    kinds = (
        ("published numbers, in the convention they follow", rest),
        ("statements that the paper's figures show, tested over seeds", stated),
        ("published fairness, held against the definition", findings),
        ("closed-form values of the simulated benchmark", closed),
    )
    return [(title, scorecard.counts(part)) for title, part in kinds if part]


def _exhibit(config: Config, name: str, root: Path) -> dict[str, str]:
    context, kind = exhibit.context(config, name, root), exhibit.kind_of(config, name)
    body = f"<p class='missing'>Not run: there are no results of {', '.join(context.experiments)} yet.</p>"
    if not kind.needs_results or not context.results.metrics.empty:
        body = kind.fragment(context)
    title, caption = str(context.options["title"]), str(context.options.get("caption", ""))
    return {"name": name, "title": title, "caption": caption, "body": body}


def _shown(line: Mapping[str, Any]) -> dict[str, str]:
    """A scorecard line as text."""
    return {name: _text(line.get(name)) for name in scorecard.COLUMNS}


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.4f}".rstrip("0").rstrip(".") or "0"
    return str(value)


def _failures(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What differs or was not run: one entry per reason, with the settings it concerns."""
    grouped: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in lines:
        if line["verdict"] == "reproduced" or line["metric"].startswith("1 - "):
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


def _run_table(runs: pd.DataFrame) -> Table:
    """Time, memory and certificate by setting: means over seeds, largest memory, violation and residual."""
    keys = ["experiment", "dataset", "algorithm", "kappa"]
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for key, group in runs.groupby(keys, sort=False, dropna=False):
        if key[:2] != previous:
            breaks.add(len(rows))
        good = int((group["status"] == "ok").sum())
        status = Cell(f"{good} of {len(group)}", "number" if good == len(group) else "bad")
        rows.append(
            [
                *(cells.text(str(part) if key[:2] != previous else "") for part in key[:2]),
                cells.text(style.look(str(key[2])).label),
                Cell("∞" if math.isinf(key[3]) else f"{key[3]:g}"),
                status,
                *(_number(group[name].mean(), "{:.1f}") for name in ("wall_seconds", "cpu_seconds")),
                _number(group["peak_memory_mib"].max(), "{:.0f}"),
                _number(group["objective"].mean(), "{:.5f}"),
                *(_number(group[name].max(), "{:.1e}") for name in ("max_violation", "kkt_residual")),
            ]
        )
        previous = key[:2]
    columns = ["experiment", "dataset", "algorithm", "κ", "ok", "wall s", "CPU s", "peak MiB", "objective"]
    groups = [("", 5), ("mean time of one run", 2), ("", 1), ("certificate", 3)]
    return Table(groups, [*columns, "max violation", "KKT residual"], rows, frozenset(breaks))


def _number(value: float, layout: str) -> Cell:
    return Cell("–", "none") if pd.isna(value) else Cell(layout.format(value))


def _problems(runs: pd.DataFrame) -> list[dict[str, str]]:
    """Runs that did not end well, with their reasons."""
    bad = runs[~runs["status"].isin(["ok", "not_run"])]
    names = ("experiment", "dataset", "algorithm", "kappa", "seed", "status", "reason")
    return [{name: str(row[name]) for name in names} for _, row in bad.iterrows()]
