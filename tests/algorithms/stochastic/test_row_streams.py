"""Drawn rows: every pass is a permutation, batches span passes and chunks, strata have equal shares."""

import numpy as np
import pytest

from papers.stochastic_benchmark.algorithms.row_streams import CHUNK, Balanced, Permutations

POOL = np.arange(100, 137)


@pytest.mark.parametrize("cyclic", [False, True])
def test_every_pass_is_a_permutation_of_the_pool(cyclic):
    stream = Permutations(POOL, 5, [3, 8], "test", cyclic)
    drawn = np.concatenate([stream.drawn_at(step) for step in range(3 * CHUNK)], axis=1)
    for r in range(2):
        passes = drawn[r][: drawn.shape[1] // POOL.size * POOL.size].reshape(-1, POOL.size)
        np.testing.assert_array_equal(np.sort(passes, axis=1), np.tile(POOL, (len(passes), 1)))
        assert (passes[0] == passes[1]).all() is np.bool_(cyclic)
    assert (drawn[0] != drawn[1]).any()


def test_a_step_is_the_same_whatever_was_drawn_before():
    whole = Permutations(POOL, 8, [0, 1], "test")
    expected = [whole.drawn_at(step).copy() for step in range(2 * CHUNK)]
    for step in (2 * CHUNK - 1, CHUNK, 7):
        np.testing.assert_array_equal(Permutations(POOL, 8, [1], "test").drawn_at(step)[0], expected[step][1])


def test_strata_have_equal_shares():
    rows = Balanced([POOL, np.arange(5)], 4, [0], "test").drawn_at(3)
    assert rows.shape == (1, 2, 4) and (rows[0, 0] >= 100).all() and (rows[0, 1] < 5).all()


def test_strata_are_drawn_apart():
    rows = Balanced([np.arange(50), np.arange(50, 100)], 8, (0,), "a").drawn_at(0)[0]
    assert not np.array_equal(rows[0], rows[1] - 50)
