"""Further tolerances and repetitions of one run: measured on test rows, and rows of their own in the tables."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from partialfair import metrics, seeding
from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import write_json
from partialfair.metrics.uncertainty import bootstrap
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from partialfair.models.score_levels import ScoreLevels
from reproduction.grid.tidy import REPEAT_MEAN, REPEAT_SD
from reproduction.jobs.collect import collect
from tests.jobs import test_evaluate_collect
from tests.jobs.test_evaluate_collect import INTERVAL, Job, run_evaluate, write_run

folder = test_evaluate_collect.folder


def test_further_models_of_a_run_are_measured_on_test_rows(folder):
    plain = Standardiser(np.zeros(0, np.int64), np.zeros(0), np.ones(0))
    main, other = (
        LinearScore(
            np.random.default_rng(k).normal(size=(2, 4)), plain, np.zeros(0), ("Female", "Male"), ("a", "b", "c")
        )
        for k in (0, 1)
    )
    ScoreLevels(main, {"0.02": other}).save(folder / "run" / "model.npz")
    found = run_evaluate(folder, threshold=0.4)["levels"]["0.02"]["values"]
    data = Dataset.load(folder / "table.npz")
    test = data.take(Split.load(folder / "split.npz", data.n_rows).test)
    scores = np.asarray(other.scores(test.X, test.group), np.float32)
    assert found == metrics.evaluate_all(scores, test.y, test.group, INTERVAL, 0.4)[0]


def test_the_bootstrap_decides_at_the_threshold(folder):
    found = run_evaluate(folder, threshold=0.4)["bootstrap"]["test"]
    table = pq.read_table(folder / "run/scores.parquet").to_pandas().query("split == 'test'")
    columns = [table[name].to_numpy() for name in ("score", "y", "group")]
    stream = seeding.generator("bootstrap", "small", 0, "test")
    expected = bootstrap(*columns, INTERVAL, stream, 20, 0.9, threshold=0.4)
    assert found == {name: list(ends) for name, ends in expected.items()}


def test_further_tolerances_and_repeats_of_a_run_are_rows_of_their_own(folder):
    job = Job("e", "small", "idca", 0.1, 0)
    write_run(folder, folder / job.path)
    content = run_evaluate(folder, folder / job.path)
    content["levels"] = {"0.02": {"values": {"sp": 0.25}, "not_estimable": {}}}
    content["repeats"] = {"0.1": {"sp": [0.1, 0.3], "auc": [0.5, None]}}
    write_json(folder / job.path / "metrics.json", content)
    collect([(job, {"constraint": "c", "interval": INTERVAL})], folder / "reports", folder)
    table = pq.read_table(folder / "reports/metrics.parquet").to_pandas()
    own = table[table["kappa"] == 0.02]
    assert own[["split", "metric", "value", "status"]].to_numpy().tolist() == [["test", "sp", 0.25, "ok"]]
    found = table[table["kappa"] == 0.1].groupby("metric")["value"].last()
    assert found[f"sp{REPEAT_MEAN}"] == pytest.approx(0.2)
    assert found[f"sp{REPEAT_SD}"] == pytest.approx(0.02**0.5), "of a sample, with n - 1"
    assert f"auc{REPEAT_SD}" not in found
