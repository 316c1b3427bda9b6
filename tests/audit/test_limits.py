"""Confidence limits: against other libraries, known answers, and how often they hold the true value."""

import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from partialfair.audit import audit_scores, confidence_limits
from partialfair.audit.interval_ends import violation_ends
from partialfair.audit.measures import PARTIAL, WHOLE
from partialfair.data.intervals import FULL
from partialfair.metrics import get
from tests.simulations.audit_coverage import PAGE, SAMPLES, SIZES, TABLE, cell, counted, markdown, population

WHOLE_RANGE = (FULL, FULL)
TAIL = 0.025


def decided(*counts: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Scores and groups: of each group (positive decisions, rows)."""
    scores = np.concatenate([np.where(np.arange(rows) < hits, 0.9, 0.1) for hits, rows in counts])
    return scores, np.repeat([f"g{k}" for k in range(len(counts))], [rows for _, rows in counts])


@pytest.mark.parametrize(("hits", "rows"), [(0, 30), (1, 30), (7, 40), (40, 40), (1200, 2000)])
def test_limits_of_a_share_are_the_exact_ones_of_scipy(hits: int, rows: int) -> None:
    expected = stats.binomtest(hits, rows).proportion_ci(0.95, method="exact")
    assert [float(end) for end in confidence_limits.share_limits(hits / rows, rows, TAIL)] == pytest.approx(
        [*expected], abs=1e-12
    )


def test_limits_of_very_many_shares_are_those_of_each() -> None:
    shares = np.arange(4001) / 4000
    limits = confidence_limits.curve_limits(shares, 4000.0, TAIL), confidence_limits.share_limits(shares, 4000, TAIL)
    for many, each in zip(*limits, strict=True):
        assert np.abs(many - each).max() < 2e-5


def test_a_difference_of_shares_is_newcombes_with_exact_limits() -> None:
    """Newcombe (1998, table II, row a): 56 of 70 against 48 of 80, with Wilson's limits .0524 to .3339."""
    p, q = 56 / 70, 48 / 80
    ends = [stats.binomtest(x, n).proportion_ci(0.95, method="wilson") for x, n in ((56, 70), (48, 80))]
    wilson = confidence_limits.difference_limits((p, ends[0].low, ends[0].high), (q, ends[1].low, ends[1].high))
    assert [float(end) for end in wilson] == pytest.approx([0.0524, 0.3339], abs=5e-5)
    low, high = confidence_limits.decision_gap(np.array([p, q]), np.array([70, 80]), WHOLE_RANGE, TAIL)
    exact = [stats.binomtest(x, n).proportion_ci(0.95, method="exact") for x, n in ((56, 70), (48, 80))]
    assert float(low) == pytest.approx(p - q - math.hypot(p - exact[0].low, exact[1].high - q))
    assert float(high) == pytest.approx(p - q + math.hypot(exact[0].high - p, q - exact[1].low))
    assert low < wilson[0] and high > wilson[1]


def test_a_group_without_a_positive_decision_has_an_interval_with_width() -> None:
    """None of 30 against 100 of 2,000: resamples of the small group do not vary at all."""
    found = audit_scores(*decided((100, 2000), (0, 30))).measured.overall["dp_full"]
    assert found.value == pytest.approx(0.05) and found.low == 0
    assert found.high is not None and found.high > stats.binomtest(0, 30).proportion_ci(0.95).high - 0.06


def test_five_positive_rows_do_not_prove_a_gap() -> None:
    """All of 5 positives accepted, of 600 others two thirds: Fisher's exact test has p = .18."""
    scores, group = decided((400, 600), (5, 5))
    scores, group = np.r_[scores, np.full(40, 0.2)], np.r_[group, np.repeat("g1", 40)]
    labels = np.r_[np.ones(605), np.zeros(40)]
    assert stats.fisher_exact([[400, 200], [5, 0]]).pvalue > 0.1
    found = audit_scores(scores, group, labels).measured.overall["eop_full"]
    assert found.value == pytest.approx(1 / 3) and found.low == 0


def test_kept_parts_of_shares_on_the_ellipse_have_the_known_extremes() -> None:
    """Inside the interval a kept part is the share, moved and scaled; where it is flat, the other alone counts."""
    inner = ((0.0, 0.5),), ((0.0, 0.5),)
    p, q = (np.array(0.2), np.array(0.15), np.array(0.26)), (np.array(0.3), np.array(0.27), np.array(0.34))
    linear = [float(end) for end in confidence_limits.kept_gap(p, q, inner)]
    assert linear == pytest.approx([2 * float(end) for end in confidence_limits.difference_limits(p, q)], rel=1e-2)
    above = (np.array(0.8), np.array(0.6), np.array(0.9))
    flat = [float(end) for end in confidence_limits.kept_gap(p, above, inner)]
    assert flat == pytest.approx([2 * 0.15 - 1, 2 * 0.26 - 1])


def test_the_area_has_the_variance_of_delong_and_of_a_mann_whitney_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=400), rng.normal(size=300) + 0.5
    edges = np.unique(np.r_[first, second])[::-1]
    ranks = np.array([[(own > edge).mean() for edge in edges] for own in (first, second)])
    low, high = (
        float(end) for end in confidence_limits.area_limits(ranks, np.array([400.0, 300.0]), WHOLE_RANGE, TAIL)
    )
    wins = (second[:, None] > first) + 0.5 * (second[:, None] == first)
    delong = wins.mean(axis=0).var(ddof=1) / 400 + wins.mean(axis=1).var(ddof=1) / 300
    assert low < wins.mean() < high
    assert (high - low) / (2 * 1.96 * math.sqrt(delong)) == pytest.approx(1.0, abs=0.04)


