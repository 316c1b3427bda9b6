"""The simulated benchmark: closed forms against draws and against a dense grid of thresholds."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from partialfair.errors import ConfigError, NotEstimableError
from reproduction.datasets import simulated

ROWS = 400_000
OTHER = np.array([0.3, -0.5, 1.0, 0.2, 0.0, 0.4, 1.0, -0.6, 0.9, -0.3, 0.0, 0.5, 0.0, -0.7])
TRUE = np.concatenate([simulated.TRUE_WEIGHTS, np.zeros(7)])  # (1, x, s, s x): the best score has no group terms
SCORES = {"true": TRUE, "interacting": OTHER, "reversed": -OTHER}
INTERVALS = {
    "part": [(0.1, 0.4)],
    "top": [(0.0, 0.25)],
    "bottom": [(0.7, 1.0)],
    "full": [(0.0, 1.0)],
    "union": [(0.05, 0.2), (0.5, 0.8)],
}
vectors = st.lists(st.floats(-2, 2), min_size=14, max_size=14).map(np.array)
intervals = st.lists(st.floats(0, 1), min_size=2, max_size=4, unique_by=lambda p: round(p, 1)).map(
    lambda ends: [tuple(pair) for pair in np.sort(ends)[: len(ends) // 2 * 2].reshape(-1, 2)]
)


@pytest.fixture(scope="module")
def drawn() -> simulated.Dataset:
    return simulated.load(rows=ROWS, seed=1)


def scores(data: simulated.Dataset, weights: np.ndarray) -> np.ndarray:
    columns = np.column_stack([np.ones(data.n_rows), data.X])
    return columns @ weights[:7] + data.group * (columns @ weights[7:])


def empirical(data: simulated.Dataset, weights: np.ndarray, interval: list, at: np.ndarray) -> tuple[np.ndarray, ...]:
    """Empirical ranks F_k and restricted masses C_k at thresholds, each shape (2, len(at))."""
    h = scores(data, weights)
    ordered = [np.sort(h[data.group == code]) for code in (0, 1)]
    ranks = np.stack([1 - np.searchsorted(s, at, side="right") / len(s) for s in ordered])
    return ranks, sum(np.clip(ranks, a, b) - a for a, b in interval)


@pytest.mark.parametrize("interval", INTERVALS.values(), ids=INTERVALS)
@pytest.mark.parametrize("weights", SCORES.values(), ids=SCORES)
def test_draws_converge_to_the_closed_forms(drawn, weights: np.ndarray, interval: list) -> None:
    h = scores(drawn, weights)
    at = np.quantile(h, np.linspace(0, 1, 4001))
    ranks, masses = empirical(drawn, weights, interval, at)
    size = sum(b - a for a, b in interval)
    inside = np.any([(ranks >= a) & (ranks < b) for a, b in interval], axis=(0, 1))
    # A rank estimated on 160,000 rows is within .0035 everywhere with probability .999 (Dvoretzky-Kiefer-Wolfowitz).
    assert simulated.population_rank_gap(weights, interval) == pytest.approx(
        np.abs(ranks[0] - ranks[1])[inside].max(), abs=0.007
    )
    sp = np.abs(masses[0] - masses[1]).max() / size
    assert simulated.population_sp(weights, interval) == pytest.approx(sp, abs=0.007 / size)
    _, at_zero = empirical(drawn, weights, interval, np.zeros(1))
    dp = abs(at_zero[0, 0] - at_zero[1, 0]) / size
    assert simulated.population_dp(weights, interval) == pytest.approx(dp, abs=0.007 / size)


@pytest.mark.parametrize("weights", SCORES.values(), ids=SCORES)
def test_accuracy_and_moments_converge(drawn, weights: np.ndarray) -> None:
    h = scores(drawn, weights)
    assert simulated.population_accuracy(weights) == pytest.approx(np.mean((h > 0) == (drawn.y > 0)), abs=0.003)
    assert simulated.population_accuracy(weights, 0.5) == pytest.approx(np.mean((h > 0.5) == (drawn.y > 0)), abs=0.003)
    means, deviations = simulated.score_moments(weights)
    for code in (0, 1):
        assert means[code] == pytest.approx(h[drawn.group == code].mean(), abs=0.03)
        assert deviations[code] == pytest.approx(h[drawn.group == code].std(), abs=0.03)


@given(weights=vectors, interval=intervals)
def test_maxima_equal_a_dense_grid(weights: np.ndarray, interval: list) -> None:
    slopes = weights.reshape(2, 7)[:, 1:]
    assume(min(np.linalg.norm(slopes[0]), np.linalg.norm(slopes.sum(axis=0))) > 0.1)
    means, deviations = simulated.score_moments(weights)
    at = np.linspace((means - 6 * deviations).min(), (means + 6 * deviations).max(), 60_001)
    ranks = simulated.population_ranks(weights, at)
    masses = sum(np.clip(ranks, a, b) - a for a, b in interval)
    size = sum(b - a for a, b in interval)
    grid_sp = np.abs(masses[0] - masses[1]).max() / size
    inside = np.any([(ranks >= a) & (ranks < b) for a, b in interval], axis=(0, 1))
    grid_gap = np.abs(ranks[0] - ranks[1])[inside].max(initial=0)
    step = (at[1] - at[0]) / deviations.min() * 0.4  # largest change of a rank between two grid points
    exact_sp, exact_gap = (f(weights, interval) for f in (simulated.population_sp, simulated.population_rank_gap))
    assert grid_sp - 1e-9 <= exact_sp <= grid_sp + step / size + 1e-9
    assert grid_gap - 1e-9 <= exact_gap <= grid_gap + 2 * step + 1e-9


def test_true_score_minimises_the_logistic_loss(drawn) -> None:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf, tol=1e-8).fit(drawn.X, drawn.y)
    assert np.allclose([fitted.intercept_[0], *fitted.coef_[0]], simulated.TRUE_WEIGHTS, atol=0.03)


def test_parity_of_identical_group_scores() -> None:
    # Group B's score is shifted and scaled to the distribution of group A's: every gap is 0.
    weights = TRUE.copy()
    means, deviations = simulated.score_moments(weights)
    factor = deviations[0] / deviations[1]
    weights[8:] = (factor - 1) * weights[1:7]
    weights[7] = means[0] - factor * (means[1] - weights[0]) - weights[0]
    for interval in INTERVALS.values():
        for measure in (simulated.population_sp, simulated.population_rank_gap, simulated.population_dp):
            assert measure(weights, interval) < 1e-12


def test_disjoint_scores_are_wholly_unfair() -> None:
    weights = TRUE.copy()
    weights[7] = 1e3
    assert simulated.population_sp(weights, [(0.1, 0.4)]) == pytest.approx(1)
    assert simulated.population_rank_gap(weights, [(0.1, 0.4)]) == pytest.approx(0.9)


def test_raw_weights_give_the_same_score(drawn) -> None:
    few = drawn.take(np.arange(100))
    centre, scale = few.X.mean(axis=0).astype(float), few.X.std(axis=0).astype(float)
    standardised = simulated.Dataset(**(vars(few) | {"X": ((few.X - centre) / scale)}))
    raw = simulated.raw_weights(OTHER, centre, scale)
    assert np.allclose(scores(few, raw), scores(standardised, OTHER), atol=1e-6)


def test_draw_depends_on_its_options_only() -> None:
    first, again, other = simulated.load(rows=50), simulated.load(rows=50), simulated.load(rows=50, seed=1)
    assert np.array_equal(first.X, again.X) and np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert first.n_features + simulated.SPEC.other_columns == simulated.SPEC.n_attributes


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"datasets\.simulated\.rows is 1"):
        simulated.load(rows=1)
    with pytest.raises(NotEstimableError, match=r"constant in a group"):
        simulated.population_sp(np.zeros(14), [(0.1, 0.4)])
