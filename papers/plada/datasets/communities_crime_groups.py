"""Communities and Crime for classification with many overlapping groups: is a community among the most violent?

The reading of the PLADA paper (section 5.3) and of the multiplier-model paper that it follows. A group is the set of
communities whose shares of Black, Asian and Hispanic residents all exceed three thresholds; it overlaps others, so that
memberships are columns of the table, named ``in_group:t1:t2:t3``. They are no inputs of a score.

Neither published count is reproduced as printed: the paper has 140 attributes and 535 groups; the rule of the public
code gives 145 columns and 809 groups. ``groups: paper_count`` is a choice of split and cut that gives 535.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from papers.cross_paper.datasets import communities_crime
from partialfair.data.dataset import Dataset, Split
from partialfair.errors import ConfigError
from partialfair.plugins import did_you_mean
from reproduction.datasets.spec import DatasetSpec

MEMBERSHIP = "in_group:"
CROSSED = ("racepctblack", "racePctAsian", "racePctHisp")
QUANTILES = np.arange(0.05, 1.0, 0.1)
LABEL_QUANTILE = 0.7


@dataclass(frozen=True)
class Rule:
    """Which of the 1,000 candidate groups are kept.

    Attributes:
        seed: of the one split that the definition rests on.
        cut: share of the training, validation and test rows that a group has to exceed in each.
    """

    seed: int
    cut: float


RULES = {"public_rule": Rule(121212, 0.01), "paper_count": Rule(42, 0.05)}

SPEC: DatasetSpec = dataclasses.replace(
    communities_crime.SPEC,
    name="communities_crime_groups",
    title="Communities and Crime, overlapping groups",
    groups="largest of the four shares of the population: 0 = Black, Asian or Hispanic, 1 = White",
    label="+1 = violent crimes per head at or above their 70 % quantile, 0.28",
    folder="communities_crime",
    n_rows=1_994,
    n_attributes=140,
    other_columns=0,
)


def load(raw_dir: Path, groups: Literal["public_rule", "paper_count"] = "paper_count") -> Dataset:
    """Read the table.

    A column with absent entries is filled with 0 and gets an indicator of them.

    Args:
        raw_dir: the raw root; the file lies in ``raw_dir/communities_crime``.
        groups: which candidate groups are kept: ``public_rule`` (809) or ``paper_count`` (535).

    Returns:
        1,994 rows; 122 columns of the file, 23 indicators of absence, then one membership column per group.

    Raises:
        ConfigError: an unknown rule.
        DataError: see :func:`papers.cross_paper.datasets.communities_crime.read`.
    """
    rule = _rule(groups)
    table = communities_crime.read(raw_dir).drop(columns=list(communities_crime.IDENTIFIERS))
    rate = table.pop(communities_crime.TARGET).to_numpy(np.float64)
    absent = [name for name in table.columns if table[name].isna().any()]
    missing = table[absent].isna().to_numpy(np.float32)
    filled = table.fillna(0.0)
    thresholds, members = memberships(filled[list(CROSSED)].to_numpy(np.float64), divided(len(rate), rule.seed), rule)
    largest = filled[list(communities_crime.SHARES)].to_numpy().argmax(axis=1)
    names = [f"{MEMBERSHIP}{':'.join(f'{t:g}' for t in row)}:{k}" for k, row in enumerate(thresholds)]
    return Dataset(
        X=np.hstack([filled.to_numpy(np.float32), missing, members.T.astype(np.float32)]),
        y=np.where(rate >= np.quantile(rate, LABEL_QUANTILE), 1.0, -1.0),
        group=(largest == communities_crime.SHARES.index("racePctWhite")).astype(np.int16),
        feature_names=(*filled.columns, *(f"{name} is missing" for name in absent), *names),
        group_names=("other", "White"),
        name=SPEC.name,
    )


def split(data: Dataset, seed: int, groups: str = "paper_count") -> Split:
    """The split that the groups are defined on: repetitions differ in their initial weights alone."""
    del seed
    return divided(data.n_rows, _rule(groups).seed)


def divided(n: int, seed: int) -> Split:
    """A quarter for testing first, then a third of the rest for validation, by scikit-learn and one NumPy stream."""
    from sklearn.model_selection import train_test_split

    stream = np.random.RandomState(seed)  # the public code's stream
    rest, test = train_test_split(np.arange(n), test_size=0.25, random_state=stream)
    train, validation = train_test_split(rest, test_size=1 / 3, random_state=stream)
    return Split(*(np.sort(part).astype(np.int64) for part in (train, validation, test)))


def memberships(shares: NDArray[np.float64], parts: Split, rule: Rule) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return thresholds (K, 3) and members (K, n) of the kept groups.

    Args:
        shares: (n, 3) the crossed shares.
        parts: the split; thresholds are ten quantiles of its training rows.
        rule: the cut.
    """
    levels = np.quantile(shares[parts.train], QUANTILES, axis=0)
    above = shares.T[:, None, :] > levels.T[:, :, None]  # (3, 10, n)
    candidates = above[0][:, None, None] & above[1][None, :, None] & above[2][None, None]
    flat = candidates.reshape(-1, len(shares))
    kept = np.all(
        [flat[:, rows].mean(axis=1) > rule.cut for rows in (parts.train, parts.validation, parts.test)], axis=0
    )
    grid = np.stack(np.meshgrid(*levels.T, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid[kept], flat[kept]


def _rule(groups: str) -> Rule:
    if groups not in RULES:
        raise ConfigError(f"groups is {groups!r}; {did_you_mean(str(groups), RULES)}")
    return RULES[groups]