def test_areas_of_0_and_1_have_intervals_with_width() -> None:
    ranks = np.array([[0.0, 0.0], [0.0, 1.0]])  # every row of the second group above all of the first
    low, high = (float(end) for end in confidence_limits.area_limits(ranks, np.array([40.0, 10.0]), WHOLE_RANGE, TAIL))
    assert high == 1.0 and low == pytest.approx(stats.binomtest(10, 10).proportion_ci(0.95).low)


def test_the_ratio_of_many_equal_groups_holds_parity() -> None:
    rng = np.random.default_rng(0)
    shares = rng.binomial(200, 0.3, (400, 10)) / 200
    low, high = confidence_limits.lowest_ratio(shares, np.full(10, 200.0), 0.95)
    held = np.mean(high == 1.0)
    assert held >= 0.95, "of 10 groups of 200 that are alike, 61 of 100 intervals left parity out"
    assert np.all(low < shares.min(axis=1) / shares.max(axis=1))


def test_a_ratio_of_two_groups_has_the_limits_of_both_on_the_scale_of_logarithms() -> None:
    """Of 100 rows of a 30 are selected, of 200 of b 120; with many rows that is Katz's interval."""
    scores, group = decided((30, 100), (120, 200))
    found = audit_scores(scores, group).ratio
    (a, b) = (stats.binomtest(x, n).proportion_ci(0.95) for x, n in ((30, 100), (120, 200)))
    below = math.hypot(math.log(0.3 / a.low), math.log(b.high / 0.6))
    above = math.hypot(math.log(a.high / 0.3), math.log(0.6 / b.low))
    expected = (0.5, 0.5 * math.exp(-below), 0.5 * math.exp(above))
    assert (found.value, found.low, found.high) == pytest.approx(expected)
    spread = 1.959964 * math.sqrt(1 / 30 - 1 / 100 + 1 / 120 - 1 / 200)
    assert found.low == pytest.approx(0.5 * math.exp(-spread), rel=0.05)


