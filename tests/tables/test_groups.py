"""Groups from columns."""

import itertools

import numpy as np

from partialfair.tables.groups import codes_for, group_labels


def test_combinations_never_share_a_name() -> None:
    values = ["a", "b", "a & b", "b & c", "c", '"a', 'a"', "&", "a &", "& b", '"a & b"', "a&b"]
    pairs = list(itertools.product(values, repeat=2))
    codes, names = group_labels(np.array(pairs, object))
    assert len(names) == len(set(names)) == len(pairs) == len(set(codes.tolist()))
    assert "a & b" in names and 'a & "b & c"' in names and '"a & b" & c' in names
    assert np.array_equal(codes_for(np.array(pairs, object), names), codes)


def test_one_column_keeps_its_texts() -> None:
    assert group_labels(np.array(["x & y", 'z"', 1.0], object))[1] == ("1", "x & y", 'z"')
