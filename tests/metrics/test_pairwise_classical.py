"""AUC, group AUC and accuracy against scikit-learn, and the registry."""

import subprocess
import sys

import metric_oracles as oracles
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score

from partialfair import metrics
from partialfair.errors import PluginError
from partialfair.metrics import registry
from partialfair.metrics.uncertainty import bootstrap_replicates


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_areas_equal_sklearn(seed, ties):
    scores, y, group = oracles.sample(seed, ties=ties)
    assert metrics.get("auc")(scores, y, group, None) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    expected = abs(roc_auc_score(group, scores) - 0.5)
    assert metrics.get("gauc_full")(scores, y, group, [(0.1, 0.2)]) == pytest.approx(expected, abs=1e-12)
    assert metrics.get("gauc")(scores, y, group, [(0, 1)]) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([-0.5, 0.0, 0.3]))
def test_rates_equal_a_confusion_matrix(seed, threshold):
    scores, y, group = oracles.sample(seed)
    decided = np.where(scores > threshold, 1, -1)
    values, _ = metrics.evaluate_all(scores, y, group, [(0.2, 0.6)], threshold)
    assert values["accuracy"] == pytest.approx(accuracy_score(y, decided))
    assert values["positive_rate"] == pytest.approx((decided == 1).mean())
    matrices = [confusion_matrix(y[group == k], decided[group == k], labels=[-1, 1]) for k in (0, 1)]
    true_rates, false_rates = ([m[row, 1] / m[row].sum() for m in matrices] for row in (1, 0))
    assert values["dp_full"] == pytest.approx(abs(np.diff([(decided[group == k] == 1).mean() for k in (0, 1)])[0]))
    assert values["eop_full"] == pytest.approx(abs(np.diff(true_rates)[0]))
    assert values["eod_full"] == pytest.approx(max(abs(np.diff(true_rates)[0]), abs(np.diff(false_rates)[0])))


def test_area_on_many_rows_does_not_overflow():
    n = 400_000
    scores = np.arange(n, dtype=float)
    y = np.where(scores >= n / 2, 1.0, -1.0)
    assert metrics.get("auc")(scores, y, np.arange(n) % 2, None) == 1
    assert metrics.get("gauc_full")(scores, y, (y > 0).astype(int), [(0, 1)]) == 0.5


class TestRegistry:
    def test_every_metric_of_the_contract_is_found(self):
        partial = {"sp", "rank_gap", "dp", "dp_gap", "eop", "eod", "gauc"}
        whole = {f"{name}_full" for name in partial - {"dp_gap"}}
        assert partial | whole | {"accuracy", "auc", "positive_rate"} <= set(metrics.names())
        qualities = {name for name in metrics.names() if metrics.get(name).direction == "quality"}
        assert qualities == {"accuracy", "auc", "positive_rate"}

    def test_unknown_name_gives_the_nearest(self):
        with pytest.raises(PluginError, match="did you mean 'rank_gap'"):
            metrics.get("rank_gapp")

    def test_a_new_file_is_a_new_metric(self, tmp_path, monkeypatch):
        (tmp_path / "halves.py").write_text(
            "from partialfair.metrics import Metric\n"
            "METRICS = {'half': Metric(lambda scores, y, group, interval, threshold: 0.5, 'one half')}\n"
        )
        fresh_registry(monkeypatch, tmp_path)
        assert metrics.get("half")(np.ones(2), np.ones(2), np.ones(2, int), None) == 0.5
        assert "sp" in metrics.names()

    def test_a_broken_file_is_named(self, tmp_path, monkeypatch):
        (tmp_path / "wrong.py").write_text("METRICS = {'wrong': 1}\n")
        fresh_registry(monkeypatch, tmp_path)
        with pytest.raises(PluginError, match=r"wrong\.py: METRICS\['wrong'\] is no Metric"):
            metrics.names()

    def test_a_name_taken_twice_is_refused(self, tmp_path, monkeypatch):
        (tmp_path / "again.py").write_text(
            "from partialfair.metrics import Metric\nMETRICS = {'sp': Metric(lambda *_: 0.0, 'again')}\n"
        )
        fresh_registry(monkeypatch, tmp_path)
        with pytest.raises(PluginError, match=r"METRICS\['sp'\] exists in another module"):
            metrics.names()

    def test_what_is_on_request_is_not_imported_for_common_metrics(self):
        code = (
            "import sys; from partialfair.metrics import registry;"
            "print(*registry.modules_of(['rank_gap', 'accuracy']));"
            "print(*[name for name in sys.modules if 'on_request.' in name])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert found == "partialfair.metrics.classical partialfair.metrics.partial\n\n"

    def test_a_direction_that_is_none_is_refused(self, tmp_path, monkeypatch):
        source = "from partialfair.metrics import Metric\nMETRICS = {'up': Metric(lambda *_: 0.0, 'up', 'qualty')}\n"
        (tmp_path / "up.py").write_text(source)
        fresh_registry(monkeypatch, tmp_path)
        with pytest.raises(PluginError, match=r"METRICS\['up'\] has the direction 'qualty'; did you mean 'quality'\?"):
            metrics.names()

    def test_a_metric_at_fault_is_named(self, tmp_path, monkeypatch):
        (tmp_path / "faulty.py").write_text(
            "from partialfair.metrics import Metric\n\n\n"
            "def value(scores, y, group, interval, threshold):\n    return {}['x']\n\n\n"
            "METRICS = {\n    'faulty': Metric(value, 'f', replicate=lambda sample: 1 / 0),\n"
            "    'shape': Metric(lambda *_: 0.0, 's', replicate=lambda sample: [0.0, 1.0, 2.0]),\n}\n"
        )
        fresh_registry(monkeypatch, tmp_path)
        scores, y, group = oracles.sample(0)
        with pytest.raises(PluginError, match=r"metric 'faulty' failed at faulty\.py, line 5: KeyError: 'x'"):
            metrics.evaluate_all(scores, y, group, [(0.0, 1.0)])
        for name, fault in (("faulty", r"failed at faulty\.py, line 9: ZeroDivisionError"), ("shape", "ValueError")):
            with pytest.raises(PluginError, match=f"metric '{name}': replicate.*{fault}"):
                bootstrap_replicates(scores, y, group, [(0.0, 1.0)], np.random.default_rng(0), 2, only=(name,))


def fresh_registry(monkeypatch, extra):
    """Let the metrics folder also hold the files of ``extra`` while a test runs."""
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(extra)])
    for path in extra.glob("*.py"):
        monkeypatch.delitem(sys.modules, f"partialfair.metrics.{path.stem}", raising=False)
    uncached = registry.registry.__wrapped__
    monkeypatch.setattr(registry, "registry", uncached)
