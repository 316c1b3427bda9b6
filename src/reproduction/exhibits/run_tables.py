"""Tables of the runs themselves: time, memory, certificates, and the machines they ran on."""

import json
from typing import Any

import pandas as pd

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.grid.tidy import CERTIFICATES, USABLE

KEYS = ["experiment", "dataset", "algorithm", "kappa"]


def table_by_setting(runs: pd.DataFrame) -> Table:
    """Return time, memory and certificates by setting: means over seeds, largest memory, violation and residual."""
    certificates = [name for name in CERTIFICATES if name in runs and runs[name].notna().any()]
    judged_runs = runs.assign(good=runs["status"] == "ok", usable=runs["status"].isin(USABLE))
    aggregations = {"good": "sum", "usable": "all", "status": "size", "wall_seconds": "mean", "cpu_seconds": "mean"}
    aggregations |= {"peak_memory_mib": "max", "objective": "mean", "max_violation": "max"}
    aggregations |= dict.fromkeys(certificates, "max")
    settings = judged_runs.groupby(KEYS, sort=False, dropna=False).agg(aggregations).reset_index()
    rows = []
    for setting in settings.to_dict("records"):
        row_cells = [
            cells.text(style.plot_style(setting["algorithm"]).label),
            Cell(style.parameter(setting["algorithm"], setting["kappa"])),
            Cell(f"{setting['good']} of {setting['status']}", "number" if setting["usable"] else "bad"),
            *(_number(setting[name], "{:.1f}") for name in ("wall_seconds", "cpu_seconds")),
            _number(setting["peak_memory_mib"], "{:.0f}"),
            _number(setting["objective"], "{:.5f}"),
            _number(setting["max_violation"], "{:.1e}"),
            *(_number(setting[name], "{:.1e}") for name in certificates),
        ]
        rows.append(([cells.text(setting[name]) for name in ("experiment", "dataset")], row_cells))
    columns = ["experiment", "dataset", "algorithm", "κ", "runs ok", "wall s", "CPU s", "peak MiB", "objective"]
    groups = [("", 5), ("mean time of one run", 2), ("", 3)]
    groups += [("certificate", len(certificates))] if certificates else []
    return cells.blocks(groups, [*columns, "max violation", *(CERTIFICATES[name] for name in certificates)], rows)


def _number(value: float, layout: str) -> Cell:
    return Cell("–", "none") if pd.isna(value) else Cell(layout.format(value))


def problems(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the runs that did not end well, or have not run: one entry per reason with the number of its runs."""
    failed_runs = runs[runs["status"] != "ok"]
    keys = ["experiment", "algorithm", "status", "reason"]
    # Folders and measured numbers differ from run to run; in a reason they would keep equal reasons apart.
    reasons = failed_runs["reason"].fillna("no reason given").str.replace(r" in \S+$", "", regex=True)
    is_measured = failed_runs["status"].isin(USABLE)
    reasons = reasons.where(~is_measured, reasons.str.replace(r"(?<!\w)\d[\d.e+-]*", "…", regex=True))
    problem_list = []
    for key, group in failed_runs.assign(reason=reasons).groupby(keys, sort=False, dropna=False):
        run_names = [f"{row.dataset}, kappa {row.kappa:g}, seed {row.seed}" for row in group.itertuples()]
        problem_list.append(dict(zip(keys, map(str, key), strict=True)) | {"count": len(group), "runs": run_names})
    return problem_list


def environment(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the software, machines and code that the runs record: (name, value) pairs."""
    finished_runs = runs[runs["status"] != "not_run"]
    versions_by_name: dict[str, dict[str, None]] = {}
    for text in _distinct(finished_runs, "versions"):
        for name, version in json.loads(text).items():
            versions_by_name.setdefault(name, {})[str(version)] = None
    pairs = [(name, ", ".join(versions)) for name, versions in sorted(versions_by_name.items())]
    for title, column in (("device", "device"), ("threads of a run", "threads")):
        pairs.append((title, ", ".join(_distinct(finished_runs, column)) or "not recorded"))
    revisions = [value[:12] + value[40:] for value in _distinct(finished_runs, "git_revision")]
    code_versions = len(_distinct(finished_runs, "closure_hash"))
    pairs.append(("code revision", ", ".join(revisions) or "not recorded"))
    pairs.append(
        (
            "versions of the training code",
            f"{code_versions} (hash of what a run imports)" if code_versions else "not recorded",
        )
    )
    return pairs


def _distinct(frame: pd.DataFrame, column: str) -> list[str]:
    """Return the distinct values of a column as text; none if the table is older than the column."""
    if column not in frame:
        return []
    return [f"{value:g}" if isinstance(value, float) else str(value) for value in frame[column].dropna().unique()]
