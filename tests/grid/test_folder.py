"""What is put right in the working directory before the workflow's first job."""

import os
import time

import pytest

from partialfair.grid.folder import settle_times


def test_files_from_the_future_get_the_present_time_and_links_to_nothing_are_let_be(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "raw"
    folder.mkdir(parents=True)
    (folder / "gone.csv").symlink_to(tmp_path / "cache" / "gone")
    for name, ahead in (("old.csv", -60), ("new.csv", 3600)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() + ahead,) * 2)
    settle_times()
    assert (folder / "new.csv").stat().st_mtime <= time.time()
    assert time.time() - (folder / "old.csv").stat().st_mtime > 50
    assert capsys.readouterr().out.startswith("1 files")
    settle_times()
    assert not capsys.readouterr().out
