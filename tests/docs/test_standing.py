"""The home page says which of the committed results are not of the present grid and code, and names every paper."""

import copy
import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from reproduction.grid import fingerprint
from reproduction.grid.config import load_config
from reproduction.grid.papers import Paper
from reproduction.site.project import Project
from tests.workflow.project import ROOT


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The extension, on a project whose grid is PLADA's and whose results are in a folder of their own."""
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("report_extension", ROOT / "docs" / "extensions" / "report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = Project(ROOT)
    own.config = load_config(ROOT / "papers" / "plada" / "grid.yaml")
    monkeypatch.setattr(module, "project", lambda: own)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module, own.config, tmp_path / "reports"


def tables(config, folder: Path, code=None) -> int:
    """Write the tables of a grid's runs; return how many runs they hold."""
    for name in config.experiments:
        rows = [
            {
                "dataset": job.dataset, "algorithm": job.algorithm, "kappa": job.kappa, "seed": job.seed,
                "closure_hash": code or fingerprint.run(config, job).code,
            }
            for job in config.jobs(name)
        ]  # fmt: skip
        (folder / name).mkdir(parents=True)
        pd.DataFrame(rows).to_parquet(folder / name / "runs.parquet")
    return len(config.jobs())


def test_nothing_is_said_where_every_run_is_of_the_present_code(report):
    module, config, folder = report
    tables(config, folder)
    assert module.standing() == ""


def test_runs_of_older_code_and_runs_that_are_not_there_are_counted(report):
    module, config, folder = report
    total = tables(config, folder, code="0123456789abcdef")
    assert f"{total} of the {total} runs were trained by earlier revisions of the code; " in module.standing()
    first = next(iter(config.experiments))
    (folder / first / "runs.parquet").unlink()
    module.standing.cache_clear()
    absent = len(config.jobs(first))
    assert f"{total - absent} of the {total} runs were trained by earlier" in module.standing()
    assert f"of the code, {absent} more were not trained; " in module.standing()


def test_the_first_page_counts_the_papers_and_names_their_pages(report, monkeypatch):
    """A further paper needs no change of a page, in the grid's order."""
    module, _, _ = report
    two = copy.copy(module.project())
    two.papers = {"plada": two.papers["plada"], "my_paper": Paper(title="Mine")}
    monkeypatch.setattr(module, "project", lambda: two)
    source = [(ROOT / "docs/index.md").read_text(encoding="utf-8")]
    module.first_page(None, "index", source)
    assert "# Do these two papers reproduce?\n" in source[0]
    assert "Home <self>\nPLADA <papers/plada>\nMy paper <papers/my_paper>\nFigures" in source[0]
    assert "<papers/" not in (ROOT / "docs/index.md").read_text(encoding="utf-8")
