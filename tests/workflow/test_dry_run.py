"""The shipped grid as Snakemake sees it."""

import compileall
import re
import resource
from collections import Counter

import pytest

from reproduction.grid.config import load_config
from reproduction.grid.workflow import Grid
from tests.workflow.project import COPIED, ROOT, Project, make_project

pytestmark = pytest.mark.slow
GROWTH = 2.0  # what a job of the whole grid may cost, as a multiple of what one of a grid of a seventh of it costs


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A scratch copy with the real grid, nothing built."""
    project = make_project(tmp_path_factory.mktemp("dry") / "project")
    (project.folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    compileall.compile_dir(project.folder / "src", quiet=1)  # as after any other command
    return project


def costs(project: Project, target: str) -> tuple[Counter[str], float]:
    """What would run, and the CPU seconds that it took to say so."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    planned = project.planned(target)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return planned, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.long(suite="grid")
def test_whole_grid_dry_run_is_complete_and_takes_time_in_proportion(shipped: Project):
    """Seconds are for `make bench`, which measures up to 20,000 jobs; here two sizes, side by side in one run."""
    shipped.planned("demo")  # the first start of all works out what the next ones remember
    few, start = costs(shipped, "demo")
    some, part = costs(shipped, "psp")
    planned, whole = costs(shipped, "all")
    assert planned.total() > 5 * some.total() > 50 * few.total()
    each, each_of_part = ((s - start) / (n.total() - few.total()) for n, s in ((planned, whole), (some, part)))
    assert each < GROWTH * each_of_part
    config = load_config(ROOT / "params.yaml")
    assert planned["train"] == planned["evaluate"] == len(config.jobs())
    assert planned["split"] == len(Grid(config).splits())
    assert planned["prepare"] == len(config.datasets)
    assert planned["collect"] == len(config.experiments)


@pytest.mark.long(suite="grid")
def test_every_experiment_exhibit_and_stage_is_a_target(shipped: Project):
    listed = set(shipped.snakemake("--list-target-rules").stdout.split())
    config = load_config(ROOT / "params.yaml")
    assert {"all", "demo", "paper", "benchmark", "data", "splits", "runs", "evaluation", "report"} <= listed
    assert {*config.experiments, *config.params.exhibits} <= listed


def test_the_cluster_profile_is_accepted(shipped: Project):
    done = shipped.snakemake(
        "--dry-run", "--workflow-profile", "workflow/profiles/slurm", "--executor", "local", "demo"
    )
    assert "This was a dry-run" in done.stdout + done.stderr


def test_demo_needs_no_raw_file(shipped: Project):
    assert shipped.planned("demo")["fetch"] == 0


def test_rules_have_log_benchmark_and_resources():
    assert "workflow" in COPIED
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for block in re.split(r"^(?=rule )", path.read_text(), flags=re.MULTILINE)[1:]:
            if "shell:" not in block:
                continue
            assert all(f"    {part}:" in block for part in ("log", "resources")), block
            assert "    benchmark:" in block or block.startswith("rule benchmark"), block
            assert "> {log} 2>&1" in block
            assert "run:" not in block


def test_rule_files_are_short():
    assert len((ROOT / "Snakefile").read_text().splitlines()) < 80
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        assert len(path.read_text().splitlines()) < 150, path


def test_lint_is_clean(shipped: Project):
    done = shipped.snakemake("--lint", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
