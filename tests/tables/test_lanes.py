"""Sums in lanes, in the order that their definition states; exp and log against higher precision."""

import numpy as np
import pytest

from partialfair.kernels import elementary
from partialfair.kernels.compiled import kernel
from partialfair.kernels.ordered_sums import lane_above, lane_dot, lane_excess, lane_product, lane_sum

SIZES = (0, 1, 5, 15, 16, 17, 63, 64, 65, 130, 1000, 1024)


@kernel
def sums(x, y, threshold):
    return lane_sum(x), lane_dot(x, y), lane_excess(x, threshold), lane_above(x, threshold), lane_product(x)


def in_lanes(terms, join=np.add, start=0.0):
    """The reduction as the module's docstring has it, step by step."""
    width = 64 // terms.itemsize
    whole, vectors = len(terms) // (4 * width) * 4 * width, len(terms) // width * width
    chains = np.full((4, width), start, terms.dtype)
    for turn in terms[:whole].reshape(-1, 4, width):
        chains = join(chains, turn)
    for part in terms[whole:vectors].reshape(-1, width):
        chains[0] = join(chains[0], part)
    total = join(join(chains[0], chains[1]), join(chains[2], chains[3]))
    while len(total) > 1:
        total = join(total[: len(total) // 2], total[len(total) // 2 :])
    total = total[0]
    for term in terms[vectors:]:
        total = join(total, term)
    return total


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_reductions_add_in_the_order_stated(kind, size):
    rng = np.random.default_rng(size)
    x, y, t = rng.normal(size=size).astype(kind), rng.normal(size=size + 2).astype(kind), kind(0.3)
    total, dot, excess, above, product = sums(x, y, 0.3)
    assert total == in_lanes(x)
    assert dot == in_lanes(x * y[:size])
    assert excess == in_lanes(np.maximum(x - t, kind(0)))
    assert above == np.count_nonzero(x > t)
    assert product == in_lanes(x, np.multiply, 1.0)


def test_the_order_is_not_that_of_numpy():
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    assert in_lanes(x) != x.sum()  # so the test above can tell orders apart


@pytest.mark.parametrize("single", [0, 1])
def test_a_product_of_two_precisions_is_taken_in_the_higher_one(single):
    rng = np.random.default_rng(1)
    pair = [rng.normal(size=300), rng.normal(size=300)]
    pair[single] = pair[single].astype(np.float32)
    assert sums(*pair, 0.0)[1] == in_lanes(pair[0].astype(float) * pair[1].astype(float))


@kernel
def exponentials(x, out):
    for i in range(x.size):
        out[i] = elementary.exp(x[i])


@kernel
def logarithms(x, out):
    for i in range(x.size):
        out[i] = elementary.log(x[i])


def units(found, exact):
    """The largest error in units in the last place of the exact value, given in extended precision."""
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(float))))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no more precise than double here")
def test_exp_and_log_are_within_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-708, 709, 100_000), rng.normal(size=100_000), [0.0, -0.0, 709.0, -708.0]])
    found = np.empty_like(x)
    exponentials(x, found)
    assert units(found, np.exp(x.astype(np.longdouble))) < 1
    x = np.exp(rng.uniform(-700, 700, 100_000))
    x = np.concatenate([x, rng.uniform(0.5, 2, 100_000), 1 + 1e-6 * rng.normal(size=100_000), [2.0, 0.5]])
    found = np.empty_like(x)
    logarithms(x, found)
    assert units(found, np.log(x.astype(np.longdouble))) < 1
    assert elementary.exp(0.0) == 1.0
    assert elementary.exp(-800.0) == 0.0
    assert elementary.log(1.0) == 0.0
