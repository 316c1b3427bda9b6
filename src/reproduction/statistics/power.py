"""What a comparison could have seen, and how many seeds would decide it: for effects that have to hold together.

The approximation is that of :meth:`reproduction.statistics.effect.Effect.detectable`: the statistic of an effect
is Student's t, shifted by the effect in standard errors. Several effects have a joint t distribution with the
correlations of the sample, from which draws are taken that are the same in every run.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics.effect import POWER, Effect, fewest, quantile

DRAWS = 20_000


def detectable_together(effects: Sequence[Effect], values: NDArray[np.float64] | None, alpha: float) -> float:
    """Smallest effect that, where it is the true one of all, is found in all with probability ``POWER``.

    Args:
        effects: means with their errors, each of which is tested one-sidedly at ``alpha``.
        values: (seeds, effects) sample they are the means of, for its correlations; ``None``: they are independent.
        alpha: size of each test.

    Returns:
        NaN if an effect cannot be tested.
    """
    if not all(effect.tested for effect in effects):
        return math.nan
    if len(effects) == 1:
        return effects[0].detectable(alpha)
    freedom = min(effect.freedom for effect in effects)
    errors = [effect.error for effect in effects]
    needed = (quantile(1 - alpha, freedom) - _draws(values, len(effects), freedom)) * errors
    return float(np.quantile(needed.max(axis=1), POWER))


def seeds_together(effects: Sequence[Effect], values: NDArray[np.float64] | None, alpha: float) -> int | None:
    """Fewest seeds at which all effects are found with probability ``POWER``, if the true ones are those measured.

    ``None`` where one is not above 0 or cannot be tested, or for more than ``MOST_SEEDS``; see
    :func:`detectable_together` for the arguments.
    """
    if not all(effect.tested and effect.mean > 0 for effect in effects):
        return None
    if len(effects) == 1:
        return effects[0].seeds_for(effects[0].mean, alpha)
    deviations = [max(effect.error * math.sqrt(effect.n), np.finfo(float).tiny) for effect in effects]
    ratio = np.array([effect.mean for effect in effects]) / deviations

    def is_enough(n: int) -> bool:
        # n seeds: Student's t with correlations of the sample, shifted by the effects in standard errors, sqrt(n) mean
        # / s
        statistics = _draws(values, len(effects), n - 1.0) + math.sqrt(n) * ratio
        return bool((statistics > quantile(1 - alpha, n - 1.0)).all(axis=1).mean() >= POWER)

    return fewest(is_enough)


def seeds_inside(effect: Effect, margin: float, alpha: float) -> int | None:
    """Fewest seeds at which two one-sided tests put an effect inside a margin, if the true one is that measured.

    ``None`` where it is not inside or cannot be tested, or for more than ``MOST_SEEDS``.
    """
    if not effect.tested or not abs(effect.mean) < margin:
        return None
    deviation = max(effect.error * math.sqrt(effect.n), np.finfo(float).tiny)

    def is_enough(n: int) -> bool:
        from scipy.special import stdtr

        # both one-sided tests pass if the mean stays t standard errors inside either end of the margin
        room = np.array([margin - effect.mean, margin + effect.mean]) * math.sqrt(n) / deviation
        return bool(stdtr(n - 1.0, room - quantile(1 - alpha, n - 1.0)).sum() - 1 >= POWER)

    return fewest(is_enough)


def detectable_inside(effect: Effect, alpha: float) -> float:
    """Smallest margin inside which two one-sided tests put an effect of 0 with probability ``POWER``."""
    if not effect.tested:
        return math.nan
    return (quantile(1 - alpha, effect.freedom) + quantile(1 - (1 - POWER) / 2, effect.freedom)) * effect.error


def _draws(values: NDArray[np.float64] | None, count: int, freedom: float) -> NDArray[np.float64]:
    """Draws (``DRAWS``, count) of Student's t with the correlations of a sample."""
    random = np.random.default_rng(0)
    normal = random.standard_normal((DRAWS, count))
    if values is not None:
        weight, directions = np.linalg.eigh(_correlations(values))
        normal = normal @ (directions * np.sqrt(np.maximum(weight, 0))).T
    return np.asarray(normal * np.sqrt(freedom / random.chisquare(freedom, DRAWS))[:, None], np.float64)


def _correlations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations of columns over the rows that both have; 0 where there is none."""
    masked = np.ma.masked_invalid(values)
    with np.errstate(all="ignore"):
        correlations = np.ma.corrcoef(masked, rowvar=False).filled(0.0)  # type: ignore[no-untyped-call]
    correlations = np.where(np.isfinite(correlations), correlations, 0.0)
    np.fill_diagonal(correlations, 1.0)
    return np.asarray(correlations, np.float64)
