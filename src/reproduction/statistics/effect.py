"""A mean effect with its standard error: one-sided tests against any value, and what a sample of its size can see."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TINY = 1e-15  # below it a spread of accuracies is rounding
POWER = 0.8
"""Chance with which an effect that counts as detectable is found."""
MOST_SEEDS = 100_000


@dataclass(frozen=True)
class Effect:
    """A mean with what is known of its error.

    Attributes:
        mean: the effect.
        error: its standard error; 0 where all values are equal, NaN for fewer than two.
        freedom: degrees of freedom of Student's t.
        n: values; of two independent samples, the smaller one's.
    """

    mean: float
    error: float
    freedom: float
    n: int

    @property
    def tested(self) -> bool:
        """Whether there are enough values for a test."""
        return not math.isnan(self.error)

    def statistic(self, centre: float = 0.0) -> float:
        """Student's t against ``centre``; infinite if all values are one other number."""
        shift = self.mean - centre
        if self.error < TINY:
            return math.copysign(math.inf, shift) if abs(shift) > TINY else 0.0
        return shift / self.error

    def p_above(self, centre: float = 0.0) -> float:
        """P-value of "the mean is at most ``centre``"; NaN if there is no test."""
        from scipy.special import stdtr  # the t distribution without the start-up time of scipy.stats

        if not self.tested:
            return math.nan
        t = self.statistic(centre)
        return float(stdtr(self.freedom, -t)) if math.isfinite(t) else (0.0 if t > 0 else 1.0)

    def p_below(self, centre: float = 0.0) -> float:
        """P-value of "the mean is at least ``centre``"; NaN if there is no test."""
        return 1.0 - self.p_above(centre)

    def interval(self, level: float) -> tuple[float, float]:
        """Ends of the two-sided t-interval; NaN if there is no test."""
        half = quantile((1 + level) / 2, self.freedom) * self.error if self.tested else math.nan
        return self.mean - half, self.mean + half

    def detectable(self, alpha: float) -> float:
        """Smallest effect that a one-sided test of size ``alpha`` finds with probability ``POWER``."""
        if not self.tested:
            return math.nan
        return (quantile(1 - alpha, self.freedom) + quantile(POWER, self.freedom)) * self.error

    def seeds_for(self, effect: float, alpha: float) -> int | None:
        """Number of values at which ``effect`` would be detectable; ``None`` above ``MOST_SEEDS`` or without a test."""
        if not self.tested or not effect > 0:
            return None
        deviation = self.error * math.sqrt(self.n)
        return fewest(lambda n: _seen(n, deviation, alpha) <= effect)


def fewest(is_enough: Callable[[int], bool]) -> int | None:
    """Smallest number of seeds, at least two, that are enough; ``None`` above ``MOST_SEEDS``."""
    low, high = 1, 2
    while not is_enough(high):
        if high == MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _seen(n: int, deviation: float, alpha: float) -> float:
    """Detectable effect of n paired values."""
    return (quantile(1 - alpha, n - 1) + quantile(POWER, n - 1)) * deviation / math.sqrt(n)


def quantile(p: float, freedom: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def mean_effect(values: Sequence[float] | NDArray[np.floating]) -> Effect:
    """Mean of paired differences, NaN left out."""
    numbers = np.asarray(values, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return Effect(math.nan, math.nan, math.nan, 0)
    error = float(numbers.std(ddof=1)) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return Effect(float(numbers.mean()), error, len(numbers) - 1.0, len(numbers))


def welch_effect(sample_a: Sequence[float], sample_b: Sequence[float]) -> Effect:
    """Mean of sample a minus mean of sample b, independent and of unequal variances (Welch 1947)."""
    effect_a, effect_b = mean_effect(sample_a), mean_effect(sample_b)
    if not (effect_a.tested and effect_b.tested):
        return Effect(effect_a.mean - effect_b.mean, math.nan, math.nan, min(effect_a.n, effect_b.n))
    # Welch and Satterthwaite: error^2 = e_a^2 + e_b^2, freedom = error^4 / (e_a^4 / f_a + e_b^4 / f_b)
    squares = effect_a.error**2, effect_b.error**2
    error = math.sqrt(sum(squares))
    spread = squares[0] ** 2 / effect_a.freedom + squares[1] ** 2 / effect_b.freedom
    freedom = error**4 / spread if spread > 0 else effect_a.freedom + effect_b.freedom
    return Effect(effect_a.mean - effect_b.mean, error, freedom, min(effect_a.n, effect_b.n))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number (Holm 1979); NaN stays NaN and does not count."""
    # the k-th smallest of m p-values times m - k + 1, made non-decreasing
    ordered = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    corrected = [math.nan] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p))
        corrected[index] = largest
    return corrected
