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
from reproduction.verdicts.frontiers import TrainedMethod, metric_of


@dataclass(frozen=True)
class Hypervolumes:
    """Hypervolumes on one dataset under one constraint, by algorithm and seed.

    Attributes:
        reference: (fairness, accuracy) of the reference point.
        by_algorithm: values by algorithm and seed; an algorithm without models has none.
    """

    reference: tuple[float, float]
    by_algorithm: dict[str, dict[int, float]]


def panel(
    evidence: Evidence, experiment: str, dataset: str, names: Sequence[str], scale: str = "absolute"
) -> Hypervolumes | None:
    """Compute the hypervolumes of one panel; ``None`` without an unconstrained model to refer to.

    The reference point has the unconstrained model's fairness, its mean over the seeds, and the accuracy that the
    exhibit's ``reference_accuracy`` names for the dataset, else the lowest of all the models compared.
    """
    metric = metric_of(evidence, experiment, scale)
    start = frontiers.start_of(evidence, experiment, dataset, metric)
    points = {
        name: frontiers.frontier_points(evidence, TrainedMethod(experiment, name), dataset, metric) for name in names
    }
    accuracies = [accuracy.min() for points_by_seed in points.values() for _, accuracy in points_by_seed.values()]
    if not start or not accuracies:
        return None
    named = (evidence.option("reference_accuracy") or {}).get(dataset, min(accuracies))
    reference = float(np.mean([fairness for fairness, _ in start.values()])), float(named)
    volumes = {
        name: {seed: hypervolume(*curve, reference) for seed, curve in points_by_seed.items()}
        for name, points_by_seed in points.items()
    }
    return Hypervolumes(reference, volumes)


def rank_test_of(evidence: Evidence, experiments: Sequence[str], control: str, names: Sequence[str]) -> RankTest:
    """Rank algorithms by mean hypervolume on every dataset and constraint, and compare the control with the others."""
    rows = {}
    for experiment in experiments:
        for dataset in evidence.config.experiment(experiment).runs:
            hypervolumes = panel(evidence, experiment, dataset, names)
            volumes = hypervolumes.by_algorithm if hypervolumes is not None else {}
            rows[experiment, dataset] = [_mean(volumes.get(name, {})) for name in names]
    return rank_test(pd.DataFrame.from_dict(rows, orient="index", columns=list(names)), control)


def _mean(volumes: Mapping[int, float]) -> float:
    return float(np.mean(list(volumes.values()))) if volumes else math.nan
