"""A small project folder with invented runs, written as the training and evaluation jobs write them."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from partialfair.metrics import evaluate_all
from reproduction.grid.config import load_config
from reproduction.jobs.collect import collect_experiment

SEEDS = [0, 1, 2]
ROWS = {"a9a": (400, 600), "law_school": (300, 500)}  # test rows of the two groups
INTERVALS = {"a9a": [[0.05, 0.3]], "law_school": [[0.7, 1.0]]}
KAPPAS = {"a9a": [0.1, 0.05, 0.01], "law_school": [0.2, 0.1, 0.005]}
METRICS = ["accuracy", "rank_gap", "sp", "dp", "dp_gap"]
METHODS = {"idca": 0.05, "group_auc": 1.5, "inter_group": 4.6, "intra_group": 4.2, "regularization": 0.37}


def params():
    """The grid: two constraints with IDCA and SSG, and two experiments with five methods."""
    runs = {
        dataset: {
            "interval": INTERVALS[dataset],
            "algorithms": {"unconstrained": ["inf"], "idca": kappas, "ssg": kappas[:1]},
        }
        for dataset, kappas in KAPPAS.items()
    }
    common = {"title": "Parity", "paper": "partial_fairness", "kappa_scale": "absolute"}
    experiments = {
        "psp": common | {"constraint": "partial_statistical_parity", "runs": runs},
        "pdp": common | {"constraint": "partial_demographic_parity", "runs": runs},
    }
    for number, interval in ((1, [[0.05, 0.3]]), (2, [[0.05, 0.9]])):
        one = {"a9a": {"interval": interval, "algorithms": {name: [kappa] for name, kappa in METHODS.items()}}}
        experiments[f"psp_interval{number}"] = common | {"constraint": "partial_statistical_parity", "runs": one}
    figure = {"algorithm": "idca", "seed": 0}
    ends = {dataset: kappas[0] for dataset, kappas in KAPPAS.items()}
    exhibits = {
        "figure2": figure | {"kind": "rank_curves", "experiments": ["psp"], "kappas": KAPPAS},
        "figure3": figure | {"kind": "densities", "experiments": ["psp"], "kappas": {"a9a": KAPPAS["a9a"]}},
        "figure8": figure
        | {"kind": "densities", "experiments": ["pdp"], "kappas": {"law_school": KAPPAS["law_school"]}},
        "figure9": {
            "kind": "bars", "experiments": ["psp", "psp_interval1", "psp_interval2"], "reference": "psp",
            "algorithm": "idca",
        },
        "figure10": {
            "kind": "curves", "experiments": ["psp"], "algorithms": ["idca", "ssg"], "kappas": ends, "seed": 0,
        },
    }  # fmt: skip
    return {
        "seeds": SEEDS,
        "experiments": experiments,
        "exhibits": {name: {"title": name, "caption": "PlotStyle."} | entry for name, entry in exhibits.items()},
    }


def params_of(name):
    """The grid of one exhibit alone."""
    content = params()
    exhibit = content["exhibits"][name]
    content["experiments"] = {key: content["experiments"][key] for key in exhibit["experiments"]}
    return content | {"exhibits": {name: exhibit}}


def shift(job):
    """Distance of the two groups' normal scores: it shrinks with kappa, and differs a little between seeds."""
    if job.algorithm == "unconstrained":
        return 1.0 + 0.02 * job.seed
    if job.algorithm in ("idca", "ssg"):
        return 0.1 + 2.0 * job.kappa + 0.002 * job.seed
    return 0.5 + 0.1 * list(METHODS).index(job.algorithm) + 0.01 * job.seed


def normal_scores(dataset, distance):
    """Scores (n,) and groups (n,): evenly spread quantiles of N(0, 1) and N(distance, 1)."""
    sizes = ROWS[dataset]
    scores = [stats.norm.ppf((np.arange(size) + 0.5) / size) + code * distance for code, size in enumerate(sizes)]
    return np.concatenate(scores), np.repeat([0, 1], sizes)


def labels(scores, job):
    """Labels that agree with the sign of 90% of the scores; of the last method with 80%."""
    wrong = np.arange(len(scores)) % 10 < (2 if job.algorithm == "regularization" else 1)
    return np.where(wrong, -1, 1) * np.where(scores > 0, 1, -1)


def history(job):
    """A loss that falls to a level of the algorithm's own, and another candidate that was not chosen."""
    steps = np.arange(0, 40_001, 200 if job.algorithm == "idca" else 250)
    floor = {"idca": 0.40, "ssg": 0.45}.get(job.algorithm, 0.3) + 0.001 * job.seed
    end = {"idca": 2e-3, "ssg": 1e-3}.get(job.algorithm, 0.0)
    good = pd.DataFrame({"candidate": "good", "iteration": np.arange(len(steps)), "inner_steps": steps})
    good["objective"] = floor + 0.29 * np.exp(-steps / 4_000)
    good["max_violation"] = end - 0.05 * np.exp(-steps / 1_000)
    other = good.assign(candidate="other", objective=0.0)
    return pd.concat([other, good], ignore_index=True).assign(true_violation=math.nan, cpu_seconds=0.0)


def write_run(root, job, interval, status="ok", reason=None):
    """Write the four files of a run; one that has failed has neither scores nor metrics."""
    folder = root / job.path
    folder.mkdir(parents=True, exist_ok=True)
    good = status == "ok"
    fit = {"status": status, "reason": reason, "chosen": "good" if good else None, "dataset": job.dataset}
    metrics = {"status": status, "reason": reason, "splits": {}, "bootstrap": {}}
    scores, group = normal_scores(job.dataset, shift(job))
    y = labels(scores, job)
    table = pd.DataFrame({"row": np.arange(len(scores)), "split": "test", "group": group, "y": y, "score": scores})
    # Training rows are in the file, too; they must not reach a figure.
    table = pd.concat([table.assign(split="train", score=99.0), table])
    if good:
        values, _ = evaluate_all(scores, y, group, interval, 0.0, METRICS)
        metrics["splits"] = {"test": values, "validation": values}
    (folder / "fit.json").write_text(json.dumps(fit))
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (table if good else table.iloc[:0]).to_parquet(folder / "scores.parquet")
    (history(job) if good else history(job).iloc[:0]).to_parquet(folder / "history.parquet")


def project(root: Path, content=None, failing=(), absent=()):
    """Write params.yaml, all runs and the tidy tables; return the configuration.

    Args:
        root: an empty folder.
        content: of params.yaml.
        failing: (experiment, dataset, algorithm, kappa, seed) of runs that ended without a model.
        absent: the same of runs that have not been made.
    """
    (root / "params.yaml").write_text(yaml.safe_dump(content or params(), sort_keys=False))
    config = load_config(root / "params.yaml")
    for job in config.jobs():
        key = (job.experiment, job.dataset, job.algorithm, job.kappa, job.seed)
        if key not in absent:
            interval = config.experiment(job.experiment).runs[job.dataset].interval
            ending = {"status": "infeasible", "reason": "no feasible point"} if key in failing else {}
            write_run(root, job, interval, **ending)
    for name in config.experiments:
        collect_experiment(config, name, root=root)
    return config
