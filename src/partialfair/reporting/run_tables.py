"""Tables of the runs themselves: certificates, time and memory, environment, checksums of the data."""

import json
import math
from typing import Any

import pandas as pd

from partialfair.datasets.named import named_dataset
from partialfair.errors import PartialFairError
from partialfair.grid.config import Config
from partialfair.pages import cells
from partialfair.pages.cells import Cell, Table
from partialfair.reporting import style

KEYS = ["experiment", "dataset", "algorithm", "kappa"]


def certificates(runs: pd.DataFrame) -> Table:
    """One line per experiment and algorithm: how well training satisfied constraints and optimality conditions."""
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for (experiment, algorithm), group in runs.groupby(KEYS[::2], sort=False):
        if experiment != previous:
            breaks.add(len(rows))
        violation, residual = group["max_violation"], group["kkt_residual"]
        rows.append(
            [
                cells.text(str(experiment) if experiment != previous else ""),
                cells.text(style.look(str(algorithm)).label),
                _endings(group),
                *(_number(value, "{:.1e}") for value in (violation.median(), violation.max())),
                *(_number(value, "{:.1e}") for value in (residual.median(), residual.max())),
                _number(group["cpu_seconds"].sum() / 60, "{:.1f}"),
                *(_number(value, "{:.1f}") for value in (group["cpu_seconds"].median(), group["cpu_seconds"].max())),
                _number(group["peak_memory_mib"].max(), "{:.0f}"),
            ]
        )
        previous = experiment
    groups = [("", 2), ("", 1), ("largest violation of a training constraint", 2), ("KKT residual", 2)]
    groups += [("processor time", 3), ("memory", 1)]
    inner = ["median", "largest", "median", "largest", "all, minutes", "median, s", "largest, s", "peak MiB"]
    return Table(groups, ["experiment", "algorithm", "runs ok", *inner], rows, frozenset(breaks))


def _endings(group: pd.DataFrame) -> Cell:
    good = int((group["status"] == "ok").sum())
    return Cell(f"{good} of {len(group)}", "number" if good == len(group) else "bad")


def by_exhibit(config: Config, runs: pd.DataFrame) -> Table:
    """One line per exhibit made of runs: how many, what training them cost. Runs of several exhibits count in each."""
    rows: list[list[Cell]] = []
    for name, shown in config.params.exhibits.items():
        group = runs[runs["experiment"].isin(shown.experiments) & (runs["status"] != "not_run")]
        if group.empty:
            continue
        rows.append(
            [
                cells.text(name),
                Cell(f"{len(group)}"),
                *(_number(group[part].sum() / 60, "{:.1f}") for part in ("cpu_seconds", "wall_seconds")),
                _number(group["wall_seconds"].sum() / 120, "{:.1f}"),
                _number(group["wall_seconds"].max(), "{:.1f}"),
                _number(group["peak_memory_mib"].max(), "{:.0f}"),
            ]
        )
    groups = [("", 2), ("training of these runs, minutes", 3), ("one run", 2)]
    columns = ["exhibit", "runs", "processor", "one at a time", "two at a time", "longest, s", "peak MiB"]
    return Table(groups, columns, rows, frozenset())


def by_setting(runs: pd.DataFrame) -> Table:
    """Time, memory and certificate by setting: means over seeds, largest memory, violation and residual."""
    rows: list[list[Cell]] = []
    breaks, previous = set(), None
    for key, group in runs.groupby(KEYS, sort=False, dropna=False):
        if key[:2] != previous:
            breaks.add(len(rows))
        rows.append(
            [
                *(cells.text(str(part) if key[:2] != previous else "") for part in key[:2]),
                cells.text(style.look(str(key[2])).label),
                Cell("∞" if math.isinf(key[3]) else f"{key[3]:g}"),
                _endings(group),
                *(_number(group[name].mean(), "{:.1f}") for name in ("wall_seconds", "cpu_seconds")),
                _number(group["peak_memory_mib"].max(), "{:.0f}"),
                _number(group["objective"].mean(), "{:.5f}"),
                *(_number(group[name].max(), "{:.1e}") for name in ("max_violation", "kkt_residual")),
            ]
        )
        previous = key[:2]
    columns = ["experiment", "dataset", "algorithm", "κ", "runs ok", "wall s", "CPU s", "peak MiB", "objective"]
    groups = [("", 5), ("mean time of one run", 2), ("", 1), ("certificate", 3)]
    return Table(groups, [*columns, "max violation", "KKT residual"], rows, frozenset(breaks))


def _number(value: float, layout: str) -> Cell:
    return Cell("–", "none") if pd.isna(value) else Cell(layout.format(value))


def problems(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Runs that did not end well, or have not run: one entry per reason with the number of runs it concerns."""
    bad = runs[runs["status"] != "ok"]
    keys = ["experiment", "algorithm", "status", "reason"]
    # Folders differ from run to run; where they stand in a reason they would keep equal reasons apart.
    short = bad["reason"].fillna("no reason given").str.replace(r" in \S+$", "", regex=True)
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


def checksums(config: Config, runs: pd.DataFrame) -> Table:
    """Raw files as datasets declare them (every byte is verified before use), and the tables made of them."""
    rows: list[list[Cell]] = []
    breaks = set()
    for name in config.datasets:
        breaks.add(len(rows))
        files = _raw_files(config, name)
        used = _distinct(runs[runs["dataset"] == name], "table_sha256")
        files += [("prepared table, as the runs read it", None, value) for value in used]
        for place, (label, size, value) in enumerate(files or [("no file declared", None, "–")]):
            first = style.dataset_title(name) if place == 0 else ""
            count = Cell("–", "none") if size is None else Cell(f"{size:,}")
            rows.append([cells.text(first), cells.text(label), count, Cell(value, "text hash")])
    return Table([], ["dataset", "file", "bytes", "SHA-256"], rows, frozenset(breaks))


def _raw_files(config: Config, name: str) -> list[tuple[str, int | None, str]]:
    """(name, size, checksum) of a dataset's raw files; none if its own file is not at hand."""
    try:
        spec = named_dataset(name, config.dataset_options(name)).spec
    except PartialFairError:
        return []
    return [(file.name, file.bytes, file.sha256) for file in spec.files if file.needed]
