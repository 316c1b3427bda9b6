"""What models that know nothing of a published number would have got in its place."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partialfair.metrics import get
from reproduction.grid import paths
from reproduction.verdicts import frontiers
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.lookups import is_here
from reproduction.verdicts.results import Setting, is_estimated


def of_setting(evidence: Evidence[Any], setting: Setting, metric: str) -> dict[str, float]:
    """Null models of a run's number: a constant score, and what the nearest other tolerances gave.

    Those are the unconstrained model and the next tolerances of the same method; of the unconstrained model, the
    tightest tolerance of every method: a loose one may not bind, and is then the same model.

    Args:
        evidence: of the exhibit.
        setting: the run that stands for the published number.
        metric: what is published of it; of a violation, 1 - violation.
    """
    found = {"constant": _constant(evidence.root, setting.dataset, metric)}
    for name, other in neighbours(evidence, setting).items():
        estimate = evidence.results.estimate(other, metric)
        if is_estimated(estimate):
            found[name] = estimate.mean
    return {name: value for name, value in found.items() if not math.isnan(value)}


def neighbours(evidence: Evidence[Any], setting: Setting, start: str = frontiers.START) -> dict[str, Setting]:
    """The runs that a wrong answer could have been taken from, by name; see :func:`of_setting`.

    Args:
        evidence, setting: as there.
        start: the method without the constraint.
    """
    beside = [one for one in evidence.results.settings(setting.experiment) if one.dataset == setting.dataset]
    if math.isinf(setting.kappa):
        finite = [one for one in beside if not math.isinf(one.kappa)]
        tightest = {one.algorithm: one for one in sorted(finite, key=lambda one: -one.kappa)}
        return {f"{evidence.label(name)} at {one.kappa:.3g}": one for name, one in tightest.items()}
    own = {one.kappa for one in beside if one.algorithm == setting.algorithm and not math.isinf(one.kappa)}
    kappas = sorted(own - {setting.kappa})
    near = [k for k in kappas if k < setting.kappa][-1:] + [k for k in kappas if k > setting.kappa][:1]
    found = {f"tolerance {kappa:.3g}": setting._replace(kappa=kappa) for kappa in near}
    free = [one for one in beside if one.algorithm == start]
    return found | ({"unconstrained": free[0]} if free else {})


def _constant(root: Path, dataset: str, metric: str) -> float:
    """A constant score: as accurate as the larger class is large, and fair; NaN where that cannot be said."""
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
