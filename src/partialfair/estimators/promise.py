"""A promise about new rows: with a confidence, the population's violation of a returned model is at most kappa.

Two bounds serve it. Maps and thresholds per group change no order within a group, so the noise of ranks bounds all of
them alike (:mod:`partialfair.metrics.rank_noise`): the widest map whose bound is within kappa is taken. Other models
are fitted for one tolerance after another, from the strictest up, and tested on rows that none of them has seen
(:mod:`partialfair.metrics.held_out_bound`); the last that passes before the first failure is taken. The order is fixed
beforehand, hence every test has the whole confidence (fixed-sequence testing; Angelopoulos et al., Learn then Test,
2021).

"The population" is where the rows were drawn from, independently: not another year, place or way of drawing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from partialfair import plugins
from partialfair.algorithms.linear.rank_map import FittedMap, fit_rank_map
from partialfair.algorithms.measure import OK
from partialfair.data.intervals import GroupPairs, Interval, for_groups
from partialfair.estimators.inputs import InputError
from partialfair.estimators.settings import number
from partialfair.metrics.held_out_bound import decision_bound, rank_bound
from partialfair.metrics.rank_noise import RankNoise, decision_violations, largest_passing, upper_quantile
from partialfair.metrics.ranks import Counts, count_above

Vector = NDArray[np.float64]
Codes = NDArray[np.integer]
Model = TypeVar("Model")
PSP = "partial_statistical_parity"
STRATA: dict[str, tuple[int, ...]] = {
    "partial_demographic_parity": (),
    "partial_equal_opportunity": (1,),
    "partial_equalized_odds": (1, -1),
}
NOT_PROMISED = "not promised"
OTHER_ROWS, OUT_OF_FOLD = "ranks, other rows", "ranks, out of fold"
HELD_OUT, CROSS_FITTED = "held-out rows", "cross-fitted rows"
PATH = (0.01, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Tolerances that are tested one after another, by kappa."""
STRICTEST = 1e-9
"""Tolerance that asks for the narrowest map."""
BAND_DRAWS = 1000


@dataclass(frozen=True)
class Promise:
    """What is known of the population's violation of a model.

    Attributes:
        confidence: that was asked for.
        metric: name of the metric that is bounded.
        kappa: that was asked for.
        bound: of the population's violation, with the confidence.
        kept: whether the bound is at most kappa.
        kappa_used: tolerance of the model that is returned, on the rows that it was chosen on.
        measured: its violation on these rows.
        least_kappa: bound of the strictest model, the least kappa that these rows can promise.
        rows_needed: about how many rows, of the same shares of groups, could promise kappa; ``None`` if the promise is
            kept or more rows would not help.
        confidence_reached: with which the strictest model is within kappa.
        method: "ranks, other rows" (exact), "ranks, out of fold" (the model is fitted on all rows, ranks are of five
            fits on four fifths of them), "held-out rows" (proven) or "cross-fitted rows" (without a proof).
        groups: names of the groups; rows: those of each that the bound rests on.
        setting: of the estimator that kappa is the value of.
    """

    confidence: float
    metric: str
    kappa: float
    bound: float
    kept: bool
    kappa_used: float
    measured: float
    least_kappa: float
    rows_needed: int | None
    confidence_reached: float
    method: str
    groups: tuple[str, ...]
    rows: tuple[int, ...]
    setting: str = "kappa"

    def __str__(self) -> str:
        """Return the promise in a sentence, or why there is none."""
        rows = f"{sum(self.rows):,} rows"
        if self.kept:
            return (
                f"with confidence {self.confidence:g}, {self.metric} of these scores is at most {self.bound:.4g} in "
                f"the population ({self.setting} {self.kappa:g}; {self.measured:.4g} on {rows}: {self.method})"
            )
        sizes = _listed([f"{size:,}" for size in self.rows])
        limit = f"with {sizes} rows of the groups the least {self.setting} that can be promised"
        least = math.ceil(self.least_kappa * 1e3) / 1e3
        if self.least_kappa >= 1:
            smallest = int(np.argmin(self.rows))
            limit = (
                f"group {self.groups[smallest]!r} has {self.rows[smallest]:,} rows, with which no {self.setting} below "
                f"1 can be promised at confidence {self.confidence:g}"
            )
        else:
            limit += f" at confidence {self.confidence:g} is {least:.3g}"
        if self.rows_needed is None:
            more = f"{self.setting} {self.kappa:g} is out of reach of more rows, as many scores are equal"
        else:
            more = f"{self.setting} {self.kappa:g} needs about {_about(self.rows_needed):,} rows of these shares"
        reached = "at no confidence above 0.5"
        if self.confidence_reached > 0:
            reached = f"at confidence {self.confidence_reached:.2f}"
        return (
            f"{limit}; {more}, and these rows support it {reached}; the strictest "
            f"model is returned ({self.metric} {self.measured:.4g} on {rows}: {self.method})"
        )

    @property
    def status(self) -> str:
        """Return the word "ok", or why nothing is promised."""
        return OK if self.kept else f"{NOT_PROMISED}: {self}"


