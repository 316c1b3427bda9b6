"""Tables of the runs themselves: time, memory, certificates, and the machines they ran on."""

import json
from typing import Any

import pandas as pd

from partialfair.grid.tidy import CERTIFICATES, USABLE
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style

KEYS = ["experiment", "dataset", "algorithm", "kappa"]


def _endings(group: pd.DataFrame) -> Cell:
    good = int((group["status"] == "ok").sum())
    return Cell(f"{good} of {len(group)}", "number" if group["status"].isin(USABLE).all() else "bad")


def by_setting(runs: pd.DataFrame) -> Table:
    """Time, memory and certificate by setting: means over seeds, largest memory, violation and residual."""
    kinds = [name for name in CERTIFICATES if name in runs and runs[name].notna().any()]
    rows = []
    for key, group in runs.groupby(KEYS, sort=False, dropna=False):
        own = [
            cells.text(style.look(str(key[2])).label),
            Cell(style.kappa_symbol(key[3])),
            _endings(group),
            *(_number(group[name].mean(), "{:.1f}") for name in ("wall_seconds", "cpu_seconds")),
            _number(group["peak_memory_mib"].max(), "{:.0f}"),
            _number(group["objective"].mean(), "{:.5f}"),
            _number(group["max_violation"].max(), "{:.1e}"),
            *(_number(group[name].max(), "{:.1e}") for name in kinds),
        ]
        rows.append(([cells.text(str(part)) for part in key[:2]], own))
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
