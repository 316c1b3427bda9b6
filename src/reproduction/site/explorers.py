"""Data of the two explorers, the scorecard and the runs, as scripts: a page opened as a file can fetch nothing else.

What an opened row of a run shows is in a script of the row's experiment, which the first such row loads.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.exhibits import style
from reproduction.grid.config import kappa_text
from reproduction.grid.table_files import read_table
from reproduction.grid.tidy import CERTIFICATES
from reproduction.site.exhibits import WORST_FIRST, as_json
from reproduction.site.project import Project, SiteExhibit
from reproduction.site.scorecard_entries import TONES, Entry
from reproduction.site.sentences import effect

Column = dict[str, Any]
"""``number``: to the right; ``last``: sorted by the last number in it, not the first; ``facet``: with a list to choose
from; ``detail``: in an opened row; ``later``: in a script of its own; ``hidden``: for links and lists alone."""
CHOSEN = 160  # characters of the settings that tuning chose

_SCORECARD: tuple[Column, ...] = (
    {"key": "verdict", "facet": True, "tone": TONES},
    {"key": "kind", "facet": True, "hidden": True},
    {"key": "counts", "facet": True, "hidden": True},
    {"key": "paper", "facet": True, "detail": True},
    {"key": "exhibit", "facet": True, "link": "exhibits/{page}.html"},
    {"key": "dataset", "facet": True},
    {"key": "method", "facet": True},
    {"key": "published"},
    {"key": "ours", "number": True},
    {"key": "metric"},
    {"key": "against"},
    {"key": "difference", "number": True},
    {"key": "noise", "number": True},
    {"key": "tolerance", "number": True},
    {"key": "p", "number": True},
    {"key": "setting"},
    {"key": "section"},
    {"key": "note", "detail": True},
    {"key": "null models", "detail": True},
    {"key": "test", "detail": True},
    {"key": "smallest effect that would have been seen", "detail": True},
    {"key": "seeds it would take", "detail": True},
    {"key": "claim", "detail": True},
    {"key": "page", "hidden": True},
)
_FAIR = ("infeasible", "tolerance missed", "not stationary")
_NONE = ("nothing constrained", "not applicable", "not run")
RUNS: tuple[Column, ...] = (
    {
        "key": "status",
        "facet": True,
        "tone": {"ok": "good", "failed": "bad"} | dict.fromkeys(_FAIR, "fair") | dict.fromkeys(_NONE, "none"),
    },
    {"key": "experiment", "facet": True, "detail": True},
    {"key": "dataset", "facet": True},
    {"key": "method", "facet": True},
    {"key": "kappa", "number": True},
    {"key": "seeds", "number": True, "title": "seeds with status ok, of all"},
    {"key": "objective", "number": True},
    {"key": "violation", "number": True, "title": "measured violation, worst seed"},
    {"key": "certificate", "title": "its kind, and the worst seed's value", "last": True},
    {"key": "seconds", "number": True, "title": "wall time of one run, mean"},
    {"key": "MiB", "number": True, "title": "largest peak memory"},
    {
        "key": "seed by seed",
        "detail": True,
        "later": True,
        "table": ["seed", "status", "objective", "violation", "seconds"],
    },
    {"key": "settings chosen, first seed", "detail": True, "later": True},
    {"key": "reason", "detail": True},
    {"key": "made by", "detail": True},
    {
        "key": "trace",
        "detail": True,
        "later": True,
        "trace": "data/runs/{experiment}/{folder}/history.parquet",
    },
    {"key": "traces of this experiment", "detail": True, "pages": "exhibits/{page}.html"},
    {"key": "folder", "hidden": True},
)
TRACED = ("inner_steps", "objective", "infeasibility")
"""Columns of the exhibits that hold whole traces."""
POINTS = 30  # of a trace that the explorer draws


def scorecard(project: Project) -> str:
    """Return the script with every line of the scorecard: what counts first, and of that what did not come out."""
    ordered = sorted(project.entries, key=lambda entry: (not entry.power, WORST_FIRST.index(entry.tone)))
    return _table("scorecard", _SCORECARD, [_line(project, entry) for entry in ordered])


def _line(project: Project, entry: Entry) -> list[Any]:
    published = entry.number("published")
    value = entry.number("reproduced")
    page = project.page(entry)
    return [
        entry.outcome, entry.kind, entry.counts, project.short(entry.paper), entry.exhibit,
        entry.dataset_title, style.plot_style(entry.algorithm).label if entry.algorithm else "",
        published if math.isfinite(published) else entry.published, effect(entry), entry.metric,
        entry.against.replace("_", " "),
        _number(value - published), _number(entry.number("noise")), _number(entry.number("tolerance")),
        _number(entry.number("p_value")),
        "; ".join(filter(None, [entry.setting, f"I = {entry.interval}" if entry.interval else ""])),
        entry.section, entry.note, entry.nulls, entry.test, _number(entry.number("detectable")), entry.seeds_needed,
        entry.claim.replace("_", " "), page,
    ]  # fmt: skip


def runs(project: Project) -> dict[str, str]:
    """Return scripts by name: one line per experiment, dataset, method and kappa, and each experiment's details."""
    thinned_traces = traces(project)
    rows: list[list[Any]] = []
    details: dict[str, str] = {}
    for name in project.config.experiments:
        pages = ", ".join(exhibit.name for exhibit in project.exhibits.values() if _has_traces(exhibit, name))
        path = project.root / "reports" / name / "runs.parquet"
        if path.is_file():
            table = read_table(path)
            setting_rows = []
            for setting, group in table.groupby(["dataset", "algorithm", "kappa"], sort=False, dropna=False):
                folder = f"{setting[0]}/{setting[1]}/kappa={kappa_text(setting[2])}/seed={group['seed'].min()}"
                trace = thinned_traces.get((name, *setting), " ")
                setting_rows.append([*_setting_cells(name, setting, group), trace, pages, folder])
            rows += [_select_cells(row, later=False) for row in setting_rows]
            later_rows = [_select_cells(row, later=True) for row in setting_rows]
            details[f"runs/{name}"] = _script(f"runs/{name}", as_json(later_rows))
    return {"runs": _table("runs", RUNS, rows, part="experiment"), **details}


