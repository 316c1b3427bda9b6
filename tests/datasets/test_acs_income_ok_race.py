"""ACSIncome Oklahoma by race: sums, counts and the published split, row by row."""

import numpy as np
import pytest

from papers.stochastic_benchmark.datasets import acs_income_ok_race as module
from partialfair.models.features import Standardiser

SUMS = (760945, 38418, 323431, 43480, 81276432, 915696, 41498, 709706, 26352)


@pytest.mark.real_data
def test_the_table_is_the_published_one(dataset):
    data = dataset("acs_income_ok_race")
    assert data.X.shape == (17_917, 9) and data.feature_names == module.FEATURES
    np.testing.assert_array_equal(data.X.astype(np.int64).sum(axis=0), SUMS)
    assert (data.group == 0).sum() == 13_350 and (data.y > 0).sum() == 5_059


@pytest.mark.real_data
def test_the_split_is_the_published_one_for_every_seed(dataset):
    data = dataset("acs_income_ok_race")
    split = module.split(data, 0)
    for name, rows, positive in (("train", (10_680, 3_653), 4_049), ("test", (2_670, 914), 1_010)):
        part = np.concatenate([split.train, split.validation]) if name == "train" else split.test
        own = data.take(part)
        assert ((own.group == 0).sum(), (own.group == 1).sum()) == rows and (own.y > 0).sum() == positive
    pool = data.take(np.concatenate([split.train, split.validation]))
    scaled = Standardiser.fit(pool.X, pool.numeric).values(pool.X[:1])[0]
    published = [0.228921, 1.001843, -0.67214, 1.483984, -0.349843, -0.171767, 2.326262, 0.027068, 1.061394]
    np.testing.assert_allclose(scaled, published, atol=1e-6)
    assert (pool.y[:10] > 0).astype(int).tolist() == [0, 0, 0, 1, 0, 1, 0, 0, 1, 0]
    assert (pool.group[:10] == 0).astype(int).tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 0, 1]
    for part in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(module.split(data, 7), part), getattr(split, part))
