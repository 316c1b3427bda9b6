"""What is up to date in a folder that Snakemake has no records of: content decides, whatever dates the files bear."""

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from partialfair.data.files import read_json, sealed, write_json
from partialfair.errors import DataError
from reproduction.grid import agreement, fingerprint
from reproduction.grid.agreement import Agreement
from reproduction.grid.config import Config, load_config
from reproduction.grid.workflow import Grid
from tests.workflow.project import ROOT, TINY, Project, make_project


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project as an archive without .git would bring it: committed results, no runs, files of random dates."""
    project = make_project(tmp_path_factory.mktemp("clone") / "project")
    shutil.copytree(ROOT / "reports", project.folder / "reports")
    shutil.copy(ROOT / "params.yaml", project.folder / "params.yaml")
    with contextlib.chdir(project.folder):
        of_present_code()
    scatter_dates(project.folder / "reports")
    return project


def of_present_code() -> None:
    """Write into the copies of the committed tables and records that the present code made them.

    After a release of the training code the committed results are those of the code before, until all runs have been
    trained anew. What these tests ask does not depend on that: what of agreeing results is outdated by a change.
    """
    config = tabled(load_config("params.yaml"))
    for experiment in config.experiments:
        path = Path("reports", experiment, "runs.parquet")
        codes = {(job.dataset, job.algorithm, float(job.kappa), job.seed): fingerprint.run(config, job).code
                 for job in config.jobs(experiment)}  # fmt: skip
        rows = pd.read_parquet(path)
        keys = zip(rows["dataset"], rows["algorithm"], rows["kappa"], rows["seed"], strict=True)
        rows["closure_hash"] = [codes.get(key, code) for key, code in zip(keys, rows["closure_hash"], strict=True)]
        rows.to_parquet(path)
    agreement.adopt(config)


def tabled(config: Config) -> Config:
    """The configuration without experiments that have no tables, and without exhibits of such experiments."""
    experiments = {name: entry for name, entry in config.experiments.items() if Path("reports", name).is_dir()}
    exhibits = {
        name: entry
        for name, entry in config.params.exhibits.items()
        if Path("reports", name).is_dir() and set(entry.experiments) <= set(experiments)
    }
    return Config(config.params.model_copy(update={"experiments": experiments, "exhibits": exhibits}))


def scatter_dates(folder: Path) -> None:
    numbers = random.Random(0)
    for path in folder.rglob("*"):
        date = numbers.randrange(1_000_000_000, 2_000_000_000)
        os.utime(path, (date, date))


@pytest.fixture
def inside(clone: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(clone.folder)
    yield clone.folder


def stale(config: Config, targets: list[str]) -> dict[str, str]:
    return Agreement(Grid(config)).stale(targets)


def named(config: Config) -> list[str]:
    """Every target whose results are committed: experiments, exhibits, and what gathers them."""
    return [*config.experiments, *config.params.exhibits]


@pytest.mark.long(suite="grid")
def test_every_target_that_the_present_code_has_made_agrees(inside: Path) -> None:
    config = tabled(load_config("params.yaml"))
    agreement_of_all = Agreement(Grid(config))
    assert {target: reasons for target in named(config) if (reasons := agreement_of_all.stale([target]))} == {}
    assert len(named(config)) > 180


@pytest.mark.long(suite="grid")
def test_records_of_a_grid_without_a_table_are_not_written(inside: Path) -> None:
    config = tabled(load_config("params.yaml"))
    table, record = Path("reports/psp/metrics.parquet"), Path("reports/pdp/made_from.json")
    hidden, before = table.rename("metrics.parquet"), record.read_bytes()
    record.write_bytes(before + b" ")
    try:
        with pytest.raises(DataError, match="reports/psp/metrics.parquet is not there; make them first"):
            agreement.adopt(config)
        assert record.read_bytes() == before + b" "
    finally:
        hidden.rename(table)
        record.write_bytes(before)


@pytest.mark.long(suite="exhibits")
def test_every_target_of_a_fresh_clone_agrees() -> None:
    config = load_config("params.yaml")
    asked = Agreement(Grid(config))
    targets = [*config.experiments, *config.params.exhibits, "all", "paper", "report", "evaluation"]
    assert {target: reasons for target in targets if (reasons := asked.stale([target]))} == {}
    assert len(asked.without_record([])) == len(config.experiments) > 100


def more_seeds(experiment: Any) -> dict[str, Any]:
    return {"seeds": [0, 1, 977]}


def fewer_seeds(experiment: Any) -> dict[str, Any]:
    return {"seeds": [0]} if experiment.seeds != [0] else {"seeds": [1]}


def another_kappa(experiment: Any) -> dict[str, Any]:
    def changed(run: Any) -> Any:
        algorithms = {
            name: [*kappas, kappas[0] * 0.977 if kappas[0] < 9 else 0.977] for name, kappas in run.algorithms.items()
        }
        return run.model_copy(update={"algorithms": algorithms})

    return {"runs": {name: changed(run) for name, run in experiment.runs.items()}}


def another_setting(experiment: Any) -> dict[str, Any]:
    names = {name for run in experiment.runs.values() for name in run.algorithms}
    return {"algorithms": {name: {**experiment.algorithms.get(name, {}), "strange": 1} for name in names}}


def another_constraint_grid(experiment: Any) -> dict[str, Any]:
    return {"grid": 977, "runs": {name: run.model_copy(update={"grid": 977}) for name, run in experiment.runs.items()}}


@pytest.mark.long(suite="grid")
@pytest.mark.parametrize("change", [more_seeds, fewer_seeds, another_kappa, another_setting, another_constraint_grid])
def test_no_target_is_up_to_date_once_a_setting_of_its_experiments_has_changed(
    inside: Path, change: Callable[[Any], dict[str, Any]]
) -> None:
    config = tabled(load_config("params.yaml"))
    changed = {name: one.model_copy(update=change(one)) for name, one in config.experiments.items()}
    other = Config(config.params.model_copy(update={"experiments": changed}))
    asked = Agreement(Grid(other))
    for target in named(config):
        found = asked.stale([target])
        assert any(path.endswith("/runs.parquet") for path in found), target


@pytest.mark.long(suite="grid")
def test_only_what_uses_a_changed_setting_is_outdated(inside: Path) -> None:
    config = load_config("params.yaml")
    demo = config.experiments["demo"].model_copy(update={"seeds": [0, 1, 2, 7]})
    other = Config(config.params.model_copy(update={"experiments": {**config.experiments, "demo": demo}}))
    found = stale(other, ["demo_tradeoff"])
    assert found == {"reports/demo/runs.parquet": "7 runs are not in it (such as simulated/alm, kappa 0.02, seed 7)"}
    assert stale(other, ["figure1", "table3"]) == {}


@pytest.mark.long(suite="grid")
def test_bootstrap_code_captions_and_published_numbers_count(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config("params.yaml")
    bootstrap = config.params.bootstrap.model_copy(update={"replicates": 199})
    found = stale(Config(config.params.model_copy(update={"bootstrap": bootstrap})), ["table3"])
    assert found and all("of changed settings or code" in reason for reason in found.values())
    exhibits = dict(config.params.exhibits)
    exhibits["figure1"] = exhibits["figure1"].model_copy(update={"caption": "another"})
    found = stale(Config(config.params.model_copy(update={"exhibits": exhibits})), ["figure1"])
    assert found == {"reports/figure1/figure1.csv": "its entry in the grid has changed"}
    published = Path("papers/partial_fairness/published.csv")
    before = published.read_bytes()
    published.write_bytes(before + b"\n")
    try:
        assert stale(config, ["figure1"]) == {"reports/figure1/figure1.csv": f"{published} is another file"}
    finally:
        published.write_bytes(before)
    monkeypatch.setattr(fingerprint, "training_hash", lambda *_: "another")
    agreement._method_digest.cache_clear()
    try:
        assert "reports/demo/runs.parquet" in stale(config, ["demo_tradeoff"])
    finally:
        agreement._method_digest.cache_clear()


@pytest.mark.long(suite="grid")
@pytest.mark.parametrize("name", ["runs.parquet", "made_from.json"])
def test_tables_and_records_that_were_edited_or_lost_agree_with_nothing(inside: Path, name: str) -> None:
    config, path = load_config("params.yaml"), Path("reports/demo", name)
    before = path.read_bytes()
    try:
        path.write_bytes(before[:-3])
        assert "reports/demo/runs.parquet" in stale(config, ["demo"])
        if name == "made_from.json":
            path.unlink()
            assert stale(config, ["demo"])["reports/demo/runs.parquet"] == agreement.NO_RECORD
            forged = read_json(ROOT / "reports/demo/made_from.json")
            write_json(path, {**sealed(forged), "collected": "forged"})
            assert "reports/demo/runs.parquet" in stale(config, ["demo"])
    finally:
        path.write_bytes(before)


@pytest.mark.long(suite="grid")
@pytest.mark.slow
def test_dates_change_nothing_of_what_snakemake_plans(clone: Project) -> None:
    for date in (None, (2e9, 2e9), (1e9, 1e9)):
        for path in (clone.folder / "reports/demo_tradeoff").iterdir():
            os.utime(path, date)
        assert clone.planned("demo_tradeoff").total() == clone.planned("reports/table3/table3.csv").total() == 0
    text = (clone.folder / "params.yaml").read_text(encoding="utf-8")
    (clone.folder / "params.yaml").write_text(text.replace("    seeds: [0, 1, 2]", "    seeds: [0, 1, 2, 7]"))
    try:
        for date in (None, (2e9, 2e9), (1e9, 1e9)):
            for path in (clone.folder / "reports").glob("demo*/*"):
                os.utime(path, date)
            for target in ("demo_tradeoff", "reports/demo_tradeoff/demo_tradeoff.csv", "reports/demo/metrics.parquet"):
                planned = clone.planned(target)
                assert planned["train"] == 28 and planned["collect"] == 1, target
            assert clone.planned("table3").total() == 0
        beside = clone.planned("reports/demo/runs.parquet", "reports/family_sp/runs.parquet")  # of the same data
        assert beside["train"] == 28 and beside["collect"] == 1
        table = "reports/family_sp/runs.parquet"
        for forced in (("--forcerun", table), ("--force",), ("--forceall",), ("--forcerun", "collect")):
            again = clone.planned(table, *forced)
            assert again["train"] == 40, forced
    finally:
        (clone.folder / "params.yaml").write_text(text)


@pytest.mark.long(suite="grid")
@pytest.mark.slow
def test_an_outdated_exhibit_has_the_runs_trained_that_it_reads_and_no_others(clone: Project) -> None:
    """It was drawn without its runs, which it refuses, while the line on its cost promised them."""
    params = clone.folder / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(text.replace('title: "Demo: ', 'title: "Demo once more: '))
    try:
        for exhibit, runs in (("demo_closed_form", 21), ("demo_tradeoff", 0)):
            planned = clone.planned(exhibit)
            assert (planned["exhibit"], planned["train"], planned["collect"]) == (1, runs, 0), exhibit
            told = clone.snakemake("--dry-run", exhibit).stderr
            assert "its entry in the grid has changed" in told
            assert (f"to make it, {runs} runs that are not here are trained" in told) == (runs > 0)
            assert (f"`partialfair report {exhibit}` draws it from them in seconds" in told) == (runs == 0)
    finally:
        params.write_text(text)


@pytest.mark.long(suite="grid")
@pytest.mark.slow
def test_a_folder_of_links_is_as_up_to_date_as_what_they_point_to(clone: Project, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    for path in clone.folder.iterdir():
        if path.name != ".snakemake":
            (folder / path.name).symlink_to(path)
    linked = Project(folder)
    assert linked.planned("demo_tradeoff").total() == 0
    (folder / "params.yaml").unlink()
    text = (clone.folder / "params.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(text.replace("          alm: [0.2, 0.1, 0.02]", "          alm: [0.2, 0.1]"))
    assert linked.planned("demo_tradeoff")["collect"] == 1


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A finished run of a tiny grid."""
    project = make_project(tmp_path_factory.mktemp("made") / "project")
    project.snakemake("demo")
    return project


