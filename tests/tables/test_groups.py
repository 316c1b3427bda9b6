"""Groups from columns."""

import itertools

import numpy as np
import pandas as pd
import pytest

from partialfair.audit import audit_scores
from partialfair.data.groups import check_names, codes_for, group_labels
from partialfair.errors import DataError, PartialFairError
from partialfair.estimators import PartialFairPostProcessor


def test_combinations_never_share_a_name() -> None:
    values = ["a", "b", "a & b", "b & c", "c", '"a', 'a"', "&", "a &", "& b", '"a & b"', "a&b"]
    pairs = list(itertools.product(values, repeat=2))
    codes, names = group_labels(np.array(pairs, object))
    assert len(names) == len(set(names)) == len(pairs) == len(set(codes.tolist()))
    assert "a & b" in names and 'a & "b & c"' in names and '"a & b" & c' in names
    assert np.array_equal(codes_for(np.array(pairs, object), names), codes)


def test_one_column_keeps_its_texts() -> None:
    assert group_labels(np.array(["x & y", 'z"', 1.0], object))[1] == ("1", "x & y", 'z"')


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8])
def test_a_whole_number_has_one_name_at_every_precision(kind: type) -> None:
    codes, names = group_labels(np.array([1, 0, 1], kind))
    assert (codes.tolist(), names) == ([1, 0, 1], ("0", "1"))


def test_a_column_of_lists_is_refused() -> None:
    with pytest.raises(DataError, match="values cannot be compared .*list.*; pass one text or number"):
        group_labels(pd.Series([["a"], ["b"]], name="g"))


@pytest.mark.parametrize("other", ["M ", " M", "M\t"])
def test_groups_that_differ_in_blanks_alone_are_refused(other: str) -> None:
    check_names(["F", "M M", "MM"])
    with pytest.raises(DataError, match=r"differ in blanks alone; write them alike"):
        check_names(["F", "M", other])
    with pytest.raises(PartialFairError, match=r"groups: 'M' and .* differ in blanks alone|groups: .* and 'M' differ"):
        audit_scores(np.arange(90.0), ["F", "M", other] * 30, min_group_size=2, confidence_intervals=False)
    with pytest.raises(PartialFairError, match=r"sensitive_features: .* differ in blanks alone"):
        PartialFairPostProcessor().fit_scores(np.arange(90.0), sensitive_features=["F", "M", other] * 30)
