"""The committed results: what of them can be made again in a clone, which has the collected tables and not the runs."""

from pathlib import Path

import pytest

from partialfair.kernels import processor
from reproduction.grid import paths
from reproduction.grid.config import load_config
from reproduction.verify import Chain, Fault
from reproduction.verify.recorded_files import RecordedFiles
from reproduction.verify.reports import MEASURED, Reports
from tests.faults.lab import ROOT

pytestmark = pytest.mark.slow
IN_REPOSITORY = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="no repository, whose committed results could be followed"
)


def test_no_committed_file_of_the_results_is_foreign() -> None:
    files = {path.name for path in (ROOT / "reports").iterdir() if path.is_file()}
    config = load_config(ROOT / "params.yaml")
    by_paper = {f"metrics.{paper}.json" for paper in config.papers}
    assert files <= {*MEASURED, *paths.SUMMARY, paths.MADE_FROM, *by_paper}, files


@pytest.mark.long(suite="exhibits")
@pytest.mark.skipif(not processor.settled_here(), reason="no x86-64 processor with AVX2, on Linux")
@IN_REPOSITORY
def test_committed_exhibits_are_what_the_present_code_makes_of_the_collected_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of their runs' own files are left out; a file that is not committed yet is nobody's result so far."""
    monkeypatch.chdir(ROOT)
    config, chain = load_config("params.yaml"), Chain()
    Reports(config, config.jobs(), RecordedFiles.read()).check(chain)
    assert sum(link.stage == "exhibit" for link in chain.links) > 20
    lines, summary = (link.tie for link in chain.links if link.stage == "scorecard")
    assert int(lines.split()[0]) > 1000
    assert "same bytes" in summary
    assert [str(found) for found in chain.breaks if found.fault is Fault.OUTDATED] == []


@IN_REPOSITORY
def test_part_of_the_runs_decides_no_line_of_the_scorecard_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where a setting has some of its seeds, its lines would be decided by fewer than the committed ones."""
    monkeypatch.chdir(ROOT)
    config, chain = load_config("params.yaml"), Chain()
    some = Reports(config, config.jobs()[1:], RecordedFiles.read())
    some.scratch = tmp_path
    for source in ("data", "src", "papers", "params.yaml", "reports"):
        (tmp_path / source).symlink_to(ROOT / source)
    some._scorecard(chain)
    assert chain.unfollowed["scorecard"] == 1 and chain.links == []
