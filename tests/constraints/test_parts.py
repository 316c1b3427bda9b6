"""Constraint families with any surrogate, in their convex and concave parts, against direct formulas."""

import time
from itertools import combinations, product

import numpy as np
import pytest
from fairlearn.metrics import (
    demographic_parity_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

from partialfair import plugins
from partialfair.constraints import partial_group_auc as pgauc
from partialfair.constraints.partial_statistical_parity import rank_grid
from partialfair.constraints.parts import Parts, constraints_of
from partialfair.constraints.surrogates import make, value
from partialfair.data import auc_sets
from partialfair.data.intervals import bounds, for_groups
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.metrics import get

FAMILIES = plugins.names("constraints")
RANKS = ("partial_statistical_parity", "distribution_parity")
"""Two names of one program."""
ALL_ROWS = ("auc_gap_", "loss_")
"""Families that know no interval: kappa means the same on either scale."""
INTERVALS = [((0.05, 0.3),), ((0.0, 0.1), (0.4, 0.6)), ((0.0, 1.0),)]
PER_GROUP = [[(0.0, 0.2)], [(0.1, 0.5)]]
N = 160


def positions(pairs, n_rows):
    """The kept 0-based positions in the descending ranking of a group."""
    return np.concatenate([np.arange(low, high) for low, high in bounds(pairs, n_rows)])


def rows(seed, groups=2, n=N, ties=False):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    group[: 4 * groups], y[: 4 * groups] = np.tile(np.arange(groups), 4), np.repeat([1.0, -1.0], 2 * groups)
    scores = rng.normal(group * 0.5, 1.5)
    return rng, group, y, np.round(scores * 2) / 2 if ties else scores


def family(name, group, y, surrogate="clipped_linear", **options):
    options = {"interval": INTERVALS[0], "kappa": 0.1, "grid": 4} | options
    return constraints_of(plugins.load("constraints", name).build(group, y, **options), make(surrogate))


def surrogates_of(name):
    if name.startswith("auc_gap_"):  # six families of one make: one surrogate tells as much as two
        return [{"name": "clipped_linear", "sharpness": 3}]
    if name.startswith("loss_"):  # without indicators, so any surrogate is the same
        return ["clipped_linear"]
    return ["clipped_linear", {"name": "clipped_linear", "sharpness": 3}] + (
        ["logistic"] if plugins.is_fused(name) else []
    )


CASES = [(name, surrogate) for name in FAMILIES for surrogate in surrogates_of(name)]


RATES = {"partial_demographic_parity": [0], "partial_equal_opportunity": [1], "partial_equalized_odds": [-1, 1]}
"""The labels of the rows whose positive rates are compared; 0 stands for all rows."""
DEFINED = {
    *(f"auc_gap_{name}" for name in auc_sets.PRESETS),
    "loss_parity",
    "loss_equal_opportunity",
    "loss_equalized_odds",
    "intersectional_loss",
}
DEFINED |= {"partial_group_auc", *RANKS, *RATES}


def direct(name, scores, group, y, aux, surrogate, interval, slack):
    """The constraint values by the definitions, pair by pair and row by row."""
    if name not in DEFINED:
        pytest.skip(f"{name}: its definition is not written here; test its values in a test of its own")
    sigma = make(surrogate)
    n_groups = int(group.max()) + 1
    intervals = for_groups(interval, n_groups)
    if name.startswith("auc_gap_"):
        sets = auc_sets.preset(name)
        out = []
        protected = [0] if n_groups == 2 and sets.name in ("group", "inter_group", "intra_group") else range(n_groups)
        for k in protected:
            cells = auc_sets.cells_of(y, group, k)
            member = [np.isin(cells, part) for part in sets.sets]
            shares = [value(sigma, scores[member[j]][:, None] - scores[member[j + 1]]).mean() for j in (0, 2)]
            out += [shares[0] - shares[1] - slack, shares[1] - shares[0] - slack]
        return out
    if name.startswith("loss_"):
        losses = np.logaddexp(0, -y * scores)
        labels = {"loss_parity": [[-1, 1]], "loss_equal_opportunity": [[1]]}.get(name, [[1], [-1]])
        out = []
        for k, other in combinations(range(n_groups), 2):
            gaps = [np.subtract(*(losses[(group == g) & np.isin(y, ls)].mean() for g in (k, other))) for ls in labels]
            out += [np.dot(signs, gaps) - slack for signs in product((1, -1), repeat=len(gaps))]
        return out
    if name == "intersectional_loss":
        hinge = np.maximum(0, 1 - y * scores)
        return [np.mean([hinge[group == k].mean() for k in range(n_groups)]) - hinge.mean() - slack]
    if name == "partial_group_auc":
        out = []
        for k, other in combinations(range(n_groups), 2):
            kept = [np.sort(scores[group == g])[::-1] for g in (k, other)]
            kept = [s[positions(intervals[g], s.size)] for s, g in zip(kept, (k, other), strict=True)]
            c = value(sigma, kept[0][:, None] - kept[1]).mean()
            out += [c - 0.5 - slack, 0.5 - c - slack]
        return out
    if name in RANKS:
        shares = [[value(sigma, scores[group == k] - t).mean() for k in range(n_groups)] for t in aux]
        ranks = [rank_grid(pairs, aux.size) for pairs in intervals]
        own = np.broadcast_to(slack, n_groups)
        pairs = [(c, ranks[k][j], own[k]) for j, row in enumerate(shares) for k, c in enumerate(row)]
        return [v for c, p, s in pairs for v in (p - c, c - p - s)]
    lengths = np.array([sum(b - a for a, b in pairs) for pairs in intervals])
    out = []
    for label in RATES[name]:
        rates = []
        for k in range(n_groups):
            c = value(sigma, scores[(group == k) & ((y == label) | (label == 0))]).mean()
            rates.append(sum(min(c, b) - min(c, a) for a, b in intervals[k]) * lengths.mean() / lengths[k])
        out += [rates[k] - rates[o] - slack for k in range(n_groups) for o in range(n_groups) if k != o]
    return out


def check_parts(constraints, n, seed):
    """What the constraints of every family must do at any point; used on the real ones and on broken ones."""
    rng = np.random.default_rng(seed)
    points = [(rng.normal(0, 1.2, n), rng.normal(size=constraints.start.size)) for _ in range(2)]
    here, there = (constraints.parts(*point) for point in points)
    middle = constraints.parts(*((a + b) / 2 for a, b in zip(*points, strict=True)))
    step = [b - a for a, b in zip(*points, strict=True)]
    m = len(constraints.labels)
    assert here.convex.shape == here.concave.shape == (m,)
    zero = np.zeros(m)
    for part in ("convex", "concave"):
        first, second, between = (getattr(p, part) for p in (here, there, middle))
        assert np.all(between <= (first + second) / 2 + 1e-12), f"the {part} part is not convex"
        for i, unit in enumerate(np.eye(m)):
            by_row, by_aux = here.pull_back(*((unit, zero) if part == "convex" else (zero, unit)))
            linear = first[i] + by_row @ step[0] + by_aux @ step[1]
            assert linear <= second[i] + 1e-10, f"no subgradient of the {part} part"
    multipliers, size = rng.random(m), 1e-7
    by_row, by_aux = here.vjp(multipliers)
    ahead, behind = (
        constraints.parts(points[0][0] + t * step[0], points[0][1] + t * step[1]).values @ multipliers
        for t in (size, -size)
    )
    slope = by_row @ step[0] + by_aux @ step[1]
    assert (ahead - behind) / (2 * size) == pytest.approx(slope, abs=1e-4), "wrong derivative"


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize(("name", "surrogate"), CASES)
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), interval=st.sampled_from(INTERVALS))
def test_parts_are_convex_with_subgradients_whose_difference_is_the_derivative(name, surrogate, groups, seed, interval):
    _, group, y, _ = rows(seed, groups)
    check_parts(family(name, group, y, surrogate, interval=interval), group.size, seed)


