"""What the rules ask of the grid."""

import json
import os
from pathlib import Path

import pytest

from partialfair import plugins
from reproduction.datasets.named import named_dataset
from reproduction.grid import fingerprint, paths, workflow
from reproduction.grid.config import load_config
from reproduction.grid.workflow import Grid
from tests.workflow.project import ROOT


def test_a_raw_file_is_fetched_for_a_dataset_that_reads_it():
    # The rule `fetch` brings the files that its dataset reads: one that only documents the file would bring none.
    config = load_config(ROOT / "params.yaml")
    grid = Grid(config)
    wanted = {name for dataset in config.datasets for name in grid.raw_files(dataset)}
    assert len(wanted) > 5
    for name in wanted:
        options = config.dataset_options(grid.dataset_of(name))
        spec = named_dataset(grid.dataset_of(name), options).spec
        assert name in {f"{spec.directory(paths.RAW).as_posix()}/{file.name}" for file in spec.files if file.needed}


def test_every_declared_raw_file_has_a_dataset():
    grid = Grid(load_config(ROOT / "params.yaml"))
    for dataset in plugins.names("datasets"):
        spec = plugins.load("datasets", dataset).SPEC
        for file in spec.files:
            assert grid.dataset_of(f"{spec.directory(paths.RAW).as_posix()}/{file.name}")


def test_make_data_brings_every_raw_file_that_dvc_tracks():
    """Else `dvc status` would miss it for ever; those that tables need come by the workflow's rule, with a record."""
    config = load_config(ROOT / "params.yaml")
    grid = Grid(config)
    tracked = {str(path.relative_to(ROOT))[: -len(".dvc")] for path in (ROOT / "data/raw").glob("*/*.dvc")}
    declared = set()
    for dataset in config.datasets:
        spec = named_dataset(dataset, config.dataset_options(dataset)).spec
        declared |= {f"{spec.directory(paths.RAW).as_posix()}/{file.name}" for file in spec.files}
    assert tracked and tracked <= declared
    assert set(grid.raw()) <= tracked
    assert grid.raw(["bank"]) == ["data/raw/bank/bank-additional-full.csv"]


def test_files_beside_a_module_that_declares_none_are_its_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    grid = Grid(load_config(ROOT / "params.yaml"))
    monkeypatch.chdir(tmp_path)
    before = {dataset: grid.raw_files(dataset) for dataset in grid.config.datasets}
    declared = {Path(name).parent for files in before.values() for name in files}
    assert before["simulated"] == [] and len(declared) > 5
    for folder in (*declared, Path("data/raw/simulated")):
        folder.mkdir(parents=True)
        for name in ("own.csv", "own.csv.dvc", ".gitignore"):
            (folder / name).touch()
    assert grid.raw_files("simulated") == ["data/raw/simulated/own.csv"]
    assert grid.dataset_of("data/raw/simulated/own.csv") == "simulated"
    below = Path("data/raw/simulated/deep/more.csv")
    below.parent.mkdir()
    below.touch()
    assert grid.raw_files("simulated") == sorted(["data/raw/simulated/own.csv", str(below)])
    below.unlink()
    assert {dataset: grid.raw_files(dataset) for dataset in before if dataset != "simulated"} == {
        dataset: files for dataset, files in before.items() if dataset != "simulated"
    }


class Wildcards(dict[str, str]):
    """The wildcards of a job, as rules hand them over."""

    __getattr__ = dict.__getitem__


def test_what_a_rule_records_is_the_fingerprint_of_its_own_job():
    """Jobs share what they agree in; a text of another job, or another text, would train everything anew."""
    config = load_config(ROOT / "params.yaml")
    grid = Grid(config)
    for job in config.jobs():
        parts = {"experiment": job.experiment, "dataset": job.dataset, "algorithm": job.algorithm}
        of = Wildcards(parts, kappa=job.kappa_text, seed=str(job.seed))
        assert config.job_of(of) == job
        for rule, wanted in ((grid.run, fingerprint.run), (grid.evaluation, fingerprint.evaluation)):
            due = wanted(config, job)
            assert json.loads(rule.settings(of)) == due.settings and rule.code(of) == due.code


def test_nothing_of_snakemake_is_replaced(monkeypatch: pytest.MonkeyPatch):
    jobs, resources = pytest.importorskip("snakemake.jobs"), pytest.importorskip("snakemake.resources")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    before = jobs.Job.shellcmd, dict(vars(resources.Resource)), dict(vars(resources.Resource.evaluate))
    workflow.set_environment(ROOT, "params.yaml")
    after = jobs.Job.shellcmd, dict(vars(resources.Resource)), dict(vars(resources.Resource.evaluate))
    assert after == before


def test_snakemake_reads_the_parameters_of_a_function_where_they_are_kept():
    common = pytest.importorskip("snakemake.common")
    grid = Grid(load_config(ROOT / "params.yaml"))
    assert set(common.get_function_params(grid.run.settings)) == {"self", "wildcards"}
    assert set(common.get_function_params(workflow.folder_of)) == {"wildcards", "output"}
    kept = workflow.folder_of._overwrite_params  # type: ignore[attr-defined]
    assert common.get_function_params(workflow.folder_of) is kept
