"""Tables of the runs themselves: time, memory, certificates, and the machines they ran on."""

import json
from typing import Any

import pandas as pd

from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from reproduction.exhibits import style
from reproduction.grid.tidy import CERTIFICATES, USABLE

KEYS = ["experiment", "dataset", "algorithm", "kappa"]


def by_setting(runs: pd.DataFrame) -> Table:
    """Time, memory and certificate by setting: means over seeds, largest memory, violation and residual."""
    kinds = [name for name in CERTIFICATES if name in runs and runs[name].notna().any()]
    ends = runs.assign(good=runs["status"] == "ok", usable=runs["status"].isin(USABLE))
    shown = {"good": "sum", "usable": "all", "status": "size", "wall_seconds": "mean", "cpu_seconds": "mean"}
    shown |= {"peak_memory_mib": "max", "objective": "mean", "max_violation": "max"} | dict.fromkeys(kinds, "max")
    rows = []
    for setting in ends.groupby(KEYS, sort=False, dropna=False).agg(shown).reset_index().to_dict("records"):
        own = [
            cells.text(style.look(setting["algorithm"]).label),
            Cell(style.parameter(setting["algorithm"], setting["kappa"])),
            Cell(f"{setting['good']} of {setting['status']}", "number" if setting["usable"] else "bad"),
            *(_number(setting[name], "{:.1f}") for name in ("wall_seconds", "cpu_seconds")),
            _number(setting["peak_memory_mib"], "{:.0f}"),
            _number(setting["objective"], "{:.5f}"),
            _number(setting["max_violation"], "{:.1e}"),
            *(_number(setting[name], "{:.1e}") for name in kinds),
        ]
        rows.append(([cells.text(setting[name]) for name in ("experiment", "dataset")], own))
    columns = ["experiment", "dataset", "algorithm", "κ", "runs ok", "wall s", "CPU s", "peak MiB", "objective"]
    groups = [("", 5), ("mean time of one run", 2), ("", 3), *([("certificate", len(kinds))] if kinds else [])]
    return cells.blocks(groups, [*columns, "max violation", *(CERTIFICATES[name] for name in kinds)], rows)


def _number(value: float, layout: str) -> Cell:
    return Cell("–", "none") if pd.isna(value) else Cell(layout.format(value))


def problems(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Runs that did not end well, or have not run: one entry per reason with the number of runs it concerns."""
    bad = runs[runs["status"] != "ok"]
    keys = ["experiment", "algorithm", "status", "reason"]
    # Folders and measured numbers differ from run to run; in a reason they would keep equal reasons apart.
    short = bad["reason"].fillna("no reason given").str.replace(r" in \S+$", "", regex=True)
    measured = bad["status"].isin(USABLE)
    short = short.where(~measured, short.str.replace(r"(?<!\w)\d[\d.e+-]*", "…", regex=True))
    found = []
    for key, group in bad.assign(reason=short).groupby(keys, sort=False, dropna=False):
        named = [f"{row.dataset}, kappa {row.kappa:g}, seed {row.seed}" for row in group.itertuples()]
        found.append(dict(zip(keys, map(str, key), strict=True)) | {"count": len(group), "runs": named})
    return found


def environment(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Software, machines and code that the runs record: (name, value) pairs."""
    done = runs[runs["status"] != "not_run"]
    found: dict[str, dict[str, None]] = {}
    for text in _distinct(done, "versions"):
        for name, version in json.loads(text).items():
            found.setdefault(name, {})[str(version)] = None
    pairs = [(name, ", ".join(versions)) for name, versions in sorted(found.items())]
    for title, column in (("device", "device"), ("threads of a run", "threads")):
        pairs.append((title, ", ".join(_distinct(done, column)) or "not recorded"))
    revisions = [value[:12] + value[40:] for value in _distinct(done, "git_revision")]
    sources = len(_distinct(done, "closure_hash"))
    pairs.append(("code revision", ", ".join(revisions) or "not recorded"))
    pairs.append(
        ("versions of the training code", f"{sources} (hash of what a run imports)" if sources else "not recorded")
    )
    return pairs


def _distinct(frame: pd.DataFrame, column: str) -> list[str]:
    """Values of a column as text, each once; none if the table is older than the column."""
    if column not in frame:
        return []
    return [f"{value:g}" if isinstance(value, float) else str(value) for value in frame[column].dropna().unique()]
