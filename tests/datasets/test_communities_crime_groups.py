"""Overlapping groups of Communities and Crime."""

import numpy as np
import pytest

from papers.plada.datasets import communities_crime_groups as groups
from partialfair.errors import ConfigError


@pytest.mark.real_data
@pytest.mark.parametrize(("rule", "count"), [("paper_count", 535), ("public_rule", 809)])
def test_counts(rule, count, dataset):
    data = dataset("communities_crime_groups", groups=rule)
    member = np.array([name.startswith(groups.MEMBERSHIP) for name in data.feature_names])
    assert data.n_rows == 1994 and member.sum() == count and (~member).sum() == 145
    assert (data.y > 0).sum() == 608
    parts = groups.split(data, 3, rule)
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [996, 499, 499]
    cut = groups.RULES[rule].cut
    for part in (parts.train, parts.validation, parts.test):
        assert data.X[np.ix_(part, member)].mean(axis=0).min() > cut
    black = data.X[:, data.feature_names.index("racepctblack")]
    name = data.feature_names[int(np.flatnonzero(member)[7])]
    assert (black[data.X[:, np.flatnonzero(member)[7]] > 0] > float(name.split(":")[1])).all()


def test_unknown_rule(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'public_rule'"):
        groups.load(tmp_path, "public_rules")
