"""Constraint families against the formulas of the paper, on random scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partialfair import plugins
from partialfair.constraints import partial_rates
from partialfair.constraints import partial_statistical_parity as psp
from partialfair.constraints.family import built
from partialfair.constraints.partial_statistical_parity import rank_grid
from partialfair.constraints.program import Side
from partialfair.errors import ConfigError

INTERVAL = [(0.05, 0.3)]
FUSED = [name for name in plugins.names("constraints") if plugins.is_fused(name)]
UNION = [(0.0, 0.1), (0.4, 0.6)]


def sigma(x):
    return np.clip(x + 0.5, 0, 1)


def rows(seed, n=400, groups=2):
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[: 2 * groups] = np.tile([1.0, -1.0], groups)
    group[groups : 2 * groups] = np.arange(groups)
    return rng, group, y, rng.normal(group * 0.5, 1.5, n)


def test_an_alternative_that_a_term_lacks_is_never_its_largest():
    side = Side.from_terms([[(1.0, [(0, 0, -5.0)])], [(1.0, [(0, 0, -1.0), (1, 0, -2.0)])]])
    assert side.candidates(np.zeros((2, 1))).max(axis=2).tolist() == [[-5.0], [-1.0]]


@pytest.mark.parametrize("family", [variant.name for variant in partial_rates.VARIANTS.values()])
def test_at_the_start_score_every_group_has_the_base_rate(family):
    """The start of families without thresholds: equal scores, and as many smoothed positives as positive labels."""
    _, group, y, _ = rows(3)
    program = built(family, group, y, interval=INTERVAL, kappa=0.1, kappa_scale="absolute")
    assert sigma(program.start_score) == pytest.approx(np.mean(y > 0)) != 0.5


def rate(c, pairs):
    return sum(np.minimum(c, b) - np.minimum(c, a) for a, b in pairs)


@pytest.mark.parametrize("interval", [INTERVAL, UNION])
@pytest.mark.parametrize("groups", [2, 3])
def test_psp_values_are_the_smoothed_shares_minus_their_bounds(interval, groups):
    rng, group, y, scores = rows(0, groups=groups)
    program = psp.build(group, y, interval=interval, kappa=0.1, grid=6, kappa_scale="absolute")
    theta = rng.normal(size=6)
    expected = []
    for p, t in zip(rank_grid(tuple(interval), 6), theta, strict=True):
        for k in range(groups):
            c = sigma(scores[group == k] - t).mean()
            expected += [p - c, c - p - 0.1]
    assert np.abs(program.values(scores, theta) - expected).max() < 1e-12


@pytest.mark.parametrize("interval", [INTERVAL, UNION, [[(0.0, 0.2)], [(0.1, 0.5)]]])
@pytest.mark.parametrize(
    ("notion", "strata"),
    [("demographic_parity", [None]), ("equal_opportunity", [1.0]), ("equalized_odds", [-1.0, 1.0])],
)
def test_rate_families_equal_the_direct_formula(notion, strata, interval):
    _, group, y, scores = rows(1)
    program = partial_rates.build(group, y, notion=notion, interval=interval, kappa=0.2, kappa_scale="absolute")
    per_group = interval if isinstance(interval[0], list) else [interval, interval]
    lengths = np.array([sum(b - a for a, b in pairs) for pairs in per_group])
    expected = []
    for label in strata:
        r = []
        for k in range(2):
            inside = (group == k) & ((y == label) if label is not None else True)
            r.append(rate(sigma(scores[inside]).mean(), per_group[k]) * lengths.mean() / lengths[k])
        expected += [r[0] - r[1] - 0.2, r[1] - r[0] - 0.2]
    assert np.abs(program.values(scores, np.zeros(0)) - expected).max() < 1e-12


def test_relative_slack_is_kappa_times_the_length_of_the_interval():
    _, group, y, scores = rows(2)
    relative = psp.build(group, y, interval=INTERVAL, kappa=0.4, grid=3)
    absolute = psp.build(group, y, interval=INTERVAL, kappa=0.1, grid=3, kappa_scale="absolute")
    theta = np.array([0.1, 0.5, 1.0])
    assert np.allclose(relative.values(scores, theta), absolute.values(scores, theta), atol=1e-12)


@pytest.mark.parametrize("name", FUSED)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_convex_parts_are_convex_and_majorants_touch(name, seed):
    rng, group, y, scores = rows(seed)
    program = plugins.load("constraints", name).build(group, y, interval=UNION, kappa=0.1, grid=4)
    aux, other, other_aux = rng.normal(size=program.n_aux), rng.normal(size=400), rng.normal(size=program.n_aux)

    def parts(s, a):
        means = program.hinge_means(s, a)
        return program.convex.values(means), program.concave.values(means)

    here, there = parts(scores, aux), parts(other, other_aux)
    middle = parts((scores + other) / 2, (aux + other_aux) / 2)
    for part in range(2):
        assert np.all(middle[part] <= (here[part] + there[part]) / 2 + 1e-12)
    # g_i(v) = f+(v) - f-(w) - <f-'(w), v - w> lies above f_i everywhere and equals it at w
    weights = program.concave.derivative(program.hinge_means(scores, aux))
    for i in range(program.n_constraints):
        by_row, by_aux = program.pull_back(scores, aux, weights[i])
        linear = here[1][i] + by_row @ (other - scores) + by_aux @ (other_aux - aux)
        assert there[0][i] - linear >= there[0][i] - there[1][i] - 1e-12


@pytest.mark.parametrize("name", FUSED)
def test_vjp_is_the_directional_derivative(name):
    rng, group, y, scores = rows(5)
    program = plugins.load("constraints", name).build(group, y, interval=INTERVAL, kappa=0.1, grid=4)
    aux, multipliers = rng.normal(size=program.n_aux), rng.random(program.n_constraints)
    direction, aux_direction, step = rng.normal(size=400), rng.normal(size=program.n_aux), 1e-7
    by_row, by_aux = program.vjp(scores, aux, multipliers)
    ahead = program.values(scores + step * direction, aux + step * aux_direction) @ multipliers
    behind = program.values(scores - step * direction, aux - step * aux_direction) @ multipliers
    assert (ahead - behind) / (2 * step) == pytest.approx(by_row @ direction + by_aux @ aux_direction, abs=2e-5)


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("kappa", [0.005, 0.3, 1.5])
@pytest.mark.parametrize("interval", [INTERVAL, UNION, [(0.7, 1.0)]])
def test_the_start_is_feasible(name, kappa, interval):
    _, group, y, _ = rows(6, groups=3)
    program = plugins.load("constraints", name).build(group, y, interval=interval, kappa=kappa)
    assert program.values(np.full(400, program.start_score), program.start).max() <= 1e-12


def test_steep_scores_give_the_indicator_constraint():
    rng, group, y, scores = rows(7)
    program = psp.build(group, y, interval=INTERVAL, kappa=0.1, grid=5, kappa_scale="absolute")
    theta = rng.normal(size=5)
    expected = []
    for p, t in zip(rank_grid(tuple(INTERVAL), 5), theta, strict=True):
        for k in range(2):
            share = np.mean(scores[group == k] > t)
            expected += [p - share, share - p - 0.1]
    assert np.allclose(program.values(scores * 1e6, theta * 1e6), expected, atol=1e-9)


def test_ranks_are_equally_spaced_along_a_union():
    assert np.allclose(rank_grid(((0.05, 0.3),), 5), [0.05, 0.1, 0.15, 0.2, 0.25])
    assert np.allclose(rank_grid(((0.0, 1.0),), 20)[1:6], rank_grid(((0.05, 0.3),), 5))
    assert np.allclose(rank_grid(((0.0, 0.1), (0.4, 0.6)), 6), [0.0, 0.05, 0.4, 0.45, 0.5, 0.55])


def test_a_closed_grid_covers_both_ends():
    assert np.allclose(rank_grid(((0.1, 0.3),), 4, True), [0.1, 0.15, 0.2, 0.25, 0.3])
    assert np.allclose(rank_grid(((0.2, 0.4),), 2, True, 0.12), [0.08, 0.1, 0.2, 0.3, 0.4])
    assert np.allclose(rank_grid(((0.2, 0.4),), 2, True, 0.1), [0.1, 0.2, 0.3, 0.4])
    assert np.allclose(rank_grid(((0.7, 1.0),), 3, True, 0.05), [0.65, 0.7, 0.8, 0.9]), "all rows are counted at 1"
    assert np.allclose(rank_grid(((0.1, 0.3),), 2, True, 5.0), [0.1, 0.2, 0.3]), "there are no ranks below 0"
    union = rank_grid(((0.0, 0.1), (0.4, 0.6)), 6, True, 0.35)
    assert np.allclose(union, 0.05 * np.arange(13)), "the end of one pair, and what lies below the next"


def test_an_interior_grid_covers_neither_end():
    """ "Ten equally spaced values in I", read as linspace with both ends left out."""
    assert np.allclose(rank_grid(((0.7, 1.0),), 10, "interior"), np.linspace(0.7, 1.0, 12)[1:-1])
    assert np.allclose(rank_grid(((0.0, 0.1), (0.4, 0.6)), 5, "interior", 0.3), [0.05, 0.4, 0.45, 0.5, 0.55])
    _, group, y, _ = rows(0)
    options = {"interval": ((0.3, 0.6),), "kappa": 0.2, "grid": 3, "kappa_scale": "absolute"}
    program = psp.build(group, y, **options, closed="interior")
    assert program.n_aux == 3 and "0.375" in " ".join(program.labels)


@pytest.mark.parametrize(
    ("scale", "interval", "count"),
    [("absolute", ((0.3, 0.6),), 6), ("relative", ((0.3, 0.6),), 4), ("absolute", [[(0.3, 0.6)], [(0.2, 0.5)]], 4)],
)
def test_below_the_interval_ranks_are_covered_where_kappa_is_a_difference_of_ranks(scale, interval, count):
    _, group, y, _ = rows(0)
    options = {"interval": interval, "kappa": 0.2, "grid": 3, "kappa_scale": scale}
    assert psp.build(group, y, **options).n_aux == 3
    assert psp.build(group, y, **options, closed=True).n_aux == count


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kappa": 0.0}, "kappa is 0.0"),
        ({"kappa": 0.1, "kappa_scale": "percent"}, "kappa_scale is 'percent'"),
        ({"kappa": 0.1, "grid": 0}, "grid is 0"),
        ({"kappa": 0.1, "interval": [(0.4, 0.2)]}, "0.4"),
        ({"kappa": 0.1, "interval": [[(0.1, 0.2)]] * 3}, "3 groups"),
    ],
)
def test_unusable_options_are_refused(options, words):
    _, group, y, _ = rows(8)
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        psp.build(group, y, **{"interval": INTERVAL, **options})
