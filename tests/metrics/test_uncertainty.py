"""Intervals over seeds against scipy; the bootstrap against resampling by hand, and its coverage."""

import time

import metric_oracles as oracles
import numpy as np
import pytest
from scipy import stats

from partialfair import metrics, seeding
from partialfair.errors import ConfigError, NotEstimableError
from partialfair.metrics import ranks
from partialfair.metrics.resampling import resample
from partialfair.metrics.uncertainty import DEFAULT_BOOTSTRAP, bootstrap, bootstrap_replicates, t_interval

INTERVAL = [(0.1, 0.5)]
EVERY = tuple(name for name in metrics.names() if metrics.get(name).replicate is not None)


class TestOverSeeds:
    @pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
    @pytest.mark.parametrize("n", [2, 5, 12])
    def test_equals_scipy(self, n, level):
        values = np.random.default_rng(n).normal(size=n)
        found = t_interval(values, level)
        expected = stats.t.interval(level, n - 1, values.mean(), stats.sem(values))
        assert (found.low, found.high) == pytest.approx(expected)
        assert found.mean == pytest.approx(values.mean()) and found.half_width == pytest.approx(found.high - found.mean)

    def test_one_seed_has_no_interval(self):
        found = t_interval([0.3])
        assert found.mean == 0.3 and found.n == 1 and np.isnan([found.low, found.high, found.half_width]).all()

    def test_missing_seeds_are_left_out(self):
        assert t_interval([1.0, np.nan, 3.0]) == t_interval([1.0, 3.0])
        assert np.isnan(t_interval([]).mean)

    @pytest.mark.parametrize("level", [0, 1, 95, -0.5])
    def test_level_is_checked(self, level):
        with pytest.raises(ConfigError, match=f"level: {level} is not between 0 and 1"):
            t_interval([1.0, 2.0], level=level)


class TestResampling:
    """A replicate is a sample: its counts must be those of the rows it drew."""

    def replicates(self, monkeypatch, scores, y, group, **options):
        drawn = []
        from partialfair.metrics import resampling

        original = resampling._draw

        def recorded(rng, rows, size):
            drawn.append(original(rng, rows, size))
            return drawn[-1]

        monkeypatch.setattr(resampling, "_draw", recorded)
        values = bootstrap_replicates(scores, y, group, INTERVAL, np.random.default_rng(0), 12, only=EVERY, **options)
        return values, drawn

    @pytest.mark.parametrize("groups", [2, 3])
    @pytest.mark.parametrize("ties", [True, False])
    def test_every_metric_equals_that_of_the_drawn_rows(self, monkeypatch, groups, ties):
        scores, y, group = oracles.sample(3, n=150, groups=groups, ties=ties)
        values, drawn = self.replicates(monkeypatch, scores, y, group, threshold=0.2)
        order, _ = ranks.blocks(scores)
        stratum = (2 * group + (y > 0))[order]
        for replicate in range(12):
            times = np.zeros(len(scores), int)
            for code, counts in enumerate(drawn):
                times[stratum == code] = counts[replicate]
            rows = np.repeat(order, times)
            assert len(rows) == len(scores)
            expected, _ = metrics.evaluate_all(scores[rows], y[rows], group[rows], INTERVAL, 0.2, EVERY)
            for name in EVERY:
                assert values[name][replicate] == pytest.approx(expected[name], abs=1e-12), name

    def test_strata_keep_their_sizes(self):
        scores, y, group = oracles.sample(4, n=100)
        drawn = list(resample(scores, y, group, INTERVAL, np.random.default_rng(0), 20))
        assert sum(sample.above.shape[0] for sample in drawn) == 20
        for sample in drawn:
            expected = [[np.sum((group == k) & (y == c)) for c in (-1, 1)] for k in (0, 1)]
            assert np.array_equal(sample.sizes, expected)
            assert (sample.above <= np.sum(expected, axis=1)[None, :, None]).all()

    def test_blocks_do_not_change_the_number_of_replicates(self, monkeypatch):
        from partialfair.metrics import resampling

        monkeypatch.setattr(resampling, "_BLOCK_ENTRIES", 500)
        scores, y, group = oracles.sample(4, n=100)
        found = bootstrap_replicates(scores, y, group, INTERVAL, np.random.default_rng(0), 33)
        assert {len(values) for values in found.values()} == {33}


