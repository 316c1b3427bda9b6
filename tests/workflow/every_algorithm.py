"""A grid in which every algorithm trains one run on drawn rows, in seconds."""

import dataclasses
from typing import Any

from partialfair import plugins
from reproduction.datasets import simulated
from tests.algorithms.test_algorithm_contract import QUICK, family_for


def params() -> dict[str, Any]:
    """The grid: one experiment per family of constraints, of classes on ``simulated``, of values on ``four_groups``."""
    rows = simulated.load(rows=300)
    values = dataclasses.replace(rows, task="regression")
    experiments: dict[str, Any] = {}
    for name in plugins.names("algorithms"):
        algorithm = plugins.load("algorithms", name).ALGORITHM
        dataset = "simulated" if family_for(algorithm, rows) else "four_groups"
        family = family_for(algorithm, rows if dataset == "simulated" else values)
        experiment = experiments.setdefault(
            f"every_{family}",
            {"title": "Every algorithm", "paper": "partial_fairness", "constraint": family, "kappa_scale": "absolute"},
        )
        run = experiment.setdefault("runs", {}).setdefault(dataset, {"interval": [[0.1, 0.4]], "algorithms": {}})
        run["algorithms"][name] = [0.1 if algorithm.constrained else "inf"]
    settings = {name: QUICK.get(name, {}) for name in plugins.names("algorithms")}
    settings["regression_reduction"] = {"ranges": {"four_groups": [-1.0, 1.0]}}  # those of the paper's tables are known
    return {
        "seeds": [0],
        "bootstrap": {"replicates": 20, "level": 0.9},
        "datasets": {"simulated": {"rows": 600}, "four_groups": {"rows": 600}},
        "algorithms": settings,
        "experiments": experiments,
    }