def models(project: Project) -> dict[str, bytes]:
    """The records of trained runs, which hold the seconds that they took: one that is trained again has another."""
    return {str(path): path.read_bytes() for path in project.folder.glob("data/runs/**/fit.json")}


@pytest.mark.long(suite="grid")
@pytest.mark.slow
def test_results_without_records_of_snakemake_are_told_by_their_own(made: Project, tmp_path: Path) -> None:
    """As after copying a folder without .snakemake: tables are made again, and runs that agree are not."""
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder, symlinks=True, ignore=shutil.ignore_patterns(".snakemake"))
    scatter_dates(folder / "data")
    project = Project(folder)
    before = models(project)
    done = project.run("env", "PYTHONPATH=src", "partialfair", "run", "demo", "--cores", "2")
    assert "first " in done.stderr and models(project) == before
    assert not project.planned("demo")
    project.write_params({**TINY, "algorithms": {**TINY["algorithms"], "alm": {"tolerance": 0.002}}})
    shutil.rmtree(folder / ".snakemake")
    assert project.planned("demo")["train"] >= 2
    project.run("env", "PYTHONPATH=src", "partialfair", "run", "demo", "--cores", "2")
    after = models(project)
    assert {path for path in after if after[path] != before[path]} == {path for path in after if "/alm/" in path}


@pytest.mark.long(suite="grid")
@pytest.mark.slow
def test_options_that_would_hide_a_change_do_not(made: Project) -> None:
    """`--touch` and `--cleanup-metadata` once made Snakemake take changed settings for done."""
    params = {**TINY, "algorithms": {**TINY["algorithms"], "alm": {"tolerance": 0.003}}}
    made.write_params(params)
    try:
        touched = made.snakemake("--touch", "demo", check=False)
        assert touched.returncode and "--touch: results are told by content" in touched.stdout + touched.stderr
        assert made.planned("demo", "--rerun-triggers", "mtime")["train"] == 2
        assert made.planned("demo", "--max-checksum-file-size", "1")["train"] == 2
        files = (path for path in made.folder.glob("data/runs/**/alm/**/*.*") if path.is_file())
        made.snakemake("--cleanup-metadata", *(str(path.relative_to(made.folder)) for path in files))
        assert made.planned("demo")["train"] == 2
    finally:
        made.write_params(TINY)
