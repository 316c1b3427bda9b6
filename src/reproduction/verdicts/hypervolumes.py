"""Hypervolumes of the models of an algorithm, and the ranks of algorithms by them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.statistics.hypervolume import hypervolume
from reproduction.statistics.ranks import RankTest, rank_test
from reproduction.verdicts import frontiers
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.frontiers import Side, metric_of


@dataclass(frozen=True)
class Panel:
    """Hypervolumes on one dataset under one constraint, by algorithm and seed.

    Attributes:
        reference: (fairness, accuracy) of the reference point.
        found: values by algorithm and seed; an algorithm without models has none.
    """

    reference: tuple[float, float]
    found: dict[str, dict[int, float]]


def panel(
    evidence: Evidence, experiment: str, dataset: str, names: Sequence[str], scale: str = "absolute"
) -> Panel | None:
    """Compute the hypervolumes of one panel; ``None`` without an unconstrained model to refer to.

    The reference point has the unconstrained model's fairness, its mean over the seeds, and the accuracy that the
    exhibit's ``reference_accuracy`` names for the dataset, else the lowest of all the models compared.
    """
    metric = metric_of(evidence, experiment, scale)
    start = frontiers.start_of(evidence, experiment, dataset, metric)
    points = {name: frontiers.frontier_points(evidence, Side(experiment, name), dataset, metric) for name in names}
    accuracies = [right.min() for found in points.values() for _, right in found.values()]
    if not start or not accuracies:
        return None
    named = (evidence.option("reference_accuracy") or {}).get(dataset, min(accuracies))
    reference = float(np.mean([fairness for fairness, _ in start.values()])), float(named)
    volumes = {
        name: {seed: hypervolume(*own, reference) for seed, own in found.items()} for name, found in points.items()
    }
    return Panel(reference, volumes)


def rank_test_of(evidence: Evidence, experiments: Sequence[str], control: str, names: Sequence[str]) -> RankTest:
    """Rank algorithms by mean hypervolume on every dataset and constraint, and compare the control with the others."""
    rows = {}
    for experiment in experiments:
        for dataset in evidence.config.experiment(experiment).runs:
            found = panel(evidence, experiment, dataset, names)
            volumes = found.found if found is not None else {}
            rows[experiment, dataset] = [_mean(volumes.get(name, {})) for name in names]
    return rank_test(pd.DataFrame.from_dict(rows, orient="index", columns=list(names)), control)


def _mean(volumes: Mapping[int, float]) -> float:
    return float(np.mean(list(volumes.values()))) if volumes else math.nan