class TestBootstrap:
    @pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
    def test_interval_is_made_of_quantiles_of_its_level_and_of_their_reflection(self, level):
        scores, y, group = oracles.sample(1, n=200)
        only = ("accuracy", "sp", "dp")
        values = bootstrap_replicates(scores, y, group, INTERVAL, np.random.default_rng(0), 50, only=only)
        found = bootstrap(scores, y, group, INTERVAL, np.random.default_rng(0), 50, level, only=only)
        for name in only:
            low, high = np.quantile(values[name], [0.5 - level / 2, 0.5 + level / 2])
            if name != "accuracy":
                middle = metrics.get(name)(scores, y, group, INTERVAL)
                low, high = max(0, min(low, 2 * middle - high)), min(1, max(high, 2 * middle - low))
            assert found[name] == pytest.approx((low, high)), name

    def test_same_stream_same_interval(self):
        scores, y, group = oracles.sample(1, n=200)
        draws = [
            bootstrap(scores, y, group, INTERVAL, seeding.generator("bootstrap", name, 0)) for name in ("a", "a", "b")
        ]
        assert draws[0] == draws[1] != draws[2]

    @pytest.mark.parametrize(("shift", "least"), [(0.0, 0.7), (0.5, 0.86)])
    def test_coverage(self, shift, least):
        """Two normal groups: accuracy and decision rates have known values; nominal coverage .95."""
        from scipy.special import ndtr

        rng, n, trials = np.random.default_rng(7), 400, 150
        group, hits = np.arange(n) % 2, {"accuracy": 0, "dp_full": 0, "sp_full": 0}
        truth = {
            "accuracy": 0.8,
            "dp_full": float(ndtr(shift) - ndtr(0.0)),
            "sp_full": float(2 * ndtr(shift / 2) - 1),
        }
        for _ in range(trials):
            scores = rng.normal(size=n) + shift * group
            y = np.where(rng.random(n) < 0.8, 1, -1) * np.where(scores > 0, 1, -1)
            found = bootstrap(scores, y, group, INTERVAL, rng, 150, only=list(hits))
            for name in hits:
                hits[name] += found[name][0] <= truth[name] <= found[name][1]
        assert 0.9 <= hits["accuracy"] / trials <= 0.99
        assert least <= hits["dp_full"] / trials
        assert least <= hits["sp_full"] / trials

    def test_interval_of_a_violation_is_within_range_and_near_the_estimate(self):
        scores, y, group = oracles.sample(2, n=400)
        found = bootstrap(scores, y, group, INTERVAL, np.random.default_rng(0), only=EVERY)
        assert len(found) > 10
        for name, (low, high) in found.items():
            estimate = metrics.get(name)(scores, y, group, INTERVAL)
            assert 0 <= low <= estimate <= high <= 1, name

    def test_a_replicate_costs_less_than_half_of_an_evaluation_of_the_rows(self):
        """On the size of a test file; side by side, the best of three, about a fifth."""
        rng = np.random.default_rng(0)
        n = 16_281
        group, y = (rng.random(n) < 0.66).astype(int), np.where(rng.random(n) < 0.24, 1.0, -1.0)
        scores = rng.normal(size=n) + y
        interval, evaluations, replicates = [(0.05, 0.3)], 20, 200

        def evaluate():
            for _ in range(evaluations):
                for name in DEFAULT_BOOTSTRAP:
                    metrics.get(name)(scores, y, group, interval)

        taken = {"evaluations": [], "replicates": []}
        for _ in range(3):
            for name, action in (
                ("evaluations", evaluate),
                ("replicates", lambda: bootstrap(scores, y, group, interval, rng, replicates)),
            ):
                start = time.process_time()
                action()
                taken[name].append(time.process_time() - start)
        assert min(taken["replicates"]) / replicates < 0.5 * min(taken["evaluations"]) / evaluations, taken

    def test_metrics_that_need_both_labels_are_left_out(self):
        scores, _, group = oracles.sample(1, n=100)
        found = bootstrap(scores, np.ones(100), group, INTERVAL, np.random.default_rng(0), only=EVERY)
        assert "auc" not in found and "eod" not in found and "sp" in found

    def test_real_labels_stratify_by_group_only(self):
        scores, _, group = oracles.sample(1, n=100)
        found = bootstrap(scores, scores * 2, group, INTERVAL, np.random.default_rng(0))
        assert "accuracy" not in found and "sp" in found

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"replicates": 1}, ConfigError, "1 is too few"),
            ({"only": ["gauc_full"]}, ConfigError, "'gauc_full' has none"),
            ({"interval": [(0.0, 0.01)]}, NotEstimableError, "group 0: interval 0-0.01 keeps"),
        ],
    )
    def test_refusals(self, options, error, message):
        scores, y, group = oracles.sample(1, n=100)
        arguments = {"interval": INTERVAL, "rng": np.random.default_rng(0)} | options
        with pytest.raises(error, match=message):
            bootstrap(scores, y, group, **arguments)

    def test_default_metrics_have_one(self):
        assert set(DEFAULT_BOOTSTRAP) <= set(EVERY)
