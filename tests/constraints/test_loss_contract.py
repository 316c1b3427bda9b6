"""Every loss found keeps the contract; losses on pairs equal the sums over all pairs; a broken loss is caught."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partialfair import plugins
from partialfair.constraints.losses import auc, partial_auc
from partialfair.constraints.losses.base import ConvexLoss, evaluate
from partialfair.errors import ConfigError, NotEstimableError

OPTIONS = {
    "auc": [{}, {"surrogate": "hinge"}, {"surrogate": "squared_hinge"}],
    "partial_auc": [
        {},
        {"fpr": [0.1, 0.5]},
        {"fpr": [[0.0, 0.2], [0.5, 0.7]], "surrogate": "squared_hinge"},
    ],
}
CASES = [(name, options) for name in plugins.names("losses") for options in OPTIONS.get(name, [{}])]
POINTWISE = {
    "logistic": lambda margin: np.log1p(np.exp(-margin)),
    "hinge": lambda margin: np.maximum(1 - margin, 0),
    "quadratic": lambda margin: (1 - margin) ** 2,
    "squared_hinge": lambda margin: np.maximum(1 - margin, 0) ** 2,
}


def sample(seed, n=120):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.35, 1.0, -1.0)
    y[:4] = (1, -1, 1, -1)
    return rng, y, rng.normal(y * 0.6, 1.5)


def check_loss(build, options, seed):
    """What every loss must do; used on the real ones and on broken ones."""
    rng, y, scores = sample(seed)
    loss, other = build(y, **options), rng.normal(0, 2, y.size)
    for part in (loss.convex, loss.concave):
        here, slope = part(scores)
        there, _ = part(other)
        assert slope.shape == scores.shape
        assert part((scores + other) / 2)[0] <= (here + there) / 2 + 1e-12, "a part is not convex"
        assert there >= here + slope @ (other - scores) - 1e-10, "a part has no subgradient"
    value, residual = evaluate(loss, scores)
    assert value == pytest.approx(loss.convex(scores)[0] - loss.concave(scores)[0], abs=1e-12)
    direction, step = rng.normal(size=y.size), 1e-6
    ahead, behind = (evaluate(loss, scores + t * direction)[0] for t in (step, -step))
    slopes = sorted([(ahead - value) / step, (value - behind) / step])  # they differ where a kink lies between
    assert slopes[0] - 1e-5 <= residual @ direction <= slopes[1] + 1e-5, "wrong derivative"
    shifted = evaluate(loss, scores + 0.7)[0]
    assert (abs(shifted - value) < 1e-9) == loss.free_intercept, "free_intercept is not what it says"


@pytest.mark.parametrize(("name", "options"), CASES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_every_loss_keeps_the_contract(name, options, seed):
    check_loss(plugins.load("losses", name).build, options, seed)


@pytest.mark.parametrize("name", plugins.names("losses"))
def test_every_loss_has_a_title_and_named_options(name):
    assert plugins.load("losses", name).LOSS
    assert plugins.parameters("losses", name, "build")[0] == "y"


class TestBrokenLosses:
    def build(self, **changed):
        class Broken(ConvexLoss):
            def __init__(self, y):
                self.y = y

            def convex(self, scores):
                return float((scores**2).mean()), 2 * scores / scores.size

        for name, method in changed.items():
            setattr(Broken, name, method)
        return Broken

    def test_the_one_that_is_not_broken_passes(self):
        check_loss(self.build(), {}, 0)

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            (
                {"convex": lambda self, s: (float(np.sin(3 * s).mean()), 3 * np.cos(3 * s) / s.size)},
                "convex|subgradient",
            ),
            ({"convex": lambda self, s: (float((s**2).mean()), s / s.size)}, "subgradient|derivative"),
            ({"free_intercept": True}, "free_intercept"),
        ],
    )
    def test_the_contract_catches_it(self, changed, words):
        with pytest.raises(AssertionError, match=words):
            for seed in range(5):
                check_loss(self.build(**changed), {}, seed)


@pytest.mark.parametrize("name", ["logistic", "hinge", "quadratic"])
def test_pointwise_losses_equal_their_formula(name):
    _, y, scores = sample(1)
    loss = plugins.load("losses", name).build(y)
    assert loss.convex(scores)[0] == pytest.approx(POINTWISE[name](y * scores).mean(), abs=1e-12)
    assert loss.concave(scores)[0] == 0


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("surrogate", ["quadratic", "hinge", "squared_hinge"])
def test_the_auc_loss_is_the_mean_over_all_pairs(surrogate, ties):
    _, y, scores = sample(2)
    scores = np.round(scores) if ties else scores
    differences = scores[y > 0][:, None] - scores[y < 0]
    expected = POINTWISE[surrogate](differences).mean()
    assert evaluate(auc.build(y, surrogate), scores)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("surrogate", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fpr", [[0.0, 1.0], [0.0, 0.3], [0.1, 0.45], [[0.0, 0.1], [0.6, 1.0]]])
@pytest.mark.parametrize("ties", [False, True])
def test_the_partial_auc_loss_is_the_mean_over_pairs_with_kept_negatives(surrogate, fpr, ties):
    _, y, scores = sample(3)
    scores = np.round(scores) if ties else scores
    negatives = np.sort(scores[y < 0])[::-1]
    pairs = [fpr] if np.ndim(fpr) == 1 else fpr
    kept = np.concatenate(
        [negatives[int(np.ceil(a * negatives.size)) : int(np.ceil(b * negatives.size))] for a, b in pairs]
    )
    expected = POINTWISE[surrogate](scores[y > 0][:, None] - kept).mean()
    assert evaluate(partial_auc.build(y, fpr, surrogate), scores)[0] == pytest.approx(expected, abs=1e-12)
    if fpr == [0.0, 1.0]:
        assert expected == pytest.approx(evaluate(auc.build(y, surrogate), scores)[0], abs=1e-12)


def test_the_partial_auc_loss_is_convex_only_from_rank_zero_on():
    _, y, scores = sample(4)
    assert partial_auc.build(y, [0.0, 0.3]).concave(scores)[0] == 0
    assert partial_auc.build(y, [0.1, 0.3]).concave(scores)[0] > 0


def test_a_steep_hinge_counts_misranked_pairs():
    """With scores scaled up, hinge / scale tends to the sum of score differences of misranked pairs alone."""
    _, y, scores = sample(5)
    differences = scores[y < 0] - scores[y > 0][:, None]
    found = evaluate(auc.build(y, "hinge"), scores * 1e8)[0] / 1e8
    assert found == pytest.approx(np.maximum(differences, 0).mean(), rel=1e-6)


@pytest.mark.parametrize(
    ("build", "options", "words"),
    [
        (auc.build, {"surrogate": "hing"}, "did you mean 'hinge'"),
        (partial_auc.build, {"surrogate": "quadratic"}, "surrogate is 'quadratic'"),
        (partial_auc.build, {"fpr": [0.5, 0.2]}, "alpha < beta"),
        (partial_auc.build, {"fpr": [[[0, 0.2]], [[0.1, 0.5]]]}, "one interval per group"),
    ],
)
def test_unusable_options_are_refused(build, options, words):
    with pytest.raises(ConfigError, match=words):
        build(sample(6)[1], **options)


def test_what_the_rows_do_not_determine_is_refused():
    with pytest.raises(NotEstimableError, match="rows of both"):
        auc.build(np.ones(5))
    with pytest.raises(NotEstimableError, match="none of the 2 negatives"):
        partial_auc.build(np.array([1.0, -1.0, -1.0]), [0.1, 0.2])


def test_pair_losses_take_no_quadratic_time():
    """Four times the rows: 16 times the work for all pairs, about 4 for a sort."""

    def seconds(n):
        _, y, scores = sample(7, n)
        loss = partial_auc.build(y, [0.1, 0.4])
        evaluate(loss, scores)
        times = []
        for _ in range(5):
            began = time.process_time()
            evaluate(loss, scores)
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(200_000) < 10 * seconds(50_000)
