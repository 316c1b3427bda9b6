"""The results as files: reports/benchmarks.json, a CSV with the curves, and the table in the documentation."""

import csv
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from partialfair.data.files import atomic_path
from tests.benchmarks.common import Result

KEYS = ("id", "value", "unit", "target", "holds", "how")
COLUMNS = ("id", "axis", "x", "value", "unit", "target", "holds")
CURVE_UNITS = {"jobs": "s"}  # of the points; all other curves are milliseconds per iteration
MARKS = ("<!-- benchmarks: written by make bench -->", "<!-- end of benchmarks -->")
HEADLINES = (
    "idca_batched_vs_naive", "step_limit_fraction", "alm_vs_idca_time", "classifier_truthful_share",
    "promise_kept_share",
    "tight_parity_blind_vs_eg", "tight_parity_aware_vs_eg", "vs_fairlearn_eg_time", "vs_fairlearn_eg_path_time",
    "vs_fairlearn_eg_aware_time", "vs_fairlearn_eg_aware_path_time", "vs_fairret_time",
    "torch_step", "torch_peers", "auc_network_step_vs_dense",
    "ten_million_rows_minutes",
    "regression_aware_gain",
    "acs_fit_seconds", "acs_fit_gib", "rows_growth_exponent", "job_overhead_seconds", "dry_run_seconds",
    "dry_run_20000_seconds", "verify_seconds", "draw_all_seconds", "cli_start_seconds",
    "paper_grid_minutes",
)  # fmt: skip
"""The figures that have a target of the project, in the order of the table."""

MEANING = {
    "idca_batched_vs_naive": "steps of IDCA per second, eight configurations as one batch against a plain NumPy "
    "loop (a9a)",
    "step_limit_fraction": "batched step: time of its two products by BLAS over its own, the smaller of a9a and bank",
    "alm_vs_idca_time": "direct solver against IDCA, time to equal loss and violation (a9a)",
    "classifier_truthful_share": "fits of the classifier, on seventeen tables, whose status is true",
    "promise_kept_share": "promises about new rows that a simulated population keeps, of maps at confidence 0.95",
    "tight_parity_blind_vs_eg": "accuracy at tight parity less that of fairlearn's ExponentiatedGradient at equal test "
    "gap, without the group at prediction: mean over cells; holds if ours is never worse by more than two "
    "standard errors",
    "tight_parity_aware_vs_eg": "the same with the group, ThresholdOptimizer included",
    "vs_fairlearn_eg_time": "time of fairlearn's ExponentiatedGradient over ours for one tolerance, without the group, "
    "the smallest of all cells",
    "vs_fairlearn_eg_path_time": "the same along a path of nine tolerances, which share their fits",
    "vs_fairlearn_eg_aware_time": "time of fairlearn's ExponentiatedGradient over ours for one tolerance, with the "
    "group, the smallest of all cells",
    "vs_fairlearn_eg_aware_path_time": "the same along a path of nine tolerances",
    "vs_fairret_time": "against fairret in a PyTorch loop at its violation, the smaller of a9a and bank",
    "torch_step": "a step of the methods for PyTorch over one of our own networks, the largest of six sizes",
    "torch_peers": "a step of the Lagrangian with Adam over the faster of cooper's and humancompatible-train's, the "
    "larger of two sizes",
    "auc_network_step_vs_dense": "a step of 60 networks of AUC fairness, against dense matrix products",
    "ten_million_rows_minutes": "one fit on a Parquet file of 10,000,000 rows and 100 columns, processor time",
    "regression_aware_gain": "squared error below that of EquiPy and fairlearn's CorrelationRemover, all with the "
    "group, at equal test distance between groups: mean over cells; holds if ours is never worse beyond the 95% "
    "interval",
    "acs_fit_seconds": "one constrained fit on the national ACSIncome table",
    "acs_fit_gib": "its peak memory",
    "rows_growth_exponent": "growth of the time per iteration with rows, 10,000 to 1.14 million: exponent",
    "job_overhead_seconds": "workflow, per job beyond its own work",
    "dry_run_seconds": "dry run of the whole grid",
    "dry_run_20000_seconds": "dry run of 20,000 jobs",
    "verify_seconds": "`partialfair verify` of all results",
    "draw_all_seconds": "every exhibit and the page drawn from the collected tables",
    "cli_start_seconds": "start of a command",
    "paper_grid_minutes": "the main paper's grid, 5 seeds, on two cores",
}


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Stored results by id; none if there is no file."""
    return {row["id"]: row for row in json.loads(path.read_text())} if path.is_file() else {}


def rows(results: Iterable[Result], machine: str) -> dict[str, dict[str, Any]]:
    """Results as they are stored: the keys of :data:`KEYS` and the machine; a value that was not measured is null."""
    out = {}
    for found in results:
        row = {key: asdict(found)[key] for key in KEYS} | {"machine": machine}
        out[found.id] = row | {"value": None if math.isnan(found.value) else found.value}
    return out


def write(path: Path, content: dict[str, dict[str, Any]]) -> None:
    """Write reports/benchmarks.json, the figures with a target first."""
    known = [content[name] for name in HEADLINES if name in content]
    others = [row for name, row in content.items() if name not in HEADLINES]
    with atomic_path(path) as target:
        target.write_text(json.dumps(known + others, indent=1) + "\n", encoding="utf-8")


def write_csv(path: Path, content: dict[str, dict[str, Any]], results: Sequence[Result]) -> None:
    """Write the figures, and the points of the curves, of this run or else of the file that is there."""
    curves = [
        {"id": one.id, "axis": one.axis, "x": x, "value": y, "unit": CURVE_UNITS.get(one.axis, "ms")}
        for one in results
        for x, y in one.points
    ]
    new = {one.id for one in results}
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as stream:
            curves += [row for row in csv.DictReader(stream) if row["x"] and row["id"] not in new]
    with atomic_path(path) as target, target.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(read_order(content))
        writer.writerows(curves)


def read_order(content: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures, those with a target of the project first."""
    return sorted(content.values(), key=lambda row: row["id"] not in HEADLINES)


def table(content: dict[str, dict[str, Any]]) -> str:
    """The figures that have a target of the project, as a Markdown table; one that was not measured says so."""
    lines = ["| what | id | measured | target | holds |", "|---|---|---|---|---|"]
    for name in HEADLINES:
        row = content.get(name)
        if row is None or row["value"] is None:
            measured, target, holds = "not measured", (row or {}).get("target") or "", ""
        else:
            measured, target = f"{row['value']:.3g} {row['unit']}".strip(), row["target"] or ""
            holds = {True: "yes", False: "no", None: ""}[row["holds"]]
        lines.append(f"| {MEANING[name]} | `{name}` | {measured} | {target} | {holds} |")
    machines = sorted({row["machine"] for row in content.values()})
    return "\n".join([*lines, "", f"Machine: {'; '.join(machines) or 'none'}. One thread."])


def write_table(page: Path, content: dict[str, dict[str, Any]]) -> None:
    """Replace what stands between the marks of a page by the table."""
    text = page.read_text(encoding="utf-8")
    pattern = f"{re.escape(MARKS[0])}\n.*?{re.escape(MARKS[1])}"
    if not re.search(pattern, text, re.DOTALL):
        raise ValueError(f"{page}: no lines {MARKS[0]} and {MARKS[1]}")
    filled = f"{MARKS[0]}\n\n{table(content)}\n\n{MARKS[1]}"
    with atomic_path(page) as target:
        target.write_text(re.sub(pattern, lambda _: filled, text, flags=re.DOTALL), encoding="utf-8")
