"""AUC gaps of four subsets: known answers, invariances, and agreement of metric, constraint and kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from papers.auc_fairness.algorithms.auc_common import Quality
from partialfair.data.auc_sets import PRESETS, FourSets, cells_of, preset
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.kernels.cell_auc import rescaled_win_tables, win_tables
from partialfair.metrics.on_request import auc_gap
from partialfair.metrics.on_request.auc_gap import METRICS, auc_between, gap, signed_gap
from tests.algorithms.auc.auc_toy import GROUP, X, Y


@pytest.mark.parametrize(("name", "delta"), [("group", -0.25), ("inter_group", -0.444444), ("intra_group", 0.0)])
def test_known_answers_on_twelve_rows(name, delta):
    scores = X[:, 0]
    assert roc_auc_score(Y, scores) == pytest.approx(0.75)
    assert signed_gap(scores, Y, GROUP, PRESETS[name], protected=1) == pytest.approx(delta, abs=1e-6)
    assert gap(scores, Y, GROUP, PRESETS[name]) == pytest.approx(abs(delta), abs=1e-6)


def sample(seed, n=120, ties=True):
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    group[:4], y[:4] = (0, 0, 1, 1), (-1, 1, -1, 1)
    scores = rng.normal(size=n) + 0.3 * group
    return rng, np.round(scores, 1) if ties else scores, y, group


def test_ties_count_one_half():
    scores, first = np.array([1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
    assert auc_between(scores, first, ~first) == 0.75
    assert auc_between(scores, first | True, first | True) == 0.5


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_sets_that_part_the_rows_give_the_usual_auc(seed):
    _, scores, y, group = sample(seed)
    assert auc_between(scores, y > 0, y < 0) == pytest.approx(roc_auc_score(y > 0, scores), abs=1e-12)
    intra = signed_gap(scores, y, group, PRESETS["intra_group"], protected=1)
    own = [roc_auc_score(y[group == g] > 0, scores[group == g]) for g in (1, 0)]
    assert intra == pytest.approx(own[0] - own[1], abs=1e-12)


def test_ranks_are_counted_in_double_precision_though_scipy_counts_in_that_of_the_scores(monkeypatch):
    """As SciPy does from 1.18 on; sums of ranks of so many rows do not fit into float32."""
    monkeypatch.setattr(auc_gap, "rankdata", lambda values: rankdata(values).astype(values.dtype))
    rng = np.random.default_rng(0)
    scores, first = rng.normal(size=50_000).astype(np.float32), rng.random(50_000) < 0.4
    assert auc_between(scores, first, ~first) == pytest.approx(roc_auc_score(first, scores), abs=1e-13)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(PRESETS)))
def test_increasing_transforms_change_nothing(seed, name):
    _, scores, y, group = sample(seed)
    before = signed_gap(scores, y, group, PRESETS[name])
    assert signed_gap(np.exp(scores) * 3 + 1, y, group, PRESETS[name]) == pytest.approx(before, abs=1e-12)
    if name in ("group", "inter_group", "intra_group"):
        assert signed_gap(scores, y, group, PRESETS[name], protected=1) == pytest.approx(-before, abs=1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(PRESETS)))
def test_the_kernel_of_the_selection_equals_the_metric(seed, name):
    _, scores, y, group = sample(seed)
    cells = cells_of(y, group, 1)
    found = Quality.of_scores(np.array([scores, -scores]), cells, PRESETS[name])
    for k, own in enumerate((scores, -scores)):
        assert found.auc[k] == pytest.approx(roc_auc_score(y > 0, own), abs=1e-12)
        assert found.delta[k] == pytest.approx(signed_gap(own, y, group, PRESETS[name], protected=1), abs=1e-12)


def test_rescaling_one_group_leaves_what_is_within_groups():
    _, scores, y, group = sample(3)
    cells = cells_of(y, group, 1)
    parts = [np.sort(scores[cells == cell]) for cell in range(4)]
    scales, shifts = np.array([0.0, 0.4, 2.0]), np.array([-1.0, 0.0, 0.3])
    wins = np.empty((3, 3, 4, 4))
    rescaled_win_tables(*parts, scales, shifts, wins)
    intra = Quality.from_wins(wins, cells, PRESETS["intra_group"])
    start = Quality.of_scores(scores[None], cells, PRESETS["intra_group"])
    assert intra.delta[1:] == pytest.approx(np.full((2, 3), start.delta[0]), abs=1e-12)
    moved = np.where(group == 1, 0.4 * scores + 0.3, scores)
    assert wins[1, 2] == pytest.approx(win_tables(moved[None], cells)[0], abs=1e-9)


def test_several_groups_take_their_turn():
    rng = np.random.default_rng(0)
    group, y = np.repeat([0, 1, 2], 40), np.tile([-1.0, 1.0], 60)
    scores = rng.normal(size=120) + (group == 2)
    each = [abs(signed_gap(scores, y, group, PRESETS["group"], k)) for k in range(3)]
    assert METRICS["auc_gap_group"](scores, y, group, None) == pytest.approx(max(each)) == pytest.approx(each[2])


def test_an_empty_set_is_named():
    _, scores, y, group = sample(1)
    with pytest.raises(NotEstimableError, match=r"the set G1 = \(protected, positive\) has no rows"):
        signed_gap(scores, np.where(group == 0, -1.0, y), group, PRESETS["intra_group"])
    with pytest.raises(NotEstimableError, match="not -1 or"):
        signed_gap(scores, np.where(y > 0, 2.0, y), group, PRESETS["group"])


def test_own_sets_and_unknown_names():
    own = FourSets("own", "own gap", ((3,), (0, 2), (1,), (0, 2)))
    _, scores, y, group = sample(2)
    expected = auc_between(scores, (group == 1) & (y > 0), y < 0) - auc_between(scores, (group == 0) & (y > 0), y < 0)
    assert signed_gap(scores, y, group, own, protected=1) == pytest.approx(expected)
    with pytest.raises(ConfigError, match="name different cells"):
        FourSets("bad", "", ((4,), (0,), (1,), (2,)))
    with pytest.raises(ConfigError, match="did you mean 'inter_group'"):
        preset("inter_grop")
