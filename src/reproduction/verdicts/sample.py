"""One comparison of a claim: where it looks, what it found, and what both sides are called."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics.effect import Effect, mean_effect
from reproduction.statistics.frontier import COVERED
from reproduction.verdicts.claim import LARGER, Claim, Side
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.exhibit_tables import Values
from reproduction.verdicts.results import Setting


class Place(NamedTuple):
    """Where a claim looks: an experiment's dataset, or a dataset of an exhibit's table."""

    experiment: str
    dataset: str


@dataclass(frozen=True)
class Sample:
    """One comparison.

    Attributes:
        effects: the claim holds where all are positive: one, or one per level of fairness or pair of methods.
        average: what is shown of them: of several that all have to be positive, the weakest.
        against: what the method is compared with, in words.
        metric: what the numbers are.
        note: the measured means, and where they were compared.
        reason: why there is no comparison; empty if there is one.
        dominance: 1 where every model of the other side is beaten in both respects, -1 where the method's are, else 0.
        beaten_by: of the other side's models where they are dominated, what else beats every one of them.
        values: (seeds, levels) advantages that the effects are the means of, where there are several levels.
        scores: (seeds, settings) numbers whose trend is tested, in place of effects.
        incomplete: effects are missing for which the claim would have to hold, too.
        power: of a curve, the power of x with which its last decade falls; NaN where there is no curve.
    """

    effects: tuple[Effect, ...] = ()
    average: Effect = field(default_factory=lambda: mean_effect([]))
    against: str = ""
    metric: str = ""
    note: str = ""
    reason: str = ""
    dominance: int = 0
    beaten_by: str = ""
    values: NDArray[np.float64] | None = None
    scores: NDArray[np.float64] | None = None
    incomplete: bool = False
    power: float = math.nan


def weakest(effects: Sequence[Effect], sign: int = 1) -> Effect:
    """The effect that a claim about all of them rests on: one that cannot be tested, else the smallest statistic."""
    return min(effects, key=lambda e: (e.tested, sign * (e.statistic() if e.tested else e.mean)))


def sign_of(claim: Claim) -> int:
    """1 if larger is better, -1 if smaller is."""
    if claim.better is not None:
        return 1 if claim.better == "larger" else -1
    return 1 if claim.metric in LARGER else -1


def metric_values(evidence: Evidence[Any], claim: Claim, setting: Setting) -> Values:
    """The compared number of a setting's runs by seed."""
    if claim.metric in evidence.results.runs.columns:
        own = evidence.results.runs_of(setting)
        found = dict(zip(own["seed"].astype(int), own[claim.metric].astype(float), strict=True))
    else:
        found = evidence.values(setting, claim.metric, claim.rows)
    return {seed: v for seed, v in found.items() if not math.isnan(v)}


def lacking(
    evidence: Evidence[Any], claim: Claim, place: Place, sides: Sequence[Side], found: Sample, n: int
) -> Sample:
    """A comparison, and in its note how many seeds lack a value; with fewer than ``COVERED`` of them it cannot hold.

    Args:
        evidence, claim, place: what is compared, and where.
        sides: the other sides.
        found: the comparison.
        n: seeds that have values of all sides.
    """
    if claim.table is not None or claim.pairing != "seed" or not place.experiment:
        return found
    names = {place.experiment, *(side.experiment or place.experiment for side in sides)}
    wanted = len(set.intersection(*(set(evidence.config.seeds(name)) for name in names)))
    if n >= wanted:
        return found
    note = "; ".join(filter(None, [found.note, f"{wanted - n} of {wanted} seeds lack a value"]))
    return replace(found, note=note, incomplete=found.incomplete or n < COVERED * wanted)


def label_of(evidence: Evidence[Any], claim: Claim, place: Place, side: Side) -> str:
    """The other side in words."""
    method = side.method or claim.method
    parts = [evidence.label(method) if claim.table is None else method]
    parts += [f"in {side.experiment}"] if side.experiment not in (None, place.experiment) else []
    parts += [f"at kappa {side.kappa:g}"] if side.kappa is not None else []
    return " ".join(parts)


def name_of(claim: Claim) -> str:
    """What the compared numbers are."""
    return claim.metric or (claim.table.value if claim.table is not None else "")
