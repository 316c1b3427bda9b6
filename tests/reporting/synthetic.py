"""A small project folder with invented results, written as the collecting job writes them."""

import json
import math
from pathlib import Path

import numpy as np
import yaml

from partialfair.metrics import names
from reproduction.grid import tidy
from reproduction.grid.config import Config, load_config
from reproduction.jobs import collect
from reproduction.verdicts import published
from reproduction.verdicts.published import Published

ROOT = Path(__file__).parents[2]
TOLERANCE = {"accuracy": 0.01, "fairness": {"a9a": 0.05, "default": 0.1}}
INTERVALS = {"a9a": [[0.05, 0.3]], "law_school": [[0.7, 1.0]]}
KAPPAS = {"a9a": [0.28, 0.2, 0.1, 0.05, 0.01], "law_school": [0.2, 0.15, 0.1, 0.08, 0.005]}


def experiment(constraint="partial_statistical_parity", grid=10, interval=None, algorithms=("idca", "alm")):
    runs = {
        dataset: {
            "interval": interval or INTERVALS[dataset],
            "algorithms": {"unconstrained": ["inf"]} | dict.fromkeys(algorithms, KAPPAS[dataset]),
        }
        for dataset in INTERVALS
    }
    return {
        "title": "Parity", "paper": "partial_fairness", "constraint": constraint, "grid": grid,
        "kappa_scale": "absolute", "runs": runs,
    }  # fmt: skip


def params():
    return {
        "seeds": [0, 1, 2],
        "experiments": {
            "psp": experiment(),
            "pdp": experiment("partial_demographic_parity"),
            "psp_full": experiment(interval=[[0.0, 1.0]], algorithms=["idca"]),
            "psp_grid20": experiment(grid=20, algorithms=["idca"]),
        },
        "exhibits": {
            "table1": {"kind": "dataset_statistics", "title": "Dataset statistics", "experiments": ["psp"]},
            "figure1": {
                "kind": "scatter", "title": "Trade-off", "caption": "Accuracy <and> fairness.",
                "experiments": ["psp", "pdp"], "published_points": "table3",
            },
            "table3": {
                "kind": "pairs", "sides": "range", "title": "Full and partial", "experiments": ["psp", "psp_full"],
                "tolerance": TOLERANCE,
            },
            "table4": {
                "kind": "pairs", "sides": "grid", "title": "Grids", "experiments": ["psp", "psp_grid20"],
                "tolerance": TOLERANCE,
            },
            "kappa_scale": {
                "kind": "kappa_scale", "title": "Scale of kappa", "experiments": ["psp", "pdp"],
                "compare": ["table3"], "tolerance": TOLERANCE, "section": "Beyond the paper",
            },
            "claims": {
                "kind": "claims", "title": "Claims", "experiments": ["psp", "pdp", "psp_full", "psp_grid20"],
                "tolerance": TOLERANCE,
            },
        },
    }  # fmt: skip


def project(root: Path, content=None, failing=(), noise=0.002) -> Config:
    """Write params.yaml and the tidy tables of all its experiments below ``root``.

    Results are the published numbers plus a little noise where there are any, so that they reproduce.

    Args:
        root: an empty folder.
        content: of params.yaml.
        failing: (experiment, dataset, algorithm, kappa, seed) of runs without a value.
        noise: standard deviation over seeds.
    """
    (root / "papers").symlink_to(ROOT / "papers")
    (root / "params.yaml").write_text(yaml.safe_dump(content or params(), sort_keys=False))
    config = load_config(root / "params.yaml")
    rng = np.random.default_rng(0)
    for name in config.experiments:
        metric_rows, run_rows = [], []
        for job in config.jobs(name):
            model, run = config.experiment(name), config.experiment(name).runs[job.dataset]
            key = collect._key(job, {"constraint": model.constraint, "interval": run.interval})
            bad = (name, job.dataset, job.algorithm, job.kappa, job.seed) in failing
            ending = {"status": "infeasible", "reason": "no feasible point"} if bad else {"status": "ok"}
            run_rows.append(key | ending | run_facts(job.seed))
            for metric in names():
                value = None if bad else invented(job, metric) + noise * rng.normal()
                metric_rows.append(key | ending | {"split": "test", "metric": metric, "value": value})
        collect._write(root / "reports" / name / "metrics.parquet", metric_rows, tidy.METRIC_COLUMNS)
        collect._write(root / "reports" / name / "runs.parquet", run_rows, tidy.RUN_COLUMNS)
    return config


def run_facts(seed):
    return {
        "wall_seconds": 10.0 + seed, "cpu_seconds": 9.0, "peak_memory_mib": 200.0 + seed, "objective": 0.33,
        "max_violation": 1e-3, "kkt_residual": 2e-4, "git_revision": "0123456789abcdef",
        "versions": json.dumps({"numpy": f"2.4.{6 + seed % 2}"}), "table_sha256": "feedbeef",
    }  # fmt: skip


def invented(job, metric):
    """The published value of a run if there is one, else something between the ends of the grid."""
    kappas = KAPPAS[job.dataset]
    start = {"a9a": (0.597, 0.8499), "law_school": (0.5397, 0.9004)}[job.dataset]
    place = kappas.index(job.kappa) if job.kappa in kappas else -1
    fair, right = start[0], start[1]
    if place >= 0:
        setting = f"row={place + 1}"
        interval = "0-1" if job.experiment == "psp_full" else {"a9a": "0.05-0.3", "law_school": "0.7-1"}[job.dataset]
        fair, right = (table3(job.dataset, interval, setting, name) for name in ("psp_fairness", "accuracy"))
        if job.algorithm == "alm":
            fair, right = fair + 0.02, right - 0.001
    if metric in {"accuracy", "auc", "positive_rate"}:
        return right
    return {"rank_gap": 1 - fair, "dp_gap": 0.6 * (1 - fair)}.get(metric, min(1.0, 1.9 * (1 - fair)))


def table3(dataset, interval, setting, metric):
    rows: list[Published] = [
        row
        for row in published.of_exhibit("partial_fairness", "table3", ROOT)
        if (row.dataset, row.interval, row.setting, row.metric) == (dataset, interval, setting, metric)
    ]
    return rows[0].value if rows else math.nan
