"""Paired tests over seeds: difference with its t-interval, trend.

Two runs of one seed share split and test rows, so that what the split does to both cancels in their difference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partialfair.metrics.uncertainty import check_level, t_interval
from reproduction.statistics.effect import TINY, mean_effect

Values = Sequence[float] | NDArray[np.floating]


@dataclass(frozen=True)
class Difference:
    """A mean paired difference.

    Attributes:
        mean: mean of a - b over the seeds that have both.
        low, high: ends of its t-interval; NaN for fewer than two seeds.
        statistic: Student's t; infinite if all differences are one number other than 0.
        p_greater: one-sided p-value of "the mean is at most 0".
        n: seeds.
    """

    mean: float
    low: float
    high: float
    statistic: float
    p_greater: float
    n: int

    @property
    def p_less(self) -> float:
        """One-sided p-value of "the mean is at least 0"."""
        return 1 - self.p_greater

    @property
    def p_two_sided(self) -> float:
        """Two-sided p-value of "the mean is 0"."""
        return min(1.0, 2 * min(self.p_greater, self.p_less))

    @property
    def tested(self) -> bool:
        """Whether there were two seeds or more."""
        return not math.isnan(self.p_greater)

    @property
    def ahead(self) -> bool:
        """Whether the whole interval is above 0."""
        return self.tested and self.low > TINY

    @property
    def behind(self) -> bool:
        """Whether the whole interval is below 0."""
        return self.tested and self.high < -TINY


def paired_difference(values_a: Values, values_b: Values, level: float = 0.95) -> Difference:
    """Mean of ``values_a - values_b`` with Student's paired t; pairs with a NaN are left out.

    Args:
        values_a, values_b: (n,) values by seed, in the same order.
        level: of the interval.

    Raises:
        ConfigError: ``level`` is not between 0 and 1.
    """
    check_level(level)
    gaps = np.asarray(values_a, np.float64) - np.asarray(values_b, np.float64)
    gaps = gaps[~np.isnan(gaps)]
    interval = t_interval(gaps, level)
    if interval.n < 2:
        return Difference(interval.mean, math.nan, math.nan, math.nan, math.nan, interval.n)
    effect = mean_effect(gaps)
    return Difference(interval.mean, interval.low, interval.high, effect.statistic(), effect.p_above(), interval.n)


@dataclass(frozen=True)
class Trend:
    """Page's test: ``statistic`` L, ``p`` of "no increase from the first column to the last", ``n`` blocks."""

    statistic: float
    p: float
    n: int


def increasing_trend(values: NDArray[np.floating]) -> Trend:
    """Page's L test of an increase along the columns; rows with a NaN are left out.

    Args:
        values: (blocks, conditions), conditions in the order in which they are said to increase.

    Returns:
        NaN in place of a result for fewer than 2 whole rows or 3 columns, where the test does not exist.
    """
    from scipy.stats import page_trend_test

    blocks = np.asarray(values, np.float64)
    blocks = blocks[~np.isnan(blocks).any(axis=1)]
    if len(blocks) < 2 or blocks.shape[1] < 3:
        return Trend(math.nan, math.nan, len(blocks))
    page = page_trend_test(blocks)
    return Trend(float(page.statistic), float(page.pvalue), len(blocks))