def _select_cells(row: Sequence[Any], *, later: bool) -> list[Any]:
    return [value for value, column in zip(row, RUNS, strict=True) if ("later" in column) == later]


def _has_traces(exhibit: SiteExhibit, experiment: str) -> bool:
    return exhibit.kind == "curves" and experiment in exhibit.experiments


def traces(project: Project) -> dict[tuple[Any, ...], str]:
    """Return traces of single runs that exhibits hold, thinned: ``step,loss,violation`` for each point.

    They are by experiment, dataset, algorithm and kappa, of the seed that the exhibit draws boldly.
    """
    traces_by_setting: dict[tuple[Any, ...], str] = {}
    for exhibit in project.exhibits.values():
        if exhibit.kind != "curves" or "csv" not in exhibit.files:
            continue
        table = pd.read_csv(exhibit.files["csv"])
        if not {*TRACED, "named_seed"} <= {*table}:
            continue
        named = table[table["named_seed"] == 1]
        for setting, run_points in named.groupby(["dataset", "algorithm", "kappa"], sort=False):
            complete = run_points.dropna(subset=list(TRACED))
            thinned = complete.iloc[np.unique(np.geomspace(1, len(complete), POINTS).astype(int)) - 1]
            rows = thinned[list(TRACED)].itertuples(index=False)
            points = (",".join(f"{value:.4g}" for value in row) for row in rows)
            traces_by_setting[exhibit.experiments[0], *setting] = " ".join(points)
    return traces_by_setting


def _setting_cells(experiment: str, key: Any, group: pd.DataFrame) -> list[Any]:
    dataset, algorithm, kappa = key
    status_counts = group["status"].value_counts()
    status = next((str(name) for name in status_counts.index if name != "ok"), "ok")
    # By columns: named tuples of all of them would take a compiler's time for each of a thousand groups.
    columns = (group[name] for name in ("seed", "status", "objective", "max_violation", "wall_seconds"))
    seeds = [
        f"{seed}|{'' if len(status_counts) == 1 else state.replace('_', ' ')}|{_text(objective)}|{_text(violation, 2)}|"
        f"{_text(seconds, 2)}"
        for seed, state, objective, violation, seconds in zip(*columns, strict=True)
    ]
    reasons = [str(reason) for reason in group["reason"].dropna().unique()]
    chosen_settings = [str(value) for value in group["selected"].dropna().unique() if value not in ("", "{}")]
    revisions = [str(value)[:12] for value in group["git_revision"].dropna().unique()]
    return [
        status.replace("_", " "), experiment, dataset.replace("_", " "), style.plot_style(algorithm).label,
        "none" if math.isinf(kappa) else f"{kappa:g}", f"{int(status_counts.get('ok', 0))} of {len(group)}",
        _number(group["objective"].mean()), _number(group["max_violation"].max()), _certificate(group),
        _number(group["wall_seconds"].mean()), _number(group["peak_memory_mib"].max()), "\n".join(seeds),
        chosen_settings[0][:CHOSEN] if chosen_settings else "", "\n".join(reasons[:3]), ", ".join(revisions),
    ]  # fmt: skip


def _certificate(group: pd.DataFrame) -> str:
    """Return the kind of certificate and its largest value; nothing where none was computed."""
    largest = {title: group[column].max() for column, title in CERTIFICATES.items() if column in group}
    return ", ".join(f"{title} {_plain(value, 3)}" for title, value in largest.items() if not pd.isna(value))


def _plain(value: float, digits: int) -> str:
    return f"{value:.{digits}g}".replace("e-0", "e-")


def _text(value: float, digits: int = 3) -> str:
    """Return a number in few letters: there are three for each of thousands of runs. The page restores the zero."""
    if pd.isna(value):
        return "–"
    text = _plain(value, digits)
    return text.removeprefix("0") if text.startswith("0.") else text


def _number(value: float) -> float | str:
    return float(f"{value:.4g}") if math.isfinite(value) else ""


def _table(name: str, columns: Sequence[Column], rows: Sequence[Sequence[Any]], part: str = "") -> str:
    """Return columns and rows as a script; words that recur are numbers into a list of words.

    Columns that are read later have no place in ``rows``; they are in the script of the row's value of ``part``.
    """
    texts: dict[str, int] = {}
    coded = [[texts.setdefault(v, len(texts)) if isinstance(v, str) else [v] for v in row] for row in rows]
    return _script(name, as_json({"columns": columns, "words": list(texts), "rows": coded, "part": part}))


def _script(name: str, content: str) -> str:
    return f'window.partialfair=window.partialfair||{{}};window.partialfair["{name}"]={content};\n'
