"""Evaluation of a stored model, and the tidy tables of an experiment with runs that failed or never ran."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from partialfair import metrics, seeding
from partialfair.data.dataset import Dataset, Split
from partialfair.data.files import write_json
from partialfair.errors import DataError
from partialfair.metrics.uncertainty import bootstrap
from partialfair.models.features import Standardiser
from partialfair.models.linear import LinearScore
from reproduction.grid import tidy
from reproduction.grid.tidy import METRIC_COLUMNS, RUN_COLUMNS
from reproduction.jobs.collect import collect, collect_experiment
from reproduction.jobs.evaluate import evaluate, measure

INTERVAL = [[0.1, 0.5]]


@dataclass(frozen=True)
class Job:
    experiment: str
    dataset: str
    algorithm: str
    kappa: float
    seed: int

    @property
    def path(self) -> Path:
        return Path("runs") / self.algorithm / f"kappa={self.kappa:g}" / f"seed={self.seed}"


@pytest.fixture
def folder(tmp_path):
    """A table of 240 rows in 2 groups, a split, and a run folder with a trained model."""
    rng = np.random.default_rng(0)
    n = 240
    data = Dataset(
        X=rng.normal(size=(n, 3)).astype(np.float32),
        y=np.where(rng.random(n) < 0.4, 1.0, -1.0),
        group=(np.arange(n) % 2).astype(np.int16),
        feature_names=("a", "b", "c"),
        group_names=("Female", "Male"),
        name="small",
    )
    data.save(tmp_path / "table.npz")
    order = rng.permutation(n)
    Split(order[:100], order[100:150], order[150:]).save(tmp_path / "split.npz")
    write_run(tmp_path, tmp_path / "run")
    return tmp_path


def write_run(root, run, status="ok", reason=None, weights=None, seed=0):
    """Write model.npz and fit.json as a training job would."""
    weights = np.random.default_rng(seed).normal(size=(2, 4)) if weights is None else weights
    plain = Standardiser(np.zeros(0, np.int64), np.zeros(0), np.ones(0))
    names = ("Female", "Male"), ("a", "b", "c")
    LinearScore(weights, plain, np.zeros(0), *names, status=status).save(run / "model.npz")
    fit = {
        "experiment": "e", "dataset": "small", "algorithm": "idca", "kappa": 0.1, "seed": seed,
        "status": status, "reason": reason, "settings": {}, "selected": {"tolerance": 0.001},
        "constraint": "partial_statistical_parity", "interval": INTERVAL, "grid": 10, "kappa_scale": "relative",
        "certificate": {"objective": 0.3, "max_violation": 0.001, "kkt_residual": None, "multipliers": []},
        "time": {"wall_seconds": 1.5, "cpu_seconds": 1.25}, "peak_memory_mib": 100.0, "device": "cpu",
        "threads": 1, "git_revision": "abc", "closure_hash": "def",
    }  # fmt: skip
    write_json(run / "fit.json", fit)


def run_evaluate(folder, run=None, **settings):
    run = folder / "run" if run is None else run
    paths = run / "model.npz", run / "fit.json", folder / "table.npz", folder / "split.npz", run
    return evaluate(*paths, {"interval": INTERVAL, "bootstrap": {"replicates": 20, "level": 0.9}} | settings)


class TestEvaluate:
    def test_score_file_alone_gives_the_metrics(self, folder):
        result = run_evaluate(folder)
        table = pq.read_table(folder / "run/scores.parquet").to_pandas()
        assert [str(t) for t in table.dtypes][:1] == ["int32"] and len(table) == 240
        data = Dataset.load(folder / "table.npz")
        assert np.array_equal(table["y"], data.y[table["row"]])
        assert np.array_equal(table["group"], data.group[table["row"]])
        for split, part in table.groupby("split", observed=True):
            columns = (part[name].to_numpy() for name in ("score", "y", "group"))
            expected, _ = metrics.evaluate_all(*columns, INTERVAL)
            assert result["splits"][split] == expected
        assert json.loads((folder / "run/metrics.json").read_text()) == json.loads(json.dumps(result))

    def test_metrics_are_those_of_the_stored_scores_where_rounding_makes_ties(self, folder):
        weights = np.array([[2.0**24, 0.3, 0.2, 0.1]] * 2)
        write_run(folder, folder / "ties", weights=weights)
        result = run_evaluate(folder, folder / "ties")
        table = pq.read_table(folder / "ties/scores.parquet").to_pandas().query("split == 'test'")
        assert table["score"].nunique() < len(table) / 2
        expected = metrics.get("auc")(table["score"].to_numpy(), table["y"].to_numpy(), table["group"].to_numpy(), None)
        assert result["splits"]["test"]["auc"] == expected

    def test_bootstrap_is_on_test_and_contains_the_estimate(self, folder):
        result = run_evaluate(folder)
        assert list(result["bootstrap"]) == ["test"]
        for name, (low, high) in result["bootstrap"]["test"].items():
            assert low <= result["splits"]["test"][name] <= high

    def test_options_of_the_bootstrap_and_the_stream_of_the_seed_are_used(self, folder):
        run_evaluate(folder)
        table = pq.read_table(folder / "run/scores.parquet").to_pandas().query("split == 'test'")
        columns = [table[name].to_numpy() for name in ("score", "y", "group")]
        for level, replicates, seed in ((0.9, 20, 0), (0.5, 20, 0), (0.9, 30, 0), (0.9, 20, 1)):
            write_run(folder, folder / "run", seed=0)
            fit = json.loads((folder / "run/fit.json").read_text()) | {"seed": seed}
            write_json(folder / "run/fit.json", fit)
            result = run_evaluate(folder, bootstrap={"replicates": replicates, "level": level})
            stream = seeding.generator("bootstrap", "small", seed, "test")
            expected = bootstrap(*columns, INTERVAL, stream, replicates, level)
            assert result["bootstrap"]["test"] == {name: list(ends) for name, ends in expected.items()}

    def test_decisions_are_made_at_the_threshold(self, folder):
        result = run_evaluate(folder, threshold=0.4)
        table = pq.read_table(folder / "run/scores.parquet").to_pandas().query("split == 'test'")
        assert result["splits"]["test"]["positive_rate"] == np.mean(table["score"] > 0.4) < np.mean(table["score"] > 0)

    def test_two_evaluations_write_equal_bytes(self, folder):
        contents = []
        for _ in range(2):
            run_evaluate(folder)
            contents.append([(folder / "run" / name).read_bytes() for name in ("metrics.json", "scores.parquet")])
        assert contents[0] == contents[1]

    def test_no_bootstrap_on_request(self, folder):
        assert run_evaluate(folder, bootstrap={"replicates": 0})["bootstrap"] == {}

    def test_not_estimable_metrics_are_null_with_a_reason_that_names_the_group(self, folder):
        result = run_evaluate(folder, interval=[[0.0, 0.02]])
        assert result["splits"]["test"]["sp"] is None and result["splits"]["test"]["accuracy"] is not None
        assert "group 0 (Female): interval 0-0.02 keeps 1" in result["not_estimable"]["test"]["sp"]
        assert result["bootstrap"] == {"test": {}}

    def test_a_part_without_rows_of_the_last_group_compares_no_groups(self, folder):
        data = Dataset.load(folder / "table.npz")
        group = (np.arange(data.n_rows) % 3).astype(np.int16)
        data = replace(data, group=group, group_names=("Female", "Male", "Other"))
        scores = np.random.default_rng(1).normal(size=data.n_rows)
        parts = {"train": np.arange(data.n_rows), "validation": np.flatnonzero(group < 2)}
        scored = {name: (rows, scores[rows]) for name, rows in parts.items()}
        result = measure(data, scored, {"interval": INTERVAL}, ("small", 0))
        assert result["splits"]["train"]["sp"] is not None and result["splits"]["validation"]["sp"] is None
        assert "group 2 (Other)" in result["not_estimable"]["validation"]["sp"]

    def test_run_without_a_model_gives_its_status(self, folder):
        write_run(folder, folder / "bad", "infeasible", "no feasible point", weights=np.zeros((0, 0)))
        result = run_evaluate(folder, folder / "bad")
        assert (result["status"], result["reason"], result["splits"]) == ("infeasible", "no feasible point", {})
        assert pq.read_table(folder / "bad/scores.parquet").num_rows == 0

    def test_a_failed_run_is_not_scored_though_it_left_a_model(self, folder):
        write_run(folder, folder / "failed", "failed", "gave up")
        result = run_evaluate(folder, folder / "failed")
        assert (result["status"], result["reason"], result["splits"]) == ("failed", "gave up", {})
        write_run(folder, folder / "missed", "tolerance missed", "violation 0.2")
        assert run_evaluate(folder, folder / "missed")["splits"]

    def test_scores_that_are_not_finite_are_refused(self, folder):
        write_run(folder, folder / "nan", weights=np.full((2, 4), 1e306))
        with pytest.raises(DataError, match="scores of the train split are not finite"):
            run_evaluate(folder, folder / "nan")

    def test_start_up_is_lean(self):
        code = (
            "import sys, reproduction.jobs.evaluate, partialfair.metrics.uncertainty;"
            "print([m for m in ('pandas', 'sklearn', 'matplotlib', 'torch', 'scipy.stats') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


class TestCollect:
    @pytest.fixture
    def tables(self, folder):
        """Runs: seed 0 evaluated, seed 1 infeasible, seed 2 trained only, seed 3 absent."""
        jobs = [Job("e", "small", "idca", 0.1, seed) for seed in range(4)] + [Job("e", "small", "plain", np.inf, 0)]
        write_run(folder, folder / jobs[0].path)
        run_evaluate(folder, folder / jobs[0].path)
        write_run(folder, folder / jobs[1].path, "infeasible", "no feasible point", np.zeros((0, 0)), seed=1)
        run_evaluate(folder, folder / jobs[1].path)
        write_run(folder, folder / jobs[2].path, seed=2)
        settings = {"constraint": "c", "interval": INTERVAL, "kappa_scale": "absolute", "grid": 10}
        paths = collect([(job, settings) for job in jobs], folder / "reports", folder)
        return [pq.read_table(path).to_pandas() for path in paths]

    def test_columns(self, tables):
        assert list(tables[0]) == list(METRIC_COLUMNS) and list(tables[1]) == list(RUN_COLUMNS)

    def test_evaluated_run(self, tables, folder):
        rows = tables[0].query("algorithm == 'idca' and seed == 0")
        expected = json.loads((folder / "runs/idca/kappa=0.1/seed=0/metrics.json").read_text())
        assert len(rows) == 3 * len(metrics.names())
        found = rows.set_index(["split", "metric"])
        for split, values in expected["splits"].items():
            for name, value in values.items():
                assert found.loc[(split, name), "value"] == value
        assert found.loc[("test", "sp"), ["ci_low", "ci_high"]].tolist() == expected["bootstrap"]["test"]["sp"]
        assert np.isnan(found.loc[("train", "sp"), "ci_low"])
        assert set(rows["interval"]) == {"0.1-0.5"}

    def test_runs_without_metrics_are_rows_with_a_reason(self, tables):
        not_run = {2: ("not_run", "trained but not evaluated"), 3: ("not_run", "no fit.json")}
        reasons = {1: ("infeasible", "no feasible point")} | not_run
        own = tables[0][(tables[0]["algorithm"] == "idca") & (tables[0]["split"] == "test")]
        for seed, (status, reason) in reasons.items():
            rows = own[own["seed"] == seed]
            assert set(rows["metric"]) == set(metrics.names())
            assert rows["value"].isna().all() and set(rows["status"]) == {status}
            assert rows["reason"].str.startswith(reason).all()

    def test_every_job_is_one_run_row(self, tables):
        runs = tables[1]
        assert runs["status"].tolist() == ["ok", "infeasible", "ok", "not_run", "not_run"]
        assert runs.loc[0, ["objective", "wall_seconds", "peak_memory_mib"]].tolist() == [0.3, 1.5, 100.0]
        assert np.isinf(runs.loc[4, "kappa"]) and np.isnan(runs.loc[3, "wall_seconds"])

    @pytest.mark.parametrize(
        ("kind", "relative_to", "column"),
        [
            ("kkt", "the norm of the loss gradient where all weights are zero", "kkt_residual"),
            ("kkt", tidy.ABSOLUTE, "kkt_residual_absolute"),
            ("gradient_mapping", tidy.ABSOLUTE, "gradient_mapping"),
            ("duality_gap", "an absolute difference of losses", "duality_gap"),
        ],
    )
    def test_a_certificate_stands_in_the_column_of_its_kind_and_unit(self, folder, kind, relative_to, column):
        job = Job("e", "small", "idca", 0.1, 0)
        write_run(folder, folder / job.path)
        fit = json.loads((folder / job.path / "fit.json").read_text())
        fit["certificate"] |= {"kind": kind, "value": 0.5, "relative_to": relative_to, "kkt_residual": 0.5}
        write_json(folder / job.path / "fit.json", fit)
        collect([(job, {"constraint": "c", "interval": INTERVAL})], folder / "reports", folder)
        (row,) = pq.read_table(folder / "reports/runs.parquet").to_pylist()
        assert {name for name in tidy.CERTIFICATES if row[name] == row[name]} == {column} and row[column] == 0.5

    def test_results_of_runs_that_are_not_here_are_not_written_over(self, folder, monkeypatch):
        """In a clone, which has the tables and not the runs, they once became "not run" without a word."""
        jobs = [Job("e", "small", "idca", 0.1, seed) for seed in (0, 1)]
        config = SimpleNamespace(jobs=lambda _: jobs)
        settings = {"constraint": "c", "interval": INTERVAL}
        monkeypatch.setattr("reproduction.jobs.collect.job_settings", lambda *_: settings)
        write_run(folder, folder / jobs[0].path)
        paths = collect_experiment(config, "e", root=folder)  # the second one has not been run, which may stay so
        collect_experiment(config, "e", root=folder)
        kept = [path.read_bytes() for path in paths]
        shutil.rmtree(folder / jobs[0].path)
        with pytest.raises(DataError, match=r"runs\.parquet: runs in it that are not here: 1 .*seed=0\); nothing was"):
            collect_experiment(config, "e", root=folder)
        assert [path.read_bytes() for path in paths] == kept
        collect_experiment(config, "e", root=folder, replace=True)
        assert set(pq.read_table(paths[1]).column("status").to_pylist()) == {"not_run"}

    def test_damaged_run_file_is_named(self, folder):
        job = Job("e", "small", "idca", 0.1, 0)
        (folder / job.path).mkdir(parents=True)
        (folder / job.path / "fit.json").write_text("{")
        with pytest.raises(DataError, match=r"seed=0/fit\.json: not readable .* delete the run folder"):
            collect([(job, {"interval": INTERVAL})], folder / "reports", folder)