@pytest.mark.parametrize("kappa_scale", ["absolute", "relative"])
@pytest.mark.parametrize("interval", [*INTERVALS, PER_GROUP])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_values_equal_the_definition(name, surrogate, ties, interval, kappa_scale):
    for groups in (2,) if interval is PER_GROUP else (2, 3):
        rng, group, y, scores = rows(3, groups, ties=ties)
        # Per-group intervals of different lengths are compared at their mean slack by the rate families.
        lengths = np.array([sum(b - a for a, b in pairs) for pairs in for_groups(interval, groups)])
        slack = 0.1 if kappa_scale == "absolute" else 0.1 * (lengths if name in RANKS else lengths.mean())
        if name == "partial_group_auc":
            slack = 0.1 if kappa_scale == "relative" else 0.1 / (lengths[0] * lengths[1])
        if name.startswith(ALL_ROWS):
            slack = 0.1
        constraints = family(name, group, y, surrogate, interval=interval, kappa_scale=kappa_scale)
        aux = rng.normal(size=constraints.start.size)
        expected = direct(name, scores, group, y, aux, surrogate, interval, slack)
        parts = constraints.parts(scores, aux)
        assert np.abs(parts.convex - parts.concave - expected).max() < 1e-12
        assert np.array_equal(parts.values, parts.convex - parts.concave)


