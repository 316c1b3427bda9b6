"""`partialfair reproduce` on a finished tiny project: the same bits, in a folder of its own, for a stated cost."""

import contextlib
import re
import sys
from pathlib import Path

import pytest

from partialfair.errors import ConfigError
from reproduction.commands.reproduce import _link
from tests.workflow.project import Project, make_project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("reproduce") / "project")
    project.snakemake("demo")
    return project


def reproduce(project: Project, *arguments: str, check: bool = True, verb: str = "reproduce") -> tuple[int, str]:
    command = ("env", "PYTHONPATH=src", sys.executable, "-m", "partialfair", verb, *arguments)
    done = project.run(*command, check=check)
    return done.returncode, done.stdout + done.stderr


def content(folder: Path) -> dict[Path, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.read_bytes() for path in files}


@pytest.mark.long(suite="entries")
def test_one_seed_gives_the_committed_bits_and_leaves_the_results_alone(built: Project):
    before = content(built.folder / "reports")
    _, said = reproduce(built, "tradeoff", "--cores", "2")
    assert "All 3 runs have the committed metrics to the last bit." in said, said
    cost = re.search(r"1 of 2 seeds: train 3, evaluate 3, prepare 1, split 1, collect 1; about [\d.]+ minutes", said)
    assert cost and said.index("the committed tradeoff: ") < cost.start()
    assert content(built.folder / "reports") == before
    folder = built.folder / "reproduced/tradeoff"
    page = (folder / "comparison.html").read_text()
    assert "All 3 settings by metric" in page and page.count("<svg") >= 3
    assert "partialfair reproduce tradeoff --seeds 2" in page
    runs = sorted(path.parent.name for path in (folder / "data/runs").rglob("fit.json"))
    assert runs == ["seed=0"] * 3
    # More seeds add their runs to those that are there.
    kept = {path: path.stat().st_mtime_ns for path in (folder / "data/runs").rglob("model.npz")}
    _, said = reproduce(built, "tradeoff", "--seeds", "2", "--methods", "alm", "--cores", "2")
    assert "train 1, evaluate 1" in said and "All 2 runs have" in said, said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    # A changed committed number is seen.
    table = built.folder / "reports/demo/metrics.parquet"
    import pandas as pd

    stored = table.read_bytes()
    metrics = pd.read_parquet(table)
    metrics.loc[(metrics["algorithm"] == "alm") & (metrics["metric"] == "accuracy"), "value"] += 1e-6
    metrics.to_parquet(table)
    _, said = reproduce(built, "tradeoff", "--methods", "alm", "--cores", "2")
    table.write_bytes(stored)
    assert "0 of 1 runs have the committed metrics to the last bit" in said, said


def test_a_dry_run_says_the_cost_and_makes_nothing(built: Project):
    before = content(built.folder)
    _, said = reproduce(built, "tradeoff", "--dry-run", "--methods", "idca")
    assert len(said.splitlines()) == 3 and content(built.folder) == before
    _, said = reproduce(built, "demo", "--dry-run", "--seeds", "1", verb="run")
    assert len(said.splitlines()) == 3 and "made in reproduced/demo" in said and content(built.folder) == before


@pytest.mark.long(suite="entries")
def test_a_part_of_an_experiment_runs_in_a_folder_of_its_own(built: Project):
    before = content(built.folder / "reports")
    _, said = reproduce(built, "demo", "--seeds", "1", "--methods", "unconstrained,alm", "--cores", "2", verb="run")
    assert "All 2 runs have the committed metrics to the last bit." in said, said
    assert content(built.folder / "reports") == before
    folder = built.folder / "reproduced/demo"
    assert sorted(path.parts[-4] for path in (folder / "data/runs").rglob("fit.json")) == ["alm", "unconstrained"]
    page = (folder / "comparison.html").read_text()
    assert "All 2 settings by metric" in page and "partialfair run demo --seeds 2 --methods unconstrained,alm" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tradeof",), "did you mean 'tradeoff'"),
        (("tradeoff", "--minutes", "0.1"), "one seed of tradeoff takes about"),
        (("tradeoff", "--cores", "0"), "give a number of cores, or all"),
        (("tradeoff", "--seeds", "1", "--minutes", "5"), "--seeds and --minutes exclude each other"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence(built: Project, arguments: tuple[str, ...], words: str):
    status, said = reproduce(built, *arguments, check=False)
    assert status == 2 and words in re.sub(r"[\s│]+", " ", said) and "Traceback" not in said, said
    assert "running" not in said


def test_a_folder_of_its_own_is_linked_to_this_checkout_wherever_that_is(tmp_path: Path):
    for checkout in ("old", "new"):
        (tmp_path / checkout / "src").mkdir(parents=True)
    link = Path("reproduced/demo/src")
    with contextlib.chdir(tmp_path / "old"):
        _link(link, Path.cwd() / "src")
    moved = tmp_path / "moved"
    (tmp_path / "old").rename(moved)
    assert (moved / link).resolve() == moved / "src"
    with contextlib.chdir(tmp_path / "new"):
        link.parent.mkdir(parents=True)
        link.symlink_to(moved / "src")  # as an earlier release wrote it, in a folder that was copied
        _link(link, Path.cwd() / "src")
        assert link.resolve() == Path.cwd() / "src"
        link.unlink()
        link.mkdir()
        with pytest.raises(ConfigError, match=r"reproduced/demo/src: a link to .*/new/src belongs here"):
            _link(link, Path.cwd() / "src")