@dataclass(frozen=True, eq=False)
class Constraint:
    """What a promise is about.

    Attributes:
        family: name of the constraint family.
        unions: interval of each group.
        kappa: tolerance; kappa_scale: "relative" or "absolute".
        confidence: that is asked for.
        groups: names of the groups.
        named: what the metric is called, by default as the family has it, and the setting of the tolerance.
    """

    family: str
    unions: GroupPairs
    kappa: float
    kappa_scale: str
    confidence: float
    groups: tuple[str, ...]
    named: tuple[str, str] = ("", "kappa")

    @classmethod
    def of(
        cls, family: str, interval: Any, kappa: float, kappa_scale: str, confidence: float, groups: Sequence[Any]
    ) -> "Constraint":
        """With an interval in any form.

        Raises:
            InputError: nothing can be promised about this family.
        """
        if family != PSP and family not in STRATA:
            raise InputError(
                f"confidence is {confidence:g}, and constraint {family!r} has no bound for new rows; use "
                f"{', '.join((PSP, *STRATA))}, or confidence=None"
            )
        names = tuple(map(str, groups))
        return cls(family, for_groups(interval, len(names)), kappa, kappa_scale, confidence, names)

    @property
    def metric(self) -> str:
        """Return the name of the metric that kappa bounds."""
        return self.named[0] or str(plugins.load("constraints", self.family).VIOLATION[self.kappa_scale])

    def counts(self, scores: Vector, codes: Codes) -> Counts:
        """Return the rows of each group above every score."""
        return count_above(scores, codes, len(self.groups))

    def decisions(self, scores: Vector, y: Vector, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows (S, G) with a score above 0 by stratum of labels and group, and all rows (S, G).

        Raises:
            InputError: a group has no rows of a label that is compared.
        """
        strata = STRATA[self.family] or (None,)
        tables = []
        for label in strata:
            rows = np.ones(len(codes), np.bool_) if label is None else np.asarray(y) == label
            sizes = np.bincount(codes[rows], minlength=len(self.groups))
            if not sizes.all():
                raise InputError(
                    f"group {self.groups[int(np.argmin(sizes))]!r} has no rows of a label that {self.family} compares; "
                    "merge the group with another, or add rows of it"
                )
            hits = np.bincount(codes[rows], weights=scores[rows] > 0, minlength=len(self.groups))
            tables.append((hits, sizes))
        positive, sizes = (np.array(table, np.int64) for table in zip(*tables, strict=True))
        return positive, sizes

    def unseen_bound(self, scores: Vector, y: Vector, codes: Codes, confidence: float | None = None) -> float:
        """Return the bound from rows that a fixed model has not seen; at most 1."""
        level = self.confidence if confidence is None else confidence
        if self.family == PSP:
            return min(1.0, rank_bound(self.counts(scores, codes), self.unions, self.kappa_scale, level))
        positive, sizes = self.decisions(scores, y, codes)
        return min(1.0, decision_bound(positive, sizes, self.unions, self.kappa_scale, level))

    def measured(self, scores: Vector, y: Vector, codes: Codes) -> float:
        """Return the metric on rows; NaN where it cannot be estimated."""
        from partialfair.metrics import evaluate_all

        interval = Interval(self.unions, True)
        metric = plugins.load("constraints", self.family).VIOLATION[self.kappa_scale]
        value = evaluate_all(scores, y, codes, interval, only=(metric,))[0][metric]
        return math.nan if value is None else float(value)


@dataclass(frozen=True, eq=False)
class PromisedModel(Generic[Model]):
    """The model to return and the promise about it."""

    model: Model
    promise: Promise

    @property
    def pair(self) -> tuple[Model, Promise]:
        """Both."""
        return self.model, self.promise


def check_confidence(confidence: Any, promise_fraction: Any = 0.5) -> None:
    """Refuse settings of a promise that cannot be used.

    Raises:
        InputError: naming the setting, its value and what is accepted.
    """
    if confidence is not None:
        number("confidence", confidence, lambda level: 0.5 <= level < 1, "a number from 0.5 to below 1, or None")
    number("promise_fraction", promise_fraction, lambda share: 0 <= share < 1, "a number from 0 to below 1")


def refuse_weights(weights: Any) -> None:
    """Refuse weights beside a promise, whose bounds count every row once.

    Raises:
        InputError: there are weights.
    """
    if weights is not None:
        raise InputError(
            "confidence bounds what rows drawn from the population say, each counted once; sample_weight makes rows "
            "stand for others; leave out one of the two"
        )


def promised_map(scores: Vector, codes: Codes, constraint: Constraint, method: str) -> PromisedModel[FittedMap]:
    """Return the widest maps of ranks of which kappa can be promised; the narrowest where it cannot.

    Args:
        scores: (n,) of rows that the score has not seen, or out of fold.
        codes: (n,) groups.
        constraint: what is asked.
        method: how the scores came about, for the promise.
    """
    sizes = np.bincount(codes, minlength=len(constraint.groups))
    interval = Interval((constraint.unions[0],))
    noise = RankNoise.draw(sizes, constraint.unions, constraint.kappa_scale)

    def maps(kappa: float) -> FittedMap:
        options = {"interval": interval, "kappa": max(kappa, STRICTEST), "kappa_scale": constraint.kappa_scale}
        return fit_rank_map(scores, codes, constraint.groups, **options)  # type: ignore[arg-type]

    def violations(fitted: FittedMap) -> Vector:
        return np.asarray(noise.violations(constraint.counts(fitted.scores, codes)), np.float64)

    promised = widest(maps, violations, constraint, method, sizes, lambda fitted: fitted.gap)
    share, code = promised.model.tied
    return promised if share * sizes[code] <= 1.5 else _with_ties(promised, maps(0.0).gap)


def widest(
    fit: Callable[[float], Model],
    violations: Callable[[Model], Vector],
    constraint: Constraint,
    method: str,
    sizes: NDArray[np.integer],
    gap_of: Callable[[Model], float],
) -> PromisedModel[Model]:
    """Return the model of the largest tolerance whose bound, a quantile of draws of its violation, is within kappa.

    Args:
        fit: the model for a tolerance; 0 asks for the strictest.
        violations: draws (B,) of the violation of a model in the population.
        constraint: what is asked.
        method: for the promise; sizes: (G,) rows that the bound rests on.
        gap_of: violation of a model on these rows.
    """
    tried: dict[float, tuple[Model, Vector]] = {}

    def bound(kappa: float) -> float:
        model = fit(kappa)
        tried[kappa] = model, violations(model)
        return upper_quantile(tried[kappa][1], constraint.confidence)

    least = bound(0.0)
    used = largest_passing(bound, constraint.kappa, least) or 0.0
    model, draws = tried[used]
    reached = float(np.mean(tried[0.0][1] <= constraint.kappa))
    final = upper_quantile(draws, constraint.confidence)
    return PromisedModel(model, promise_of(constraint, final, used, gap_of(model), least, reached, method, sizes))


def tested(
    fit: Callable[[float], Model],
    scores_of: Callable[[Model], Vector],
    rows: tuple[Vector, Codes],
    constraint: Constraint,
    method: str,
    path: Sequence[float] = PATH,
) -> PromisedModel[Model]:
    """Return the last model of a path of tolerances whose bound on rows that it has not seen is within kappa.

    Args:
        fit: the model for a tolerance.
        scores_of: its scores (m,) of the rows that test it.
        rows: labels -1 and +1 (m,) and groups (m,) of these.
        constraint: what is asked.
        method: for the promise.
        path: tolerances by kappa, ascending. The first that fails ends the sequence.
    """
    y, codes = rows
    sizes = np.bincount(codes, minlength=len(constraint.groups))
    strictest: Vector | None = None
    passed: tuple[Model, float, float, float] | None = None
    for share in path:
        model = fit(share * constraint.kappa)
        scores = scores_of(model)
        bound = constraint.unseen_bound(scores, y, codes)
        result = model, bound, share * constraint.kappa, constraint.measured(scores, y, codes)
        if strictest is None:
            strictest, least, passed = scores, bound, result
        if bound > constraint.kappa:
            break
        passed = result
    assert passed is not None and strictest is not None
    model, bound, used, gap = passed
    levels = np.append(np.linspace(0.5, 0.99, 50), 0.999)
    within = [level for level in levels if constraint.unseen_bound(strictest, y, codes, level) <= constraint.kappa]
    reached = float(max(within, default=0.0))
    return PromisedModel(model, promise_of(constraint, bound, used, gap, least, reached, method, sizes))


def promise_of(
    constraint: Constraint,
    bound: float,
    used: float,
    gap: float,
    least: float,
    reached: float,
    method: str,
    sizes: NDArray[np.integer],
) -> Promise:
    """A promise with what follows from its numbers: bounds shrink with one over the root of the number of rows."""
    is_kept = bound <= constraint.kappa
    needed = None if is_kept else math.ceil(int(sizes.sum()) * (least / constraint.kappa) ** 2)
    return Promise(
        constraint.confidence, constraint.metric, constraint.kappa, bound, is_kept, used, gap, least, needed, reached,
        method, constraint.groups, tuple(map(int, sizes)), constraint.named[1],
    )  # fmt: skip


def map_band(mapped: Vector, codes: Codes, unions: GroupPairs, kappa_scale: str, gap: float) -> float:
    """By how much the violation of maps may be larger in the population at 95%, for maps chosen on the same rows.

    Args:
        mapped: (n,) mapped scores; codes: (n,) groups.
        unions, kappa_scale: of the constraint.
        gap: violation on these rows.
    """
    counts = count_above(mapped, codes, len(unions))
    noise = RankNoise.draw(np.asarray(counts.sizes, np.int64), unions, kappa_scale, BAND_DRAWS)
    return max(0.0, noise.bound(counts, 0.95) - gap)


def band_of(constraint: Constraint, scores: Vector, y: Vector, codes: Codes, gap: float, chosen: bool) -> float | None:
    """By how much the violation may be larger in the population, at 95%; ``None`` where no bound is known.

    Args:
        constraint: what is constrained.
        scores, y, codes: of the rows.
        gap: violation on these rows.
        chosen: whether maps or thresholds per group were chosen on these rows; else the score is taken as fixed before.
    """
    if math.isnan(gap):
        return None
    if chosen and constraint.family == PSP:
        return map_band(scores, codes, constraint.unions, constraint.kappa_scale, gap)
    if chosen:
        tables = constraint.decisions(scores, y, codes)
        draws = decision_violations(*tables, constraint.unions, constraint.kappa_scale, BAND_DRAWS)
        return max(0.0, upper_quantile(draws, 0.95) - gap)
    return max(0.0, constraint.unseen_bound(scores, y, codes, 0.95) - gap)


def _with_ties(promised: PromisedModel[Any], gap: float) -> PromisedModel[Any]:
    """Return a promise of maps that equal scores keep from parity: more rows shrink only what exceeds their gap."""
    promise = promised.promise
    if promise.kept:
        return promised
    room, total = promise.kappa - gap, sum(promise.rows)
    needed = None if room <= 0 else math.ceil(total * ((promise.least_kappa - gap) / room) ** 2)
    return PromisedModel(promised.model, replace(promise, rows_needed=needed))


def _about(rows: int) -> int:
    """Return a number of rows in two digits, rounded up."""
    unit = 10 ** max(len(str(rows)) - 2, 0)
    return math.ceil(rows / unit) * unit


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + f" and {texts[-1]}"