def test_an_audit_has_the_ends_that_the_simulation_counts() -> None:
    world, rng = population(3, 0.3, 0.2), np.random.default_rng(1)
    by_label = np.array([[200, 80], [150, 60], [90, 40]])
    draws = np.array([[rng.multinomial(by_label[k, y], world.chances[k, y]) for y in (0, 1)] for k in range(3)])
    scores, groups, labels = (
        np.concatenate([np.repeat(values, draws[k, y]) for k in range(3) for y in (0, 1) for values in [of(k, y)]])
        for of in (lambda k, y: -np.arange(60.0), lambda k, y: np.full(60, k), lambda k, y: np.full(60, y))
    )
    threshold = -world.cut + 0.5
    found = audit_scores(scores, groups, labels, interval=[world.interval], threshold=threshold).measured
    for name in (*PARTIAL, *WHOLE):
        if found.overall[name].value is None:
            assert name in ("eop", "eod"), "decided outside of the interval"
            continue
        union = (FULL, FULL) if name in WHOLE else ((world.interval,), (world.interval,))
        kernel, ends = name.removesuffix("_full"), []
        for pair in ([0, 1], [0, 2], [1, 2]):
            two = counted(draws[None][:, pair], world.cut, union)
            effective = np.column_stack([by_label, by_label.sum(axis=1)])[pair].astype(float)
            ends.append(violation_ends(kernel, two, get(kernel).replicate(two), effective, TAIL, 3))
        low, high = max(float(e[2][0]) for e in ends), max(float(e[1][0]) for e in ends)
        assert (found.overall[name].low, found.overall[name].high) == pytest.approx((low, high), abs=1e-9), name


@pytest.mark.parametrize(
    ("sizes", "rate", "gap"),
    [
        ("2,000 and 30", 0.05, 0.0),
        ("2,000 and 40, 5 positive", 0.3, 0.0),
        ("ten of 200", 0.3, 0.0),
        ("30 and 30", 0.1, 1.0),
        ("300 and 300", 0.05, 0.2),
    ],
)
def test_intervals_of_every_metric_hold_the_true_value(sizes: str, rate: float, gap: float) -> None:
    """A small version of the table of the documentation: .93 less three standard errors."""
    assert sizes in SIZES
    samples = 100 if sizes.startswith("ten") else 500
    for found in cell(sizes, rate, gap, samples, np.random.default_rng(7)):
        if "covered" in found:
            assert float(str(found["covered"])) >= 0.93 - 3 * math.sqrt(0.05 * 0.95 / samples), found


def test_the_committed_table_has_no_cell_below_93_and_is_that_of_the_script() -> None:
    table = pd.read_csv(TABLE)
    assert {*table["sizes"]} == {*SIZES} and table["covered"].min() >= 0.93
    assert {*table[table["covered"].isna()]["metric"]} <= {"gauc"}
    assert markdown(table) in PAGE.read_text(encoding="utf-8")
    key = ("2,000 and 30", 0.05, 0.0)
    again = pd.DataFrame(list(cell(*key, SAMPLES[2], np.random.default_rng([0, 0, 50, 0]))))
    rows = table[(table["sizes"] == key[0]) & (table["rate"] == key[1]) & (table["gap"] == key[2])]
    rows = rows[rows["metric"] != "calibration"].set_index("metric")
    assert rows["covered"].to_numpy() == pytest.approx(again["covered"].to_numpy(float), abs=2e-3, nan_ok=True)


def test_an_area_of_too_few_kept_rows_has_no_interval_and_says_so() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [400, 400, 50])
    result = audit_scores(rng.random(850), group, interval=[(0.0, 0.3)])
    overall, alone = result.measured.overall["gauc"], result.measured.pairs[0, 1]["gauc"]
    assert overall.value is not None and overall.low is None and alone.low is not None
    assert result.measured.overall["gauc_full"].low is not None
    for text in (result.to_text(), result.to_html(), repr(result), result.to_frame().loc["gauc", "reason"]):
        assert "no interval: too few" in text
    assert json.loads(result.to_json())["overall"]["gauc"]["no_interval"].startswith("no interval: too few")
    larger = audit_scores(rng.random(860), np.repeat(["a", "b", "c"], [400, 400, 60]), interval=[(0.0, 0.3)])
    assert larger.measured.overall["gauc"].low is not None


def test_the_memory_of_an_audit_is_that_of_its_rows() -> None:
    """Tables of all groups at all scores took 413 MB, and grew with their product; 176 MB now."""
    rng = np.random.default_rng(0)
    scores, codes = rng.random(200_000), rng.integers(0, 20, 200_000)
    audit_scores(scores[:5000], codes[:5000])
    tracemalloc.start()
    audit_scores(scores, codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 250e6