@pytest.mark.parametrize("kappa", [0.005, 0.3])
@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_the_start_is_feasible(name, surrogate, kappa):
    for interval in INTERVALS:
        _, group, y, _ = rows(4, groups=3)
        constraints = family(name, group, y, surrogate, interval=interval, kappa=kappa)
        equal = np.full(group.size, constraints.start_score)
        assert constraints.parts(equal, constraints.start).values.max() <= 1e-6


@pytest.mark.parametrize("name", FAMILIES)
def test_the_order_of_tied_rows_does_not_matter(name):
    rng, group, y, scores = rows(5, ties=True)
    order = rng.permutation(group.size)
    found = family(name, group, y).parts(scores, np.zeros(4)[: family(name, group, y).start.size])
    permuted = family(name, group[order], y[order])
    other = permuted.parts(scores[order], np.zeros(permuted.start.size))
    weights = rng.random((2, found.convex.size))
    assert np.allclose(other.convex, found.convex, atol=1e-12)
    assert np.allclose(other.pull_back(*weights)[0], found.pull_back(*weights)[0][order], atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_that_suit_hardly_violate_the_constraint(name):
    """Group scores two units apart, where a surrogate of width 1 saturates."""
    rng, group, y, _ = rows(6, groups=3, n=600)
    scores = rng.normal(2.0 * (group - 1), 1.0)
    constraints = family(name, group, y, kappa=0.3)
    before = constraints.parts(scores, constraints.start).values.max()
    shift, aux = constraints.suit(scores, group)
    after = constraints.parts(scores + shift[group], aux).values.max()
    if name.startswith("loss_") or name == "intersectional_loss":  # a loss is nowhere flat
        assert not shift.any()
        return
    if name == "auc_gap_intra_group":  # shifts of whole groups hardly touch what is compared within groups
        assert after < 0
    elif name in RANKS:  # its thresholds suit the groups together; the groups still differ
        assert after < 1 - 0.3
    else:
        assert after < 0 < before


class TestClassicalNotions:
    """With I = [0, 1] and the indicator, ``max f + slack`` is the classical metric, to rounding."""

    def violation(self, name, group, y, scores, aux=None, **options):
        constraints = family(name, group, y, interval=((0.0, 1.0),), kappa=0.1, **options)
        values = constraints.sharp().parts(scores, np.zeros(0) if aux is None else aux).values
        return values.max() + 0.1

    @pytest.mark.parametrize("groups", [2, 3])
    @pytest.mark.parametrize("seed", range(3))
    def test_rates_equal_fairlearn(self, groups, seed):
        _, group, y, scores = rows(seed, groups)
        decision = np.where(scores > 0, 1, -1)
        for name, metric, options in (
            ("partial_demographic_parity", demographic_parity_difference, {}),
            ("partial_equal_opportunity", equal_opportunity_difference, {}),
            ("partial_equalized_odds", equalized_odds_difference, {}),
        ):
            expected = metric((y > 0).astype(int), (decision > 0).astype(int), sensitive_features=group, **options)
            assert self.violation(name, group, y, scores) == pytest.approx(expected, abs=1e-9), name

    @pytest.mark.parametrize("ties", [False, True])
    def test_group_auc_equals_sklearn(self, ties):
        _, group, y, scores = rows(7, ties=ties)
        expected = abs(roc_auc_score(group, scores) - 0.5)
        assert self.violation("partial_group_auc", group, y, scores) == pytest.approx(expected, abs=1e-9)

    def test_statistical_parity_equals_the_two_sample_ks_statistic(self):
        _, group, y, scores = rows(8)
        # Thresholds between all scores; at each, the two groups' shares are p - lower and upper + p + slack.
        aux = np.sort(scores)[::-1] - 1e-3
        constraints = family("partial_statistical_parity", group, y, interval=((0.0, 1.0),), kappa=0.1, grid=N)
        values = constraints.sharp().parts(scores, aux).values.reshape(N, 2, 2)
        shares = np.arange(N)[:, None] / N - values[:, :, 0]
        expected = ks_2samp(scores[group == 0], scores[group == 1]).statistic
        assert np.abs(shares[:, 0] - shares[:, 1]).max() == pytest.approx(expected, abs=1e-9)


# Rate families compare intervals of different lengths at their mean length, which no absolute metric does.
MEASURED = [
    (name, interval, scale)
    for name in FAMILIES
    for interval in [*INTERVALS, PER_GROUP]
    for scale in ("absolute", "relative")
    if name not in (*RANKS, "intersectional_loss")  # the latter bounds hinge losses, not errors
    and (interval is not PER_GROUP or scale == "relative" or name == "partial_group_auc")
]


@pytest.mark.parametrize(("name", "interval", "kappa_scale"), MEASURED)
def test_the_true_violation_is_the_metric_that_reports_the_family(name, interval, kappa_scale):
    """``VIOLATION`` names the metric whose excess over kappa is the violated amount, on either scale."""
    groups = 2 if interval is PER_GROUP else 3
    _, group, y, scores = rows(9, groups)
    scores -= np.quantile(scores, 0.9)  # so that rates lie inside the intervals
    metric = get(plugins.load("constraints", name).VIOLATION[kappa_scale])
    found = metric(scores, y, group, interval, 0.0)
    constraints = family(name, group, y, interval=interval, kappa=found, kappa_scale=kappa_scale)
    assert constraints.sharp().parts(scores, np.zeros(0)).values.max() == pytest.approx(0, abs=1e-7)


class TestBrokenFamilies:
    """The contract of :func:`check_parts` can fail."""

    def broken(self, change):
        _, group, y, _ = rows(10)
        honest = family("partial_group_auc", group, y)

        class Broken:
            labels, start = honest.labels, honest.start

            def parts(self, scores, aux):
                return change(honest.parts(scores, aux))

        return Broken(), group.size

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda p: Parts(p.concave - p.convex, np.zeros(2), p.pull_back), "not convex|no subgradient"),
            (lambda p: Parts(p.convex, p.concave, lambda a, b: p.pull_back(b, a)), "no subgradient|wrong derivative"),
            (lambda p: Parts(-p.convex, p.concave, lambda a, b: p.pull_back(-a, b)), "not convex"),
        ],
    )
    def test_the_contract_catches_it(self, change, words):
        with pytest.raises(AssertionError, match=words):
            for seed in range(5):
                check_parts(*self.broken(change), seed)


