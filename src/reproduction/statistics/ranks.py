"""Several algorithms on several problems: Friedman's test and its post-hoc tests (Demsar 2006)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from reproduction.statistics.effect import holm


@dataclass(frozen=True)
class RankTest:
    """Friedman's test with the post-hoc comparisons of one algorithm with each other one.

    Attributes:
        mean_ranks: 1 is the best, by algorithm.
        statistic, p: Friedman's chi-square and p-value.
        post_hoc: two-sided p-values against the control, from the normal approximation of differences of mean ranks
            (Siegel and Castellan 1988), corrected for their number by Holm's method.
        blocks: problems that have all the algorithms.
        left_out: algorithms without a value on some problem.
        reason: why there is no test; empty if there is one.
    """

    mean_ranks: Mapping[str, float] = field(default_factory=dict)
    statistic: float = math.nan
    p: float = math.nan
    post_hoc: Mapping[str, float] = field(default_factory=dict)
    blocks: int = 0
    left_out: Sequence[str] = ()
    reason: str = ""


def rank_test(values: pd.DataFrame, control: str) -> RankTest:
    """Rank algorithms on every problem and test whether their ranks differ.

    Args:
        values: one row per problem, one column per algorithm, larger is better. An algorithm with a NaN is left out.
        control: the algorithm that the others are compared with.
    """
    import scikit_posthocs
    from scipy.stats import friedmanchisquare

    whole = values.dropna(axis="columns")
    left_out = [str(name) for name in values.columns if name not in whole]
    ranks = whole.rank(axis=1, ascending=False).mean()
    mean_ranks = {str(name): float(rank) for name, rank in ranks.items()}
    test = RankTest(mean_ranks, blocks=len(whole), left_out=left_out)
    if control not in whole or whole.shape[1] < 3 or len(whole) < 2:
        text = f"{whole.shape[1]} algorithms with values on all of {len(whole)} problems; Friedman's test needs 3 and 2"
        return replace(test, reason=text if control in whole else f"{control} has no value on some problem")
    with np.errstate(all="ignore"):
        statistic, p = friedmanchisquare(*(whole[name] for name in whole))
        pairs = scikit_posthocs.posthoc_siegel_friedman(whole.to_numpy()).to_numpy()
    if math.isnan(p):
        return replace(test, reason="all algorithms are equal on every problem")
    place = list(whole.columns).index(control)
    others = [index for index in range(whole.shape[1]) if index != place]
    corrected = holm([float(p) for p in pairs[place, others]])
    post_hoc = {str(whole.columns[index]): float(value) for index, value in zip(others, corrected, strict=True)}
    return replace(test, statistic=float(statistic), p=float(p), post_hoc=post_hoc)
