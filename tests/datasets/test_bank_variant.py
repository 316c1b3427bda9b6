"""The variant of bank differs from it in one column only."""

import numpy as np
import pytest


@pytest.mark.real_data
def test_only_the_duration_is_missing(dataset):
    full, variant = dataset("bank"), dataset("bank_without_duration")
    assert set(full.feature_names) - set(variant.feature_names) == {"duration"}
    assert variant.n_features == 52 and variant.numeric.size == 9
    assert np.array_equal(full.y, variant.y) and np.array_equal(full.group, variant.group)
    for name in ("age", "nr.employed", variant.feature_names[-1]):
        left, right = (t.X.tocsc()[:, [t.feature_names.index(name)]].toarray() for t in (full, variant))
        assert np.array_equal(left, right), name
    assert [variant.feature_names[j] for j in variant.numeric] == [
        name for name in (full.feature_names[j] for j in full.numeric) if name != "duration"
    ]
