"""Null models of a published number: what a constant score and neighbouring runs would have got in its place."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics import get
from reproduction.grid import paths
from reproduction.verdicts import frontiers
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.missing_files import is_here
from reproduction.verdicts.results import Setting, is_estimated


def null_values(evidence: Evidence[Any], setting: Setting, metric: str) -> dict[str, float]:
    """Return the numbers of the null models of a run: a constant score, and the runs of :func:`neighbours`.

    Args:
        evidence: of the exhibit.
        setting: the run that stands for the published number.
        metric: what is published of it; of a violation, 1 - violation.
    """
    values = {"constant": _constant(evidence.root, setting.dataset, metric)}
    for name, neighbour in neighbours(evidence, setting).items():
        estimate = evidence.results.estimate(neighbour, metric)
        if is_estimated(estimate):
            values[name] = estimate.mean
    return {name: value for name, value in values.items() if not math.isnan(value)}


def neighbours(evidence: Evidence[Any], setting: Setting, start: str = frontiers.START) -> dict[str, Setting]:
    """Return by name the runs from which a wrong answer could have been taken.

    Those of a constrained run are the next tolerances of its method and the unconstrained model. Those of the
    unconstrained model are the tightest tolerance of every method: under a loose one the model may be the same.

    Args:
        evidence: of the exhibit.
        setting: the run that stands for the published number.
        start: the method without the constraint.
    """
    beside = [
        candidate for candidate in evidence.results.settings(setting.experiment) if candidate.dataset == setting.dataset
    ]
    if math.isinf(setting.kappa):
        finite = [candidate for candidate in beside if not math.isinf(candidate.kappa)]
        tightest = {
            candidate.algorithm: candidate for candidate in sorted(finite, key=lambda candidate: -candidate.kappa)
        }
        return {f"{evidence.label(name)} at {candidate.kappa:.3g}": candidate for name, candidate in tightest.items()}
    finite_kappas = {
        candidate.kappa
        for candidate in beside
        if candidate.algorithm == setting.algorithm and not math.isinf(candidate.kappa)
    }
    kappas = sorted(finite_kappas - {setting.kappa})
    near = [k for k in kappas if k < setting.kappa][-1:] + [k for k in kappas if k > setting.kappa][:1]
    settings = {f"tolerance {kappa:.3g}": setting._replace(kappa=kappa) for kappa in near}
    free = [candidate for candidate in beside if candidate.algorithm == start]
    return settings | ({"unconstrained": free[0]} if free else {})


def _constant(root: Path, dataset: str, metric: str) -> float:
    """Return the metric of a constant score: the share of the larger class, AUC 1/2, no violation; else NaN."""
    if metric == "accuracy":
        path = root / paths.table(dataset)
        return _larger_class(path, path.stat().st_mtime_ns) if is_here(path) else math.nan
    if metric == "auc":
        return 0.5
    return 1.0 if get(metric).direction == "violation" else math.nan


@cache
def _larger_class(path: Path, changed: int) -> float:  # ``changed`` makes a rewritten file a new entry
    with np.load(path, allow_pickle=False) as stored:
        share = float((stored["y"] > 0).mean())
    return max(share, 1 - share)
