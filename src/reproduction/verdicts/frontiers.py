"""Models of an experiment as points of fairness and accuracy, seed by seed, ready for the tests over seeds."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from reproduction.statistics.frontier import Points
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.results import Results, Setting, convention

SCALES = ("absolute", "relative")
"""Conventions of a violation: that of the published numbers, which decides, and the definition's, shown beside it."""
START = "unconstrained"


class Side(NamedTuple):
    """One of two things compared on a dataset."""

    experiment: str
    algorithm: str


def metric_of(evidence: Evidence, experiment: str, scale: str = "absolute") -> str:
    """Metric that measures an experiment's constraint by a convention."""
    shown = convention(evidence.config.experiment(experiment).constraint)
    return str(getattr(shown, scale))


def settings_of(results: Results, side: Side, dataset: str) -> list[Setting]:
    """All settings of an algorithm in an experiment on a dataset, in the order of the grid."""
    return [
        setting
        for setting in results.settings(side.experiment)
        if (setting.dataset, setting.algorithm) == (dataset, side.algorithm)
    ]


def trained(evidence: Evidence, side: Side, dataset: str) -> list[Setting]:
    """All settings of an algorithm in an experiment, and of ours between them."""
    names = evidence.config.with_between([side.experiment])
    return [one for name in names for one in settings_of(evidence.results, Side(name, side.algorithm), dataset)]


def models(
    evidence: Evidence, side: Side, dataset: str, metric: str, between: bool = False
) -> dict[int, list[tuple[float, float]]]:
    """(1 - violation, accuracy) of an algorithm's models by seed, models without a value left out.

    Args:
        evidence, side, dataset: which models.
        metric: the violation.
        between: take those of ours that lie between the experiment's tolerances, too.
    """
    settings = trained(evidence, side, dataset) if between else settings_of(evidence.results, side, dataset)
    found: dict[int, list[tuple[float, float]]] = {}
    for setting in settings:
        accuracy = evidence.results.values(setting, "accuracy")
        for seed, violation in evidence.results.values(setting, metric).items():
            if not math.isnan(violation) and not math.isnan(accuracy.get(seed, math.nan)):
                found.setdefault(seed, []).append((1 - violation, accuracy[seed]))
    return found


def start_of(evidence: Evidence, experiment: str, dataset: str, metric: str) -> dict[int, tuple[float, float]]:
    """The unconstrained model by seed, where every trade-off line starts.

    An experiment that trains none takes that of another experiment which measures on the same interval: the model is
    the same.
    """
    for name in (experiment, *evidence.config.experiments):
        if _measured_on(evidence, name, dataset) == _measured_on(evidence, experiment, dataset):
            found = models(evidence, Side(name, START), dataset, metric)
            if found:
                return {seed: points[0] for seed, points in found.items()}
    return {}


def _measured_on(evidence: Evidence, experiment: str, dataset: str) -> Any:
    """Interval on which the metrics of an experiment are computed; ``None`` if it does not use the dataset."""
    run = evidence.config.experiment(experiment).runs.get(dataset)
    return None if run is None else run.metric_interval or run.interval


def frontier_points(evidence: Evidence, side: Side, dataset: str, metric: str) -> dict[int, Points]:
    """Points of a frontier by seed: the algorithm's models and the unconstrained one."""
    start = start_of(evidence, side.experiment, dataset, metric)
    found = {}
    for seed, own in models(evidence, side, dataset, metric).items():
        points = np.array([*own, *([start[seed]] if seed in start else [])], np.float64)
        found[seed] = (points[:, 0], points[:, 1])
    return found


def missing(evidence: Evidence, side: Side, dataset: str) -> str:
    """Why an algorithm has no models in an experiment."""
    settings = settings_of(evidence.results, side, dataset)
    if not settings:
        return f"no runs of {side.algorithm} on {dataset} in {side.experiment}"
    reasons = dict.fromkeys(evidence.results.reason(setting) for setting in settings)
    return f"{side.algorithm} in {side.experiment}: " + "; ".join(reason for reason in reasons if reason)


def panels(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """(experiment, dataset) pairs of an exhibit, in the order of the grid."""
    for experiment in evidence.experiments:
        for dataset in evidence.config.experiment(experiment).runs:
            yield experiment, dataset


def algorithms_of(evidence: Evidence) -> list[str]:
    """Algorithms of the exhibit's experiments except the unconstrained model, in the order of the grid."""
    names = dict.fromkeys(
        name
        for experiment, dataset in panels(evidence)
        for name in evidence.config.experiment(experiment).runs[dataset].algorithms
    )
    return [name for name in names if name != START]
