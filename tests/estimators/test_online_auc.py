"""Row by row: the online estimator is the batch oracle at batches of one, and learns."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from partialfair.algorithms.auc.level_set import mirror_weight, set_weights
from partialfair.algorithms.auc.quadratic_auc import QuadraticAUC, SetMoments
from partialfair.data.auc_sets import PRESETS
from partialfair.errors import ConfigError, DataError, InfeasibleError
from partialfair.estimators.online_auc import OnlineAUC
from partialfair.kernels.pair_minimax import oracle
from tests.algorithms.auc.auc_toy import random_rows


def stream(seed, n):
    rng, X, cells = random_rows(seed, n=n, p=3)
    return 0.6 * X[rng.permutation(n)], cells, np.where(cells % 2, 1.0, -1.0), cells >= 2


def test_rows_may_come_one_at_a_time_or_together():
    X, _, y, protected = stream(0, 300)
    together = OnlineAUC(call=90).partial_fit(X, y, protected)
    alone = OnlineAUC(call=90)
    for row, label, member in zip(X, y, protected, strict=True):
        alone.partial_fit(row, label, member)
    assert np.array_equal(together.weights, alone.weights) and together.upper == alone.upper
    assert alone.n_seen == 300 and len(alone.upper) == 3


def test_a_call_is_the_oracle_at_batches_of_one():
    X, cells, y, protected = stream(1, 250)
    sets = PRESETS["inter_group"]
    shares = np.bincount(cells, minlength=4) / cells.size
    own = OnlineAUC("inter_group", kappa=0.2, c=0.05, call=250, shares=shares).partial_fit(X, y, protected)
    one = np.zeros((5, 1))
    table, mean, sums = np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((10, 1))
    csr = sparse.csr_array(X)
    oracle(
        csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data, cells, np.arange(250)[:, None],
        set_weights(sets, cells), table, one.copy(), one.copy(), np.full((3, 1), 1 / 3), one.copy(), np.array([0.5]),
        np.array([1.2]), 0.5, 1.0, np.array([0.05]), mirror_weight(1.0), 1.0, 10.0, 0, np.zeros(0, np.int64), sums,
        mean, np.empty((0, 3, 1)),
    )  # fmt: skip
    assert own.weights == pytest.approx(mean[:, 0], abs=1e-10)


def test_it_learns_within_the_constraint():
    X, cells, y, protected = stream(2, 24_000)
    own = OnlineAUC("group", kappa=0.1, c=0.02, call=6000).partial_fit(X, y, protected)
    exact = QuadraticAUC(SetMoments.from_rows(X, cells, PRESETS["group"]))
    values, best = exact.values(own.weights), exact.values(exact.solve(0.1))
    assert max(values[1:]) < 1.1 + 2e-3 and values[0] < best[0] + 0.05
    assert roc_auc_score(y, own.decision_function(X)) > 0.5
    assert own.level < 0.5 and own.counts.sum() == 24_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [0.0, 1.0]}, "not -1 or"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, "row 0 has a feature that is not finite"),
        ({"protected": [True]}, "2 rows, 2 labels, 1 memberships"),
        ({"protected": ["female", "male"]}, "protected is 'female' in row 0; give a truth value"),
        ({"protected": ["0", "1"]}, "protected is '0' in row 0"),
        ({"protected": [1, 2]}, "protected is 2 in row 1"),
        ({"protected": [True, np.nan]}, "protected is nan in row 1"),
        ({"protected": [True, None]}, "protected is None in row 1"),
        ({"protected": [[True], [False]]}, "protected is .* in row 0"),
        ({"X": [[1.0], [2.0]]}, "rows have 1 features, those before had 2"),
    ],
)
def test_unusable_rows_are_refused(change, words):
    model = OnlineAUC().partial_fit([[1.0, 0.0]], [1.0], [True])
    rows = {"X": [[1.0, 2.0], [0.0, 1.0]], "y": [1.0, -1.0], "protected": [True, False]} | change
    with pytest.raises(DataError, match=words):
        model.partial_fit(**rows)
    assert model.n_seen == 1


def test_truth_values_may_be_numbers():
    X, _, y, protected = stream(0, 40)
    weights = [
        OnlineAUC(call=20).partial_fit(X, y, members).weights
        for members in (protected, protected.astype(int), protected.astype(float), protected.astype(object))
    ]
    assert all(np.array_equal(own, weights[0]) for own in weights[1:])


def test_unusable_options_are_refused():
    with pytest.raises(InfeasibleError, match="kappa_train"):
        OnlineAUC(c1=1.0, kappa=0.5)
    with pytest.raises(ConfigError, match="four shares"):
        OnlineAUC(shares=[0.5, 0.5])
    with pytest.raises(ConfigError, match="unknown AUC gap"):
        OnlineAUC("intra")
    with pytest.raises(ConfigError, match="at least 1 row"):
        OnlineAUC(call=0)


@pytest.mark.parametrize("call", [2.5, 0])
def test_a_call_is_a_whole_number_of_rows(call):
    with pytest.raises(ConfigError, match=f"call is {call}; use a whole number"):
        OnlineAUC(call=call)


@pytest.mark.parametrize("option", ["c", "bound", "radius"])
@pytest.mark.parametrize("value", [-1.0, 0.0, math.nan, math.inf])
def test_steps_and_bounds_are_positive_numbers(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{option} is .*positive, finite"):
        OnlineAUC(**{option: value})
