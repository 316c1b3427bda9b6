"""One comparison of a claim: its cell of the grid, its measured effects, and the names of its sides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics.effect import Effect, mean_effect
from reproduction.statistics.frontier import COVERED
from reproduction.verdicts.claim import LARGER, Claim, ComparisonSide
from reproduction.verdicts.evidence import Evidence
from reproduction.verdicts.exhibit_tables import Values
from reproduction.verdicts.results import Setting


class GridCell(NamedTuple):
    """Where a claim is decided: a dataset of an experiment, or of an exhibit's table (then without experiment)."""

    experiment: str
    dataset: str


@dataclass(frozen=True)
class MeasuredEffects:
    """The measured effects of one comparison over its seeds, positive where they speak for the claim's method.

    Attributes:
        effects: the claim holds where all are positive: one effect, or one per level of fairness or pair of methods.
        average: the effect that the line prints: of several that all have to be positive, the weakest.
        against: name of the other side.
        metric: name of the compared numbers.
        note: the measured means, and where they were compared.
        reason: why there is no comparison; empty if there is one.
        dominance: 1 where every model of the other side is beaten in both respects, -1 where the method's are, else 0.
        beaten_by: where the other side is dominated, a null model that dominates it as well; else empty.
        values: (seeds, levels) advantages that the effects are the means of, where there are several levels.
        scores: (seeds, settings) numbers whose trend is tested, in place of effects.
        incomplete: whether effects are missing for which the claim would have to hold as well.
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
    """Return the effect on which a claim about all effects rests: an untested one, else that of the smallest t."""
    return min(effects, key=lambda e: (e.tested, sign * (e.statistic() if e.tested else e.mean)))


def sign_of(claim: Claim) -> int:
    """Return 1 if larger values of the claim's metric are better, and -1 if smaller ones are."""
    if claim.better is not None:
        return 1 if claim.better == "larger" else -1
    return 1 if claim.metric in LARGER else -1


def metric_values(evidence: Evidence[Any], claim: Claim, setting: Setting) -> Values:
    """Return the compared number of a setting's runs by seed; seeds without a value are left out."""
    if claim.metric in evidence.results.runs.columns:
        runs = evidence.results.runs_of(setting)
        numbers = dict(zip(runs["seed"].astype(int), runs[claim.metric].astype(float), strict=True))
    else:
        numbers = evidence.values(setting, claim.metric, claim.rows)
    return {seed: value for seed, value in numbers.items() if not math.isnan(value)}


def expected_seeds(evidence: Evidence[Any], claim: Claim, cell: GridCell, sides: Sequence[ComparisonSide]) -> set[int]:
    """Return the seeds that the grid has of all sides of a comparison, which after a first look may differ by side."""
    names = {(cell.experiment, claim.method)}
    names |= {(side.experiment or cell.experiment, side.method or claim.method) for side in sides}
    return set.intersection(*(set(evidence.config.seeds(name, cell.dataset, method)) for name, method in names))


def note_missing_seeds(
    evidence: Evidence[Any],
    claim: Claim,
    cell: GridCell,
    sides: Sequence[ComparisonSide],
    measured: MeasuredEffects,
    n: int,
) -> MeasuredEffects:
    """Return a comparison whose note says how many seeds lack a value; below the share ``COVERED`` it cannot hold.

    Args:
        evidence, claim, cell: what is compared, and where.
        sides: the other sides.
        measured: the comparison.
        n: seeds that have values of all sides.
    """
    if claim.table is not None or claim.pairing != "seed" or not cell.experiment:
        return measured
    expected = len(expected_seeds(evidence, claim, cell, sides))
    if n >= expected:
        return measured
    note = "; ".join(filter(None, [measured.note, f"{expected - n} of {expected} seeds lack a value"]))
    return replace(measured, note=note, incomplete=measured.incomplete or n < COVERED * expected)


def label_of(evidence: Evidence[Any], claim: Claim, cell: GridCell, side: ComparisonSide) -> str:
    """Return the name of the other side, as a line of the scorecard prints it."""
    method = side.method or claim.method
    phrases = [evidence.label(method) if claim.table is None else method]
    phrases += [f"in {side.experiment}"] if side.experiment not in (None, cell.experiment) else []
    phrases += [f"at kappa {side.kappa:g}"] if side.kappa is not None else []
    return " ".join(phrases)


def name_of(claim: Claim) -> str:
    """Return the name of the compared numbers: the claim's metric, or the column of its table."""
    return claim.metric or (claim.table.value if claim.table is not None else "")
