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

    complete = values.dropna(axis="columns")
    left_out = [str(name) for name in values.columns if name not in complete]
    ranks = complete.rank(axis=1, ascending=False).mean()
    mean_ranks = {str(name): float(rank) for name, rank in ranks.items()}
    test = RankTest(mean_ranks, blocks=len(complete), left_out=left_out)
    if control not in complete or complete.shape[1] < 3 or len(complete) < 2:
        n_problems, n_algorithms = complete.shape
        text = f"{n_algorithms} algorithms with values on all of {n_problems} problems; Friedman's test needs 3 and 2"
        return replace(test, reason=text if control in complete else f"{control} has no value on some problem")
    with np.errstate(all="ignore"):
        statistic, p = friedmanchisquare(*(complete[name] for name in complete))
        pairs = scikit_posthocs.posthoc_siegel_friedman(complete.to_numpy()).to_numpy()
    if math.isnan(p):
        return replace(test, reason="all algorithms are equal on every problem")
    control_index = list(complete.columns).index(control)
    rivals = [index for index in range(complete.shape[1]) if index != control_index]
    corrected = holm([float(p) for p in pairs[control_index, rivals]])
    post_hoc = {str(complete.columns[index]): float(value) for index, value in zip(rivals, corrected, strict=True)}
    return replace(test, statistic=float(statistic), p=float(p), post_hoc=post_hoc)
