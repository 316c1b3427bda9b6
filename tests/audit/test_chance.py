"""What chance makes of gaps: intervals that hold the true one, a clearer gap of another pair, gates at their limit."""

import math

import numpy as np
import pytest
from scipy import stats

from partialfair.audit import audit_scores, sentences
from partialfair.audit.chance import critical_gap


def test_the_critical_gap_is_that_of_kolmogorov_and_smirnov():
    for rows, level in (((4000, 6000), 0.95), ((3000, 3000), 0.8)):
        scaled = critical_gap(rows, level) / math.sqrt(sum(1 / size for size in rows))
        assert stats.kstwobign.sf(scaled) == pytest.approx(1 - level, rel=1e-3)
    assert critical_gap((100, 100), 0.95, 10) == pytest.approx(critical_gap((100, 100), 0.995))


@pytest.mark.parametrize(("groups", "rows", "shift"), [(2, 400, 0.0), (5, 1000, 0.0), (5, 1000, 0.25)])
def test_intervals_of_a_largest_gap_hold_the_true_one(groups: int, rows: int, shift: float):
    random, held, runs = np.random.default_rng(0), 0, 60
    group = np.arange(rows) % groups
    truth = 2 * stats.norm.cdf(shift / 2) - 1
    for _ in range(runs):
        scores = random.normal(size=rows) + shift * group / (groups - 1)
        found = audit_scores(scores, group).measured.overall["sp"]
        assert found.low is not None and found.high is not None
        held += found.low - 1e-12 <= truth <= found.high
    assert held >= 0.93 * runs, "of five groups that do not differ, fewer than half did before"


def test_a_small_group_does_not_hide_the_gap_of_two_large_ones():
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [20000, 20000, 40])
    scores = random.normal(size=group.size) + 0.1 * (group == "b") + 0.4 * (group == "c")
    said = sentences.headline(audit_scores(scores, group, confidence_intervals=False))
    assert "Chance alone may explain this gap" in said
    assert "It does not explain the gap of" in said and "points between 'a' and 'b', who have more rows." in said
    alike = sentences.headline(audit_scores(random.normal(size=group.size), group, confidence_intervals=False))
    assert "Chance alone may explain this gap" in alike and "It does not explain" not in alike


@pytest.mark.parametrize(
    ("counts", "gates"),
    [((40, 35), {"sp": 0.1, "dp_full": 0.1, "rank_gap": 0.1}), ((40, 35), {"selection_ratio": 0.875})],
)
def test_a_value_that_equals_its_limit_passes(counts: tuple[int, int], gates: dict[str, float]):
    """Shares of 40 and 35 in 50 differ by .1, and have a ratio of .875, up to the last bit."""
    scores = np.concatenate([np.where(np.arange(50) < count, 1.0, -1.0) for count in counts])
    found = audit_scores(scores, np.repeat(["a", "b"], 50), threshold=0.0, gates=gates, confidence_intervals=False)
    assert found.passed
    assert [gate.value for gate in found.gates] == list(gates.values())


def test_what_chance_explains_on_an_interval_is_in_units_of_its_length():
    random, group, beyond = np.random.default_rng(0), np.arange(600) % 2, 0
    limit = critical_gap((300, 300), 0.95)
    for _ in range(10):
        scores = random.normal(size=600) + 0.1 * group
        found = audit_scores(scores, group, interval=[(0.1, 0.3)]).measured.overall["sp"]
        assert found.value is not None and found.low is not None
        if found.value <= limit / 0.2:
            assert found.low == 0.0
        beyond += limit < found.value <= limit / 0.2
    assert beyond >= 5, "gaps that would be clear on the whole range"


def test_chance_explains_gaps_of_ranks_and_not_of_areas():
    random, group, limit, small = np.random.default_rng(0), np.arange(600) % 2, critical_gap((300, 300), 0.95), 0
    for _ in range(15):
        found = audit_scores(random.normal(size=600), group).measured.overall["rank_gap"]
        if found.value <= limit:
            small += 1
            assert found.low == 0.0
    assert small >= 10
    scores = random.normal(size=600) + 0.3 * group
    found = audit_scores(scores, group).measured.overall["gauc"]
    assert found.low > 0 and found.value <= limit