def test_a_surrogate_that_a_family_cannot_use_is_refused():
    _, group, y, _ = rows(11)
    with pytest.raises(ConfigError, match="use clipped_linear"):
        family("partial_group_auc", group, y, "logistic")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"kappa": 0.0}, ConfigError, "kappa is 0.0"),
        ({"kappa_scale": "percent"}, ConfigError, "'percent'"),
        ({"interval": [[(0.1, 0.2)]] * 3}, ConfigError, "3 groups"),
        ({"interval": ((0.0, 0.001),)}, NotEstimableError, "group 0: interval 0-0.001 keeps"),
    ],
)
def test_what_the_group_auc_cannot_use_is_refused(options, error, words):
    _, group, y, _ = rows(12)
    with pytest.raises(error, match=words):
        pgauc.build(group, y, **{"interval": INTERVALS[0], "kappa": 0.1, **options})


def test_the_group_auc_takes_no_quadratic_time():
    """Four times the rows: 16 times the work for all pairs, about 4 for a sort."""

    def seconds(n):
        _, group, y, scores = rows(13, n=n)
        constraints = family("partial_group_auc", group, y)
        constraints.parts(scores, np.zeros(0))
        times = []
        for _ in range(5):
            began = time.process_time()
            constraints.parts(scores, np.zeros(0)).vjp(np.ones(2))
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(200_000) < 10 * seconds(50_000)
