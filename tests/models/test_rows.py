"""Row products against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from partialfair.kernels.pointwise import hinge_slopes
from partialfair.kernels.row_sums import adjoint_eight, adjoint_one, forward_eight, forward_one
from partialfair.models.design import GroupedDesign
from partialfair.models.features import Standardiser


def random_rows(seed, n=300, binary=9, numeric=3, groups=2, as_sparse=True):
    """Rows with binary and numeric columns, and the design made of them."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.random((n, binary)) < 0.3, rng.normal(2.0, 3.0, (n, numeric))]).astype(np.float32)
    group = rng.integers(0, groups, n)
    columns = np.arange(binary, binary + numeric)
    standardiser = Standardiser.fit(X, columns)
    dense = X.astype(np.float64)
    if numeric:
        dense[:, columns] = standardiser.values(X)
    design = GroupedDesign.build(sparse.csr_array(X) if as_sparse else X, group, np.arange(groups), standardiser)
    return rng, design, np.hstack([np.ones((n, 1)), dense])[design.order], group[design.order]


def table(weights):
    """Weight table of the kernels: a zero column is appended for padding."""
    return np.concatenate([weights, np.zeros((*weights.shape[:-1], 1))], axis=-1)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 200),
    binary=st.integers(0, 9),
    numeric=st.integers(0, 4),
    groups=st.integers(1, 4),
    as_sparse=st.booleans(),
)
def test_forward_and_adjoint_equal_dense_products(seed, n, binary, numeric, groups, as_sparse):
    rng, design, rows, group = random_rows(seed, n, binary, numeric, groups, as_sparse)
    weights = rng.normal(size=(groups, rows.shape[1]))
    scores = np.empty(n)
    forward_one(*design.arrays, design.expand(table(weights)), scores)
    assert np.allclose(scores, np.einsum("ij,ij->i", rows, weights[group]), atol=1e-4)
    residual = rng.normal(size=n)
    coded = np.zeros((groups, len(design.members)))
    adjoint_one(*design.arrays, residual, coded)
    gradient = design.collapse(coded)
    expected = np.array([rows[group == g].T @ residual[group == g] for g in range(groups)])
    assert np.allclose(gradient[:, :-1], expected, atol=1e-4)


def test_plain_and_coded_tables_give_the_same_scores():
    rng, design, rows, group = random_rows(5, n=20000)
    weights = rng.normal(size=(2, rows.shape[1]))
    plain, coded = np.empty(20000), np.empty(20000)
    forward_one(*design.plain_arrays, table(weights), plain)
    forward_one(*design.arrays, design.expand(table(weights)), coded)
    assert len(design.codes) < len(design.ones)
    assert np.allclose(plain, coded, atol=1e-10)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 5000])
def test_eight_lanes_equal_one_lane(n):
    rng, design, rows, _ = random_rows(n, n=n)
    weights = rng.normal(size=(8, 2, rows.shape[1]))
    packed = np.zeros((2, len(design.members) * 8), np.float32)
    residual = rng.normal(size=(8, n)).astype(np.float32)
    for c in range(8):
        packed[:, c::8] = design.expand(table(weights[c]))
    scores = np.empty((8, n), np.float32)
    gradient = np.zeros(packed.shape)
    forward_eight(*design.arrays, packed, scores, np.ones(8, np.bool_), False)
    adjoint_eight(*design.arrays, residual, gradient, np.ones(8, np.bool_), False)
    for c in range(8):
        one, back = np.empty(n), np.zeros((2, len(design.members)))
        forward_one(*design.arrays, packed[:, c::8].astype(np.float64), one)
        adjoint_one(*design.arrays, residual[c].astype(np.float64), back)
        assert np.allclose(scores[c], one, atol=1e-4 * rows.shape[1])
        assert np.allclose(gradient[:, c::8], back, atol=1e-5 * n)


@pytest.mark.parametrize("n", [7, 8, 2500])
def test_eight_lanes_add_in_the_order_written(n):
    rng, design, _, _ = random_rows(n, n=n)
    weights = rng.normal(size=(2, len(design.members) * 8)).astype(np.float32)
    dense = design.dense[:0], np.zeros(0, np.int64)
    scores = np.empty((8, n), np.float32)
    rest = design.starts, design.subset_group, weights, scores
    forward_eight(design.codes, *dense, *rest, np.ones(8, np.bool_), False)
    group = design.subset_group[np.searchsorted(design.starts, np.arange(n), side="right") - 1]
    expected = np.repeat(weights[:, None, :8], n, axis=1)[group, np.arange(n)]
    for code in design.codes:
        expected = expected + weights.reshape(2, -1, 8)[group, code]
    assert np.array_equal(scores.T, expected)


@pytest.mark.parametrize("n", [1, 7, 12, 63, 5000, 9000])
def test_eight_lanes_can_be_as_each_alone(n):
    rng, design, rows, _ = random_rows(n, n=n)
    packed = rng.normal(size=(2, len(design.members) * 8)).astype(np.float32)
    residual = rng.normal(size=(8, n)).astype(np.float32)
    scores, gradient = np.empty((8, n), np.float32), np.zeros(packed.shape)
    forward_eight(*design.arrays, packed, scores, np.ones(8, np.bool_), True)
    adjoint_eight(*design.arrays, residual, gradient, np.ones(8, np.bool_), True)
    for c in range(8):
        one, back = np.empty(n, np.float32), np.zeros((2, len(design.members)))
        forward_one(*design.arrays, np.ascontiguousarray(packed[:, c::8]), one)
        adjoint_one(*design.arrays, residual[c], back)
        assert scores[c].tobytes() == one.tobytes()
        assert gradient[:, c::8].tobytes() == back.tobytes()


def test_hinge_slopes_equal_direct_sums():
    rng, design, rows, group = random_rows(3)
    scores = rng.normal(size=len(rows))
    thresholds = np.array([0.3, -1.0, 0.0, 2.5, 10.0])
    order = np.argsort(thresholds)
    slope, fraction = np.empty((2, 5, rows.shape[1])), np.empty((2, 5))
    hinge_slopes(design.arrays, design.members, scores, thresholds[order], order, slope, fraction)
    for k in range(2):
        inside = group == k
        for q, t in enumerate(thresholds):
            above = inside & (scores > t)
            assert np.allclose(slope[k, q], rows[above].sum(axis=0) / inside.sum(), atol=1e-6)
            assert fraction[k, q] == pytest.approx(above.sum() / inside.sum())
