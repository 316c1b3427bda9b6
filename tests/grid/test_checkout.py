"""Results are read without git, too: an archive of the project has none."""

from pathlib import Path

import pytest

from reproduction.grid.checkout import git
from reproduction.verify.recorded_files import RecordedFiles
from tests.workflow.project import ROOT


def test_git_says_nothing_where_it_is_not_installed_or_there_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert b"Snakefile" in (git("ls-files", folder=ROOT) or b"").split()
    assert git("ls-files", folder=tmp_path) is None and git("no-such-command", folder=ROOT) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git("ls-files", folder=ROOT) is None
    assert not RecordedFiles()._committed
